// What all shaders of the step that stays on the device share. Arrays are [component][world]; a world's numbers lie `stride` apart.

struct Header {
    world_count: u32,
    stride: u32,
    infinity: f32,
    // 0: the velocity problem, 1: the position problem
    problem: u32,
    // 0: of all worlds, 1: of those that the same stage has listed before
    turn: u32,
}

@group(0) @binding(0) var<uniform> header: Header;
@group(0) @binding(1) var<storage, read_write> state: array<f32>;
@group(0) @binding(2) var<storage, read> given: array<f32>;
@group(0) @binding(3) var<storage, read_write> motion: array<f32>;
@group(0) @binding(4) var<storage, read_write> contact: array<f32>;
@group(0) @binding(5) var<storage, read_write> rows: array<f32>;
@group(0) @binding(6) var<storage, read> tables: array<f32>;
// How many worlds the sweeps of both problems left to Newton; which, component LIST of `contact` says, one after another. How many `look` has found. And from UNFINISHED on, how many
// worlds of few rows, which component UNFINISHED_LIST says, are swept on in both problems.
@group(0) @binding(8) var<storage, read_write> listed: array<atomic<u32>, LISTS>;

// Whether there is such a world, and it has not halted.
fn runs(w: u32) -> bool {
    if (w >= header.world_count) {
        return false;
    }
    return state[(OUTCOME + HALT) * header.stride + w] == 0.0;
}

// The state of the world stays as before the step, and the CPU takes it on from there. `why`: NOT_SOLVED, NO_ROOM, NO_FORMULA or NOT_FINITE.
fn halt(w: u32, why: f32) {
    state[(OUTCOME + HALT) * header.stride + w] = why;
}

// By the bits: compilers may take arithmetic that tells a NaN to tell nothing.
fn finite(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7f800000u) != 0x7f800000u;
}

// Sine and cosine within 2 ulp for |x| < 1e5: Cody-Waite reduction by pi/2, minimax polynomials on [-pi/4, pi/4]. Its twin is sin_cos_f32.
fn sin_cos(x: f32) -> vec2<f32> {
    let k = round(x * 0.63661975f);
    var r = fma(-k, 1.5707964f, x);
    r = fma(-k, -4.3711388e-8f, r);
    r = fma(-k, -1.7151245e-15f, r);
    let r2 = r * r;
    var s = fma(fma(-1.9515296e-4f, r2, 8.332161e-3f), r2, -1.6666655e-1f);
    s = fma(s * r2, r, r);
    var c = fma(fma(2.4433157e-5f, r2, -1.3887316e-3f), r2, 4.1666646e-2f);
    c = fma(c * r2, r2, fma(-0.5f, r2, 1.0f));
    let quadrant = i32(k) & 3;
    let odd = (quadrant & 1) == 1;
    let sine = select(s, c, odd);
    let cosine = select(c, s, odd);
    return vec2<f32>(select(sine, -sine, quadrant >= 2), select(cosine, -cosine, quadrant == 1 || quadrant == 2));
}
