// Arithmetic that says what it does with what is not a number, or not positive; of all shaders. Twins: src/lane/mod.rs (Real), src/solver/project.rs.

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

