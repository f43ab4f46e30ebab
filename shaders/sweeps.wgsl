// The twin of src/solver/sweeps.rs: one problem of every block, from the first guess to the certificate. A block leaves when it is done; what one dispatch leaves
// (SWEPT), the next one takes on from where it stands.

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
    var swept = true;
    if done == 0u {
        warm_start(b);
        make_feasible(b);
        residual(b);
        swept = report[b.report + REPORT_LIVE * LANES] > 0.0 && 0u < header.iterations;
    }
    for (var sweep = 0u; sweep < b.sweep_count && swept; sweep++) {
        if header.algorithm == ALGORITHM_PGS {
            pgs(b);
        } else {
            jacobi(b);
        }
        done += 1u;
        if done % header.check_every == 0u || done == header.iterations {
            let before = report[b.report + REPORT_RESIDUAL * LANES];
            residual(b);
            let contracts = header.contracts == 0.0
                || report[b.report + REPORT_RESIDUAL * LANES] < header.contracts * before;
            swept = report[b.report + REPORT_LIVE * LANES] > 0.0 && done < header.iterations && contracts;
        }
    }
    report[b.report + REPORT_SWEEPS * LANES] = f32(done);
    if swept {
        report[b.report + REPORT_LIVE * LANES] = SWEPT;
    }
}
