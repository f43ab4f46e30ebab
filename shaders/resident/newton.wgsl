// Stages `velocity_newton` and `position_newton`: Newton on contact modes, for the worlds that sweeps listed, a workgroup each. With the law of every row as
// lambda' = h - M u', (1 + Y M Y^T) dz = Y (h - M u - lambda): as many unknowns as degrees of freedom, whatever touches. In changes, so that what M enlarges is small.
//
// A step that brings the residual down has guessed the modes right, and another one follows. Any other may be far worse than where it began until sweeps have settled what it got wrong: so it is judged behind
// them, and against the largest of the last four residuals; where sweeps came long before, in the first turns against WILD if that is more. Who fails goes back, some of the way and then all of it, and is
// swept there; from then on the proximal term is larger, and sweeps are more.
//
// A world's rows are those of its contacts, CONTACT_ROWS each, and then the scalar rows that act. Y of TILE_ROWS of them, a tile, lies in workgroup memory with all that is asked of their contacts: of all of
// them, where they are no more. A contact or scalar row is an invocation's; so is a component of z, and a column of the system.

// which number of a law stands on the right-hand side
const RIGHT = vec4<f32>(0.0, 0.0, 0.0, 1.0);
// what is done in a turn, before the certificate
const NOTHING = 0u;
const STEP = 1u;
const SWEEP = 2u;

var<workgroup> z: array<f32, NV>;
// what it was before a step
var<workgroup> z_before: array<f32, NV>;
// sums of the magnitudes of z's terms
var<workgroup> m: array<f32, NV>;
// Y, shape [row][NV], zero where a row does not act
var<workgroup> tile: array<f32, TILE_ROWS * NV>;
// of every row M and last g = h - M u - lambda, what the law lacks at u; of a scalar row M is the first number
var<workgroup> laws: array<vec4<f32>, LAW_QUADS * TILE_ROWS>;
//{newton_own}
// which scalar rows act, and of each of them b, lambda, W, its bounds, and lambda before a step
var<workgroup> acting: array<u32, SCALAR_ROOM>;
var<workgroup> scalar_own: array<f32, SCALAR_OWN * SCALAR_ROOM>;
// what every invocation tells the first of the certificate
var<workgroup> sums: array<f32, SUMS * LANES>;
// and what that tells the others
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

// What the certificate says.
struct Told {
    solved: bool,
    residual: f32,
}

// The residual and its rounding floor: whether the problem is solved.
fn certify(size: Size, loaded: ptr<function, u32>, lane: u32, w: u32) -> Told {
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
        told = vec2<u32>(select(0u, 1u, is_solved()), bitcast<u32>(worst));
    }
    let all = workgroupUniformLoad(&told);
    return Told(all.x == 1u, bitcast<f32>(all.y));
}

// A step of Newton from z; what lambda was stays beside it.
fn newton_step(size: Size, delta: f32, loaded: ptr<function, u32>, lane: u32, w: u32) {
    //{newton_clear_system}
    if (lane < NV) {
        z_before[lane] = z[lane];
    }
    let several_tiles = row_count(size) > TILE_ROWS;
    // the laws of all rows for the system, and then the step that its answer is for each of them; where a tile does not hold them all, the laws once more
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
                //{newton_own_at}
                //{newton_impulse}
                if (phase == 0u || several_tiles) {
                    // u = b + Y^T z
                    //{newton_bias}
                    for (var d = 0u; d < NV; d++) {
                        u = fma(contact_y(at, d), vec3<f32>(z[d]), u);
                    }
                    var law: array<f32, 12>;
                    //{newton_contact_law}
                    // g = h - M u - lambda
                    var lack = vec3<f32>(law[9], law[10], law[11]) - impulse;
                    lack -= mat3x3<f32>(law[0], law[3], law[6], law[1], law[4], law[7], law[2], law[5], law[8]) * u;
                    //{newton_keep_law}
                }
                if (phase == 1u) {
                    // lambda + g - M Y^T dz
                    //{newton_take_step}
                }
            }
            for (var s = t.scalars.x + lane; s < t.scalars.y; s += LANES) {
                let at = scalar_row(t, s);
                let scalar = SCALAR_OWN * s;
                let impulse = scalar_own[scalar + 1u];
                if (phase == 0u || several_tiles) {
                    var u = scalar_own[scalar];
                    for (var d = 0u; d < NV; d++) {
                        u = fma(tile[NV * at + d], z[d], u);
                    }
                    var law: array<f32, 2>;
                    //{newton_scalar_law}
                    let lack = fma(-law[0], u, law[1] - impulse);
                    //{newton_keep_scalar_law}
                }
                if (phase == 1u) {
                    var u_step = 0.0;
                    for (var d = 0u; d < NV; d++) {
                        u_step = fma(tile[NV * at + d], answer[d], u_step);
                    }
                    scalar_own[scalar + 5u] = impulse;
                    scalar_own[scalar + 1u] = impulse + fma(-laws[LAW_QUADS * at].x, u_step, laws[LAW_QUADS * at + LAW_QUADS - 1u].w);
                }
            }
            if (phase == 0u) {
                workgroupBarrier();
                add_laws(t, lane);
                workgroupBarrier();
            }
        }
    }
    // impulses are read by other invocations than those that wrote them
    //{newton_barrier}
}

// lambda, and z with it, back to this share of the way that they went in a step and its sweeps.
fn go_back(size: Size, length: f32, loaded: ptr<function, u32>, lane: u32, w: u32) {
    for (var first = 0u; first < row_count(size); first += TILE_ROWS) {
        let t = load(first, size, loaded, lane, w);
        for (var c = t.contacts.x + lane; c < t.contacts.y; c += LANES) {
            let row = ROW_LEN * c;
            //{newton_own_at}
            //{newton_go_back}
            //{patch_go_back}
        }
    }
    for (var s = lane; s < size.scalars; s += LANES) {
        let scalar = SCALAR_OWN * s;
        scalar_own[scalar + 1u] = between(scalar_own[scalar + 5u], scalar_own[scalar + 1u], length);
    }
    if (lane < NV) {
        z[lane] = between(z_before[lane], z[lane], length);
    }
    //{newton_barrier}
}

// a + length (b - a), and a itself whatever b is.
fn between(a: f32, b: f32, length: f32) -> f32 {
    return select(a, fma(length, b - a, a), length > 0.0);
}

// Sweeps of Gauss-Seidel from z, by the first invocation: they find which rows act.
fn sweep(size: Size, count: u32, loaded: ptr<function, u32>, lane: u32, w: u32) {
    //{newton_take_z}
    for (var k = 0u; k < count; k++) {
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
    // none
    var loaded = row_count(size);
    var delta = FIRST_DELTA;
    var first_delta = FIRST_DELTA;
    // steps of which nothing was left, as far as they are counted
    var failed = 0u;
    // which share of the last step was taken, and what it was judged against
    var length = 1.0;
    var recent = vec4<f32>(0.0);
    var action = NOTHING;
    var steps = 0u;
    var sweeps = 0u;
    var solved = false;
    // as many as loops may turn
    //{newton_turns}
    // sweeps have brought a world of few rows far down already
    let small = is_small(size.contacts, size.scalars);
    // the first turn has the certificate only: a second one elsewhere would be compiled once more
    for (var turn = 0u; turn <= turns && !solved && sweeps <= STEP_SWEEPS * turns; turn++) {
        if (action == STEP) {
            newton_step(size, delta, &loaded, lane, w);
            steps++;
        } else if (action == SWEEP) {
            if (length < 1.0) {
                go_back(size, length, &loaded, lane, w);
            }
            let more = STEP_SWEEPS * (1u + failed);
            sweep(size, more, &loaded, lane, w);
            sweeps += more;
        }
        add_impulses(size, &loaded, lane, w);
        let now = certify(size, &loaded, lane, w);
        solved = now.solved;
        let wild = select(0.0, WILD, small && turn < WILD_TURNS);
        if (action == STEP && now.residual < BROUGHT * recent.x) {
            delta = max(0.1 * delta, LEAST_DELTA);
            recent = vec4<f32>(now.residual, recent.xyz);
        } else if (action == STEP) {
            action = SWEEP;
        } else if (action == NOTHING || length == 0.0 || now.residual < max(wild, max(max(recent.x, recent.y), max(recent.z, recent.w)))) {
            if (length == 0.0) {
                first_delta = min(10.0 * first_delta, SOFT_START);
                failed = min(failed + 1u, MOST_FAILED);
            }
            // after a step of which nothing was left delta grows tenfold, after a shorter one twofold
            let grown = min(select(10.0, 2.0, length > 0.0) * delta, SOFTEST);
            delta = select(grown, max(0.1 * delta, first_delta), length == 1.0);
            recent = vec4<f32>(now.residual, recent.xyz);
            length = 1.0;
            action = STEP;
        } else {
            length = select(0.0, SHORTER, length == 1.0);
        }
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
