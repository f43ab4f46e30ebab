// A linear system of NV unknowns in workgroup memory, solved by all invocations together; they lie over it in rows of eight, so that each has every eighth column.
// The twin, whose lanes run in any order, is src/resident/elimination.rs.

const COLUMNS = NV + 1u;
const LANE_ROWS = LANES / 8u;
// The system with its right-hand side as last column; while there is none, sums of the invocations.
var<workgroup> system: array<f32, SYSTEM_LEN>;
var<workgroup> answer: array<f32, NV>;

// Gauss without pivots: 1 + Y M Y^T is far from singular.
fn eliminate(lane: u32) {
    for (var k = 0u; k + 1u < NV; k++) {
        workgroupBarrier();
        let inverse = 1.0 / system[COLUMNS * k + k];
        for (var i = k + 1u + lane / 8u; i < NV; i += LANE_ROWS) {
            let factor = -system[COLUMNS * i + k] * inverse;
            for (var j = k + 1u + lane % 8u; j < COLUMNS; j += 8u) {
                system[COLUMNS * i + j] = fma(factor, system[COLUMNS * k + j], system[COLUMNS * i + j]);
            }
        }
    }
    for (var n = 0u; n < NV; n++) {
        workgroupBarrier();
        let k = NV - 1u - n;
        let x = system[COLUMNS * k + NV] / system[COLUMNS * k + k];
        for (var i = lane; i < k; i += LANES) {
            system[COLUMNS * i + NV] = fma(-system[COLUMNS * i + k], x, system[COLUMNS * i + NV]);
        }
        if (lane == 0u) {
            answer[k] = x;
        }
    }
    workgroupBarrier();
}

// The sum of what each of the first invocations has, one after another; `which` of several sums, an invocation each.
fn add_up(which: u32, lanes: u32) {
    var sum = 0.0;
    for (var k = 0u; k < lanes; k++) {
        sum += system[LANES * which + k];
    }
    system[LANES * which] = sum;
}
