// Stage `finish`: the new state, what the next step starts from, and the report. A world whose state would not be finite, or too fast, halts instead.
//{patch_functions}

@compute @workgroup_size(64)
fn finish(@builtin(global_invocation_id) id: vec3<u32>) {
    let w = id.x;
    if (!runs(w)) {
        return;
    }
    let count = u32(contact[w]);
    // the trees that have rows, and none that anything outside of them takes part in
    var some = count > 0u;
    for (var s = 0u; s < SCALAR_COUNT; s++) {
        some = some || motion[(SCALAR + SCALAR_LEN * s) * header.stride + w] != 0.0;
    }
    //{alone}
    for (var c = 0u; c < count; c++) {
        let sign = SIGN_TABLE + NV * u32(contact[(CONTACT_HEAD + CONTACT_LEN * c) * header.stride + w]);
        //{not_alone}
    }
    var ok = true;
    //{finish}
    var speed = 0.0;
    //{fastest}
    if (!ok || speed > SPEED_LIMIT) {
        halt(w, NOT_FINITE);
        return;
    }
    //{write_state}
    state[MEMORY * header.stride + w] = f32(count);
    var row_count = 3u * count;
    for (var c = 0u; c < count; c++) {
        let at = CONTACT_HEAD + CONTACT_LEN * c;
        let row = ROW_LEN * c;
        let kept = MEMORY + 1u + MEMORY_LEN * c;
        // lambda in world axes
        var impulse = vec3<f32>(0.0);
        for (var i = 0u; i < 3u; i++) {
            let axis = vec3<f32>(
                rows[(row + 3u * i) * header.stride + w],
                rows[(row + 3u * i + 1u) * header.stride + w],
                rows[(row + 3u * i + 2u) * header.stride + w]
            );
            impulse += axis * rows[(row + ROW_IMPULSE + i) * header.stride + w];
        }
        state[kept * header.stride + w] = contact[at * header.stride + w];
        state[(kept + 1u) * header.stride + w] = contact[(at + 1u) * header.stride + w];
        state[(kept + 2u) * header.stride + w] = impulse.x;
        state[(kept + 3u) * header.stride + w] = impulse.y;
        state[(kept + 4u) * header.stride + w] = impulse.z;
        //{patch_keep}
    }
    for (var s = 0u; s < SCALAR_COUNT; s++) {
        state[(SCALAR_MEMORY + s) * header.stride + w] = rows[(SCALAR_IMPULSE + s) * header.stride + w];
        if (motion[(SCALAR + SCALAR_LEN * s) * header.stride + w] != 0.0) {
            row_count++;
        }
    }
    let outcome = OUTCOME * header.stride + w;
    let stride = header.stride;
    state[outcome + FORGET * stride] = 0.0;
    state[outcome + DONE * stride] += 1.0;
    state[outcome + RESIDUAL * stride] = max(state[outcome + RESIDUAL * stride], contact[3u * stride + w]);
    state[outcome + FLOOR * stride] = max(state[outcome + FLOOR * stride], contact[4u * stride + w]);
    state[outcome + PENETRATION * stride] = max(state[outcome + PENETRATION * stride], contact[2u * stride + w]);
    state[outcome + SWEEPS * stride] = max(state[outcome + SWEEPS * stride], contact[5u * stride + w]);
    state[outcome + NEWTON_STEPS * stride] = max(state[outcome + NEWTON_STEPS * stride], contact[6u * stride + w]);
    state[outcome + CONTACTS * stride] = f32(count);
    state[outcome + ROWS * stride] = f32(row_count);
    state[outcome + FOUND * stride] = max(state[outcome + FOUND * stride], contact[stride + w]);
}
