//! Contact problems of [`crate::lcp`] as blocks of a batch.

use super::batch::{Batch, BlockPlace, PATCH_LEN, REPORT_LEN, REPORT_NEWTON_STEPS, REPORT_SWEEPS};
use super::settings::{FrictionLaw, SolveSettings};
use super::size::BlockSize;
use crate::contact::PATCH_ROWS;
use crate::error::{Error, Result};
use crate::lane::{Pack, Scalar};
use crate::lcp::patch::{Patch, Support};
use crate::lcp::{Group, Law, Problem, Solution, SolveStatus, natural_map_residual};
use nalgebra::DVector;

/// Most memory that the matrices of a batch may take, bytes.
const MOST_BYTES: usize = 4 << 30;

/// Many contact problems of [`crate::lcp`] as one batch, and which row of which block is which row of which problem.
///
/// Rows may stand in any order; in a block, contacts come first. Every problem is scaled by powers of two, which rounds nothing, so that
/// its numbers are of order 1 in any number type:
///
/// ```text
/// w = W z + b   →   w/β = (W/ω) (z ω/β) + b/β,      β ≤ ‖b‖∞ < 2 β,   ω ≤ mean W_ii < 2 ω
/// ```
///
/// so a residual of the batch, times β, is one of the problem, and the tolerance is relative to ‖b‖∞.
///
/// | [`Law`] | in the batch |
/// |---|---|
/// | `Cone` | a contact, under [`FrictionLaw::Cone`] or [`FrictionLaw::Patch`] |
/// | `Friction` | one or two tangents of one normal and μ make it a contact, under [`FrictionLaw::Box`]; the normal is unilateral |
/// | `Interval` | a scalar row |
/// | `Patch` | a patch, under [`FrictionLaw::Patch`] |
///
/// A contact with one tangent gets a second one that nothing moves: no coupling, no bias.
#[derive(Debug, Clone)]
pub struct ProblemBatch<R: Pack> {
    /// The blocks, as a backend solves them.
    pub batch: Batch<R>,
    /// Place of every problem, shape \[problem\].
    pub places: Vec<BlockPlace>,
    layouts: Vec<Layout>,
}

/// How the rows of a problem lie in a block.
#[derive(Debug, Clone, Default)]
struct Layout {
    /// Friction coefficient and rows of every contact: normal, tangents; none for a tangent that is made up.
    contacts: Vec<(f64, [Option<usize>; 3])>,
    /// First row and law of every patch: the contacts that come first.
    patches: Vec<(usize, Patch)>,
    /// Row and bounds (N·s) of every scalar row.
    scalars: Vec<(usize, [f64; 2])>,
    /// β, m/s.
    velocity_scale: f64,
    /// ω, 1/kg.
    inverse_mass_scale: f64,
}

/// The largest power of two that is at most x; 1 where x is not a positive number.
fn power_of_two(x: f64) -> f64 {
    if x > 0.0 && x.is_finite() { x.log2().floor().clamp(-1000.0, 1000.0).exp2() } else { 1.0 }
}

impl Layout {
    fn new(problem: &Problem, law: FrictionLaw) -> Result<Self> {
        problem.validate()?;
        let n = problem.rows();
        let refused = |row: usize, message: &str| {
            Err(Error::Unsupported(format!("{:?}, row {row}, in a batch: {message}", problem.name)))
        };
        // Tangents of every normal.
        let mut tangents: Vec<Vec<(f64, usize)>> = vec![Vec::new(); n];
        for Group { row, law: of_row } in problem.groups() {
            if let Law::Friction { normal, friction } = of_row {
                tangents[normal].push((friction, row));
            }
        }
        let mut layout = Self {
            velocity_scale: power_of_two(problem.bias.amax()),
            inverse_mass_scale: power_of_two(problem.delassus.diagonal().mean()),
            ..Self::default()
        };
        for Group { row, law: of_row } in problem.groups() {
            match (of_row, law) {
                (Law::Cone { friction, dimension }, FrictionLaw::Cone | FrictionLaw::Patch) => {
                    layout.contacts.push((friction, [Some(row), Some(row + 1), (dimension == 3).then_some(row + 2)]));
                }
                (Law::Cone { .. }, FrictionLaw::Box) => {
                    return refused(row, "a friction cone needs the friction law Cone");
                }
                (Law::Friction { .. }, FrictionLaw::Cone | FrictionLaw::Patch) => {
                    return refused(row, "box friction needs the friction law Box");
                }
                (Law::Patch(patch), FrictionLaw::Patch) => layout.patches.push((row, patch)),
                (Law::Patch(_), _) => return refused(row, "a patch needs the friction law Patch"),
                // Comes with its normal.
                (Law::Friction { .. }, FrictionLaw::Box) => {}
                (Law::Interval { lower, upper }, _) => match tangents[row].as_slice() {
                    [] => layout.scalars.push((row, [lower, upper])),
                    [(friction, first), rest @ ..] if rest.len() < 2 && rest.iter().all(|(f, _)| f == friction) => {
                        if of_row != Law::UNILATERAL {
                            return refused(row, "a normal with box friction must be unilateral");
                        }
                        layout
                            .contacts
                            .push((*friction, [Some(row), Some(*first), rest.first().map(|(_, second)| *second)]));
                    }
                    _ => return refused(row, "box friction has at most two tangents, with the same coefficient"),
                },
            }
        }
        Ok(layout)
    }

    fn size(&self) -> BlockSize {
        let patches = self.patches.len();
        BlockSize {
            contact_count: patches + self.contacts.len(),
            scalar_count: PATCH_ROWS * patches + self.scalars.len(),
        }
    }

    /// Pairs of a row of the block, with room for so many contacts and patches, and the row of the problem.
    fn rows(&self, (room, patch_room): (usize, usize)) -> impl Iterator<Item = (usize, usize)> + '_ {
        let patches = self.patches.iter().enumerate().flat_map(move |(c, (first, patch))| {
            let (own, more, normals) = (3 * c, 3 * room + PATCH_ROWS * c, patch.normal_rows());
            let normal = (0..normals).map(move |k| (if k == 0 { own } else { more + k - 1 }, first + k));
            normal
                .chain([own + 1, own + 2, more + 3].into_iter().enumerate().map(move |(k, i)| (i, first + normals + k)))
        });
        let contacts = self.contacts.iter().enumerate().flat_map(move |(c, (_, rows))| {
            rows.iter().enumerate().filter_map(move |(k, row)| row.map(|row| (3 * (patch_room + c) + k, row)))
        });
        let first = 3 * room + PATCH_ROWS * patch_room;
        let scalars = self.scalars.iter().enumerate().map(move |(s, (row, _))| (first + s, *row));
        patches.chain(contacts).chain(scalars)
    }

    /// N·s of the problem per unit of the batch, β/ω.
    fn impulse_scale(&self) -> f64 {
        self.velocity_scale / self.inverse_mass_scale
    }
}

/// What [`super::Group::patches`] says of a patch.
fn numbers_of(patch: &Patch) -> [f64; PATCH_LEN] {
    let mut numbers = [0.0; PATCH_LEN];
    numbers[..3].copy_from_slice(&patch.ellipsoid);
    match patch.support {
        Support::Vertices { count, points } => {
            for (lever, point) in numbers[4..].chunks_exact_mut(2).zip(&points[..count]) {
                lever.copy_from_slice(point);
            }
        }
        // (λ, m_t, m_o): d = R m/λ
        Support::Disc { radius } => (numbers[3], numbers[6], numbers[9]) = (1.0, radius, radius),
    }
    numbers
}

impl<R: Pack> ProblemBatch<R> {
    /// Puts `problems` into a batch, rounded to R, to be solved under `law` from zero impulses.
    ///
    /// # Errors
    /// [`Error::Problem`] for an invalid problem, [`Error::Unsupported`] for laws that `law` does not cover (see the table above),
    /// [`Error::Argument`] if the matrices would take more than 4 GiB.
    pub fn new<'a>(problems: impl IntoIterator<Item = &'a Problem>, law: FrictionLaw) -> Result<Self> {
        let problems: Vec<_> = problems.into_iter().collect();
        let layouts: Vec<_> = problems.iter().map(|problem| Layout::new(problem, law)).collect::<Result<_>>()?;
        let mut batch = Batch::new();
        let add = |layout: &Layout| batch.add_patched(layout.size(), layout.patches.len());
        let places: Vec<_> = layouts.iter().map(add).collect();
        let mut bytes = 0usize;
        for group in &batch.groups {
            let n = group.size.row_count();
            bytes = bytes.saturating_add(n.saturating_mul(n).saturating_mul(group.tile_count() * size_of::<R>()));
        }
        if bytes > MOST_BYTES {
            let message = format!("{bytes} bytes of matrices do not go into one batch; solve fewer at once");
            return Err(Error::argument("problems", message));
        }
        batch.allocate();
        let mut this = Self { batch, places, layouts };
        for (index, problem) in problems.into_iter().enumerate() {
            this.write(index, problem);
        }
        Ok(this)
    }

    fn write(&mut self, index: usize, problem: &Problem) {
        let (layout, place) = (&self.layouts[index], self.places[index]);
        let group = &mut self.batch.groups[place.group];
        let (tile, lane) = (place.block / R::LANES, place.block % R::LANES);
        let (n, room) = (group.size.row_count(), (group.size.contact_count, group.patch_count));
        let put = |x: &mut R, value: f64| x.set(lane, R::Scalar::from_f64(value));
        for (i, row) in layout.rows(room) {
            for (j, column) in layout.rows(room) {
                let entry = problem.delassus[(row, column)] / layout.inverse_mass_scale;
                put(&mut group.delassus[(tile * n + i) * n + j], entry);
            }
            let bias = problem.bias[row] / layout.velocity_scale;
            put(&mut group.bias[tile * n + i], bias);
            // The position problem is the same one, and goes on where the velocity problem stopped.
            put(&mut group.position_bias[tile * n + i], bias);
        }
        for (c, (_, patch)) in layout.patches.iter().enumerate() {
            put(&mut group.friction[tile * room.0 + c], patch.friction);
            let shape = &mut group.patches[(tile * room.1 + c) * PATCH_LEN..][..PATCH_LEN];
            for (entry, x) in shape.iter_mut().zip(numbers_of(patch)) {
                put(entry, x);
            }
        }
        for (k, (friction, rows)) in layout.contacts.iter().enumerate() {
            let c = room.1 + k;
            put(&mut group.friction[tile * room.0 + c], *friction);
            if let [Some(normal), Some(tangent), None] = *rows {
                // The mean of the others keeps the mean, by which a cone's residual is scaled.
                let mean = 0.5 * (problem.delassus[(normal, normal)] + problem.delassus[(tangent, tangent)]);
                let i = 3 * c + 2;
                put(&mut group.delassus[(tile * n + i) * n + i], mean / layout.inverse_mass_scale);
            }
        }
        for (s, (_, bounds)) in layout.scalars.iter().enumerate() {
            for (side, bound) in bounds.iter().enumerate() {
                let s = PATCH_ROWS * room.1 + s;
                let entry = (tile * group.size.scalar_count + s) * 2 + side;
                put(&mut group.bounds[entry], bound / layout.impulse_scale());
            }
        }
    }

    /// The impulse of every problem after a solve, N·s, and the sweeps that it took.
    pub fn impulses(&self) -> Vec<(DVector<f64>, usize)> {
        let each = self.layouts.iter().zip(&self.places);
        each.map(|(layout, place)| {
            let group = &self.batch.groups[place.group];
            let (tile, lane) = (place.block / R::LANES, place.block % R::LANES);
            let (n, room) = (group.size.row_count(), (group.size.contact_count, group.patch_count));
            let rows = layout.rows(room).count();
            let mut impulse = DVector::zeros(rows);
            for (i, row) in layout.rows(room) {
                let value: f64 = group.position_impulse[tile * n + i].get(lane).to_f64();
                impulse[row] = value * layout.impulse_scale();
            }
            let iterations: f64 = [&group.report, &group.position_report]
                .into_iter()
                .flat_map(|report| [REPORT_SWEEPS, REPORT_NEWTON_STEPS].map(|k| report[tile * REPORT_LEN + k]))
                .map(|count| count.get(lane).to_f64())
                .sum();
            (impulse, iterations as usize)
        })
        .collect()
    }
}

/// Solves problems as one batch with a backend of the batched solver.
///
/// `settings.tolerance` is relative to ‖b‖∞ (absolute, in m/s, where b = 0); a problem counts as solved by its own residual in f64
/// ([`natural_map_residual`]), whatever the backend says. The backend gets half the tolerance, so that rounding W and b to R does not spoil it, and
/// half the sweeps, as it solves every problem twice, the second time from the first answer.
///
/// ```
/// use delassus::lane::{F64x8, Level};
/// use delassus::lcp::{Problem, SolveStatus};
/// use delassus::solver::{SolveSettings, solve_cpu, solve_problems};
/// use nalgebra::{DMatrix, DVector};
///
/// # fn main() -> delassus::Result<()> {
/// let problem = Problem::standard("two", DMatrix::from_row_slice(2, 2, &[2.0, 1.0, 1.0, 2.0]), DVector::from_vec(vec![-5.0, -6.0]));
/// let settings = SolveSettings { tolerance: 1e-12, ..SolveSettings::default() };
/// let solutions = solve_problems::<F64x8>(&[problem], &settings, |batch, settings| {
///     solve_cpu(batch, Level::detect(), settings)
/// })?;
/// assert_eq!(solutions[0].status, SolveStatus::Solved);
/// assert!((solutions[0].impulse[1] - 7.0 / 3.0).abs() < 1e-9);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// Those of [`ProblemBatch::new`] and of the backend; [`Error::Argument`] for wrong settings.
pub fn solve_problems<'a, R: Pack>(
    problems: impl IntoIterator<Item = &'a Problem>,
    settings: &SolveSettings,
    backend: impl FnOnce(&mut Batch<R>, &SolveSettings) -> Result<()>,
) -> Result<Vec<Solution>> {
    settings.validate()?;
    let problems: Vec<_> = problems.into_iter().collect();
    let mut batch = ProblemBatch::<R>::new(problems.iter().copied(), settings.law)?;
    let half =
        SolveSettings { tolerance: 0.5 * settings.tolerance, iterations: settings.iterations.div_ceil(2), ..*settings };
    backend(&mut batch.batch, &half)?;
    let answers = batch.impulses().into_iter().zip(problems);
    Ok(answers.map(|((impulse, iterations), problem)| judge(problem, impulse, iterations, settings)).collect())
}

/// The solution with the status that its residual deserves.
fn judge(problem: &Problem, impulse: DVector<f64>, iterations: usize, settings: &SolveSettings) -> Solution {
    let residual = natural_map_residual(problem, &impulse);
    if !residual.is_finite() {
        let impulse = DVector::zeros(problem.rows());
        let residual = natural_map_residual(problem, &impulse);
        return Solution { impulse, status: SolveStatus::NotFinite, iterations, residual, work: 0 };
    }
    let size = problem.bias.amax();
    let solved = residual <= settings.tolerance * if size > 0.0 { size } else { 1.0 };
    let status = if solved { SolveStatus::Solved } else { SolveStatus::IterationLimit };
    Solution { impulse, status, iterations, residual, work: 0 }
}
