//! Blocks that are kept as the factor of W, against the same blocks with all of W.

use super::*;

/// A block with W = Y Yᵀ + ε, and Y: entries \[row\]\[column\].
struct Sparse {
    block: Block,
    entries: Vec<f64>,
    columns: usize,
    compliance: f64,
}

/// Contacts between two of some bodies, and scalar rows on one: twelve columns and six. Every body has a strip, two columns of which nothing
/// touches.
fn sparse(contact_count: usize, scalar_count: usize, bodies: usize, compliance: f64, seed: u64) -> Sparse {
    let size = BlockSize { contact_count, scalar_count };
    let (n, columns) = (size.row_count(), STRIP * bodies);
    let mut random = Random(seed);
    let mut block = Block::random(size, seed);
    let mut entries = vec![0.0; n * columns];
    for unit in 0..contact_count + scalar_count {
        let contact = unit < contact_count;
        let (first, rows) = if contact { (3 * unit, 3) } else { (2 * contact_count + unit, 1) };
        let a = unit % bodies;
        let others = [a, (a + 1 + unit / bodies) % bodies];
        for row in first..first + rows {
            for &body in if contact { &others[..] } else { &others[..1] } {
                for k in 0..6 {
                    entries[row * columns + STRIP * body + k] = 0.5 * random.next();
                }
            }
        }
    }
    let y = |i: usize| &entries[i * columns..(i + 1) * columns];
    // a free velocity in the range of Y: what bodies can have
    let v: Vec<f64> = (0..columns).map(|_| random.next()).collect();
    for i in 0..n {
        block.bias[i] = y(i).iter().zip(&v).map(|(y, v)| y * v).sum();
        block.guess[i] = 0.0;
        for j in 0..n {
            let normal = i == j && i < 3 * contact_count && i % 3 == 0;
            block.delassus[n * i + j] =
                y(i).iter().zip(y(j)).map(|(x, y)| x * y).sum::<f64>() + if normal { compliance } else { 0.0 };
        }
    }
    Sparse { block, entries, columns, compliance }
}

impl Sparse {
    fn write<R: Pack>(&self, batch: &mut Batch<R>, place: BlockPlace) {
        let Sparse { block, entries, columns, compliance } = self;
        let contacts = block.size.contact_count;
        let factor = &mut batch.groups[place.group].factors[place.block];
        for unit in 0..contacts + block.size.scalar_count {
            let contact = unit < contacts;
            let (first, rows) = if contact { (3 * unit, 3) } else { (2 * contacts + unit, 1) };
            factor.start(unit, R::Scalar::from_f64(if contact { *compliance } else { 0.0 }));
            for strip in 0..columns / STRIP {
                let (mut touched, mut y) = (0, [[R::Scalar::from_f64(0.0); STRIP]; 3]);
                for column in 0..STRIP {
                    for i in 0..rows {
                        let entry = entries[(first + i) * columns + STRIP * strip + column];
                        y[i][column] = R::Scalar::from_f64(entry);
                        touched |= u8::from(entry != 0.0) << column;
                    }
                }
                if touched != 0 {
                    factor.put(unit, strip, touched, &y);
                }
            }
        }
        block.write_terms(batch, place);
        let group = &mut batch.groups[place.group];
        let (rows, own) = (group.size.row_count(), self.position());
        for i in 0..own.bias.len() {
            let entry = place.block / R::LANES * rows + own.row(i);
            group.position_bias[entry].set(place.block % R::LANES, R::Scalar::from_f64(own.bias[i]));
        }
    }
    /// The position problem: most blocks have one of their own.
    fn position(&self) -> Block {
        let mut block = self.block.clone();
        if !block.size.contact_count.is_multiple_of(3) {
            block.bias.iter_mut().for_each(|b| *b *= 1.5);
        }
        block
    }
}

/// The batch with the answers of the position problem in the place of those of the velocity problem.
fn positions<R: Pack>(batch: &Batch<R>) -> Batch<R> {
    let mut batch = batch.clone();
    for group in &mut batch.groups {
        group.impulse.clone_from(&group.position_impulse);
        group.report.clone_from(&group.position_report);
    }
    batch
}

fn solve_factored<R: Pack>(blocks: &[&Sparse], settings: &SolveSettings) -> (Batch<R>, Vec<BlockPlace>) {
    let mut batch = Batch::<R>::new();
    batch.factored_from = 1;
    let places: Vec<_> = blocks.iter().map(|b| batch.add_island(b.block.size, 0)).collect();
    batch.allocate();
    for (block, place) in blocks.iter().zip(&places) {
        assert!(batch.groups[place.group].factored && batch.groups[place.group].delassus.is_empty());
        block.write(&mut batch, *place);
    }
    solve_cpu(&mut batch, Level::detect(), settings).expect("packs that run here");
    (batch, places)
}

fn piles() -> Vec<Sparse> {
    (0..60).map(|k| sparse(2 + k % 17, k % 4, 2 + k % 5, if k % 7 == 0 { 0.01 } else { 0.0 }, 77 + k as u64)).collect()
}

#[test]
fn a_factor_is_solved_as_its_matrix_is() {
    let settings = SolveSettings { algorithm: Algorithm::Auto, iterations: 60, ..TIGHT };
    let piles = piles();
    let (batch, places) = solve_factored::<F64x8>(&piles.iter().collect::<Vec<_>>(), &settings);
    let dense: Vec<Block> = piles.iter().map(|pile| pile.block.clone()).collect();
    let reference = solve::<F64x8>(&dense, &settings);
    let (mut solved, positions) = ([0, 0, 0], positions(&batch));
    for ((pile, place), (_, dense)) in piles.iter().zip(&places).zip(&reference) {
        let (impulse, report) = pile.block.read(&batch, *place);
        // the certificate is the residual of what is returned, solved or not, by W and by Y
        let truth = pile.block.residual(&impulse, FrictionLaw::Cone);
        assert!((report[REPORT_RESIDUAL] - truth).abs() <= 1e-9 * (1.0 + truth), "{report:?} {truth}");
        // rounding of terms that add up to less than 10⁴ m/s
        assert!(report[REPORT_FLOOR] > 0.0 && report[REPORT_FLOOR] < 1e-11, "{report:?}");
        solved[0] += usize::from(report[REPORT_LIVE] == 0.0);
        solved[1] += usize::from(dense[REPORT_LIVE] == 0.0);
        let (impulse, report) = pile.block.read(&positions, *place);
        let truth = pile.position().residual(&impulse, FrictionLaw::Cone);
        assert!((report[REPORT_RESIDUAL] - truth).abs() <= 1e-9 * (1.0 + truth), "{report:?} {truth}");
        solved[2] += usize::from(report[REPORT_LIVE] == 0.0);
    }
    println!("{} of 60 by factors, {} by matrices, {} position problems", solved[0], solved[1], solved[2]);
    assert!(solved.iter().all(|count| *count >= 58), "{solved:?}");
}

#[test]
fn a_factor_tells_every_entry_of_its_matrix() {
    for pile in piles() {
        let mut batch = Batch::<f64>::new();
        batch.factored_from = 1;
        let place = batch.add_island(pile.block.size, 0);
        batch.allocate();
        pile.write(&mut batch, place);
        let factor = &mut batch.groups[place.group].factors[place.block];
        let n = pile.block.size.row_count();
        for compressed in [false, true] {
            if compressed {
                factor.compress();
            }
            for i in 0..n {
                for j in 0..n {
                    let difference = factor.delassus(i, j) - pile.block.delassus[n * i + j];
                    assert!(difference.abs() < 1e-14, "{i} {j}: {difference:e}");
                }
            }
        }
    }
}

#[test]
fn bits_of_a_factored_block_do_not_depend_on_neighbours_level_or_width() {
    let settings = SolveSettings { tolerance: 1e-5, algorithm: Algorithm::Auto, iterations: 60, ..TIGHT };
    let piles = piles();
    let all: Vec<&Sparse> = piles.iter().collect();
    let both = |batch: &Batch<F32x16>, pile: &Sparse, place| {
        (pile.block.read(batch, place), pile.block.read(&positions(batch), place))
    };
    let read = |blocks: &[&Sparse], k: usize| {
        let (batch, places) = solve_factored::<F32x16>(blocks, &settings);
        both(&batch, blocks[k], places[k])
    };
    let (together, places) = solve_factored::<F32x16>(&all, &settings);
    let backwards: Vec<&Sparse> = piles.iter().rev().collect();
    for k in (0..60).step_by(4).chain([7, 23, 59]) {
        let expected = both(&together, &piles[k], places[k]);
        assert_eq!(read(&all[k..=k], 0), expected);
        assert_eq!(read(&backwards, 59 - k), expected);
        let (single, place) = solve_factored::<f32>(&all[k..=k], &settings);
        let single = (piles[k].block.read(&single, place[0]), piles[k].block.read(&positions(&single), place[0]));
        assert_eq!(single, expected);
    }
}

#[test]
fn large_blocks_with_fewer_freedoms_than_rows_are_factored() {
    let mut batch = Batch::<F32x16>::new();
    let size = BlockSize { contact_count: 16, scalar_count: 0 };
    let factored = |batch: &mut Batch<F32x16>, size, dof_count| {
        let place = batch.add_island(size, dof_count);
        batch.groups[place.group].factored
    };
    assert!(!factored(&mut batch, size, 12));
    batch.factored_from = 48;
    assert!(factored(&mut batch, size, 12));
    assert!(factored(&mut batch, size, 48));
    assert!(!factored(&mut batch, size, 49));
    assert!(!factored(&mut batch, BlockSize { contact_count: 12, scalar_count: 0 }, 12));
    assert!(batch.groups.iter().any(|group| group.factored && group.block_count > 0));
}

/// One block with a bias, an entry of Y or a friction coefficient that is not a number, among others.
#[test]
fn a_factored_block_that_is_not_finite_says_so_and_harms_no_other() {
    let settings = SolveSettings { tolerance: 1e-5, algorithm: Algorithm::Auto, iterations: 60, ..TIGHT };
    let clean = piles();
    let (expected, places) = solve_factored::<F32x16>(&clean.iter().collect::<Vec<_>>(), &settings);
    for (kind, poison) in [f64::NAN, f64::INFINITY].into_iter().flat_map(|x| [(0, x), (1, x), (2, x)]) {
        let mut piles = piles();
        let bad = &mut piles[23];
        match kind {
            0 => bad.block.bias[4] = poison,
            1 => *bad.entries.iter_mut().find(|y| **y != 0.0).expect("an entry") = poison,
            _ => bad.block.friction[1] = f64::NAN,
        }
        let (batch, _) = solve_factored::<F32x16>(&piles.iter().collect::<Vec<_>>(), &settings);
        for (k, pile) in clean.iter().enumerate() {
            let (impulse, report) = pile.block.read(&batch, places[k]);
            if k == 23 {
                assert_eq!(report[REPORT_RESIDUAL], f64::INFINITY, "{kind} {poison}: {report:?}");
                assert_eq!(report[REPORT_LIVE], 0.0);
            } else {
                assert_eq!((impulse, report), pile.block.read(&expected, places[k]), "{kind} {poison}: block {k}");
            }
        }
    }
}
