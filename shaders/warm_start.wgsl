// Stage warm_start, the twin of src/solver/warm_start.rs: makes the first guess feasible.

@group(0) @binding(1) var<storage, read> friction: array<f32>;
@group(0) @binding(2) var<storage, read> bounds: array<f32>;
@group(0) @binding(3) var<storage, read_write> impulse: array<f32>;
@group(0) @binding(4) var<storage, read_write> report: array<f32>;

// The guess, or 0 where it is not finite.
fn guess(index: u32) -> f32 {
    return select(0.0, impulse[index], is_finite(impulse[index]));
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn warm_start(@builtin(global_invocation_id) id: vec3<u32>) {
    let block = id.x;
    if block >= header.block_count {
        return;
    }
    let lanes = header.lane_count;
    let n = 3u * header.contact_count + header.scalar_count;
    let x = first_entry(block, n);
    let mu = first_entry(block, header.contact_count);
    let limit = first_entry(block, 2u * header.scalar_count);
    let outcome = first_entry(block, REPORT_LEN);
    for (var c = 0u; c < header.contact_count; c++) {
        let i = x + 3u * c * lanes;
        let normal = larger(guess(i), 0.0);
        let radius = friction[mu + c * lanes] * normal;
        var tangent = vec2(guess(i + lanes), guess(i + 2u * lanes));
        if header.law == LAW_CONE {
            tangent = project_disc(tangent, radius);
        } else {
            tangent.x = project_interval(tangent.x, -radius, radius);
            tangent.y = project_interval(tangent.y, -radius, radius);
        }
        impulse[i] = normal;
        impulse[i + lanes] = tangent.x;
        impulse[i + 2u * lanes] = tangent.y;
    }
    for (var s = 0u; s < header.scalar_count; s++) {
        let i = x + (3u * header.contact_count + s) * lanes;
        let low = limit + 2u * s * lanes;
        impulse[i] = project_interval(guess(i), bounds[low], bounds[low + lanes]);
    }
    report[outcome + REPORT_RESIDUAL * lanes] = 0.0;
    report[outcome + REPORT_FLOOR * lanes] = 0.0;
    report[outcome + REPORT_SWEEPS * lanes] = 0.0;
    report[outcome + REPORT_LIVE * lanes] = 1.0;
    report[outcome + REPORT_NEWTON_STEPS * lanes] = 0.0;
}
