
// The impulse of a point that was a vertex of the patch which is remembered at `kept`; else `other`.
fn vertex_impulse(kept: u32, pair_index: f32, feature: f32, normal: vec3<f32>, other: vec3<f32>, w: u32) -> vec3<f32> {
    if (state[kept * header.stride + w] != pair_index || state[(kept + 1u) * header.stride + w] >= 0.0) {
        return other;
    }
    var impulse = other;
    for (var k = 0u; k < 4u; k++) {
        let pressure = state[(kept + 9u + k) * header.stride + w];
        if (state[(kept + 5u + k) * header.stride + w] == feature && pressure > 0.0) {
            impulse = kept_impulse(kept, w) + pressure * normal;
        }
    }
    return impulse;
}

fn kept_impulse(kept: u32, w: u32) -> vec3<f32> {
    return vec3(
        state[(kept + 2u) * header.stride + w],
        state[(kept + 3u) * header.stride + w],
        state[(kept + 4u) * header.stride + w],
    );
}

fn kept_four(first: u32, w: u32) -> vec4<f32> {
    return vec4(
        state[first * header.stride + w],
        state[(first + 1u) * header.stride + w],
        state[(first + 2u) * header.stride + w],
        state[(first + 3u) * header.stride + w],
    );
}

// Of four numbers, those of `own`.
fn matching(own: vec4<bool>, x: vec4<f32>) -> f32 {
    return dot(select(vec4(0.0), x, own), vec4(1.0));
}

// Biases and first guess of the rows of a patch, and what it is.
fn patch_terms(c: u32, friction: f32, restitution: f32, fastest: f32, kick: f32, remembered: u32, w: u32) {
    let at = CONTACT_HEAD + CONTACT_LEN * c;
    let row = ROW_LEN * c;
    let pair_index = contact[at * header.stride + w];
    let pair = PAIR_LEN * u32(pair_index);
    let normal = patch_vector(row, w);
    let features = patch_features(c, w);
    // what it transmitted in the last step, vertices matched by their features, or the point that it was
    var pressed = vec4<f32>(0.0);
    var slid = vec3<f32>(0.0);
    var turned = 0.0;
    for (var k = 0u; k < remembered; k++) {
        let kept = MEMORY + 1u + MEMORY_LEN * k;
        if (state[kept * header.stride + w] == pair_index) {
            slid = kept_impulse(kept, w);
            let feature = state[(kept + 1u) * header.stride + w];
            if (feature < 0.0) {
                let own = kept_four(kept + 5u, w);
                let before = kept_four(kept + 9u, w);
                pressed += vec4(
                    matching(own == vec4(features.x), before),
                    matching(own == vec4(features.y), before),
                    matching(own == vec4(features.z), before),
                    matching(own == vec4(features.w), before),
                );
                turned = state[(kept + 13u) * header.stride + w];
            } else {
                pressed = select(pressed, vec4(dot(normal, slid)), features == vec4(feature));
            }
        }
    }
    //{patch_terms}
    rows[(row + ROW_FRICTION) * header.stride + w] = friction;
    let guess = PatchImpulse(vec4(guess0, guess3, guess4, guess5), vec3(guess1, guess2, guess6));
    patch_put(row, patch_feasible(patch_shape(row, w), guess, friction), w);
}
