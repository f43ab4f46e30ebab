// A linear system of NV unknowns, solved by all invocations together: each has a column in its registers, one of them the right-hand side. Gauss and Jordan without pivots: what all ask for in a step is one
// column, which its invocation tells them, and what is left is the answer. Numbers of a column move up by one in a step, and so all steps are the same statements.
// The twin, whose lanes run in any order, is src/resident/elimination.rs.

const COLUMNS = NV + 1u;
const QUADS = (NV + 3u) / 4u;
//{column}
// a column of this step and one of the next
var<workgroup> pivots: array<vec4<f32>, 2u * QUADS>;
var<workgroup> answer: array<f32, NV>;

// 1 + Y M Y^T is far from singular.
fn eliminate(lane: u32) {
    for (var k = 0u; k < NV; k++) {
        let first = QUADS * (k % 2u);
        if (lane == k) {
            //{tell_column}
        }
        workgroupBarrier();
        // a quotient may be off by 2.5 units of its last place (WGSL, accuracy of f32 division), and what it is off is enlarged by 1/delta: corrected once
        let pivot = pivots[first].x;
        let quotient = column0 / pivot;
        let factor = fma(fma(-pivot, quotient, column0), 1.0 / pivot, quotient);
        //{clear_column}
    }
    if (lane == NV) {
        //{tell_answer}
    }
    workgroupBarrier();
}
