// The twin of src/solver/jacobi.rs: one projected Jacobi sweep. Blocks with patches are swept by pgs.

fn jacobi(b: Block) {
    for (var c = 0u; c < b.contact_count; c++) {
        let i = 3u * c;
        let rows = contact_rows(b, i);
        let u = rows.velocity;
        let d = rows.sums;
        let old = contact_impulse(b, i);
        // λ_n ← max(0, λ_n − u_n/D_n)
        let new0 = larger(fma(-u.x, inverse(d.x), old.x), 0.0);
        let radius = friction[b.contact + c * LANES] * new0;
        var tangent = vec2(0.0);
        if header.law == LAW_CONE {
            // λ_t ← disc(λ_t − u_t/max(D_1, D_2), μ λ_n)
            let step = inverse(larger(d.y, d.z));
            tangent = project_disc(vec2(fma(-u.y, step, old.y), fma(-u.z, step, old.z)), radius);
        } else {
            // λ_t ← clamp(λ_t − u_t/D_t, ±μ λ_n)
            tangent.x = project_interval(fma(-u.y, inverse(d.y), old.y), -radius, radius);
            tangent.y = project_interval(fma(-u.z, inverse(d.z), old.z), -radius, radius);
        }
        let x = b.row + i * LANES;
        next_impulse[x] = new0;
        next_impulse[x + LANES] = tangent.x;
        next_impulse[x + 2u * LANES] = tangent.y;
    }
    for (var s = 0u; s < b.scalar_count; s++) {
        let i = 3u * b.contact_count + s;
        let x = b.row + i * LANES;
        let row = scalar_row(b, i);
        // λ ← clamp(λ − w/D_i, lower, upper)
        next_impulse[x] = project_bounds(b, s, fma(-row.velocity, inverse(row.sums), impulse[x]));
    }
    for (var i = 0u; i < b.row_count; i++) {
        impulse[b.row + i * LANES] = next_impulse[b.row + i * LANES];
    }
}

