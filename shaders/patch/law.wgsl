// The twin of src/solver/patch/law.rs: the pressure of a patch, and its friction at the equivalent contact point.

const PATCH_ROWS = 4u; // that a patch has more than a contact
const PATCH_LEN = 12u; // numbers that say what a patch is; they come after the friction coefficients of its tile
const TINY = 1e-30; // below this a sum of impulses counts as none

struct Shape {
    ellipsoid: vec3<f32>, // e_t, e_o, e_r
    disc: bool,
    lever_t: vec4<f32>, // what the impulse of each normal adds to N d, m
    lever_o: vec4<f32>,
}

// What the seven rows of a patch have in W of its own, by columns.
struct PatchBlock {
    normal: mat4x4<f32>,
    mixed: mat4x3<f32>, // rows of friction, columns of normals
    friction: mat3x3<f32>,
}

// λ of the normals, and of t, o and torsion.
struct PatchImpulse {
    normal: vec4<f32>,
    friction: vec3<f32>,
}

// The seven rows of a patch: w = b + W z, and |b| + Σ |W z|.
struct PatchRows {
    normal: vec4<f32>,
    friction: vec3<f32>,
    normal_terms: vec4<f32>,
    friction_terms: vec3<f32>,
}

// Of four numbers.
fn patch_largest(x: vec4<f32>) -> f32 {
    return larger(larger(x.x, x.y), larger(x.z, x.w));
}

fn patch_positive(x: vec4<f32>) -> vec4<f32> {
    return vec4(larger(x.x, 0.0), larger(x.y, 0.0), larger(x.z, 0.0), larger(x.w, 0.0));
}

struct Pressure {
    sum: f32, // N
    centre: vec2<f32>, // d
}

// N = Σ λ_i, d = Σ λ_i (x_i − c)/N; what pulls does not count, nor do moments beyond a disc's rim
fn pressure(shape: Shape, z: vec4<f32>) -> Pressure {
    let pushed = patch_positive(z);
    let size = sqrt(fma(z.y, z.y, z.z * z.z));
    let share = select(1.0, pushed.x / size, pushed.x < size);
    let sum = select(pushed.x + pushed.y + pushed.z + pushed.w, pushed.x, shape.disc);
    let own = select(pushed, vec4(pushed.x, z.y * share, z.z * share, z.w * share), vec4(shape.disc));
    let moment_t = fma(shape.lever_t.w, own.w, fma(shape.lever_t.z, own.z, fma(shape.lever_t.y, own.y, shape.lever_t.x * own.x)));
    let moment_o = fma(shape.lever_o.w, own.w, fma(shape.lever_o.z, own.z, fma(shape.lever_o.y, own.y, shape.lever_o.x * own.x)));
    let over = 1.0 / larger(sum, TINY);
    return Pressure(sum, vec2(moment_t * over, moment_o * over));
}

// (f_t, f_o, τ_r)
fn at_ecp(f: vec3<f32>, centre: vec2<f32>) -> vec3<f32> {
    return vec3(f.x, f.y, fma(centre.y, f.x, f.z - centre.x * f.y));
}

// s = (f_t/e_t, f_o/e_o, τ_r/e_r) with τ_r = τ − d_t f_o + d_o f_t; 0 along an axis without friction
fn scaled(shape: Shape, f: vec3<f32>, centre: vec2<f32>) -> vec3<f32> {
    let rough = shape.ellipsoid > vec3(0.0);
    return select(vec3(0.0), at_ecp(f, centre) / select(vec3(1.0), shape.ellipsoid, rough), rough);
}

// f = e ∘ s, τ = e_r s_r + d_t f_o − d_o f_t
fn impulses(shape: Shape, s: vec3<f32>, centre: vec2<f32>) -> vec3<f32> {
    let t = shape.ellipsoid.x * s.x;
    let o = shape.ellipsoid.y * s.y;
    return vec3(t, o, fma(shape.ellipsoid.z, s.z, centre.x * o - centre.y * t));
}

// y = e ∘ (w_t − d_o w_r, w_o + d_t w_r, w_r)
fn slip(shape: Shape, w: vec3<f32>, centre: vec2<f32>) -> vec3<f32> {
    return shape.ellipsoid * vec3(w.x - centre.y * w.z, fma(centre.x, w.z, w.y), w.z);
}

// D = Sᵀ W_ff S with S = [[e_t, 0, 0], [0, e_o, 0], [−d_o e_t, d_t e_o, e_r]]; matrices are stored by columns
fn inverse_inertia(shape: Shape, own: mat3x3<f32>, centre: vec2<f32>) -> mat3x3<f32> {
    let e = shape.ellipsoid;
    let twist = vec3(-(centre.y * e.x), centre.x * e.y, e.z);
    // W S, then Sᵀ (W S)
    let right0 = e.x * own[0] + twist.x * own[2];
    let right1 = e.y * own[1] + twist.y * own[2];
    let right2 = twist.z * own[2];
    return mat3x3(
        vec3(fma(e.x, right0.x, twist.x * right0.z), fma(e.y, right0.y, twist.y * right0.z), twist.z * right0.z),
        vec3(fma(e.x, right1.x, twist.x * right1.z), fma(e.y, right1.y, twist.y * right1.z), twist.z * right1.z),
        vec3(fma(e.x, right2.x, twist.x * right2.z), fma(e.y, right2.y, twist.y * right2.z), twist.z * right2.z),
    );
}

// a: the mean of e_k² W_kk over the tangents with friction, that of torsion if there are none; 1 where it is not positive
fn friction_scale(shape: Shape, diagonal: vec3<f32>) -> f32 {
    let e = shape.ellipsoid;
    let count = select(0.0, 1.0, e.x > 0.0) + select(0.0, 1.0, e.y > 0.0);
    let sum = fma(e.y * e.y, diagonal.y, e.x * e.x * diagonal.x);
    return scale(select(e.z * e.z * diagonal.z, sum / larger(count, 1.0), count > 0.0));
}

// The mean of the diagonal of a disc's rows.
fn disc_scale(diagonal: vec4<f32>) -> f32 {
    return scale((diagonal.x + diagonal.y + diagonal.z) * (1.0 / 3.0));
}

// The point of the cone { |m| ≤ λ } nearest to p = (λ, m)
fn project_disc_cone(p: vec3<f32>) -> vec3<f32> {
    let m = sqrt(fma(p.y, p.y, p.z * p.z));
    let inside = !(p.x < m);
    // (n, n m/|m|) with n = max(0, (λ + |m|)/2)
    let n = larger(0.5 * (p.x + m), 0.0);
    let factor = n * inverse(m);
    return select(vec3(n, p.y * factor, p.z * factor), p, inside);
}

