// The twin of src/solver/patch/sweeps.rs, which carries w from row to row: here the seven rows of a patch are computed anew, in one pass, and changes of its own
// impulses added to them.

const DISC_STEPS = 8u;

// The first guess of the patches.
fn make_feasible(b: Block) {
    for (var c = 0u; c < b.patch_count; c++) {
        let rows = patch_rows(b, c);
        let shape = patch_shape(b, c);
        let x = vec4(b.row) + rows.normal * LANES;
        let y = vec3(b.row) + rows.friction * LANES;
        let guessed = vec4(guess(x.x), guess(x.y), guess(x.z), guess(x.w));
        let on_cone = vec4(project_disc_cone(guessed.xyz), 0.0);
        let z = select(patch_positive(guessed), on_cone, vec4(shape.disc));
        let push = pressure(shape, z);
        let s = scaled(shape, vec3(guess(y.x), guess(y.y), guess(y.z)), push.centre);
        let size = patch_length(s);
        let radius = friction[b.contact + c * LANES] * push.sum;
        let factor = select(1.0, radius / size, radius < size);
        patch_put(b, rows, z, impulses(shape, factor * s, push.centre));
    }
}

// λ_i ← max(0, λ_i − w_i/W_ii);   d anew;   s ← argmin ½ sᵀ D s + gᵀ s, |s| ≤ μ N
fn sweep_patch(b: Block, c: u32) {
    let rows = patch_rows(b, c);
    let shape = patch_shape(b, c);
    let velocity = patch_velocity(b, rows);
    let before = normals(b, rows);
    let old = frictions(b, rows);
    let s = scaled(shape, old, pressure(shape, before).centre);
    var z = before;
    if shape.disc {
        let i = rows.normal.xyz;
        let own = patch_block(b, i);
        // no eigenvalue of a positive semidefinite block exceeds its trace
        let rho = inverse(own[0][0] + own[1][1] + own[2][2]);
        var w = velocity.normal.xyz;
        for (var step = 0u; step < DISC_STEPS; step++) {
            let next = project_disc_cone(z.xyz - rho * w);
            w += own * (next - z.xyz);
            z = vec4(next, z.w);
        }
    } else {
        let i = rows.normal;
        let w0 = velocity.normal;
        let column0 = patch_column4(b, i, i.x);
        z.x = larger(fma(-w0.x, inverse(column0.x), z.x), 0.0);
        let w1 = fma(column0, vec4(z.x - before.x), w0);
        let column1 = patch_column4(b, i, i.y);
        z.y = larger(fma(-w1.y, inverse(column1.y), z.y), 0.0);
        let w2 = fma(column1, vec4(z.y - before.y), w1);
        let column2 = patch_column4(b, i, i.z);
        z.z = larger(fma(-w2.z, inverse(column2.z), z.z), 0.0);
        let w3 = fma(column2, vec4(z.z - before.z), w2);
        z.w = larger(fma(-w3.w, inverse(entry(b, i.w, i.w)), z.w), 0.0);
    }
    let change = z - before;
    var w = velocity.friction;
    w = fma(patch_column(b, rows.friction, rows.normal.x), vec3(change.x), w);
    w = fma(patch_column(b, rows.friction, rows.normal.y), vec3(change.y), w);
    w = fma(patch_column(b, rows.friction, rows.normal.z), vec3(change.z), w);
    w = fma(patch_column(b, rows.friction, rows.normal.w), vec3(change.w), w);
    // The ECP has moved: s acts at the new one.
    let push = pressure(shape, z);
    let own = patch_block(b, rows.friction);
    w += own * (impulses(shape, s, push.centre) - old);
    // g = y − D s
    let d = inverse_inertia(shape, own, push.centre);
    let g = slip(shape, w, push.centre) - d * s;
    let best = least_on_ball(d, g, friction[b.contact + c * LANES] * push.sum);
    patch_put(b, rows, z, impulses(shape, best, push.centre));
}

