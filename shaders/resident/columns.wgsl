// `gather` and `scatter`: the state of some worlds, to and from a buffer of their own: first their list, MOVED places, one more than each, 0 where there is none; then [component][place].
// `look` lists worlds that have halted and that it has not listed before, as many as there are places for; in any order.

@group(0) @binding(7) var<storage, read_write> columns: array<f32>;

@compute @workgroup_size(64)
fn gather(@builtin(global_invocation_id) id: vec3<u32>) {
    if (columns[id.x] > 0.0) {
        columns[(1u + id.y) * MOVED + id.x] = state[id.y * header.stride + u32(columns[id.x]) - 1u];
    }
}

@compute @workgroup_size(64)
fn scatter(@builtin(global_invocation_id) id: vec3<u32>) {
    if (columns[id.x] > 0.0) {
        state[id.y * header.stride + u32(columns[id.x]) - 1u] = columns[(1u + id.y) * MOVED + id.x];
    }
}

@compute @workgroup_size(64)
fn look(@builtin(global_invocation_id) id: vec3<u32>) {
    let w = id.x;
    if (w >= header.world_count) {
        return;
    }
    let halted = (OUTCOME + HALT) * header.stride + w;
    let why = state[halted];
    if (why > 0.0 && why != ASKED) {
        let place = atomicAdd(&listed[2], 1u);
        if (place < MOVED) {
            columns[place] = f32(w) + 1.0;
            state[halted] = -why;
        }
    }
}
