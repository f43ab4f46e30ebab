
// What is remembered of a patch at `kept`: what it transmitted, which does not depend on its reference point.
fn keep_patch(c: u32, kept: u32, w: u32) {
    let row = ROW_LEN * c;
    let z = patch_impulse(row, w);
    let centre = pressure(patch_shape(row, w), z.normal).centre;
    let slid = z.friction.x * patch_vector(row + 3u, w) + z.friction.y * patch_vector(row + 6u, w);
    let features = patch_features(c, w);
    state[(kept + 1u) * header.stride + w] = -1.0;
    for (var i = 0u; i < 3u; i++) {
        state[(kept + 2u + i) * header.stride + w] = slid[i];
    }
    for (var k = 0u; k < 4u; k++) {
        state[(kept + 5u + k) * header.stride + w] = features[k];
        state[(kept + 9u + k) * header.stride + w] = z.normal[k];
    }
    state[(kept + 13u) * header.stride + w] = at_ecp(z.friction, centre).z;
}
