//! Any text through the reader of MJCF, strict and lenient: an error or a model, never a panic.
#![no_main]

use delassus::Model;
use delassus::model::ReadOptions;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let strict = Model::from_mjcf_str(text);
    let lenient = Model::from_mjcf_str_with(text, &ReadOptions { lenient: true });
    assert!(strict.is_err() || lenient.is_ok(), "the lenient reader refused what the strict one takes");
});
