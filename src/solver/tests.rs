//! Stages against closed forms, against an independent f64 computation, and against each other.

mod factored;
#[path = "../../tests/common/random.rs"]
mod random;

use super::*;
use crate::lane::{F32x16, F64x8, Level, Pack, Real, Scalar};
use random::Random;

/// Agreement with closed forms: the tolerance asked for, over W ≈ 1, and a little rounding.
const CLOSE: f64 = 3e-9;
const TIGHT: SolveSettings = SolveSettings {
    tolerance: 1e-9,
    iterations: 4000,
    check_every: 4,
    algorithm: Algorithm::Pgs,
    law: FrictionLaw::Cone,
    gives_way: false,
};

/// A block by itself, dense and in f64.
#[derive(Clone, Debug)]
struct Block {
    size: BlockSize,
    delassus: Vec<f64>,
    bias: Vec<f64>,
    friction: Vec<f64>,
    bounds: Vec<[f64; 2]>,
    guess: Vec<f64>,
}

impl Block {
    fn contact(diagonal: [f64; 3], bias: [f64; 3], friction: f64) -> Self {
        let mut delassus = vec![0.0; 9];
        for i in 0..3 {
            delassus[4 * i] = diagonal[i];
        }
        Self {
            size: BlockSize { contact_count: 1, scalar_count: 0 },
            delassus,
            bias: bias.to_vec(),
            friction: vec![friction],
            bounds: vec![],
            guess: vec![0.0; 3],
        }
    }
    /// W = G Gᵀ + 0.1, so that sweeps converge fast.
    fn random(size: BlockSize, seed: u64) -> Self {
        let mut random = Random(seed);
        let n = size.row_count();
        let g: Vec<f64> = (0..n * n).map(|_| random.next() / (n as f64).sqrt()).collect();
        let mut delassus = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                delassus[n * i + j] =
                    (0..n).map(|k| g[n * i + k] * g[n * j + k]).sum::<f64>() + if i == j { 0.1 } else { 0.0 };
            }
        }
        let mut bounds = Vec::new();
        for s in 0..size.scalar_count {
            bounds.push(match s % 3 {
                0 => [0.0, f64::INFINITY],
                1 => [f64::NEG_INFINITY, f64::INFINITY],
                _ => [-0.3, 0.2],
            });
        }
        Self {
            size,
            delassus,
            bias: (0..n).map(|_| random.next()).collect(),
            friction: (0..size.contact_count).map(|_| 0.5 + 0.5 * random.next()).collect(),
            bounds,
            guess: (0..n).map(|_| random.next()).collect(),
        }
    }
    /// Row `i` of the block within its class: scalars come after the padded contacts.
    fn row(&self, i: usize) -> usize {
        let contact_rows = 3 * self.size.contact_count;
        if i < contact_rows { i } else { i - contact_rows + 3 * self.size.class().contact_count }
    }
    fn write<R: Pack>(&self, batch: &mut Batch<R>, place: BlockPlace) {
        let group = &mut batch.groups[place.group];
        let (tile, lane) = (place.block / R::LANES, place.block % R::LANES);
        let m = group.size.row_count();
        let n = self.size.row_count();
        for i in 0..n {
            for j in 0..n {
                let entry = tile * m * m + self.row(i) * m + self.row(j);
                group.delassus[entry].set(lane, R::Scalar::from_f64(self.delassus[n * i + j]));
            }
        }
        self.write_terms(batch, place);
    }
    /// Everything but W.
    fn write_terms<R: Pack>(&self, batch: &mut Batch<R>, place: BlockPlace) {
        let group = &mut batch.groups[place.group];
        let (tile, lane) = (place.block / R::LANES, place.block % R::LANES);
        let (m, contacts, scalars) = (group.size.row_count(), group.size.contact_count, group.size.scalar_count);
        for i in 0..self.size.row_count() {
            group.bias[tile * m + self.row(i)].set(lane, R::Scalar::from_f64(self.bias[i]));
            group.position_bias[tile * m + self.row(i)].set(lane, R::Scalar::from_f64(self.bias[i]));
            group.impulse[tile * m + self.row(i)].set(lane, R::Scalar::from_f64(self.guess[i]));
        }
        for c in 0..self.size.contact_count {
            group.friction[tile * contacts + c].set(lane, R::Scalar::from_f64(self.friction[c]));
        }
        for s in 0..self.size.scalar_count {
            for k in 0..2 {
                group.bounds[(tile * scalars + s) * 2 + k].set(lane, R::Scalar::from_f64(self.bounds[s][k]));
            }
        }
    }
    fn read<R: Pack>(&self, batch: &Batch<R>, place: BlockPlace) -> (Vec<f64>, [f64; REPORT_LEN]) {
        let group = &batch.groups[place.group];
        let (tile, lane) = (place.block / R::LANES, place.block % R::LANES);
        let m = group.size.row_count();
        let impulse =
            (0..self.size.row_count()).map(|i| group.impulse[tile * m + self.row(i)].get(lane).to_f64()).collect();
        let mut report = [0.0; REPORT_LEN];
        for k in 0..REPORT_LEN {
            report[k] = group.report[tile * REPORT_LEN + k].get(lane).to_f64();
        }
        (impulse, report)
    }
    /// w = b + W λ
    fn velocity(&self, impulse: &[f64]) -> Vec<f64> {
        let n = self.bias.len();
        (0..n).map(|i| self.bias[i] + (0..n).map(|j| self.delassus[n * i + j] * impulse[j]).sum::<f64>()).collect()
    }
    /// The natural-map residual, written down a second time. The cone projection is found by bisection over the angle between
    /// axis and surface instead of in closed form.
    fn residual(&self, impulse: &[f64], law: FrictionLaw) -> f64 {
        let n = self.bias.len();
        let w = self.velocity(impulse);
        let diagonal = |i: usize| self.delassus[(n + 1) * i];
        let mut worst = 0.0f64;
        for c in 0..self.size.contact_count {
            let (i, mu) = (3 * c, self.friction[c]);
            if law == FrictionLaw::Box {
                let r = mu * impulse[i];
                worst = worst.max(impulse[i].min(w[i] / diagonal(i)).abs() * diagonal(i));
                for k in i + 1..i + 3 {
                    let p = (impulse[k] - w[k] / diagonal(k)).clamp(-r, r);
                    worst = worst.max((impulse[k] - p).abs() * diagonal(k));
                }
                continue;
            }
            let weight = (diagonal(i) + diagonal(i + 1) + diagonal(i + 2)) / 3.0;
            let slip = w[i + 1].hypot(w[i + 2]);
            let x = impulse[i] - (w[i] + mu * slip) / weight;
            let (y, z) = (impulse[i + 1] - w[i + 1] / weight, impulse[i + 2] - w[i + 2] / weight);
            let t = y.hypot(z);
            // Nearest point (a, s) of { s ≤ μ a }: minimise over a ≥ 0 the convex (a − x)² + max(0, t − μ a)².
            let (mut low, mut high) = (0.0, x.abs() + t + 1.0);
            for _ in 0..200 {
                let a = 0.5 * (low + high);
                let slope = (a - x) - mu * (t - mu * a).max(0.0);
                if slope > 0.0 { high = a } else { low = a }
            }
            let a = low;
            let s = t.min(mu * a);
            let factor = if t > 0.0 { s / t } else { 0.0 };
            let e = [impulse[i] - a, impulse[i + 1] - factor * y, impulse[i + 2] - factor * z];
            worst = worst.max(weight * (e[0] * e[0] + e[1] * e[1] + e[2] * e[2]).sqrt());
        }
        for s in 0..self.size.scalar_count {
            let i = 3 * self.size.contact_count + s;
            let p = (impulse[i] - w[i] / diagonal(i)).clamp(self.bounds[s][0], self.bounds[s][1]);
            worst = worst.max((impulse[i] - p).abs() * diagonal(i));
        }
        worst
    }
}

fn batch_of<R: Pack>(blocks: &[Block]) -> (Batch<R>, Vec<BlockPlace>) {
    let mut batch = Batch::new();
    let places: Vec<_> = blocks.iter().map(|b| batch.add(b.size)).collect();
    batch.allocate();
    for (block, place) in blocks.iter().zip(&places) {
        block.write(&mut batch, *place);
    }
    (batch, places)
}

fn solve<R: Pack>(blocks: &[Block], settings: &SolveSettings) -> Vec<(Vec<f64>, [f64; REPORT_LEN])> {
    let (mut batch, places) = batch_of::<R>(blocks);
    solve_cpu(&mut batch, Level::detect(), settings).expect("packs that run here");
    blocks.iter().zip(&places).map(|(b, p)| b.read(&batch, *p)).collect()
}

fn solve_one(block: &Block, settings: &SolveSettings) -> (Vec<f64>, [f64; REPORT_LEN]) {
    solve::<f64>(std::slice::from_ref(block), settings).remove(0)
}

fn assert_close(got: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len());
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= tolerance, "{got:?} is not {want:?} within {tolerance:e}");
    }
}

const SIZES: [BlockSize; 6] = [
    BlockSize { contact_count: 0, scalar_count: 1 },
    BlockSize { contact_count: 1, scalar_count: 0 },
    BlockSize { contact_count: 2, scalar_count: 3 },
    BlockSize { contact_count: 5, scalar_count: 0 },
    BlockSize { contact_count: 4, scalar_count: 5 },
    BlockSize { contact_count: 0, scalar_count: 7 },
];

fn random_blocks(count: usize) -> Vec<Block> {
    (0..count).map(|k| Block::random(SIZES[k % SIZES.len()], k as u64)).collect()
}

#[test]
fn one_contact_opens_sticks_and_slides_as_in_closed_form() {
    for algorithm in [Algorithm::Pgs, Algorithm::Jacobi] {
        let settings = SolveSettings { algorithm, ..TIGHT };
        // Leaving: no impulse.
        let (open, report) = solve_one(&Block::contact([1.0, 2.0, 2.0], [0.5, 3.0, 0.0], 0.8), &settings);
        assert_eq!(open, [0.0; 3]);
        assert_eq!((report[REPORT_RESIDUAL], report[REPORT_SWEEPS], report[REPORT_LIVE]), (0.0, 0.0, 0.0));
        // Sticking: λ = −W⁻¹ b, inside the cone.
        let (stick, _) = solve_one(&Block::contact([1.0, 2.0, 2.0], [-2.0, 0.6, -0.8], 0.8), &settings);
        assert_close(&stick, &[2.0, -0.3, 0.4], CLOSE);
        // Sliding: λ_n = −b_n/W_nn, λ_t = −μ λ_n u_t/‖u_t‖.
        let (slide, _) = solve_one(&Block::contact([1.0, 2.0, 2.0], [-2.0, 6.0, -8.0], 0.5), &settings);
        assert_close(&slide, &[2.0, -0.6, 0.8], CLOSE);
    }
}

#[test]
fn the_box_lets_each_tangent_reach_its_own_bound() {
    let block = Block::contact([1.0, 2.0, 2.0], [-2.0, 6.0, -8.0], 0.5);
    for algorithm in [Algorithm::Pgs, Algorithm::Jacobi] {
        let settings = SolveSettings { algorithm, law: FrictionLaw::Box, ..TIGHT };
        let (boxed, _) = solve_one(&block, &settings);
        assert_close(&boxed, &[2.0, -1.0, 1.0], CLOSE);
    }
}

#[test]
fn scalar_rows_stop_at_their_bounds() {
    let mut block = Block::random(BlockSize { contact_count: 0, scalar_count: 3 }, 1);
    block.delassus = vec![2.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 1.0];
    block.bias = vec![3.0, -4.0, -9.0];
    let (impulse, _) = solve_one(&block, &TIGHT);
    assert_close(&impulse, &[0.0, 1.0, 0.2], CLOSE);
}

#[test]
fn the_residual_is_exactly_zero_at_a_known_solution() {
    for law in [FrictionLaw::Cone, FrictionLaw::Box] {
        // 3-4-5 numbers: every operation is exact.
        let mut block = Block::contact([1.0, 1.0, 1.0], [-2.0, 0.5, -0.25], 1.0);
        block.guess = vec![2.0, -0.5, 0.25];
        let settings = SolveSettings { law, tolerance: 0.0, ..TIGHT };
        let (impulse, report) = solve_one(&block, &settings);
        assert_eq!(impulse, block.guess);
        assert_eq!((report[REPORT_RESIDUAL], report[REPORT_SWEEPS], report[REPORT_LIVE]), (0.0, 0.0, 0.0));
    }
}

#[test]
fn the_residual_equals_an_independent_computation() {
    for law in [FrictionLaw::Cone, FrictionLaw::Box] {
        // No sweeps: the residual is that of the projected guess.
        let settings = SolveSettings { law, iterations: 0, ..TIGHT };
        let blocks = random_blocks(40);
        for (block, (impulse, report)) in blocks.iter().zip(solve::<F64x8>(&blocks, &settings)) {
            let want = block.residual(&impulse, law);
            assert!((report[REPORT_RESIDUAL] - want).abs() < 1e-12 * (1.0 + want), "{law:?} {report:?} {want}");
        }
    }
}

#[test]
fn random_blocks_are_solved_by_all_algorithms_under_both_laws() {
    for (algorithm, law) in [
        (Algorithm::Pgs, FrictionLaw::Cone),
        (Algorithm::Auto, FrictionLaw::Cone),
        (Algorithm::Pgs, FrictionLaw::Box),
        (Algorithm::Auto, FrictionLaw::Box),
    ] {
        let blocks = random_blocks(60);
        let [first, jacobi] = [algorithm, Algorithm::Jacobi]
            .map(|algorithm| solve::<F64x8>(&blocks, &SolveSettings { algorithm, law, ..TIGHT }));
        for ((block, (a, report_a)), (b, report_b)) in blocks.iter().zip(&first).zip(&jacobi) {
            assert!(
                report_a[REPORT_RESIDUAL] <= TIGHT.tolerance,
                "{law:?} {algorithm:?} {:?} {report_a:?}",
                block.size
            );
            assert!(report_b[REPORT_RESIDUAL] <= TIGHT.tolerance, "{law:?} jacobi {:?} {report_b:?}", block.size);
            assert!(block.residual(a, law) <= 1.01 * TIGHT.tolerance);
            // Residual 1e-9 over the smallest eigenvalue 0.1 of W, with room for the friction's coupling.
            assert_close(a, b, 2e-7);
        }
    }
}

/// Cone blocks whose W has half the rank: stacks in small. b is in the range of W, so that a solution exists.
fn hard_blocks(count: usize) -> Vec<Block> {
    (0..count)
        .map(|k| {
            let size = BlockSize { contact_count: 2 + k % 5, scalar_count: k % 3 };
            let n = size.row_count();
            let rank = n / 2;
            let mut random = Random(1000 + k as u64);
            let g: Vec<f64> = (0..n * rank).map(|_| random.next() / (rank as f64).sqrt()).collect();
            let v: Vec<f64> = (0..rank).map(|_| random.next()).collect();
            let dot = |i: usize, x: &[f64]| (0..rank).map(|r| g[i * rank + r] * x[r]).sum::<f64>();
            let mut block = Block::random(size, k as u64);
            block.bias = (0..n).map(|i| dot(i, &v)).collect();
            for i in 0..n {
                for j in 0..n {
                    block.delassus[i * n + j] = dot(i, &g[j * rank..(j + 1) * rank]);
                }
            }
            block.guess = vec![0.0; n];
            block
        })
        .collect()
}

#[test]
fn newton_solves_what_sweeps_leave() {
    let blocks = hard_blocks(200);
    let [sweeps, newton] = [Algorithm::Pgs, Algorithm::Auto].map(|algorithm| {
        let solved = solve::<F64x8>(&blocks, &SolveSettings { algorithm, iterations: 60, ..TIGHT });
        for (block, (impulse, report)) in blocks.iter().zip(&solved) {
            // the certificate is the residual of what is returned, solved or not
            let truth = block.residual(impulse, FrictionLaw::Cone);
            assert!((report[REPORT_RESIDUAL] - truth).abs() <= 1e-9 * (1.0 + truth), "{report:?} {truth}");
        }
        solved.iter().filter(|(_, report)| report[REPORT_LIVE] == 0.0).count()
    });
    println!("{sweeps} of 200 by sweeps, {newton} with Newton");
    assert!(newton > sweeps + 40 && newton >= 170, "{sweeps} {newton}");
}

#[test]
fn bits_do_not_depend_on_lane_tile_neighbours_level_or_width() {
    for (algorithm, law) in [
        (Algorithm::Auto, FrictionLaw::Cone),
        (Algorithm::Pgs, FrictionLaw::Cone),
        (Algorithm::Jacobi, FrictionLaw::Box),
    ] {
        let settings = SolveSettings { tolerance: 1e-5, algorithm, law, ..TIGHT };
        let mut blocks = random_blocks(60);
        blocks.extend(hard_blocks(40));
        let together = solve::<F32x16>(&blocks, &settings);
        #[cfg(target_arch = "x86_64")]
        if const { crate::lane::HAS_AVX512 } && Level::detect() == Level::Avx512 {
            assert_eq!(solve::<crate::lane::Wide>(&blocks, &settings), together);
        }
        let mut reversed: Vec<_> = blocks.iter().rev().cloned().collect();
        reversed.truncate(77);
        let backwards = solve::<F32x16>(&reversed, &settings);
        for k in 0..77 {
            assert_eq!(together[99 - k], backwards[k]);
        }
        for k in [0, 13, 57, 60, 71, 99] {
            assert_eq!(solve::<F32x16>(&blocks[k..=k], &settings)[0], together[k]);
            assert_eq!(solve::<f32>(&blocks[k..=k], &settings)[0], together[k]);
        }
        let (mut reference, _) = batch_of::<F32x16>(&blocks);
        solve_cpu(&mut reference, Level::Baseline, &settings).expect("packs that run here");
        for level in Level::available() {
            let (mut batch, _) = batch_of::<F32x16>(&blocks);
            for group in &mut batch.groups {
                for piece in Tiles::all(group).chunks(1) {
                    solve_tiles(piece, level, &settings).expect("packs that run here");
                }
            }
            for (a, b) in batch.groups.iter().zip(&reference.groups) {
                assert_eq!(a.impulse, b.impulse, "{level:?}");
                assert_eq!(a.position_impulse, b.position_impulse, "{level:?}");
                assert_eq!(a.report, b.report, "{level:?}");
            }
        }
    }
}

/// Contacts whose normal nothing moves, but whose tangents slide: not padding, though W_ii is zero.
#[test]
fn bits_do_not_depend_on_neighbours_where_a_normal_cannot_move() {
    let settings = SolveSettings { tolerance: 1e-5, algorithm: Algorithm::Auto, ..TIGHT };
    // of one size, so that they fill tiles
    let mut blocks: Vec<Block> = hard_blocks(15 * 40).into_iter().skip(2).step_by(15).collect();
    for block in &mut blocks {
        let n = block.size.row_count();
        for i in 0..n {
            (block.delassus[i], block.delassus[i * n]) = (0.0, 0.0);
        }
        block.bias[0] = -0.3;
    }
    let together = solve::<F32x16>(&blocks, &settings);
    for (block, together) in blocks.iter().zip(&together) {
        assert_eq!(&solve::<F32x16>(std::slice::from_ref(block), &settings)[0], together);
    }
}

#[test]
fn padding_changes_no_bit() {
    // 5 contacts are padded to 6; the same block with a sixth, idle contact is not padded.
    for law in [FrictionLaw::Cone, FrictionLaw::Box] {
        let block = Block::random(BlockSize { contact_count: 5, scalar_count: 0 }, 9);
        let mut wide = block.clone();
        wide.size.contact_count = 6;
        wide.delassus = vec![0.0; 18 * 18];
        for i in 0..15 {
            wide.delassus[18 * i..18 * i + 15].copy_from_slice(&block.delassus[15 * i..15 * i + 15]);
        }
        wide.bias.extend([0.0; 3]);
        wide.guess.extend([0.0; 3]);
        wide.friction.push(0.0);
        let settings = SolveSettings { law, algorithm: Algorithm::Auto, ..TIGHT };
        let (narrow, report) = solve_one(&block, &settings);
        let (padded, padded_report) = solve_one(&wide, &settings);
        assert_eq!(narrow, padded[..15]);
        assert_eq!(padded[15..], [0.0; 3]);
        assert_eq!(report, padded_report);
    }
}

#[test]
fn a_block_that_is_not_finite_says_so_and_harms_no_other() {
    for poison in [f64::NAN, f64::INFINITY] {
        for (algorithm, law) in [
            (Algorithm::Pgs, FrictionLaw::Cone),
            (Algorithm::Auto, FrictionLaw::Cone),
            (Algorithm::Pgs, FrictionLaw::Box),
        ] {
            let settings = SolveSettings { tolerance: 1e-5, algorithm, law, ..TIGHT };
            let clean: Vec<_> = (0..20).map(|k| Block::random(SIZES[2], k)).collect();
            let want = solve::<F32x16>(&clean, &settings);
            for spoil in [
                |b: &mut Block, x| b.delassus[0] = x,
                |b: &mut Block, x| b.delassus[5] = x,
                |b: &mut Block, x| b.bias[8] = x,
                |b: &mut Block, x| b.friction[1] = x,
            ] {
                let mut blocks = clean.clone();
                spoil(&mut blocks[7], poison);
                let got = solve::<F32x16>(&blocks, &settings);
                for k in 0..20 {
                    if k != 7 {
                        assert_eq!(got[k], want[k]);
                    }
                }
                let report = got[7].1;
                // Infinite friction is a contact that never slips: solved, or not finite where ∞·0 appears.
                if blocks[7].friction[1] != f64::INFINITY {
                    assert_eq!(report[REPORT_RESIDUAL], f64::INFINITY, "{poison} {law:?}");
                }
                assert_eq!(report[REPORT_LIVE], 0.0);
            }
        }
        let mut block = Block::random(SIZES[2], 3);
        block.guess[2] = poison;
        let (impulse, report) = solve_one(&block, &TIGHT);
        assert!(report[REPORT_RESIDUAL] <= TIGHT.tolerance && impulse.iter().all(|x| x.is_finite()));
    }
}

#[test]
fn an_immovable_contact_cannot_hide_its_approach() {
    let settings = SolveSettings { iterations: 16, ..TIGHT };
    for law in [FrictionLaw::Cone, FrictionLaw::Box] {
        let (impulse, report) =
            solve_one(&Block::contact([0.0; 3], [-1.0, 0.0, 0.0], 0.5), &SolveSettings { law, ..settings });
        assert_eq!(impulse, [0.0; 3]);
        assert!(report[REPORT_RESIDUAL] > 0.5 && report[REPORT_LIVE] == 1.0, "{law:?} {report:?}");
    }
}

#[test]
fn an_equal_position_problem_costs_no_sweep_and_another_one_is_solved() {
    let blocks = random_blocks(12);
    let (mut batch, _) = batch_of::<F64x8>(&blocks);
    solve_cpu(&mut batch, Level::detect(), &TIGHT).expect("packs that run here");
    for group in &batch.groups {
        assert_eq!(group.impulse, group.position_impulse);
        for tile in group.position_report.chunks(REPORT_LEN) {
            assert_eq!(tile[REPORT_SWEEPS], F64x8::zero());
        }
    }
    let block = Block::contact([1.0, 2.0, 2.0], [-2.0, 0.0, 0.0], 0.5);
    let (mut batch, _) = batch_of::<f64>(&[block]);
    batch.groups[0].position_bias[0] = -3.0;
    solve_cpu(&mut batch, Level::detect(), &TIGHT).expect("packs that run here");
    assert_close(&batch.groups[0].impulse, &[2.0, 0.0, 0.0], CLOSE);
    assert_close(&batch.groups[0].position_impulse, &[3.0, 0.0, 0.0], CLOSE);
}

/// Position problems of their own in `others` of every tile's lanes: where those are few, they are gathered. Some blocks are not finite, and some have rows that nothing moves.
#[test]
fn bits_of_a_position_problem_do_not_depend_on_where_it_is_swept() {
    fn check<R: Pack>() {
        let settings = SolveSettings { tolerance: 1e-5, algorithm: Algorithm::Auto, ..TIGHT };
        let mut blocks = random_blocks(96);
        blocks.extend(hard_blocks(64));
        for (k, block) in blocks.iter_mut().enumerate() {
            let n = block.size.row_count();
            match k % 24 {
                3 => block.bias[0] = f64::NAN,
                4 | 5 if n > 5 => block.delassus[5] = f64::NAN,
                // a contact between others that moves nothing
                9 | 10 if n > 5 => {
                    for i in 0..n {
                        for j in 3..6 {
                            (block.delassus[i * n + j], block.delassus[j * n + i]) = (0.0, 0.0);
                        }
                    }
                    block.bias[3..6].fill(0.0);
                    block.guess[3..6].fill(0.0);
                }
                _ => {}
            }
        }
        let pushed = |others: usize| {
            let (mut batch, _) = batch_of::<R>(&blocks);
            for bias in batch.groups.iter_mut().flat_map(|group| &mut group.position_bias) {
                for bias in &mut bias.lanes_mut()[..others] {
                    *bias = R::Scalar::from_f64(bias.to_f64() * 1.5);
                }
            }
            solve_cpu(&mut batch, Level::detect(), &settings).expect("packs that run here");
            batch
        };
        let bits = |x: &R, others: usize| x.lanes()[..others].iter().map(|x| x.to_f64().to_bits()).collect::<Vec<_>>();
        let all = pushed(R::LANES);
        let reports = all.groups.iter().flat_map(|g| g.position_report.chunks(REPORT_LEN));
        let (swept, finite) = reports.fold((0.0, 0), |(swept, finite), report| {
            let residual = report[REPORT_RESIDUAL].get(0).to_f64();
            (swept + report[REPORT_SWEEPS].get(0).to_f64(), finite + usize::from(residual.is_finite()))
        });
        assert!(swept > 20.0 && finite > 4, "lane 0 is to need sweeps: {swept} of {finite} blocks");
        for others in [1, R::LANES / 2, R::LANES / 2 + 1] {
            let batch = pushed(others);
            for (a, b) in batch.groups.iter().zip(&all.groups) {
                for (few, many) in
                    [(&a.position_impulse, &b.position_impulse), (&a.position_report, &b.position_report)]
                {
                    for (few, many) in few.iter().zip(many) {
                        assert_eq!(bits(few, others), bits(many, others), "{others}");
                    }
                }
            }
        }
    }
    check::<F32x16>();
    check::<F64x8>();
}

#[test]
fn sweeps_are_counted_and_split_into_rounds() {
    let settings = SolveSettings { iterations: 10, check_every: 4, tolerance: 0.0, ..TIGHT };
    assert_eq!(settings.rounds().collect::<Vec<_>>(), [4, 4, 2]);
    assert_eq!(SolveSettings { check_every: 0, iterations: 2, ..settings }.rounds().count(), 2);
    let (_, report) = solve_one(&Block::random(SIZES[4], 5), &settings);
    assert_eq!(report[REPORT_SWEEPS], 10.0);
    assert!(SolveSettings { tolerance: f64::NAN, ..settings }.validate().is_err());
    assert!(settings.validate().is_ok());
}

#[test]
fn an_empty_batch_is_solved() {
    let mut batch = Batch::<F32x16>::new();
    solve_cpu(&mut batch, Level::detect(), &SolveSettings::default()).expect("packs that run here");
    batch.add(SIZES[1]);
    batch.allocate();
    batch.clear();
    batch.allocate();
    solve_cpu(&mut batch, Level::detect(), &SolveSettings::default()).expect("packs that run here");
    assert_eq!(batch.block_count(), 0);
}

#[test]
fn packs_that_do_not_run_here_are_refused() {
    // under `qemu-x86_64 -cpu Westmere` there are none
    let (runs, blocks) = (Level::detect().runs_packs(), [Block::random(SIZES[1], 5)]);
    let told = [
        solve_cpu(&mut Batch::<F32x16>::new(), Level::detect(), &TIGHT),
        polish(&mut Batch::<F64x8>::new(), Level::Baseline, &TIGHT, Which::Velocity),
        solve_tiles(Tiles::all(&mut batch_of::<F32x16>(&blocks).0.groups[0]), Level::detect(), &TIGHT),
    ];
    for told in told {
        match told {
            Ok(()) => assert!(runs),
            Err(error) => assert!(!runs && error.to_string().contains("f32 or f64"), "{error}"),
        }
    }
    assert!(solve_cpu(&mut Batch::<f32>::new(), Level::detect(), &TIGHT).is_ok());
}
