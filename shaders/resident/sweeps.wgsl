// Stages `velocity_sweeps` and `position_sweeps`: projected Gauss-Seidel through z = Y lambda, with certificate; where it does not contract, Newton goes on.

@compute @workgroup_size(64)
fn sweeps(@builtin(global_invocation_id) id: vec3<u32>) {
    let w = id.x;
    if (!runs(w)) {
        return;
    }
    let count = u32(contact[w]);
    if (header.problem == 1u) {
        // the position problem starts from the answer of the velocity problem
        for (var c = 0u; c < count; c++) {
            let row = ROW_LEN * c + ROW_IMPULSE;
            for (var i = 0u; i < 3u; i++) {
                rows[(row + 3u + i) * header.stride + w] = rows[(row + i) * header.stride + w];
            }
            //{patch_start}
        }
        for (var s = 0u; s < SCALAR_COUNT; s++) {
            let velocity = SCALAR_IMPULSE + s;
            rows[(velocity + SCALAR_COUNT) * header.stride + w] = rows[velocity * header.stride + w];
        }
    }
    var newton = NEWTON;
    //{patch_sweeps_only}
    var solved = false;
    var going = true;
    var before = header.infinity;
    var swept = 0u;
    // the first round has the certificate only: a second one elsewhere would be compiled once more
    for (var round = 0u; round <= ROUNDS && going; round++) {
        if (round > 0u) {
            for (var k = 0u; k < CHECK_EVERY; k++) {
                sweep(count, w);
            }
            swept += CHECK_EVERY;
        }
        solved = certify(count, w);
        going = !solved && (!newton || residual < CONTRACTS * before);
        before = residual;
    }
    if (header.problem == 0u) {
        contact[5u * header.stride + w] = 0.0;
    }
    contact[5u * header.stride + w] += f32(swept);
    contact[7u * header.stride + w] = 0.0;
    if (solved) {
        keep_answer(w);
    } else if (newton) {
        contact[7u * header.stride + w] = 1.0;
    } else {
        halt(w, NOT_SOLVED);
    }
}
