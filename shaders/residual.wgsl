// Stage residual, the twin of src/solver/residual.rs: the certificate.

@group(0) @binding(1) var<storage, read> delassus: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read> friction: array<f32>;
@group(0) @binding(4) var<storage, read> bounds: array<f32>;
@group(0) @binding(5) var<storage, read> impulse: array<f32>;
@group(0) @binding(6) var<storage, read_write> report: array<f32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn residual(@builtin(global_invocation_id) id: vec3<u32>) {
    let block = id.x;
    if block >= header.block_count {
        return;
    }
    let lanes = header.lane_count;
    let n = 3u * header.contact_count + header.scalar_count;
    let matrix = first_entry(block, n * n);
    let x = first_entry(block, n);
    let mu = first_entry(block, header.contact_count);
    let limit = first_entry(block, 2u * header.scalar_count);
    let outcome = first_entry(block, REPORT_LEN);
    var largest = 0.0;
    var magnitude = 0.0;
    var finite = true;
    for (var c = 0u; c < header.contact_count; c++) {
        let i = 3u * c;
        let row0 = matrix + n * i * lanes;
        let row1 = row0 + n * lanes;
        let row2 = row1 + n * lanes;
        // u = b + W λ
        var u = vec3(bias[x + i * lanes], bias[x + (i + 1u) * lanes], bias[x + (i + 2u) * lanes]);
        var sum = abs(u);
        for (var j = 0u; j < n; j++) {
            let k = j * lanes;
            let column = vec3(delassus[row0 + k], delassus[row1 + k], delassus[row2 + k]);
            let lambda = vec3(impulse[x + k]);
            u = fma(column, lambda, u);
            sum += abs(column * lambda);
        }
        let own = vec3(impulse[x + i * lanes], impulse[x + (i + 1u) * lanes], impulse[x + (i + 2u) * lanes]);
        let diagonal = vec3(
            delassus[row0 + i * lanes],
            delassus[row1 + (i + 1u) * lanes],
            delassus[row2 + (i + 2u) * lanes],
        );
        let slope = friction[mu + c * lanes];
        var error = 0.0;
        if header.law == LAW_CONE {
            let weight = scale((diagonal.x + diagonal.y + diagonal.z) * (1.0 / 3.0));
            // û_n = u_n + μ |u_t|
            let normal = fma(slope, sqrt(fma(u.y, u.y, u.z * u.z)), u.x);
            // |y − P_K(y − û)| with y = W_c λ
            let y = weight * own;
            let e = y - project_cone(y - vec3(normal, u.y, u.z), slope);
            error = sqrt(fma(e.x, e.x, fma(e.y, e.y, e.z * e.z)));
        } else {
            let radius = slope * own.x;
            let d = vec3(scale(diagonal.x), scale(diagonal.y), scale(diagonal.z));
            let target_point = own - u / d;
            let e0 = abs(own.x - larger(target_point.x, 0.0)) * d.x;
            let e1 = abs(own.y - project_interval(target_point.y, -radius, radius)) * d.y;
            let e2 = abs(own.z - project_interval(target_point.z, -radius, radius)) * d.z;
            finite = finite && is_finite(e0 + e1 + e2);
            error = larger(larger(e0, e1), e2);
        }
        finite = finite && is_finite(sum.x + sum.y + sum.z) && is_finite(error);
        largest = larger(error, largest);
        magnitude = larger(larger(larger(sum.x, sum.y), sum.z), magnitude);
    }
    for (var s = 0u; s < header.scalar_count; s++) {
        let i = 3u * header.contact_count + s;
        let row = matrix + n * i * lanes;
        // w = b + W λ
        var w = bias[x + i * lanes];
        var sum = abs(w);
        for (var j = 0u; j < n; j++) {
            let entry = delassus[row + j * lanes];
            let lambda = impulse[x + j * lanes];
            w = fma(entry, lambda, w);
            sum += abs(entry * lambda);
        }
        let own = impulse[x + i * lanes];
        let d = scale(delassus[row + i * lanes]);
        let low = limit + 2u * s * lanes;
        let error = abs(own - project_interval(own - w / d, bounds[low], bounds[low + lanes])) * d;
        finite = finite && is_finite(sum) && is_finite(error);
        largest = larger(error, largest);
        magnitude = larger(sum, magnitude);
    }
    let rounding = 4.0 * EPSILON * magnitude;
    let goal = larger(header.tolerance, smaller(rounding, TRUSTED_FLOOR * header.tolerance));
    let live = finite && goal < largest;
    report[outcome + REPORT_RESIDUAL * lanes] = select(header.infinity, largest, finite);
    report[outcome + REPORT_FLOOR * lanes] = select(0.0, rounding, finite);
    report[outcome + REPORT_LIVE * lanes] = select(0.0, 1.0, live);
}
