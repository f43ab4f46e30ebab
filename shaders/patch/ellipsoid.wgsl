// The twin of src/lcp/patch/ellipsoid.rs: the friction of one patch in the units of its ellipsoid.

const SECULAR_STEPS = 12u;
const SECULAR_TRIES = SECULAR_STEPS + 1u;
const ROUNDING = 16.0; // what counts as such, in EPSILON

fn patch_length(v: vec3<f32>) -> f32 {
    return sqrt(fma(v.x, v.x, fma(v.y, v.y, v.z * v.z)));
}

// min(1, radius / length)
fn shortening(length: f32, radius: f32) -> f32 {
    let rim = larger(radius, 0.0);
    return select(1.0, rim / length, rim < length);
}

// |s − P(s − y/scale)| scale, P onto the ball |s| ≤ radius
fn natural_map(s: vec3<f32>, y: vec3<f32>, radius: f32, weight: f32) -> f32 {
    let own = weight * s;
    let p = own - y;
    return patch_length(own - shortening(patch_length(p), weight * radius) * p);
}

// The x that makes ½ xᵀ D x + gᵀ x least on the ball |x| ≤ ball; d has the columns of D. Its multiplier λ begins at the least that it can be: nothing is kept from sweep to
// sweep.
fn least_on_ball(d: mat3x3<f32>, g: vec3<f32>, ball: f32) -> vec3<f32> {
    let trace = larger(d[0][0] + d[1][1] + d[2][2], 0.0);
    let radius = larger(ball, 0.0);
    let safe = select(1.0, radius, radius > 0.0);
    let sums = abs(d[0]) + abs(d[1]) + abs(d[2]);
    let largest = larger(sums.z, larger(sums.y, larger(sums.x, 0.0)));
    let pull = patch_length(g) / safe;
    let alone = select(1.0, pull, pull > 0.0);
    let least = select(alone, larger(trace * (ROUNDING * EPSILON), pull - largest), trace > 0.0);
    let beyond = safe * (1.0 + ROUNDING * EPSILON);
    let short = safe * (1.0 - ROUNDING * EPSILON);
    var lambda = least;
    var x = vec3(0.0);
    var factor = 0.0;
    var going = true;
    for (var step = 0u; step < SECULAR_TRIES && going; step++) {
        // D + λ I = L diag(p) Lᵀ
        let i0 = 1.0 / larger(d[0][0] + lambda, lambda);
        let l10 = d[0][1] * i0;
        let l20 = d[0][2] * i0;
        let i1 = 1.0 / larger(d[1][1] + lambda - l10 * d[0][1], lambda);
        let below = d[1][2] - l20 * d[0][1];
        let l21 = below * i1;
        let i2 = 1.0 / larger(d[2][2] + lambda - l20 * d[0][2] - l21 * below, lambda);
        // L q = −g,  Lᵀ x = q/p
        let q0 = -g.x;
        let q1 = -g.y - l10 * q0;
        let q2 = -g.z - l20 * q0 - l21 * q1;
        let x2 = q2 * i2;
        let x1 = q1 * i1 - l21 * x2;
        x = vec3(q0 * i0 - l10 * x1 - l20 * x2, x1, x2);
        // xᵀ (D + λ I)⁻¹ x = Σ r²/p,  L r = x
        let r1 = x.y - l10 * x.x;
        let r2 = x.z - l20 * x.x - l21 * r1;
        let slope = fma(x.x * x.x, i0, fma(r1 * r1, i1, r2 * r2 * i2)) * safe;
        let size = patch_length(x);
        let rise = select(0.0, size * size * (size - safe) / select(1.0, slope, slope > 0.0), slope > 0.0);
        // on the rim, unless λ is least and x within
        let slides = least < lambda || safe < size;
        factor = select(1.0, safe / size, slides && size > 0.0);
        lambda = larger(lambda + rise, least);
        going = beyond < size || (slides && size < short);
    }
    return x * select(0.0, factor, radius > 0.0);
}

