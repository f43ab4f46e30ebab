// Stage `contact_terms`: biases, friction and first guess of the contacts and scalar rows.
//{patch_functions}

@compute @workgroup_size(64)
fn contact_terms(@builtin(global_invocation_id) id: vec3<u32>) {
    let w = id.x;
    if (w == 0u) {
        // nobody is listed yet
        for (var problem = 0u; problem < 2u; problem++) {
            atomicStore(&listed[problem], 0u);
            atomicStore(&listed[UNFINISHED + problem], 0u);
        }
    }
    if (!runs(w)) {
        return;
    }
    let count = u32(contact[w]);
    // the pace of the world: what throws reach, and what forces add in a step
    var fastest = 0.0;
    var kick = 0.0;
    if (ELASTIC) {
        for (var c = 0u; c < count; c++) {
            let row = ROW_LEN * c;
            for (var i = 0u; i < 3u; i++) {
                let free = rows[(row + ROW_FREE + i) * header.stride + w];
                let previous = rows[(row + ROW_PREVIOUS + i) * header.stride + w];
                fastest = max(fastest, max(abs(previous), abs(free)));
                kick = max(kick, select(0.0, abs(free - previous), i == 0u));
            }
            //{patch_pace}
        }
        for (var s = 0u; s < SCALAR_COUNT; s++) {
            let scalar = SCALAR + SCALAR_LEN * s;
            if (motion[scalar * header.stride + w] != 0.0) {
                fastest = max(fastest, abs(motion[(scalar + 2u) * header.stride + w]));
            }
        }
    }
    let forgets = state[(OUTCOME + FORGET) * header.stride + w] != 0.0;
    let remembered = select(u32(state[MEMORY * header.stride + w]), 0u, forgets);
    for (var c = 0u; c < count; c++) {
        let at = CONTACT_HEAD + CONTACT_LEN * c;
        let row = ROW_LEN * c;
        let pair_index = contact[at * header.stride + w];
        let feature = contact[(at + 1u) * header.stride + w];
        let gap = contact[(at + 8u) * header.stride + w];
        let pair = PAIR_LEN * u32(pair_index);
        let mu_a = given[(FRICTION + u32(tables[pair])) * header.stride + w];
        let mu_b = given[(FRICTION + u32(tables[pair + 1u])) * header.stride + w];
        let mode = i32(tables[pair + 11u]);
        var friction = tables[pair + 12u];
        if (mode == 1) {
            friction = select(mu_b, mu_a, mu_a > mu_b);
        } else if (mode == 2) {
            friction = mu_a;
        } else if (mode == 3) {
            friction = mu_b;
        }
        let restitution = tables[pair + 13u];
        //{patch_ask_terms}
        let free = rows[(row + ROW_FREE) * header.stride + w];
        let previous = rows[(row + ROW_PREVIOUS) * header.stride + w];
        let mean = rows[(row + ROW_MEAN) * header.stride + w];
        var target_velocity = 0.0;
        var position_velocity = 0.0;
        //{contact_targets}
        rows[(row + ROW_BIAS) * header.stride + w] = free - target_velocity;
        rows[(row + ROW_BIAS + 3u) * header.stride + w] = POSITION_SCALE * (mean - position_velocity);
        for (var i = 1u; i < 3u; i++) {
            rows[(row + ROW_BIAS + i) * header.stride + w] = rows[(row + ROW_FREE + i) * header.stride + w];
            rows[(row + ROW_BIAS + 3u + i) * header.stride + w] = POSITION_SCALE * rows[(row + ROW_MEAN + i) * header.stride + w];
        }
        rows[(row + ROW_FRICTION) * header.stride + w] = friction;
        // the impulse that this point of this pair had in the last step
        var impulse = vec3<f32>(0.0);
        for (var k = 0u; k < remembered; k++) {
            let kept = MEMORY + 1u + MEMORY_LEN * k;
            if (state[kept * header.stride + w] == pair_index && state[(kept + 1u) * header.stride + w] == feature) {
                impulse = vec3<f32>(
                    state[(kept + 2u) * header.stride + w],
                    state[(kept + 3u) * header.stride + w],
                    state[(kept + 4u) * header.stride + w]
                );
            }
            //{patch_vertex}
        }
        var guess = vec3<f32>(0.0);
        for (var i = 0u; i < 3u; i++) {
            guess[i] = dot(impulse, vec3<f32>(
                rows[(row + 3u * i) * header.stride + w],
                rows[(row + 3u * i + 1u) * header.stride + w],
                rows[(row + 3u * i + 2u) * header.stride + w]
            ));
        }
        //{first_guess}
    }
    for (var s = 0u; s < SCALAR_COUNT; s++) {
        let acts = motion[(SCALAR + SCALAR_LEN * s) * header.stride + w] != 0.0;
        let guess = select(state[(SCALAR_MEMORY + s) * header.stride + w], 0.0, forgets);
        let bounded = clamp(guess, tables[BOUND_TABLE + 2u * s], tables[BOUND_TABLE + 2u * s + 1u]);
        rows[(SCALAR_IMPULSE + s) * header.stride + w] = select(0.0, bounded, acts);
    }
}
