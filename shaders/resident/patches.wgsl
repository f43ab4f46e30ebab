// Where a world has what of its patches.

fn is_patch(c: u32, w: u32) -> bool {
    return contact[(CONTACT_HEAD + CONTACT_LEN * c + CONTACT_KIND) * header.stride + w] != 0.0;
}

fn patch_number(k: u32, w: u32) -> f32 {
    return rows[k * header.stride + w];
}

fn patch_vector(k: u32, w: u32) -> vec3<f32> {
    return vec3(patch_number(k, w), patch_number(k + 1u, w), patch_number(k + 2u, w));
}

fn patch_shape(row: u32, w: u32) -> Shape {
    let at = row + ROW_SHAPE;
    return Shape(
        patch_vector(at, w),
        patch_number(at + 3u, w) > 0.0,
        vec4(patch_number(at + 4u, w), patch_number(at + 6u, w), patch_number(at + 8u, w), patch_number(at + 10u, w)),
        vec4(patch_number(at + 5u, w), patch_number(at + 7u, w), patch_number(at + 9u, w), patch_number(at + 11u, w)),
    );
}

// lambda of the problem at hand
fn patch_impulse(row: u32, w: u32) -> PatchImpulse {
    let x = row + ROW_IMPULSE + 3u * header.problem;
    let y = row + ROW_MORE_IMPULSE + PATCH_ROWS * header.problem;
    return PatchImpulse(
        vec4(patch_number(x, w), patch_vector(y, w)),
        vec3(patch_number(x + 1u, w), patch_number(x + 2u, w), patch_number(y + 3u, w)),
    );
}

fn patch_put(row: u32, z: PatchImpulse, w: u32) {
    let x = row + ROW_IMPULSE + 3u * header.problem;
    let y = row + ROW_MORE_IMPULSE + PATCH_ROWS * header.problem;
    rows[x * header.stride + w] = z.normal.x;
    rows[(x + 1u) * header.stride + w] = z.friction.x;
    rows[(x + 2u) * header.stride + w] = z.friction.y;
    rows[y * header.stride + w] = z.normal.y;
    rows[(y + 1u) * header.stride + w] = z.normal.z;
    rows[(y + 2u) * header.stride + w] = z.normal.w;
    rows[(y + 3u) * header.stride + w] = z.friction.z;
}

// Which points of its pair the vertices of a patch are.
fn patch_features(c: u32, w: u32) -> vec4<f32> {
    let at = CONTACT_HEAD + CONTACT_LEN * c;
    let more = at + VERTEX + 1u;
    return vec4(
        contact[(at + 1u) * header.stride + w],
        contact[more * header.stride + w],
        contact[(more + VERTEX_LEN) * header.stride + w],
        contact[(more + 2u * VERTEX_LEN) * header.stride + w],
    );
}
