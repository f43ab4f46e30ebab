// Stages `velocity_newton` and `position_newton`: Newton on contact modes, for the worlds that sweeps left. With the law of every row as lambda' = h - M u',
// (1 + Y M Y^T) dz = Y (h - M u - lambda): as many unknowns as degrees of freedom, whatever touches. In changes, so that what M enlarges is small.

const SOFTEST = 1.0;
var<private> right: array<f32, NV>;

fn system(i: u32, j: u32, w: u32) -> u32 {
    return (SYSTEM + NV * i + j) * header.stride + w;
}

// Forms the system of all rows at z, and keeps their velocities. Returns the sum of squares of the natural map.
fn form(count: u32, delta: f32, w: u32) -> f32 {
    for (var i = 0u; i < NV; i++) {
        //{clear_system_row}
        rows[system(i, i, w)] = 1.0;
        right[i] = 0.0;
    }
    var merit = 0.0;
    for (var c = 0u; c < count; c++) {
        let row = ROW_LEN * c;
        var law: array<f32, 14>;
        //{contact_law}
        merit += law[12];
        //{add_contact_law}
    }
    for (var s = 0u; s < SCALAR_COUNT; s++) {
        let scalar = SCALAR + SCALAR_LEN * s;
        if (motion[scalar * header.stride + w] != 0.0) {
            let bias = motion[(scalar + 2u + PROBLEM) * header.stride + w];
            var law: array<f32, 4>;
            //{scalar_law}
            merit += law[2];
            //{add_scalar_law}
        }
    }
    return merit;
}

// Gauss without pivots: 1 + Y M Y^T is far from singular. Rows are taken whole, which leaves zeros where they are.
fn eliminate(w: u32) {
    for (var k = 0u; k + 1u < NV; k++) {
        let inverse = 1.0 / rows[system(k, k, w)];
        //{pivot_row}
        for (var i = k + 1u; i < NV; i++) {
            let factor = -rows[system(i, k, w)] * inverse;
            //{eliminate_row}
            right[i] = fma(factor, right[k], right[i]);
        }
    }
    for (var n = 0u; n < NV; n++) {
        let k = NV - 1u - n;
        var sum = right[k];
        for (var j = k + 1u; j < NV; j++) {
            sum = fma(-rows[system(k, j, w)], right[j], sum);
        }
        right[k] = sum / rows[system(k, k, w)];
    }
}

@compute @workgroup_size(64)
fn ENTRY(@builtin(global_invocation_id) id: vec3<u32>) {
    let w = id.x;
    if (!runs(w)) {
        return;
    }
    if (contact[7u * header.stride + w] == 0.0) {
        return;
    }
    let count = u32(contact[w]);
    var solved = certify(count, w);
    var delta = FIRST_DELTA;
    var steps = 0u;
    for (; steps < NEWTON_LIMIT && !solved; steps++) {
        let merit = form(count, delta, w);
        eliminate(w);
        // the step of every row, and the merit that steps of several lengths lead to
        var merits: array<f32, 5>;
        for (var c = 0u; c < count; c++) {
            let row = ROW_LEN * c;
            var law: array<f32, 14>;
            //{contact_law}
            //{contact_step}
            //{contact_merits}
        }
        for (var s = 0u; s < SCALAR_COUNT; s++) {
            let scalar = SCALAR + SCALAR_LEN * s;
            if (motion[scalar * header.stride + w] != 0.0) {
                let bias = motion[(scalar + 2u + PROBLEM) * header.stride + w];
                var law: array<f32, 4>;
                //{scalar_law}
                //{scalar_step}
                //{scalar_merits}
            }
        }
        var best = 0u;
        if (!(merits[0] < 0.1 * merit)) {
            for (var k = 1u; k < 5u; k++) {
                if (merits[k] < merits[best] || !finite(merits[best])) {
                    best = k;
                }
            }
        }
        // one that got nothing regularizes more, and sweeps
        if (merits[best] < merit) {
            var length = 1.0;
            //{length}
            for (var c = 0u; c < count; c++) {
                let row = ROW_LEN * c;
                for (var i = 0u; i < 3u; i++) {
                    let step = rows[(row + ROW_NEWTON + i) * header.stride + w];
                    rows[(row + ROW_IMPULSE + 3u * PROBLEM + i) * header.stride + w] += length * step;
                }
            }
            for (var s = 0u; s < SCALAR_COUNT; s++) {
                let scalar = SCALAR + SCALAR_LEN * s;
                if (motion[scalar * header.stride + w] != 0.0) {
                    let bias = motion[(scalar + 2u + PROBLEM) * header.stride + w];
                    var law: array<f32, 4>;
                    //{scalar_law}
                    //{scalar_step}
                    rows[(SCALAR_IMPULSE + PROBLEM * SCALAR_COUNT + s) * header.stride + w] += length * step0;
                }
            }
            delta = select(min(2.0 * delta, SOFTEST), max(0.1 * delta, LEAST_DELTA), best == 0u);
        } else {
            delta = min(10.0 * delta, SOFTEST);
            for (var k = 0u; k < 5u; k++) {
                sweep(count, w);
            }
        }
        solved = certify(count, w);
    }
    if (PROBLEM == 0u) {
        contact[6u * header.stride + w] = 0.0;
    }
    contact[6u * header.stride + w] += f32(steps);
    if (solved) {
        keep_answer(w);
    } else {
        halt(w, NOT_SOLVED);
    }
}
