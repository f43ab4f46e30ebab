// Stages `velocity_newton` and `position_newton`: Newton on contact modes, for the worlds that sweeps listed, a workgroup each. With the law of every row as
// lambda' = h - M u', (1 + Y M Y^T) dz = Y (h - M u - lambda): as many unknowns as degrees of freedom, whatever touches. In changes, so that what M enlarges is small.
//
// What its steps do not solve goes on after some of alternating directions, which are steps of the same system with other laws (src/resident/split.rs), and Newton from there.
//
// A world's rows are those of its contacts, CONTACT_ROWS each, and then the scalar rows that act. Y of TILE_ROWS of them, a tile, lies in workgroup memory with all that is asked of their contacts: of all of
// them, where they are no more. A contact or scalar row is an invocation's; so is a component of z, and a column of the system.

const SOFTEST = 1.0;
// which number of a law stands on the right-hand side
const RIGHT = vec4<f32>(0.0, 0.0, 0.0, 1.0);
// what a step is: of Newton, the first of alternating directions, or a further one
const NEWTON_STEP = 0u;
const FIRST_SPLIT = 1u;
const SPLIT = 2u;

var<workgroup> z: array<f32, NV>;
// sums of the magnitudes of z's terms
var<workgroup> m: array<f32, NV>;
// Y, shape [row][NV], zero where a row does not act
var<workgroup> tile: array<f32, TILE_ROWS * NV>;
// of every row M and last g = h - M u - lambda, what the law lacks at u; of a scalar row M is the first number
var<workgroup> laws: array<vec4<f32>, LAW_QUADS * TILE_ROWS>;
//{newton_own}
// which scalar rows act, and of each of them b, lambda, W, its bounds, and what Newton keeps
var<workgroup> acting: array<u32, SCALAR_ROOM>;
var<workgroup> scalar_own: array<f32, SCALAR_OWN * SCALAR_ROOM>;
// what the first invocation tells the others
var<workgroup> told: vec2<u32>;

// How many contacts a world has, and how many scalar rows that act.
struct Size {
    contacts: u32,
    scalars: u32,
}

// What lies in a tile that begins with a row: which contacts, and which of the scalar rows that act.
struct Tile {
    first: u32,
    count: u32,
    contacts: vec2<u32>,
    scalars: vec2<u32>,
}

fn row_count(size: Size) -> u32 {
    return CONTACT_ROWS * size.contacts + size.scalars;
}

fn tile_of(first: u32, size: Size) -> Tile {
    let bounds = vec2<u32>(first, first + TILE_ROWS);
    let contact_rows = vec2<u32>(CONTACT_ROWS * size.contacts);
    let scalars = clamp(bounds, contact_rows, contact_rows + size.scalars) - contact_rows;
    return Tile(first, size.contacts, min(bounds, contact_rows) / CONTACT_ROWS, scalars);
}

// The rows of a contact and of a scalar row in their tile.
fn contact_row(t: Tile, c: u32) -> u32 {
    return CONTACT_ROWS * c - t.first;
}

fn scalar_row(t: Tile, s: u32) -> u32 {
    return CONTACT_ROWS * t.count + s - t.first;
}

// Lists the scalar rows that act in their order, and brings what belongs to them. Returns how many.
fn list_acting(lane: u32, w: u32) -> u32 {
    workgroupBarrier();
    for (var s = lane; s < SCALAR_COUNT; s += LANES) {
        scalar_own[s] = select(0.0, 1.0, motion[(SCALAR + SCALAR_LEN * s) * header.stride + w] != 0.0);
    }
    workgroupBarrier();
    for (var s = lane; s < SCALAR_COUNT; s += LANES) {
        var before = 0.0;
        for (var k = 0u; k < s; k++) {
            before += scalar_own[k];
        }
        if (scalar_own[s] != 0.0) {
            acting[u32(before)] = s;
        }
    }
    if (lane == 0u) {
        var all = 0.0;
        for (var s = 0u; s < SCALAR_COUNT; s++) {
            all += scalar_own[s];
        }
        told = vec2<u32>(u32(all));
    }
    let count = workgroupUniformLoad(&told).x;
    for (var i = lane; i < count; i += LANES) {
        let s = acting[i];
        let scalar = SCALAR + SCALAR_LEN * s;
        let own = SCALAR_OWN * i;
        scalar_own[own] = motion[(scalar + 2u + header.problem) * header.stride + w];
        scalar_own[own + 1u] = rows[(SCALAR_IMPULSE + header.problem * SCALAR_COUNT + s) * header.stride + w];
        scalar_own[own + 2u] = motion[(scalar + 1u) * header.stride + w];
        scalar_own[own + 3u] = tables[BOUND_TABLE + 2u * s];
        scalar_own[own + 4u] = tables[BOUND_TABLE + 2u * s + 1u];
    }
    return count;
}

// Brings Y of the rows of the tile that begins with a row, if it is not there. `loaded`: the first row of the tile that is.
fn load(first: u32, size: Size, loaded: ptr<function, u32>, lane: u32, w: u32) -> Tile {
    let t = tile_of(first, size);
    if (*loaded == first) {
        return t;
    }
    workgroupBarrier();
    //{newton_keep_own}
    workgroupBarrier();
    for (var k = CONTACT_ROWS * NV * t.contacts.x + lane; k < CONTACT_ROWS * NV * t.contacts.y; k += LANES) {
        let c = k / (CONTACT_ROWS * NV);
        let of_contact = k % (CONTACT_ROWS * NV);
        //{patch_load}
        tile[k - NV * t.first] = rows[(ROW_LEN * c + ROW_Y + of_contact) * header.stride + w];
    }
    //{newton_bring_own}
    for (var k = NV * t.scalars.x + lane; k < NV * t.scalars.y; k += LANES) {
        let s = k / NV;
        let scalar = SCALAR + SCALAR_LEN * acting[s] + SCALAR_HEAD;
        tile[NV * scalar_row(t, s) + k % NV] = motion[(scalar + k % NV) * header.stride + w];
    }
    workgroupBarrier();
    *loaded = first;
    return t;
}

// Y of a contact in its tile, column d.
fn contact_y(at: u32, d: u32) -> vec3<f32> {
    return vec3<f32>(tile[NV * at + d], tile[NV * (at + 1u) + d], tile[NV * (at + 2u) + d]);
}

// system + Y M Y^T and right-hand side + Y g, of the rows of a tile: a column is an invocation's.
fn add_laws(t: Tile, lane: u32) {
    if (lane >= COLUMNS) {
        return;
    }
    let right = lane == NV;
    let column = min(lane, NV - 1u);
    for (var c = t.contacts.x; c < t.contacts.y; c++) {
        let at = contact_row(t, c);
        // M Y, or g
        //{newton_push_contact}
        //{newton_add_contact_column}
    }
    for (var s = t.scalars.x; s < t.scalars.y; s++) {
        let at = scalar_row(t, s);
        let pushed = select(laws[LAW_QUADS * at].x * tile[NV * at + column], laws[LAW_QUADS * at + LAW_QUADS - 1u].w, right);
        //{newton_add_scalar_column}
    }
}

// z from the impulses themselves. `loaded`: first row of the tile in workgroup memory.
fn add_impulses(size: Size, loaded: ptr<function, u32>, lane: u32, w: u32) {
    var z_own = 0.0;
    var m_own = 0.0;
    for (var first = 0u; first < row_count(size); first += TILE_ROWS) {
        let t = load(first, size, loaded, lane, w);
        if (lane < NV) {
            for (var c = t.contacts.x; c < t.contacts.y; c++) {
                let row = ROW_LEN * c;
                let at = contact_row(t, c);
                //{patch_add_one}
                //{newton_own_at}
                let y = contact_y(at, lane);
                //{newton_add_contact}
            }
            for (var s = t.scalars.x; s < t.scalars.y; s++) {
                let scalar = SCALAR_OWN * s;
                let y = tile[NV * scalar_row(t, s) + lane];
                //{newton_add_scalar}
            }
        }
    }
    if (lane < NV) {
        z[lane] = z_own;
        m[lane] = m_own;
    }
    workgroupBarrier();
}

// How many invocations have a contact or scalar row of their own.
fn lanes_of_units(size: Size) -> u32 {
    return min(LANES, max(size.contacts, size.scalars));
}

// The residual and its rounding floor: whether the problem is solved.
fn certify(size: Size, loaded: ptr<function, u32>, lane: u32, w: u32) -> bool {
    var worst = 0.0;
    var magnitude = 0.0;
    for (var first = 0u; first < row_count(size); first += TILE_ROWS) {
        let t = load(first, size, loaded, lane, w);
        for (var c = t.contacts.x + lane; c < t.contacts.y; c += LANES) {
            let row = ROW_LEN * c;
            let at = NV * contact_row(t, c);
            //{patch_check_in_tile}
            //{newton_own_at}
            var error = 0.0;
            var terms = 0.0;
            //{newton_check_contact}
            worst = max(worst, select(UNSOLVABLE, error, finite(error) && finite(terms)));
            magnitude = max(magnitude, terms);
        }
        for (var s = t.scalars.x + lane; s < t.scalars.y; s += LANES) {
            let scalar = SCALAR_OWN * s;
            let at = NV * scalar_row(t, s);
            var error = 0.0;
            var terms = 0.0;
            //{newton_check_scalar}
            worst = max(worst, select(UNSOLVABLE, error, finite(error) && finite(terms)));
            magnitude = max(magnitude, terms);
        }
    }
    sums[lane] = worst;
    sums[LANES + lane] = magnitude;
    workgroupBarrier();
    if (lane == 0u) {
        // the others have none
        for (var k = 1u; k < lanes_of_units(size); k++) {
            worst = max(worst, sums[k]);
            magnitude = max(magnitude, sums[LANES + k]);
        }
        residual = worst;
        rounding = 4.0 * EPSILON * magnitude;
        told = vec2<u32>(select(0u, 1u, is_solved()));
    }
    return workgroupUniformLoad(&told).x == 1u;
}

// A step from z: of Newton, if one gets anything, or of alternating directions. Returns delta of the next one.
fn newton_step(size: Size, kind: u32, delta: f32, loaded: ptr<function, u32>, lane: u32, w: u32) -> f32 {
    //{newton_clear_system}
    // merits after steps of several lengths, and before
    var merits: array<f32, SUMS>;
    // the laws of all rows twice, which one place in the code has: for the system, and for the step that its answer is for each of them
    for (var phase = 0u; phase < 2u; phase++) {
        if (phase == 1u) {
            eliminate(lane);
        }
        for (var first = 0u; first < row_count(size); first += TILE_ROWS) {
            let t = load(first, size, loaded, lane, w);
            for (var c = t.contacts.x + lane; c < t.contacts.y; c += LANES) {
                let row = ROW_LEN * c;
                let at = contact_row(t, c);
                //{patch_step_in_tile}
                // u = b + Y^T z, and its change Y^T dz
                //{newton_own_at}
                //{newton_impulse_and_bias}
                var u_step = vec3<f32>(0.0);
                for (var d = 0u; d < NV; d++) {
                    u = fma(contact_y(at, d), vec3<f32>(z[d]), u);
                    u_step = fma(contact_y(at, d), vec3<f32>(answer[d]), u_step);
                }
                var law: array<f32, 14>;
                if (kind == NEWTON_STEP) {
                    //{newton_contact_law}
                } else {
                    //{newton_split_contact}
                }
                // g = h - M u - lambda, and the step g - M Y^T dz
                var lack = vec3<f32>(law[9], law[10], law[11]) - impulse;
                let columns = mat3x3<f32>(law[0], law[3], law[6], law[1], law[4], law[7], law[2], law[5], law[8]);
                lack -= columns * u;
                if (phase == 0u) {
                    merits[MERIT_NOW] += law[12];
                    //{newton_keep_law}
                } else {
                    let step = lack - columns * u_step;
                    if (kind == NEWTON_STEP) {
                        //{newton_keep_step}
                        //{newton_contact_merits}
                    } else {
                        //{newton_part_contact}
                    }
                }
            }
            for (var s = t.scalars.x + lane; s < t.scalars.y; s += LANES) {
                let at = scalar_row(t, s);
                let scalar = SCALAR_OWN * s;
                let impulse = scalar_own[scalar + 1u];
                var u = scalar_own[scalar];
                var u_step = 0.0;
                for (var d = 0u; d < NV; d++) {
                    u = fma(tile[NV * at + d], z[d], u);
                    u_step = fma(tile[NV * at + d], answer[d], u_step);
                }
                var law: array<f32, 4>;
                if (kind == NEWTON_STEP) {
                    //{newton_scalar_law}
                } else {
                    //{newton_split_scalar}
                }
                let lack = fma(-law[0], u, law[1] - impulse);
                if (phase == 0u) {
                    merits[MERIT_NOW] += law[2];
                    //{newton_keep_scalar_law}
                } else {
                    let step = fma(-law[0], u_step, lack);
                    if (kind == NEWTON_STEP) {
                        scalar_own[scalar + 5u] = step;
                        //{newton_scalar_merits}
                    } else {
                        //{newton_part_scalar}
                    }
                }
            }
            if (phase == 0u) {
                workgroupBarrier();
                add_laws(t, lane);
                workgroupBarrier();
            }
        }
    }
    if (kind != NEWTON_STEP) {
        // impulses are read by other invocations than those that wrote them
        //{newton_barrier}
        return FIRST_DELTA;
    }
    for (var k = 0u; k < SUMS; k++) {
        sums[LANES * k + lane] = merits[k];
    }
    workgroupBarrier();
    if (lane < SUMS) {
        add_up(lane, lanes_of_units(size));
    }
    workgroupBarrier();
    if (lane == 0u) {
        var best = 0u;
        let merit = sums[LANES * MERIT_NOW];
        if (!(sums[0] < 0.1 * merit)) {
            for (var k = 1u; k < MERIT_NOW; k++) {
                if (sums[LANES * k] < sums[LANES * best] || !finite(sums[LANES * best])) {
                    best = k;
                }
            }
        }
        told = vec2<u32>(best, select(0u, 1u, sums[LANES * best] < merit));
    }
    let choice = workgroupUniformLoad(&told);
    let best = choice.x;
    let took = choice.y == 1u;
    if (took) {
        var length = 1.0;
        //{newton_length}
        for (var first = 0u; first < row_count(size); first += TILE_ROWS) {
            let t = load(first, size, loaded, lane, w);
            for (var c = t.contacts.x + lane; c < t.contacts.y; c += LANES) {
                let row = ROW_LEN * c;
                //{newton_own_at}
                //{newton_take_step}
                //{patch_take_step}
            }
        }
        for (var s = lane; s < size.scalars; s += LANES) {
            scalar_own[SCALAR_OWN * s + 1u] += length * scalar_own[SCALAR_OWN * s + 5u];
        }
    }
    // impulses are read by other invocations than those that wrote them
    //{newton_barrier}
    return select(min(10.0 * delta, SOFTEST), select(min(2.0 * delta, SOFTEST), max(0.1 * delta, LEAST_DELTA), best == 0u), took);
}

// Sweeps of Gauss-Seidel from z, by the first invocation: they find which rows act.
fn sweep(size: Size, loaded: ptr<function, u32>, lane: u32, w: u32) {
    //{newton_take_z}
    for (var k = 0u; k < STEP_SWEEPS; k++) {
        for (var first = 0u; first < row_count(size); first += TILE_ROWS) {
            let t = load(first, size, loaded, lane, w);
            if (lane == 0u) {
                for (var c = t.contacts.x; c < t.contacts.y; c++) {
                    let row = ROW_LEN * c;
                    let at = NV * contact_row(t, c);
                    //{patch_sweep_in_tile}
                    //{newton_own_at}
                    //{newton_sweep_contact}
                }
                for (var s = t.scalars.x; s < t.scalars.y; s++) {
                    let scalar = SCALAR_OWN * s;
                    let at = NV * scalar_row(t, s);
                    //{newton_sweep_scalar}
                }
            }
        }
    }
    //{newton_barrier}
}

fn solve(size: Size, lane: u32, w: u32) {
    let count = size.contacts;
    // none
    var loaded = row_count(size);
    var delta = FIRST_DELTA;
    var solved = false;
    // as many as loops may turn
    //{newton_turns}
    // the first turn has the certificate only: a second one elsewhere would be compiled once more
    var steps = 0u;
    for (var turn = 0u; turn <= turns && !solved; turn++) {
        if (turn > 0u) {
            let k = (turn - 1u) % (NEWTON_LEG + SPLIT_LEG);
            let newton = k < NEWTON_LEG || turns <= NEWTON_LIMIT;
            let kind = select(select(SPLIT, FIRST_SPLIT, k == NEWTON_LEG), NEWTON_STEP, newton);
            delta = newton_step(size, kind, delta, &loaded, lane, w);
            if (kind == NEWTON_STEP) {
                steps++;
                add_impulses(size, &loaded, lane, w);
                sweep(size, &loaded, lane, w);
            }
        }
        add_impulses(size, &loaded, lane, w);
        solved = certify(size, &loaded, lane, w);
    }
    //{newton_keep_own_at_last}
    for (var s = lane; s < size.scalars; s += LANES) {
        rows[(SCALAR_IMPULSE + header.problem * SCALAR_COUNT + acting[s]) * header.stride + w] = scalar_own[SCALAR_OWN * s + 1u];
    }
    if (solved && lane < NV) {
        rows[(Z + header.problem * NV + lane) * header.stride + w] = z[lane];
    }
    if (lane == 0u) {
        if (header.problem == 0u) {
            contact[6u * header.stride + w] = 0.0;
        }
        contact[6u * header.stride + w] += f32(steps);
        if (solved) {
            keep_certificate(w);
        } else {
            halt(w, NOT_SOLVED);
        }
    }
}

@compute @workgroup_size(LANES)
fn newton(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>
) {
    if (lane == 0u) {
        told = vec2<u32>(atomicLoad(&listed[header.problem]));
    }
    let all = workgroupUniformLoad(&told).x;
    for (var k = group.x; k < all; k += groups.x) {
        if (lane == 0u) {
            let w = u32(contact[LIST * header.stride + k]);
            told = vec2<u32>(u32(contact[w]), w);
        }
        let world = workgroupUniformLoad(&told);
        solve(Size(world.x, list_acting(lane, world.y)), lane, world.y);
    }
}
