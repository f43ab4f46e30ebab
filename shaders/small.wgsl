// The twin of src/solver/sweeps.rs for blocks of a few contacts and nothing else: W, b, λ, μ and the steps of all rows lie in registers from here to the end. What stands between the braces is
// recorded from the functions of the CPU (src/gpu/small.rs).

@compute @workgroup_size(WORKGROUP_SIZE)
fn sweeps(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= header.block_count {
        return;
    }
    let b = block_of(header.first_block + id.x);
    if !(report[b.report + REPORT_LIVE * LANES] > 1.0) {
        return;
    }
    var done = u32(report[b.report + REPORT_SWEEPS * LANES]);
    if done == 0u {
        warm_start(b);
    }
    //{bring}
    //{steps}
    var residual = select(header.infinity, report[b.report + REPORT_RESIDUAL * LANES], done > 0u);
    var rounding = report[b.report + REPORT_FLOOR * LANES];
    var live = true;
    var swept = true;
    // the first turn has the certificate only, and that only of the first guess: a second one elsewhere would be compiled once more
    for (var turn = 0u; turn <= b.sweep_count && swept; turn++) {
        var looks = done == 0u;
        if turn > 0u {
            //{sweep}
            done += 1u;
            looks = done % header.check_every == 0u || done == header.iterations;
        }
        if looks {
            var largest = 0.0;
            var magnitude = 0.0;
            var finite = true;
            //{certify}
            let before = residual;
            let floor = 4.0 * EPSILON * magnitude;
            let goal = larger(header.tolerance, smaller(floor, TRUSTED_FLOOR * header.tolerance));
            residual = select(header.infinity, largest, finite);
            rounding = select(0.0, floor, finite);
            live = finite && goal < largest;
            let contracts = header.contracts == 0.0 || turn == 0u || residual < header.contracts * before;
            swept = live && done < header.iterations && contracts;
        }
    }
    //{keep}
    report[b.report + REPORT_RESIDUAL * LANES] = residual;
    report[b.report + REPORT_FLOOR * LANES] = rounding;
    report[b.report + REPORT_SWEEPS * LANES] = f32(done);
    report[b.report + REPORT_LIVE * LANES] = select(select(0.0, 1.0, live), SWEPT, swept);
}
