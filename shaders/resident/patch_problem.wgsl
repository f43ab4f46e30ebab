
// What both solvers of a problem ask of a patch, at its velocities b + Y^T z.

// What says how far a patch is from its law, beside velocities and impulses.
struct PatchSurface {
    shape: Shape,
    slope: f32, // friction coefficient
    normal: vec4<f32>, // W_ii of the normals
    tangential: vec3<f32>, // and of t, o and torsion
}

fn patch_surface(row: u32, w: u32) -> PatchSurface {
    //{patch_diagonal}
    return PatchSurface(patch_shape(row, w), patch_number(row + ROW_FRICTION, w), normal, tangential);
}

// W of its own.
fn patch_block(row: u32, w: u32) -> PatchBlock {
    //{patch_block}
}

// What the compliance of its normals adds to their velocities: of a disc its centre yields.
fn patch_yield(shape: Shape, z: vec4<f32>) -> vec4<f32> {
    return vec4(COMPLIANCE, vec3(select(COMPLIANCE, 0.0, shape.disc))) * z;
}

// Its part of the certificate.
fn patch_checked(own: PatchSurface, velocity: PatchRows, z: PatchImpulse) -> Certificate {
    let yields = patch_yield(own.shape, z.normal);
    let sums = PatchRows(
        velocity.normal + yields,
        velocity.friction,
        velocity.normal_terms + abs(yields),
        velocity.friction_terms,
    );
    return patch_certificate(own.shape, sums, z, own.slope, own.normal, own.tangential);
}

// One update of Gauss-Seidel. Returns the change.
fn patch_moved(row: u32, velocity: PatchRows, w: u32) -> PatchImpulse {
    let shape = patch_shape(row, w);
    let before = patch_impulse(row, w);
    let normal = velocity.normal + patch_yield(shape, before.normal);
    let felt = PatchRows(normal, velocity.friction, vec4(0.0), vec3(0.0));
    let after = patch_swept(shape, patch_block(row, w), felt, before, patch_number(row + ROW_FRICTION, w));
    patch_put(row, after, w);
    return PatchImpulse(after.normal - before.normal, after.friction - before.friction);
}
