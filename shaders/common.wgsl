// What all stages share; prepended to each of them. Twins: src/solver/settings.rs (Header), src/solver/project.rs.
//
// Arrays are stored [tile][entry][lane]; one invocation is one block, that is one lane of one tile, so that neighbouring
// invocations read neighbouring numbers.

struct Header {
    contact_count: u32,
    scalar_count: u32,
    block_count: u32,
    sweep_count: u32,
    law: u32,
    lane_count: u32,
    tolerance: f32, // m/s
    infinity: f32,
}
@group(0) @binding(0) var<uniform> header: Header;

const LAW_CONE = 0u;
const REPORT_LEN = 5u;
const REPORT_RESIDUAL = 0u;
const REPORT_FLOOR = 1u;
const REPORT_SWEEPS = 2u;
const REPORT_LIVE = 3u;
const REPORT_NEWTON_STEPS = 4u;
const TRUSTED_FLOOR = 10.0; // times the tolerance
const EPSILON = 1.1920929e-7; // distance from 1 to the next number
const WORKGROUP_SIZE = 64u;

// Index of entry 0 of a block in an array of `entry_count` entries; entry k is k * lane_count further.
fn first_entry(block: u32, entry_count: u32) -> u32 {
    return block / header.lane_count * entry_count * header.lane_count + block % header.lane_count;
}

// The larger one; b where a is not a number. The built-in max leaves that open.
fn larger(a: f32, b: f32) -> f32 {
    return select(b, a, a > b);
}

// The smaller one; b where a is not a number.
fn smaller(a: f32, b: f32) -> f32 {
    return select(b, a, a < b);
}

// 1/d, or 0 where d is not positive.
fn inverse(d: f32) -> f32 {
    return select(0.0, 1.0 / d, d > 0.0);
}

// d, or 1 where d is not positive.
fn scale(d: f32) -> f32 {
    return select(1.0, d, d > 0.0);
}

// Neither infinite nor NaN, by the exponent's bits: compilers may assume that comparisons never see a NaN.
fn is_finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

// The point of [low, high] nearest to x.
fn project_interval(x: f32, low: f32, high: f32) -> f32 {
    return smaller(larger(x, low), high);
}

// The point of the disc of `radius` nearest to x.
fn project_disc(x: vec2<f32>, radius: f32) -> vec2<f32> {
    let length = sqrt(fma(x.x, x.x, x.y * x.y));
    let factor = select(1.0, radius / length, radius < length);
    return vec2(fma(x.x, factor, 0.0), fma(x.y, factor, 0.0));
}

// The point of the cone K = { |x_t| <= friction x_n } nearest to x = (x_n, x_t).
fn project_cone(x: vec3<f32>, friction: f32) -> vec3<f32> {
    let length = sqrt(fma(x.y, x.y, x.z * x.z));
    let inside = !(friction * x.x < length || x.x < 0.0);
    // On the surface: n = max(0, (x_n + friction |x_t|) / (1 + friction^2)), t = friction n x_t / |x_t|
    let normal = larger(fma(friction, length, x.x) / fma(friction, friction, 1.0), 0.0);
    let factor = friction * normal * inverse(length);
    return select(vec3(normal, x.y * factor, x.z * factor), x, inside);
}

