// Stage jacobi, the twin of src/solver/jacobi.rs: projected Jacobi sweeps over the live blocks.

@group(0) @binding(1) var<storage, read> delassus: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read> friction: array<f32>;
@group(0) @binding(4) var<storage, read> bounds: array<f32>;
@group(0) @binding(5) var<storage, read_write> next_impulse: array<f32>;
@group(0) @binding(6) var<storage, read_write> impulse: array<f32>;
@group(0) @binding(7) var<storage, read_write> report: array<f32>;

@compute @workgroup_size(WORKGROUP_SIZE)
fn jacobi(@builtin(global_invocation_id) id: vec3<u32>) {
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
            // u = b + W λ, D = Σ |W|
            var u = vec3(bias[x + i * lanes], bias[x + (i + 1u) * lanes], bias[x + (i + 2u) * lanes]);
            var d = vec3(0.0);
            for (var j = 0u; j < n; j++) {
                let k = j * lanes;
                let column = vec3(delassus[row0 + k], delassus[row1 + k], delassus[row2 + k]);
                u = fma(column, vec3(impulse[x + k]), u);
                d += abs(column);
            }
            let old = vec3(impulse[x + i * lanes], impulse[x + (i + 1u) * lanes], impulse[x + (i + 2u) * lanes]);
            // λ_n ← max(0, λ_n − u_n/D_n)
            let new0 = larger(fma(-u.x, inverse(d.x), old.x), 0.0);
            let radius = friction[mu + c * lanes] * new0;
            var tangent = vec2(0.0);
            if header.law == LAW_CONE {
                // λ_t ← disc(λ_t − u_t/max(D_1, D_2), μ λ_n)
                let step = inverse(larger(d.y, d.z));
                tangent = project_disc(vec2(fma(-u.y, step, old.y), fma(-u.z, step, old.z)), radius);
            } else {
                // λ_t ← clamp(λ_t − u_t/D_t, ±μ λ_n)
                tangent.x = project_interval(fma(-u.y, inverse(d.y), old.y), -radius, radius);
                tangent.y = project_interval(fma(-u.z, inverse(d.z), old.z), -radius, radius);
            }
            next_impulse[x + i * lanes] = new0;
            next_impulse[x + (i + 1u) * lanes] = tangent.x;
            next_impulse[x + (i + 2u) * lanes] = tangent.y;
        }
        for (var s = 0u; s < header.scalar_count; s++) {
            let i = 3u * header.contact_count + s;
            let row = matrix + n * i * lanes;
            // w = b + W λ, D = Σ |W|
            var w = bias[x + i * lanes];
            var d = 0.0;
            for (var j = 0u; j < n; j++) {
                let entry = delassus[row + j * lanes];
                w = fma(entry, impulse[x + j * lanes], w);
                d += abs(entry);
            }
            // λ ← clamp(λ − w/D_i, lower, upper)
            let low = limit + 2u * s * lanes;
            let free = fma(-w, inverse(d), impulse[x + i * lanes]);
            next_impulse[x + i * lanes] = project_interval(free, bounds[low], bounds[low + lanes]);
        }
        for (var i = 0u; i < n; i++) {
            impulse[x + i * lanes] = next_impulse[x + i * lanes];
        }
    }
    report[outcome + REPORT_SWEEPS * lanes] += f32(header.sweep_count);
}
