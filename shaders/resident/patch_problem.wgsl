
// What certificate and sweeps ask of a patch: z from its impulses, its part of the certificate, and one update of Gauss-Seidel.

fn add_patch(row: u32, w: u32) {
    //{patch_add}
}

// What the compliance of its normals adds to their velocities: of a disc its centre yields.
fn patch_yield(shape: Shape, z: vec4<f32>) -> vec4<f32> {
    return vec4(COMPLIANCE, vec3(select(COMPLIANCE, 0.0, shape.disc))) * z;
}

fn check_patch(row: u32, w: u32) -> Certificate {
    let shape = patch_shape(row, w);
    let z = patch_impulse(row, w);
    //{patch_sums}
    let yields = patch_yield(shape, z.normal);
    let sums = PatchRows(
        vec4(u0, u3, u4, u5) + yields,
        vec3(u1, u2, u6),
        vec4(size0, size3, size4, size5) + abs(yields),
        vec3(size1, size2, size6),
    );
    let own = patch_block(row, w);
    let normal = vec4(own.normal[0].x, own.normal[1].y, own.normal[2].z, own.normal[3].w);
    let tangential = vec3(own.friction[0].x, own.friction[1].y, own.friction[2].z);
    return patch_certificate(shape, sums, z, patch_number(row + ROW_FRICTION, w), normal, tangential);
}

fn sweep_patch(row: u32, w: u32) {
    let shape = patch_shape(row, w);
    let before = patch_impulse(row, w);
    //{patch_velocity}
    let normal = vec4(u0, u3, u4, u5) + patch_yield(shape, before.normal);
    let velocity = PatchRows(normal, vec3(u1, u2, u6), vec4(0.0), vec3(0.0));
    let after = patch_swept(shape, patch_block(row, w), velocity, before, patch_number(row + ROW_FRICTION, w));
    patch_put(row, after, w);
    let pressed = after.normal - before.normal;
    let slid = after.friction - before.friction;
    //{patch_pushed}
}

// W of its own.
fn patch_block(row: u32, w: u32) -> PatchBlock {
    //{patch_block}
}
