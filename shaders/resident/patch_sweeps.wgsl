
// What the stages that sweep ask of a patch: z from its impulses, its part of the certificate, and one update of Gauss-Seidel.

fn add_patch(row: u32, w: u32) {
    //{patch_add}
}

fn check_patch(row: u32, w: u32) -> Certificate {
    //{patch_sums}
    let velocity = PatchRows(vec4(u0, u3, u4, u5), vec3(u1, u2, u6), vec4(size0, size3, size4, size5), vec3(size1, size2, size6));
    return patch_checked(patch_surface(row, w), velocity, patch_impulse(row, w));
}

fn sweep_patch(row: u32, w: u32) {
    //{patch_velocity}
    let change = patch_moved(row, PatchRows(vec4(u0, u3, u4, u5), vec3(u1, u2, u6), vec4(0.0), vec3(0.0)), w);
    //{patch_pushed}
}
