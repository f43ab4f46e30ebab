// What both solvers of a problem need: z = Y lambda, the certificate, and a sweep. header.problem is 0 for the velocity problem, 1 for the position problem.

//{private}
var<private> residual: f32;
var<private> rounding: f32;
//{patch_functions}

// z from the impulses themselves, and the residual and its rounding floor: of that what counts as solved.
fn certify(count: u32, w: u32) -> bool {
    //{clear}
    for (var c = 0u; c < count; c++) {
        let row = ROW_LEN * c;
        //{patch_ask_add}
        //{add_contact}
    }
    for (var s = 0u; s < SCALAR_COUNT; s++) {
        let scalar = SCALAR + SCALAR_LEN * s;
        if (motion[scalar * header.stride + w] != 0.0) {
            //{add_scalar}
        }
    }
    residual = 0.0;
    var magnitude = 0.0;
    var ok = true;
    for (var c = 0u; c < count; c++) {
        let row = ROW_LEN * c;
        //{patch_ask_check}
        var error = 0.0;
        var size = 0.0;
        //{check_contact}
        ok = ok && finite(error) && finite(size);
        residual = max(residual, error);
        magnitude = max(magnitude, size);
    }
    for (var s = 0u; s < SCALAR_COUNT; s++) {
        let scalar = SCALAR + SCALAR_LEN * s;
        if (motion[scalar * header.stride + w] != 0.0) {
            let bias = motion[(scalar + 2u + header.problem) * header.stride + w];
            var error = 0.0;
            var size = 0.0;
            //{check_scalar}
            ok = ok && finite(error) && finite(size);
            residual = max(residual, error);
            magnitude = max(magnitude, size);
        }
    }
    rounding = 4.0 * EPSILON * magnitude;
    // the tolerance, or the rounding floor up to so many times the tolerance
    return ok && residual <= max(TOLERANCE, min(rounding, TRUSTED_FLOOR));
}

fn sweep(count: u32, w: u32) {
    for (var c = 0u; c < count; c++) {
        let row = ROW_LEN * c;
        //{patch_ask_sweep}
        //{sweep_contact}
    }
    for (var s = 0u; s < SCALAR_COUNT; s++) {
        let scalar = SCALAR + SCALAR_LEN * s;
        if (motion[scalar * header.stride + w] != 0.0) {
            let bias = motion[(scalar + 2u + header.problem) * header.stride + w];
            //{sweep_scalar}
        }
    }
}

// z and the certificate of an answer.
fn keep_answer(w: u32) {
    //{keep_z}
    if (header.problem == 0u) {
        contact[3u * header.stride + w] = 0.0;
        contact[4u * header.stride + w] = 0.0;
    }
    contact[3u * header.stride + w] = max(contact[3u * header.stride + w], residual);
    contact[4u * header.stride + w] = max(contact[4u * header.stride + w], rounding);
}
