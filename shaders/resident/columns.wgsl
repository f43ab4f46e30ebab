// `gather` and `scatter`: the state of some worlds, to and from a buffer of their own: first their list, MOVED places, -1 where there is none; then [component][place].

@group(0) @binding(7) var<storage, read_write> columns: array<f32>;

@compute @workgroup_size(64)
fn gather(@builtin(global_invocation_id) id: vec3<u32>) {
    if (columns[id.x] >= 0.0) {
        columns[(1u + id.y) * MOVED + id.x] = state[id.y * header.stride + u32(columns[id.x])];
    }
}

@compute @workgroup_size(64)
fn scatter(@builtin(global_invocation_id) id: vec3<u32>) {
    if (columns[id.x] >= 0.0) {
        state[id.y * header.stride + u32(columns[id.x])] = columns[(1u + id.y) * MOVED + id.x];
    }
}
