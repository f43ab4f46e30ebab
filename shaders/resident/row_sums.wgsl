// Stage `row_sums`, where Jacobi sweeps: of every row D_i, the sum over j of |W_ij| = |y_i . y_j|, which its steps are divided by; an invocation for each row, those of contacts first.

@compute @workgroup_size(64)
fn row_sums(@builtin(global_invocation_id) id: vec3<u32>) {
    let w = id.x;
    if (!runs(w)) {
        return;
    }
    let count = u32(contact[w]);
    var sum = 0.0;
    var kept = 0u;
    //{jacobi_own}
    if (id.y < 3u * CAPACITY) {
        let c = id.y / 3u;
        let i = id.y % 3u;
        if (c >= count) {
            return;
        }
        let row = ROW_LEN * c + ROW_Y + NV * i;
        //{jacobi_own_contact}
        sum = select(0.0, COMPLIANCE, i == 0u);
        kept = ROW_LEN * c + ROW_NEWTON + i;
    } else {
        let s = id.y - 3u * CAPACITY;
        let scalar = SCALAR + SCALAR_LEN * s;
        if (motion[scalar * header.stride + w] == 0.0) {
            return;
        }
        //{jacobi_own_scalar}
        kept = SCALAR_NEWTON + s;
    }
    for (var c = 0u; c < count; c++) {
        let row = ROW_LEN * c;
        //{jacobi_add_contact}
    }
    for (var s = 0u; s < SCALAR_COUNT; s++) {
        let scalar = SCALAR + SCALAR_LEN * s;
        if (motion[scalar * header.stride + w] != 0.0) {
            //{jacobi_add_scalar}
        }
    }
    rows[kept * header.stride + w] = sum;
}
