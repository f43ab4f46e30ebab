// Where a problem begins, by whichever stage sweeps a world first: the position problem starts from the answer of the velocity problem.
fn start(count: u32, w: u32) {
    if (header.problem == 0u) {
        contact[5u * header.stride + w] = 0.0;
        return;
    }
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
