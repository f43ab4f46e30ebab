// Stage `contact_rows`: the rows of every contact; an invocation for each.

@compute @workgroup_size(64)
fn contact_rows(@builtin(global_invocation_id) id: vec3<u32>) {
    let w = id.x;
    if (!runs(w)) {
        return;
    }
    if (f32(id.y) >= contact[w]) {
        return;
    }
    let at = CONTACT_HEAD + CONTACT_LEN * id.y;
    let row = ROW_LEN * id.y;
    let sign = SIGN_TABLE + NV * u32(contact[at * header.stride + w]);
    //{contact_rows}
}
