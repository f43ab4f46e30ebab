// Stage pgs, the twin of src/solver/pgs.rs: projected Gauss-Seidel sweeps over the live blocks.

@group(0) @binding(1) var<storage, read> delassus: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read> friction: array<f32>;
@group(0) @binding(4) var<storage, read> bounds: array<f32>;
@group(0) @binding(5) var<storage, read_write> impulse: array<f32>;
@group(0) @binding(6) var<storage, read_write> report: array<f32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn pgs(@builtin(global_invocation_id) id: vec3<u32>) {
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
    if !(0.0 < report[outcome + REPORT_LIVE * lanes]) {
        return;
    }
    for (var sweep = 0u; sweep < header.sweep_count; sweep++) {
        for (var c = 0u; c < header.contact_count; c++) {
            let i = 3u * c;
            let row0 = matrix + n * i * lanes;
            let row1 = row0 + n * lanes;
            let row2 = row1 + n * lanes;
            // u = b + W λ
            var u = vec3(bias[x + i * lanes], bias[x + (i + 1u) * lanes], bias[x + (i + 2u) * lanes]);
            for (var j = 0u; j < n; j++) {
                let k = j * lanes;
                u = fma(vec3(delassus[row0 + k], delassus[row1 + k], delassus[row2 + k]), vec3(impulse[x + k]), u);
            }
            let old = vec3(impulse[x + i * lanes], impulse[x + (i + 1u) * lanes], impulse[x + (i + 2u) * lanes]);
            // λ_n ← max(0, λ_n − u_n/W_nn)
            let new0 = larger(fma(-u.x, inverse(delassus[row0 + i * lanes]), old.x), 0.0);
            let change0 = new0 - old.x;
            u.y = fma(delassus[row1 + i * lanes], change0, u.y);
            u.z = fma(delassus[row2 + i * lanes], change0, u.z);
            let radius = friction[mu + c * lanes] * new0;
            let w11 = delassus[row1 + (i + 1u) * lanes];
            let w12 = delassus[row1 + (i + 2u) * lanes];
            let w22 = delassus[row2 + (i + 2u) * lanes];
            var tangent = vec2(0.0);
            if header.law == LAW_CONE {
                // λ_t ← disc(λ_t − u_t/a, μ λ_n)
                let step = inverse(larger(w11, w22) + abs(w12));
                tangent = project_disc(vec2(fma(-u.y, step, old.y), fma(-u.z, step, old.z)), radius);
            } else {
                // λ_t ← clamp(λ_t − u_t/W_tt, ±μ λ_n), one after the other
                tangent.x = project_interval(fma(-u.y, inverse(w11), old.y), -radius, radius);
                u.z = fma(delassus[row2 + (i + 1u) * lanes], tangent.x - old.y, u.z);
                tangent.y = project_interval(fma(-u.z, inverse(w22), old.z), -radius, radius);
            }
            impulse[x + i * lanes] = new0;
            impulse[x + (i + 1u) * lanes] = tangent.x;
            impulse[x + (i + 2u) * lanes] = tangent.y;
        }
        for (var s = 0u; s < header.scalar_count; s++) {
            let i = 3u * header.contact_count + s;
            let row = matrix + n * i * lanes;
            // w = b + W λ
            var w = bias[x + i * lanes];
            for (var j = 0u; j < n; j++) {
                w = fma(delassus[row + j * lanes], impulse[x + j * lanes], w);
            }
            // λ ← clamp(λ − w/W_ii, lower, upper)
            let low = limit + 2u * s * lanes;
            let free = fma(-w, inverse(delassus[row + i * lanes]), impulse[x + i * lanes]);
            impulse[x + i * lanes] = project_interval(free, bounds[low], bounds[low + lanes]);
        }
    }
    report[outcome + REPORT_SWEEPS * lanes] += f32(header.sweep_count);
}
