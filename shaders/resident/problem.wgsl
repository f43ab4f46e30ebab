// What both solvers of a problem share: z of the invocation that sweeps, and what becomes of an answer. header.problem is 0 for the velocity problem, 1 for the position problem.

//{private}
var<private> residual: f32;
var<private> rounding: f32;
//{patch_functions}

// Whether that counts as solved: within the tolerance, or the rounding floor up to so many times the tolerance.
fn is_solved() -> bool {
    return residual <= max(TOLERANCE, min(rounding, TRUSTED_FLOOR));
}

// The certificate of an answer.
fn keep_certificate(w: u32) {
    if (header.problem == 0u) {
        contact[3u * header.stride + w] = 0.0;
        contact[4u * header.stride + w] = 0.0;
    }
    contact[3u * header.stride + w] = max(contact[3u * header.stride + w], residual);
    contact[4u * header.stride + w] = max(contact[4u * header.stride + w], rounding);
}
