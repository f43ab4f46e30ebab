// The patches of a block: where it has what of them, and the stages of `sweeps` on one of them. What a patch does stands in law.wgsl, sweeps.wgsl and certificate.wgsl.

// The rows of a patch: the normals, and t, o and torsion.
struct Rows {
    normal: vec4<u32>,
    friction: vec3<u32>,
}

fn patch_rows(b: Block, c: u32) -> Rows {
    let first = 3u * c;
    let more = 3u * b.contact_count + PATCH_ROWS * c;
    return Rows(vec4(first, more, more + 1u, more + 2u), vec3(first + 1u, first + 2u, more + 3u));
}

fn patch_shape(b: Block, c: u32) -> Shape {
    let at = b.contact + (b.contact_count + PATCH_LEN * c) * LANES;
    let lever = at + 4u * LANES;
    return Shape(
        vec3(friction[at], friction[at + LANES], friction[at + 2u * LANES]),
        friction[at + 3u * LANES] > 0.0,
        vec4(friction[lever], friction[lever + 2u * LANES], friction[lever + 4u * LANES], friction[lever + 6u * LANES]),
        vec4(
            friction[lever + LANES],
            friction[lever + 3u * LANES],
            friction[lever + 5u * LANES],
            friction[lever + 7u * LANES],
        ),
    );
}

// W_ij of four rows i.
fn patch_column4(b: Block, i: vec4<u32>, j: u32) -> vec4<f32> {
    return vec4(entry(b, i.x, j), entry(b, i.y, j), entry(b, i.z, j), entry(b, i.w, j));
}

// W_ij of three rows i.
fn patch_column(b: Block, i: vec3<u32>, j: u32) -> vec3<f32> {
    return vec3(entry(b, i.x, j), entry(b, i.y, j), entry(b, i.z, j));
}

fn patch_block(b: Block, rows: Rows) -> PatchBlock {
    let i = rows.normal;
    let f = rows.friction;
    return PatchBlock(
        mat4x4(patch_column4(b, i, i.x), patch_column4(b, i, i.y), patch_column4(b, i, i.z), patch_column4(b, i, i.w)),
        mat4x3(patch_column(b, f, i.x), patch_column(b, f, i.y), patch_column(b, f, i.z), patch_column(b, f, i.w)),
        mat3x3(patch_column(b, f, f.x), patch_column(b, f, f.y), patch_column(b, f, f.z)),
    );
}

fn patch_impulse(b: Block, rows: Rows) -> PatchImpulse {
    let x = vec4(b.row) + rows.normal * LANES;
    let y = vec3(b.row) + rows.friction * LANES;
    return PatchImpulse(
        vec4(impulse[x.x], impulse[x.y], impulse[x.z], impulse[x.w]),
        vec3(impulse[y.x], impulse[y.y], impulse[y.z]),
    );
}

fn patch_put(b: Block, rows: Rows, z: PatchImpulse) {
    let x = vec4(b.row) + rows.normal * LANES;
    let y = vec3(b.row) + rows.friction * LANES;
    impulse[x.x] = z.normal.x;
    impulse[x.y] = z.normal.y;
    impulse[x.z] = z.normal.z;
    impulse[x.w] = z.normal.w;
    impulse[y.x] = z.friction.x;
    impulse[y.y] = z.friction.y;
    impulse[y.z] = z.friction.z;
}

fn patch_add(sums: PatchRows, normal: vec4<u32>, tangential: vec3<u32>, z: f32) -> PatchRows {
    let a = vec4(delassus[normal.x], delassus[normal.y], delassus[normal.z], delassus[normal.w]);
    let f = vec3(delassus[tangential.x], delassus[tangential.y], delassus[tangential.z]);
    return PatchRows(
        fma(a, vec4(z), sums.normal),
        fma(f, vec3(z), sums.friction),
        sums.normal_terms + abs(a * z),
        sums.friction_terms + abs(f * z),
    );
}

// What a stage does not use of it is not computed: compilers see to that.
fn patch_velocity(b: Block, rows: Rows) -> PatchRows {
    let x = vec4(b.row) + rows.normal * LANES;
    let y = vec3(b.row) + rows.friction * LANES;
    let normal = vec4(bias[x.x], bias[x.y], bias[x.z], bias[x.w]);
    let tangential = vec3(bias[y.x], bias[y.y], bias[y.z]);
    var sums = PatchRows(normal, tangential, abs(normal), abs(tangential));
    var i = vec4(b.matrix) + rows.normal * (b.row_count * LANES);
    var j = vec3(b.matrix) + rows.friction * (b.row_count * LANES);
    var z = b.row;
    for (var d = 0u; d < b.contact_count; d++) {
        sums = patch_add(sums, i, j, impulse[z]);
        sums = patch_add(sums, i + LANES, j + LANES, impulse[z + LANES]);
        sums = patch_add(sums, i + 2u * LANES, j + 2u * LANES, impulse[z + 2u * LANES]);
        i += vec4(3u * LANES);
        j += vec3(3u * LANES);
        z += 3u * LANES;
    }
    for (var t = 0u; t < b.scalar_count; t++) {
        sums = patch_add(sums, i, j, impulse[z]);
        i += vec4(LANES);
        j += vec3(LANES);
        z += LANES;
    }
    return sums;
}

// The first guess of the patches.
fn make_feasible(b: Block) {
    for (var c = 0u; c < b.patch_count; c++) {
        let rows = patch_rows(b, c);
        let x = vec4(b.row) + rows.normal * LANES;
        let y = vec3(b.row) + rows.friction * LANES;
        let guessed = PatchImpulse(
            vec4(guess(x.x), guess(x.y), guess(x.z), guess(x.w)),
            vec3(guess(y.x), guess(y.y), guess(y.z)),
        );
        patch_put(b, rows, patch_feasible(patch_shape(b, c), guessed, friction[b.contact + c * LANES]));
    }
}

fn sweep_patch(b: Block, c: u32) {
    let rows = patch_rows(b, c);
    let sums = patch_velocity(b, rows);
    let slope = friction[b.contact + c * LANES];
    let own = patch_block(b, rows);
    patch_put(b, rows, patch_swept(patch_shape(b, c), own, sums, patch_impulse(b, rows), slope));
}

fn patch_certify(b: Block, c: u32) -> Certificate {
    let rows = patch_rows(b, c);
    let normal = vec4(
        entry(b, rows.normal.x, rows.normal.x),
        entry(b, rows.normal.y, rows.normal.y),
        entry(b, rows.normal.z, rows.normal.z),
        entry(b, rows.normal.w, rows.normal.w),
    );
    let tangential = vec3(
        entry(b, rows.friction.x, rows.friction.x),
        entry(b, rows.friction.y, rows.friction.y),
        entry(b, rows.friction.z, rows.friction.z),
    );
    let slope = friction[b.contact + c * LANES];
    return patch_certificate(patch_shape(b, c), patch_velocity(b, rows), patch_impulse(b, rows), slope, normal, tangential);
}

