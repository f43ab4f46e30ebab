// The twin of src/solver/residual.rs: the certificate.

fn residual(b: Block) {
    var largest = 0.0;
    var magnitude = 0.0;
    var finite = true;
    for (var c = 0u; c < b.patch_count; c++) {
        let part = patch_certify(b, c);
        finite = finite && part.finite;
        largest = larger(part.error, largest);
        magnitude = larger(part.magnitude, magnitude);
    }
    for (var p = 0u; p < b.point_count; p++) {
        let c = b.patch_count + p;
        let i = 3u * c;
        let rows = contact_rows(b, i);
        let u = rows.velocity;
        let own = contact_impulse(b, i);
        let diagonal = vec3(entry(b, i, i), entry(b, i + 1u, i + 1u), entry(b, i + 2u, i + 2u));
        let slope = friction[b.contact + c * LANES];
        var error = 0.0;
        if header.law == LAW_CONE {
            let weight = scale((diagonal.x + diagonal.y + diagonal.z) * (1.0 / 3.0));
            // û_n = u_n + μ |u_t|
            let normal = fma(slope, sqrt(fma(u.y, u.y, u.z * u.z)), u.x);
            // |y − P_K(y − û)| with y = W_c λ
            let y = weight * own;
            let e = y - project_cone(y - vec3(normal, u.y, u.z), slope);
            error = sqrt(fma(e.x, e.x, fma(e.y, e.y, e.z * e.z)));
        } else {
            let radius = slope * own.x;
            let d = vec3(scale(diagonal.x), scale(diagonal.y), scale(diagonal.z));
            let target_point = own - u / d;
            let e0 = abs(own.x - larger(target_point.x, 0.0)) * d.x;
            let e1 = abs(own.y - project_interval(target_point.y, -radius, radius)) * d.y;
            let e2 = abs(own.z - project_interval(target_point.z, -radius, radius)) * d.z;
            finite = finite && is_finite(e0 + e1 + e2);
            error = larger(larger(e0, e1), e2);
        }
        finite = finite && is_finite(rows.terms.x + rows.terms.y + rows.terms.z) && is_finite(error);
        largest = larger(error, largest);
        magnitude = larger(larger(larger(rows.terms.x, rows.terms.y), rows.terms.z), magnitude);
    }
    for (var t = 0u; t < b.bounded_count; t++) {
        let s = PATCH_ROWS * b.patch_count + t;
        let i = 3u * b.contact_count + s;
        let row = scalar_row(b, i);
        let own = impulse[b.row + i * LANES];
        let d = scale(entry(b, i, i));
        let error = abs(own - project_bounds(b, s, own - row.velocity / d)) * d;
        finite = finite && is_finite(row.terms) && is_finite(error);
        largest = larger(error, largest);
        magnitude = larger(row.terms, magnitude);
    }
    let rounding = 4.0 * EPSILON * magnitude;
    let goal = larger(header.tolerance, smaller(rounding, TRUSTED_FLOOR * header.tolerance));
    let live = finite && goal < largest;
    report[b.report + REPORT_RESIDUAL * LANES] = select(header.infinity, largest, finite);
    report[b.report + REPORT_FLOOR * LANES] = select(0.0, rounding, finite);
    report[b.report + REPORT_LIVE * LANES] = select(0.0, 1.0, live);
}

