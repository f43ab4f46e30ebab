
// Where the k-th vertex of the contact at `at` begins; in the place of the pair the further ones say whether they are there.
fn vertex_of(at: u32, k: u32) -> u32 {
    return at + VERTEX_LEN * k + select(VERTEX - VERTEX_LEN, 0u, k == 0u);
}

// Keeps the points together that a pair has within the threshold, as candidate `slot` if there is room. Returns the deepest overlap after the free motion, at least 0, or -1 where there is no point.
fn take_patch(p: u32, slot: u32, flat: bool, w: u32) -> f32 {
    let at = CONTACT_HEAD + CONTACT_LEN * slot;
    let room = slot < CAPACITY;
    var deepest = -1.0;
    if (room) {
        contact[at * header.stride + w] = f32(p);
        contact[(at + CONTACT_KIND) * header.stride + w] = select(1.0, 2.0, flat);
        contact[(at + CONTACT_KIND + 1u) * header.stride + w] = select(0.0, found[POINTS_LEN + 1u], flat);
        contact[(at + LOWEST) * header.stride + w] = found[POINTS_LEN + 2u];
    }
    for (var k = 0u; k < 4u; k++) {
        let point = POINT_LEN * k;
        let kept = found[point + 8u] != 0.0;
        if (kept) {
            deepest = max(max(deepest, 0.0), found[point + 9u]);
        }
        if (room) {
            let to = vertex_of(at, k);
            contact[(to + 1u) * header.stride + w] = found[point + 7u];
            for (var i = 0u; i < 7u; i++) {
                contact[(to + 2u + i) * header.stride + w] = found[point + i];
            }
            contact[(to + 9u) * header.stride + w] = select(FAR, found[point + 10u], kept);
        }
    }
    return deepest;
}

// Of the patch at `at` keeps the disc, or the vertices that may close their gap by `reach`, the first of them in front. One vertex without torsion is a point.
fn settle_patch(at: u32, reach: f32, w: u32) {
    let flat = contact[(at + CONTACT_KIND) * header.stride + w] == 2.0;
    let pair = PAIR_LEN * u32(contact[at * header.stride + w]);
    var vertices = 0u;
    var lowest = FAR;
    for (var k = 0u; k < 4u; k++) {
        let its = vertex_of(at, k);
        if (contact[(its + 9u) * header.stride + w] < reach) {
            vertices++;
            lowest = min(lowest, contact[(its + 8u) * header.stride + w]);
            if (!(contact[(at + 9u) * header.stride + w] < reach)) {
                for (var i = 1u; i < VERTEX_LEN; i++) {
                    let first = contact[(at + i) * header.stride + w];
                    contact[(at + i) * header.stride + w] = contact[(its + i) * header.stride + w];
                    contact[(its + i) * header.stride + w] = first;
                }
            }
        }
    }
    for (var k = 1u; k < 4u; k++) {
        let its = vertex_of(at, k);
        let there = contact[(its + 9u) * header.stride + w] < reach;
        contact[its * header.stride + w] = select(0.0, 1.0, there);
    }
    if (!flat) {
        contact[(at + LOWEST) * header.stride + w] = lowest;
        if (vertices == 1u && tables[pair + 21u] == 0.0) {
            contact[(at + CONTACT_KIND) * header.stride + w] = 0.0;
        }
    }
}
