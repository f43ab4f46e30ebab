// Stage `contacts`: the points of every pair that is near, in the order of the pairs; of them those that the free motion, or what stops it, may close.

var<private> found: array<f32, FOUND_LEN>;

//{points}
//{patch_functions}

fn vector(first: u32, w: u32) -> vec3<f32> {
    return vec3<f32>(
        motion[first * header.stride + w],
        motion[(first + 1u) * header.stride + w],
        motion[(first + 2u) * header.stride + w]
    );
}

@compute @workgroup_size(64)
fn contacts(@builtin(global_invocation_id) id: vec3<u32>) {
    let w = id.x;
    if (!runs(w)) {
        return;
    }
    var candidates = 0u;
    var deepest = 0.0;
    var lost = false;
    for (var p = 0u; p < PAIR_COUNT; p++) {
        let pair = PAIR_LEN * p;
        let a = u32(tables[pair]);
        let b = u32(tables[pair + 1u]);
        // the threshold within which a point counts, and the bounding spheres, or plane and sphere
        let travel = motion[(POSE + 13u * a + 12u) * header.stride + w] + motion[(POSE + 13u * b + 12u) * header.stride + w];
        let threshold = travel + (REACH + tables[pair + 7u]);
        let limit = threshold + tables[pair + 8u];
        let d = vector(POSE + 13u * b, w) - vector(POSE + 13u * a, w);
        var near = limit > 0.0 && dot(d, d) < limit * limit;
        if (tables[pair + 10u] != 0.0) {
            near = dot(vector(POSE + 13u * a + 9u, w), d) < limit;
        }
        let formula = i32(tables[pair + 6u]);
        if (!near || formula < 0) {
            continue;
        }
        let guards = formula >= i32(GUARD);
        switch select(formula, formula - i32(GUARD), guards) {
            //{choose_points}
            default: {}
        }
        lost = lost || found[4u * POINT_LEN] != 0.0;
        //{patch_take}
        for (var k = 0u; k < 4u; k++) {
            let point = POINT_LEN * k;
            if (found[point + 8u] == 0.0) {
                continue;
            }
            if (guards) {
                lost = true;
                continue;
            }
            deepest = max(deepest, found[point + 9u]);
            if (candidates < CAPACITY) {
                let at = CONTACT_HEAD + CONTACT_LEN * candidates;
                contact[at * header.stride + w] = f32(p);
                contact[(at + 1u) * header.stride + w] = found[point + 7u];
                for (var i = 0u; i < 7u; i++) {
                    contact[(at + 2u + i) * header.stride + w] = found[point + i];
                }
                contact[(at + 9u) * header.stride + w] = found[point + 10u];
                //{patch_none}
            }
            candidates++;
        }
    }
    // what stops the deepest motion may throw other parts as far
    var count = 0u;
    var penetration = 0.0;
    for (var c = 0u; c < min(candidates, CAPACITY); c++) {
        let at = CONTACT_HEAD + CONTACT_LEN * c;
        //{patch_settle}
        if (contact[(at + 9u) * header.stride + w] < REACH + deepest) {
            if (count < c) {
                let to = CONTACT_HEAD + CONTACT_LEN * count;
                for (var i = 0u; i < CONTACT_LEN; i++) {
                    contact[(to + i) * header.stride + w] = contact[(at + i) * header.stride + w];
                }
            }
            penetration = max(penetration, -contact[(CONTACT_HEAD + CONTACT_LEN * count + LOWEST) * header.stride + w]);
            count++;
        }
    }
    contact[w] = f32(count);
    contact[header.stride + w] = f32(count);
    contact[6u * header.stride + w] = 0.0;
    contact[2u * header.stride + w] = penetration;
    if (lost || count > CONTACT_LIMIT) {
        halt(w, NO_FORMULA);
    } else if (candidates > CAPACITY) {
        halt(w, NO_ROOM);
    }
}
