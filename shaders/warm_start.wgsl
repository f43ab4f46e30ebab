// The twin of src/solver/warm_start.rs: makes the first guess of points and scalar rows feasible.

// The guess, or 0 where it is not finite.
fn guess(index: u32) -> f32 {
    return select(0.0, impulse[index], is_finite(impulse[index]));
}

fn warm_start(b: Block) {
    for (var p = 0u; p < b.point_count; p++) {
        let c = b.patch_count + p;
        let i = b.row + 3u * c * LANES;
        let normal = larger(guess(i), 0.0);
        let radius = friction[b.contact + c * LANES] * normal;
        var tangent = vec2(guess(i + LANES), guess(i + 2u * LANES));
        if header.law == LAW_CONE {
            tangent = project_disc(tangent, radius);
        } else {
            tangent.x = project_interval(tangent.x, -radius, radius);
            tangent.y = project_interval(tangent.y, -radius, radius);
        }
        impulse[i] = normal;
        impulse[i + LANES] = tangent.x;
        impulse[i + 2u * LANES] = tangent.y;
    }
    for (var t = 0u; t < b.bounded_count; t++) {
        let s = PATCH_ROWS * b.patch_count + t;
        let i = b.row + (3u * b.contact_count + s) * LANES;
        impulse[i] = project_bounds(b, s, guess(i));
    }
}

