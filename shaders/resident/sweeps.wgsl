// Stages `velocity sweeps` and `position sweeps`: projected Gauss-Seidel through z = Y lambda, with certificate; a world where it does not contract is listed, and Newton goes on.
//{jacobi_private}
// which scalar rows act, a bit each: every sweep asks
var<private> acting: array<u32, ACTING_WORDS>;

// z from the impulses themselves, and the residual and its rounding floor: of that what counts as solved.
fn certify(count: u32, w: u32) -> bool {
    //{clear}
    for (var c = 0u; c < count; c++) {
        let row = ROW_LEN * c;
        //{patch_ask_add}
        //{add_contact}
    }
    for (var i = 0u; i < ACTING_WORDS; i++) {
        for (var left = acting[i]; left != 0u; left &= left - 1u) {
            let s = 32u * i + firstTrailingBit(left);
            let scalar = SCALAR + SCALAR_LEN * s;
            //{add_scalar}
        }
    }
    residual = 0.0;
    var magnitude = 0.0;
    for (var c = 0u; c < count; c++) {
        let row = ROW_LEN * c;
        //{patch_ask_check}
        var error = 0.0;
        var size = 0.0;
        //{check_contact}
        residual = max(residual, select(UNSOLVABLE, error, finite(error) && finite(size)));
        magnitude = max(magnitude, size);
    }
    for (var i = 0u; i < ACTING_WORDS; i++) {
        for (var left = acting[i]; left != 0u; left &= left - 1u) {
            let s = 32u * i + firstTrailingBit(left);
            let scalar = SCALAR + SCALAR_LEN * s;
            let bias = motion[(scalar + 2u + header.problem) * header.stride + w];
            var error = 0.0;
            var size = 0.0;
            //{check_scalar}
            residual = max(residual, select(UNSOLVABLE, error, finite(error) && finite(size)));
            magnitude = max(magnitude, size);
        }
    }
    rounding = 4.0 * EPSILON * magnitude;
    return is_solved();
}

fn sweep(count: u32, w: u32) {
    //{jacobi_begin}
    for (var c = 0u; c < count; c++) {
        let row = ROW_LEN * c;
        //{patch_ask_sweep}
        //{sweep_contact}
    }
    for (var i = 0u; i < ACTING_WORDS; i++) {
        for (var left = acting[i]; left != 0u; left &= left - 1u) {
            let s = 32u * i + firstTrailingBit(left);
            let scalar = SCALAR + SCALAR_LEN * s;
            let bias = motion[(scalar + 2u + header.problem) * header.stride + w];
            //{sweep_scalar}
        }
    }
    //{jacobi_end}
}

@compute @workgroup_size(64)
fn sweeps(@builtin(global_invocation_id) id: vec3<u32>) {
    let w = id.x;
    if (!runs(w)) {
        return;
    }
    let count = u32(contact[w]);
    if (!SMALL) {
        start(count, w);
    }
    for (var s = 0u; s < SCALAR_COUNT; s++) {
        let acts = motion[(SCALAR + SCALAR_LEN * s) * header.stride + w] != 0.0;
        acting[s / 32u] |= select(0u, 1u, acts) << (s % 32u);
    }
    var scalars = 0u;
    for (var i = 0u; i < ACTING_WORDS; i++) {
        scalars += countOneBits(acting[i]);
    }
    // what was swept already has its certificate here
    let rounds = select(ROUNDS, 0u, is_small(count, scalars));
    var solved = false;
    var going = true;
    var before = header.infinity;
    var swept = 0u;
    // the first round has the certificate only: a second one elsewhere would be compiled once more
    for (var round = 0u; round <= rounds && going; round++) {
        if (round > 0u) {
            for (var k = 0u; k < CHECK_EVERY; k++) {
                sweep(count, w);
            }
            swept += CHECK_EVERY;
        }
        solved = certify(count, w);
        going = !solved && (!NEWTON || residual < CONTRACTS * before);
        before = residual;
    }
    contact[5u * header.stride + w] += f32(swept);
    if (solved) {
        //{keep_z}
        keep_certificate(w);
    } else if (NEWTON) {
        // in any order: where a world stands in the list changes no bit of it
        let place = atomicAdd(&listed[header.problem], 1u);
        contact[LIST * header.stride + place] = f32(w);
    } else {
        halt(w, NOT_SOLVED);
    }
}
