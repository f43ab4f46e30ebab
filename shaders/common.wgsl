// What the parts of the shader share; they are put together in the order of src/gpu/shader.rs. Twins: src/gpu/buffers.rs (Header, Tile), src/solver/project.rs.
//
// Arrays are stored [tile][entry][lane]; one invocation is one block, that is one lane of one tile, so that neighbouring
// invocations read neighbouring numbers. Tiles have blocks of any size, and say of which.

// Whether the first contacts of blocks may be patches (patch/); without it the compiler leaves out what is about them.
override patches: bool = false;

struct Header {
    block_count: u32,
    law: u32,
    algorithm: u32,
    iterations: u32,
    check_every: u32,
    tolerance: f32, // m/s
    contracts: f32, // share of the residual; 0: sweeps go on anyway
    infinity: f32,
    first_block: u32,
}
struct Tile {
    contact_count: u32,
    scalar_count: u32,
    patch_count: u32,
    sweep_count: u32, // at most, in one dispatch
    first_matrix: u32, // entries of all tiles before this one
    first_row: u32,
    first_friction: u32,
    first_scalar: u32,
}
@group(0) @binding(0) var<uniform> header: Header;
@group(0) @binding(1) var<storage, read> tiles: array<Tile>;
@group(0) @binding(2) var<storage, read> delassus: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read> friction: array<f32>;
@group(0) @binding(5) var<storage, read> bounds: array<f32>;
@group(0) @binding(6) var<storage, read_write> next_impulse: array<f32>;
@group(0) @binding(7) var<storage, read_write> impulse: array<f32>;
@group(0) @binding(8) var<storage, read_write> report: array<f32>;

const LAW_CONE = 0u;
const ALGORITHM_PGS = 0u;
const REPORT_LEN = 5u;
const REPORT_RESIDUAL = 0u;
const REPORT_FLOOR = 1u;
const REPORT_SWEEPS = 2u;
const REPORT_LIVE = 3u;
const SWEPT = 2.0; // in REPORT_LIVE
const TRUSTED_FLOOR = 10.0; // times the tolerance
const EPSILON = 1.1920929e-7; // distance from 1 to the next number
const LANES = 16u;
const WORKGROUP_SIZE = 64u;

// A block: its room, and the index of its entry 0 in every array; entry k is k * LANES further.
struct Block {
    contact_count: u32,
    scalar_count: u32,
    patch_count: u32, // of the contacts, the first ones
    point_count: u32, // the other contacts
    bounded_count: u32, // scalar rows of no patch, the last ones
    sweep_count: u32,
    row_count: u32,
    matrix: u32,
    row: u32,
    contact: u32,
    bound: u32,
    report: u32,
}

fn block_of(index: u32) -> Block {
    let tile = tiles[index / LANES];
    let lane = index % LANES;
    let patch_count = select(0u, tile.patch_count, patches);
    return Block(
        tile.contact_count,
        tile.scalar_count,
        patch_count,
        tile.contact_count - patch_count,
        tile.scalar_count - PATCH_ROWS * patch_count,
        tile.sweep_count,
        3u * tile.contact_count + tile.scalar_count,
        tile.first_matrix * LANES + lane,
        tile.first_row * LANES + lane,
        tile.first_friction * LANES + lane,
        2u * tile.first_scalar * LANES + lane,
        index / LANES * REPORT_LEN * LANES + lane,
    );
}

// Three rows of W from row i on.
struct ContactRows {
    velocity: vec3<f32>, // u = b + W λ
    terms: vec3<f32>, // |b| + Σ |W λ|
    sums: vec3<f32>, // Σ |W|
}

fn add_column(rows: ContactRows, at: u32, row_len: u32, lambda: f32) -> ContactRows {
    let column = vec3(delassus[at], delassus[at + row_len], delassus[at + 2u * row_len]);
    return ContactRows(
        fma(column, vec3(lambda), rows.velocity),
        rows.terms + abs(column * lambda),
        rows.sums + abs(column),
    );
}

// What a stage does not use of it is not computed: compilers see to that.
fn contact_rows(b: Block, i: u32) -> ContactRows {
    let row_len = b.row_count * LANES;
    let x = b.row + i * LANES;
    let constant = vec3(bias[x], bias[x + LANES], bias[x + 2u * LANES]);
    var rows = ContactRows(constant, abs(constant), vec3(0.0));
    var at = b.matrix + i * row_len;
    var y = b.row;
    for (var d = 0u; d < b.contact_count; d++) {
        rows = add_column(rows, at, row_len, impulse[y]);
        rows = add_column(rows, at + LANES, row_len, impulse[y + LANES]);
        rows = add_column(rows, at + 2u * LANES, row_len, impulse[y + 2u * LANES]);
        at += 3u * LANES;
        y += 3u * LANES;
    }
    for (var t = 0u; t < b.scalar_count; t++) {
        rows = add_column(rows, at, row_len, impulse[y]);
        at += LANES;
        y += LANES;
    }
    return rows;
}

// One row of W; as ContactRows.
struct ScalarRow {
    velocity: f32,
    terms: f32,
    sums: f32,
}

fn add_entry(row: ScalarRow, at: u32, lambda: f32) -> ScalarRow {
    let entry = delassus[at];
    return ScalarRow(fma(entry, lambda, row.velocity), row.terms + abs(entry * lambda), row.sums + abs(entry));
}

fn scalar_row(b: Block, i: u32) -> ScalarRow {
    let constant = bias[b.row + i * LANES];
    var row = ScalarRow(constant, abs(constant), 0.0);
    var at = b.matrix + i * b.row_count * LANES;
    var y = b.row;
    for (var d = 0u; d < b.contact_count; d++) {
        row = add_entry(row, at, impulse[y]);
        row = add_entry(row, at + LANES, impulse[y + LANES]);
        row = add_entry(row, at + 2u * LANES, impulse[y + 2u * LANES]);
        at += 3u * LANES;
        y += 3u * LANES;
    }
    for (var t = 0u; t < b.scalar_count; t++) {
        row = add_entry(row, at, impulse[y]);
        at += LANES;
        y += LANES;
    }
    return row;
}

// λ of the contact at row i.
fn contact_impulse(b: Block, i: u32) -> vec3<f32> {
    let x = b.row + i * LANES;
    return vec3(impulse[x], impulse[x + LANES], impulse[x + 2u * LANES]);
}

// W_ij.
fn entry(b: Block, i: u32, j: u32) -> f32 {
    return delassus[b.matrix + (i * b.row_count + j) * LANES];
}

// The point of [low, high] nearest to x.
fn project_interval(x: f32, low: f32, high: f32) -> f32 {
    return smaller(larger(x, low), high);
}

// The point nearest to x between the bounds of scalar row s.
fn project_bounds(b: Block, s: u32, x: f32) -> f32 {
    let low = b.bound + 2u * s * LANES;
    return project_interval(x, bounds[low], bounds[low + LANES]);
}

// The point of the disc of `radius` nearest to x.
fn project_disc(x: vec2<f32>, radius: f32) -> vec2<f32> {
    let length = sqrt(fma(x.x, x.x, x.y * x.y));
    let factor = select(1.0, radius / length, radius < length);
    return vec2(fma(x.x, factor, 0.0), fma(x.y, factor, 0.0));
}

// The point of the cone K = { |x_t| <= friction x_n } nearest to x = (x_n, x_t).
fn project_cone(x: vec3<f32>, slope: f32) -> vec3<f32> {
    let length = sqrt(fma(x.y, x.y, x.z * x.z));
    let inside = !(slope * x.x < length || x.x < 0.0);
    // On the surface: n = max(0, (x_n + friction |x_t|) / (1 + friction^2)), t = friction n x_t / |x_t|
    let normal = larger(fma(slope, length, x.x) / fma(slope, slope, 1.0), 0.0);
    let factor = slope * normal * inverse(length);
    return select(vec3(normal, x.y * factor, x.z * factor), x, inside);
}

