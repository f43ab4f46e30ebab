// Stages `velocity small_sweeps` and `position small_sweeps`: of a world of few rows W = Y Y^T is formed in registers, and swept there; most need few sweeps. `velocity more_small_sweeps` and
// `position more_small_sweeps` sweep those that need more, and that the former have listed: neighbours wait for each other. The certificate that counts is that of `sweeps`, from Y itself.

@compute @workgroup_size(64)
fn small_sweeps(@builtin(global_invocation_id) id: vec3<u32>) {
    let again = header.turn == 1u;
    var w = id.x;
    if (again) {
        if (id.x >= atomicLoad(&listed[UNFINISHED + header.problem])) {
            return;
        }
        w = u32(contact[UNFINISHED_LIST * header.stride + id.x]);
    }
    if (!runs(w)) {
        return;
    }
    let count = u32(contact[w]);
    if (!again) {
        start(count, w);
    }
    // which scalar rows act
    //{small_scalars}
    var scalars = 0u;
    for (var s = 0u; s < SCALAR_COUNT; s++) {
        if (motion[(SCALAR + SCALAR_LEN * s) * header.stride + w] != 0.0) {
            //{small_take_scalar}
            scalars++;
        }
    }
    if (!is_small(count, scalars) || count + scalars == 0u) {
        return;
    }
    // the upper triangle of W, a component of z after another; what is not there is zero
    //{small_clear}
    for (var d = 0u; d < NV; d++) {
        //{small_bring_y}
        //{small_add}
    }
    //{small_constants}
    // b, lambda, friction and bounds
    //{small_bring}
    let rounds = select(SMALL_ROUNDS.x, SMALL_ROUNDS.y, again);
    var going = true;
    var swept = 0u;
    for (var round = 0u; round <= rounds && going; round++) {
        if (round > 0u) {
            for (var k = 0u; k < CHECK_EVERY; k++) {
                //{small_sweep}
            }
            swept += CHECK_EVERY;
        }
        var largest = 0.0;
        var error = 0.0;
        //{small_check}
        going = largest > SMALL_ENOUGH && largest < UNSOLVABLE;
    }
    //{small_keep}
    contact[5u * header.stride + w] += f32(swept);
    if (going && !again) {
        // in any order: where a world stands in the list changes no bit of it
        let place = atomicAdd(&listed[UNFINISHED + header.problem], 1u);
        contact[UNFINISHED_LIST * header.stride + place] = f32(w);
    }
}
