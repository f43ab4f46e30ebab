//! Leaves the code for AVX-512 out of builds for tests on a machine that lacks it: it could not run there, and is a fifth of the code.
//! Tells the code whether worlds can be kept in scalar types (the feature `scalar`; WebAssembly has no others), and where it is not optimised: its threads then need more of a stack.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(scalar, without_avx512, unoptimised)");
    let for_tests = env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    let for_this_machine = env::var("HOST").ok() == env::var("TARGET").ok();
    if for_tests && for_this_machine && !has_avx512() {
        println!("cargo::rustc-cfg=without_avx512");
    }
    let wasm = env::var("CARGO_CFG_TARGET_FAMILY").is_ok_and(|family| family == "wasm");
    if wasm || env::var_os("CARGO_FEATURE_SCALAR").is_some() {
        println!("cargo::rustc-cfg=scalar");
    }
    if env::var("OPT_LEVEL").is_ok_and(|level| level == "0") {
        println!("cargo::rustc-cfg=unoptimised");
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}
