// Stage `patch_rows`: the further rows of every patch; an invocation for each contact.

@compute @workgroup_size(64)
fn patch_rows(@builtin(global_invocation_id) id: vec3<u32>) {
    let w = id.x;
    if (!runs(w)) {
        return;
    }
    if (f32(id.y) >= contact[w]) {
        return;
    }
    let at = CONTACT_HEAD + CONTACT_LEN * id.y;
    if (contact[(at + CONTACT_KIND) * header.stride + w] == 0.0) {
        return;
    }
    let row = ROW_LEN * id.y;
    let sign = SIGN_TABLE + NV * u32(contact[at * header.stride + w]);
    //{patch_rows}
}
