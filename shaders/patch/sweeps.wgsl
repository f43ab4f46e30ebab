// The twin of src/solver/patch/sweeps.rs, which carries w from row to row: here the seven rows of a patch are computed anew, and changes of its own impulses added to
// them.

const DISC_STEPS = 8u;

// The impulse that a patch may have, made of a guess.
fn patch_feasible(shape: Shape, guessed: PatchImpulse, slope: f32) -> PatchImpulse {
    let on_cone = vec4(project_disc_cone(guessed.normal.xyz), 0.0);
    let z = select(patch_positive(guessed.normal), on_cone, vec4(shape.disc));
    let push = pressure(shape, z);
    let s = scaled(shape, guessed.friction, push.centre);
    let size = patch_length(s);
    let radius = slope * push.sum;
    let factor = select(1.0, radius / size, radius < size);
    return PatchImpulse(z, impulses(shape, factor * s, push.centre));
}

// λ_i ← max(0, λ_i − w_i/W_ii);   d anew;   s ← argmin ½ sᵀ D s + gᵀ s, |s| ≤ μ N
fn patch_swept(shape: Shape, own: PatchBlock, velocity: PatchRows, before: PatchImpulse, slope: f32) -> PatchImpulse {
    let s = scaled(shape, before.friction, pressure(shape, before.normal).centre);
    var z = before.normal;
    if shape.disc {
        // no eigenvalue of a positive semidefinite block exceeds its trace
        let rho = inverse(own.normal[0].x + own.normal[1].y + own.normal[2].z);
        let block = mat3x3(own.normal[0].xyz, own.normal[1].xyz, own.normal[2].xyz);
        var w = velocity.normal.xyz;
        for (var step = 0u; step < DISC_STEPS; step++) {
            let next = project_disc_cone(z.xyz - rho * w);
            w += block * (next - z.xyz);
            z = vec4(next, z.w);
        }
    } else {
        let w0 = velocity.normal;
        z.x = larger(fma(-w0.x, inverse(own.normal[0].x), z.x), 0.0);
        let w1 = fma(own.normal[0], vec4(z.x - before.normal.x), w0);
        z.y = larger(fma(-w1.y, inverse(own.normal[1].y), z.y), 0.0);
        let w2 = fma(own.normal[1], vec4(z.y - before.normal.y), w1);
        z.z = larger(fma(-w2.z, inverse(own.normal[2].z), z.z), 0.0);
        let w3 = fma(own.normal[2], vec4(z.z - before.normal.z), w2);
        z.w = larger(fma(-w3.w, inverse(own.normal[3].w), z.w), 0.0);
    }
    let change = z - before.normal;
    var w = velocity.friction;
    w = fma(own.mixed[0], vec3(change.x), w);
    w = fma(own.mixed[1], vec3(change.y), w);
    w = fma(own.mixed[2], vec3(change.z), w);
    w = fma(own.mixed[3], vec3(change.w), w);
    // The ECP has moved: s acts at the new one.
    let push = pressure(shape, z);
    w += own.friction * (impulses(shape, s, push.centre) - before.friction);
    // g = y − D s
    let d = inverse_inertia(shape, own.friction, push.centre);
    let g = slip(shape, w, push.centre) - d * s;
    let best = least_on_ball(d, g, slope * push.sum);
    return PatchImpulse(z, impulses(shape, best, push.centre));
}

