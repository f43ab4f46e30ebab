// `draw`: the control of all worlds, uniform, four actuators an invocation. It lies at the beginning of `motion`, from where it is copied to `given`. In integers and exact products only,
// so that its twin, `Draw::of`, gives the same bits. In `columns` stand the seed in four halves of words and the first world of the buffers in two, the lowest first, then of
// every actuator least, count and unit.

@group(0) @binding(7) var<storage, read_write> columns: array<f32>;

// What keeps these numbers apart from others that are hashed.
const CONTROL = 0x6374726cu;

fn word(k: u32) -> u32 {
    return u32(columns[k]) | (u32(columns[k + 1u]) << 16u);
}

fn mixed(v: vec4<u32>) -> vec4<u32> {
    var m = v;
    m.x += m.y * m.w;
    m.y += m.z * m.x;
    m.z += m.x * m.y;
    m.w += m.y * m.z;
    return m;
}

fn pcg4d(key: vec4<u32>) -> vec4<u32> {
    let v = mixed(key * 1664525u + 1013904223u);
    return mixed(v ^ (v >> vec4<u32>(16u)));
}

// floor(a b / 2^32)
fn high(a: u32, b: u32) -> u32 {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let one = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let other = (a & 0xffffu) * (b >> 16u) + (one & 0xffffu);
    return (a >> 16u) * (b >> 16u) + (one >> 16u) + (other >> 16u);
}

@compute @workgroup_size(64)
fn draw(@builtin(global_invocation_id) id: vec3<u32>) {
    let w = id.x;
    if (w >= header.world_count) {
        return;
    }
    let words = pcg4d(vec4<u32>(word(4u) + w, word(0u), id.y, CONTROL ^ word(2u)));
    for (var i = 0u; i < 4u; i++) {
        let u = 4u * id.y + i;
        if (u < NU) {
            let law = DRAWN + 3u * u;
            // (least + floor(word count / 2^32)) 2^e
            motion[u * header.stride + w] = (columns[law] + f32(high(words[i], u32(columns[law + 1u])))) * columns[law + 2u];
        }
    }
}
