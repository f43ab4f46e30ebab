
// What Newton asks of a patch whose Y lies in the tile from row `at` on.

// Y of its normals and of its friction, column d.
fn patch_normal_y(at: u32, d: u32) -> vec4<f32> {
    return vec4(tile[NV * at + d], tile[NV * (at + 3u) + d], tile[NV * (at + 4u) + d], tile[NV * (at + 5u) + d]);
}

fn patch_friction_y(at: u32, d: u32) -> vec3<f32> {
    return vec3(tile[NV * (at + 1u) + d], tile[NV * (at + 2u) + d], tile[NV * (at + 6u) + d]);
}

// b + Y^T z, and the sums of the magnitudes of their terms.
fn patch_felt(row: u32, at: u32, w: u32) -> PatchRows {
    let x = row + ROW_BIAS + 3u * header.problem;
    let y = row + ROW_MORE_BIAS + PATCH_ROWS * header.problem;
    var normal = vec4(patch_number(x, w), patch_vector(y, w));
    var friction = vec3(patch_number(x + 1u, w), patch_number(x + 2u, w), patch_number(y + 3u, w));
    var normal_terms = abs(normal);
    var friction_terms = abs(friction);
    //{patch_felt}
    return PatchRows(normal, friction, normal_terms, friction_terms);
}

fn check_patch(row: u32, at: u32, w: u32) -> Certificate {
    return patch_checked(patch_surface(row, w), patch_felt(row, at, w), patch_impulse(row, w));
}

// By the first invocation, as all sweeps.
fn sweep_patch(row: u32, at: u32, w: u32) {
    let change = patch_moved(row, patch_felt(row, at, w), w);
    //{patch_pushed_in_tile}
}

// Its laws, for the system.
fn law_of_patch(row: u32, at: u32, delta: f32, w: u32) {
    let own = patch_surface(row, w);
    let felt = patch_felt(row, at, w);
    let held = max(delta, PATCH_DELTA);
    //{patch_law}
    //{patch_keep_law}
}

// And the step that the system's answer is for it: g - M Y^T dz. What lambda was stays beside it.
fn step_patch(row: u32, at: u32, w: u32) {
    var normal = vec4<f32>(0.0);
    var friction = vec3<f32>(0.0);
    //{patch_felt_step}
    let felt_a = vec4(normal.x, friction.x, friction.y, normal.y);
    let felt_b = vec4(normal.z, normal.w, friction.z, -1.0);
    //{patch_step}
}
