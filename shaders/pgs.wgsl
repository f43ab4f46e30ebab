// The twin of src/solver/pgs.rs: one sweep of projected Gauss-Seidel.

fn pgs(b: Block) {
    for (var c = 0u; c < b.patch_count; c++) {
        sweep_patch(b, c);
    }
    for (var p = 0u; p < b.point_count; p++) {
        let c = b.patch_count + p;
        let i = 3u * c;
        var u = contact_rows(b, i).velocity;
        let old = contact_impulse(b, i);
        // λ_n ← max(0, λ_n − u_n/W_nn)
        let new0 = larger(fma(-u.x, inverse(entry(b, i, i)), old.x), 0.0);
        let change0 = new0 - old.x;
        u.y = fma(entry(b, i + 1u, i), change0, u.y);
        u.z = fma(entry(b, i + 2u, i), change0, u.z);
        let radius = friction[b.contact + c * LANES] * new0;
        let w11 = entry(b, i + 1u, i + 1u);
        let w12 = entry(b, i + 1u, i + 2u);
        let w22 = entry(b, i + 2u, i + 2u);
        var tangent = vec2(0.0);
        if header.law == LAW_CONE {
            // λ_t ← disc(λ_t − u_t/a, μ λ_n)
            let step = inverse(larger(w11, w22) + abs(w12));
            tangent = project_disc(vec2(fma(-u.y, step, old.y), fma(-u.z, step, old.z)), radius);
        } else {
            // λ_t ← clamp(λ_t − u_t/W_tt, ±μ λ_n), one after the other
            tangent.x = project_interval(fma(-u.y, inverse(w11), old.y), -radius, radius);
            u.z = fma(entry(b, i + 2u, i + 1u), tangent.x - old.y, u.z);
            tangent.y = project_interval(fma(-u.z, inverse(w22), old.z), -radius, radius);
        }
        let x = b.row + i * LANES;
        impulse[x] = new0;
        impulse[x + LANES] = tangent.x;
        impulse[x + 2u * LANES] = tangent.y;
    }
    for (var t = 0u; t < b.bounded_count; t++) {
        let s = PATCH_ROWS * b.patch_count + t;
        let i = 3u * b.contact_count + s;
        let x = b.row + i * LANES;
        // λ ← clamp(λ − w/W_ii, lower, upper)
        impulse[x] = project_bounds(b, s, fma(-scalar_row(b, i).velocity, inverse(entry(b, i, i)), impulse[x]));
    }
}

