//! Semismooth Newton on modes: guess what every row and contact does, solve the linear system of that guess, repeat.
//!
//! Alart & Curnier 1991 in the reduced unknowns of the modes (open contacts have none). With `p = y - v`:
//!
//! ```text
//! row      p <= lower: at the lower bound    p >= upper: at the upper bound    else w = 0
//! contact  open  if p_n <= 0                 no unknowns
//!          stick if |p_t| <= μ p_n           v = 0, unknowns r
//!          slide otherwise, d = p_t / |p_t|, e ⟂ d, k = μ p_n / |p_t|:
//!                r = R (r_n, s), R = [(1, μ d), (0, e)];   v_n = 0,   e·v_t + (1 - k)/k s = 0
//! box friction:  free, or r_t = ± μ r_n along with its normal
//!
//! (Lᵀ W R + δ I + D) x = Lᵀ(δ y - b - W c),     y' = R x + c
//! ```
//!
//! `c` holds the rows at fixed bounds, `D` the curvature `(1 - k)/k` of the cone, δ a proximal term that regularizes
//! rank-deficient `W` without moving the solution. Velocities along the direction are linear, so a whole line search
//! on the merit (sum of squares of the natural map) costs one matrix-vector product.

use super::cone::length;
use super::elimination::Lu;
use super::problem::{Group, Law, Problem};
use super::scaled::{LARGEST_SYSTEM, Scaled};
use super::sweeps::sweep;
use super::work::Work;
use nalgebra::{DMatrix, DVector};

/// How far to go.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NewtonSettings {
    /// First proximal term δ, in units of the mean diagonal.
    pub delta: f64,
    /// Most steps.
    pub steps: usize,
    /// Give up when the merit has not fallen 4 times in so many steps; 0 never.
    pub stall: usize,
}

/// Up to so many rows, many sweeps cost no more than a step.
const SMALL: usize = 200;
/// First proximal term of Newton from an answer that is nearly right, in units of the mean diagonal: a larger one holds
/// back the wide moves between internal forces that the last digits take.
pub(crate) const POLISH_DELTA: f64 = 1e-7;
/// Least proximal term.
const LEAST_DELTA: f64 = 1e-9;
/// Least `k` of a sliding contact: bounds the curvature `(1 - k)/k`.
const LEAST_SHARE: f64 = 1e-3;
/// Steps tried along a direction.
const STEPS: [f64; 5] = [1.0, 0.4, 0.16, 0.064, 0.0256];

/// Five sweeps, then Newton steps with a sweep whenever a step brings nothing; from `warm` or zero.
///
/// Returns the impulse (N·s) and the steps (linear systems).
pub(crate) fn newton(
    problem: &Problem,
    warm: Option<&DVector<f64>>,
    tolerance: f64,
    steps: usize,
    work: &Work,
) -> (DVector<f64>, usize) {
    let s = Scaled::new(problem, work);
    let mut y = s.start(warm);
    let mut v = s.velocity(&y);
    for _ in 0..5 {
        sweep(&s, &mut y, &mut v, 1.0);
    }
    v = s.velocity(&y);
    let settings = NewtonSettings { delta: 1e-6, steps, stall: 0 };
    let (_, taken) = mode_newton(&s, &mut y, &mut v, settings, tolerance);
    (s.impulse(&y), taken)
}

/// Newton from `(y, v)`, which hold the best point afterwards. Returns whether the residual (m/s) is within
/// `tolerance`, and the steps taken.
pub(crate) fn mode_newton(
    s: &Scaled<'_>,
    y: &mut DVector<f64>,
    v: &mut DVector<f64>,
    settings: NewtonSettings,
    tolerance: f64,
) -> (bool, usize) {
    let mut delta = settings.delta;
    let mut merit = s.merit(y, v);
    let mut history = vec![merit];
    let mut best = (s.residual(y, v), y.clone());
    let mut taken = 0;
    while best.0 > tolerance && taken < settings.steps {
        let modes = Modes::at(s, y, v);
        if !s.work.affords(modes.solve_work(s) + 3 * s.sweep_work()) {
            break;
        }
        taken += 1;
        let Some(target) = modes.solve(s, y, delta) else {
            delta = (delta * 10.0).max(1e-6);
            if delta > 1.0 {
                break;
            }
            continue;
        };
        let direction = target - &*y;
        let change = s.product(&direction);
        let mut chosen = (f64::INFINITY, 0.0);
        for step in STEPS {
            let m = s.merit(&(&*y + &direction * step), &(&*v + &change * step));
            if m < chosen.0 {
                chosen = (m, step);
            }
            if step == 1.0 && m < 1e-3 * merit {
                break;
            }
        }
        if chosen.0 < merit {
            y.axpy(chosen.1, &direction, 1.0);
            delta = if chosen.1 == 1.0 { (delta / 10.0).max(LEAST_DELTA) } else { (2.0 * delta).min(1.0) };
        } else if settings.stall > 0 {
            break;
        } else {
            delta = (10.0 * delta).min(1.0);
            for _ in 0..if s.rows() <= SMALL { 100 } else { 5 } {
                if !s.work.affords(s.sweep_work()) {
                    break;
                }
                sweep(s, y, v, 1.0);
            }
        }
        *v = s.velocity(y);
        merit = s.merit(y, v);
        let residual = s.residual(y, v);
        if !residual.is_finite() {
            break;
        }
        if residual < best.0 {
            best.0 = residual;
            best.1.copy_from(y);
        }
        history.push(merit);
        let past = history.len().checked_sub(settings.stall + 1).filter(|_| settings.stall > 0);
        if past.is_some_and(|k| merit > history[k] / 4.0) {
            break;
        }
    }
    y.copy_from(&best.1);
    *v = s.velocity(y);
    (best.0 <= tolerance, taken)
}

/// Whole steps from `y` with a proximal term that stays, whatever becomes of the merit, until the residual (m/s) is within `tolerance`; `y` holds the best point afterwards. Returns the steps
/// taken.
pub(crate) fn whole_steps(s: &Scaled<'_>, y: &mut DVector<f64>, delta: f64, steps: usize, tolerance: f64) -> usize {
    let mut v = s.velocity(y);
    let mut best = (s.residual(y, &v), y.clone());
    let mut taken = 0;
    while best.0 > tolerance && taken < steps {
        let modes = Modes::at(s, y, &v);
        if !s.work.affords(modes.solve_work(s) + 2 * s.sweep_work()) {
            break;
        }
        taken += 1;
        let Some(target) = modes.solve(s, y, delta) else { break };
        *y = target;
        v = s.velocity(y);
        let residual = s.residual(y, &v);
        if residual < best.0 {
            best = (residual, y.clone());
        }
    }
    y.copy_from(&best.1);
    taken
}

/// The reduced system of one guess.
struct Modes {
    /// Columns of `R`.
    columns: Vec<Vec<(usize, f64)>>,
    /// Columns of `L`.
    tests: Vec<Vec<(usize, f64)>>,
    /// Diagonal of `D`.
    curvature: Vec<f64>,
    /// `c`.
    fixed: DVector<f64>,
}

impl Modes {
    fn at(s: &Scaled<'_>, y: &DVector<f64>, v: &DVector<f64>) -> Self {
        let n = s.rows();
        let mut modes =
            Self { columns: Vec::new(), tests: Vec::new(), curvature: Vec::new(), fixed: DVector::zeros(n) };
        let mut column_of_row = vec![None; n];
        for &Group { row, law } in &s.groups {
            match law {
                Law::Interval { lower, upper } => {
                    let p = y[row] - v[row];
                    if p <= lower {
                        modes.fixed[row] = lower;
                    } else if p >= upper {
                        modes.fixed[row] = upper;
                    } else {
                        column_of_row[row] = Some(modes.columns.len());
                        modes.add(vec![(row, 1.0)], vec![(row, 1.0)], 0.0);
                    }
                }
                Law::Friction { .. } | Law::Patch(_) => {}
                Law::Cone { friction, dimension } => modes.add_contact(row, friction, dimension, y, v),
            }
        }
        for &Group { row, law } in &s.groups {
            let Law::Friction { normal, friction } = law else { continue };
            let p = y[row] - v[row];
            if p.abs() < friction * y[normal].max(0.0) {
                modes.add(vec![(row, 1.0)], vec![(row, 1.0)], 0.0);
                continue;
            }
            let gain = friction.copysign(p);
            match column_of_row[normal] {
                Some(k) => modes.columns[k].push((row, gain)),
                None => modes.fixed[row] = gain * modes.fixed[normal].max(0.0),
            }
        }
        modes
    }

    fn add(&mut self, column: Vec<(usize, f64)>, test: Vec<(usize, f64)>, curvature: f64) {
        self.columns.push(column);
        self.tests.push(test);
        self.curvature.push(curvature);
    }

    fn add_contact(&mut self, row: usize, friction: f64, dimension: usize, y: &DVector<f64>, v: &DVector<f64>) {
        let normal = y[row] - v[row];
        if normal <= 0.0 {
            return;
        }
        let mut p = [0.0; 2];
        for k in 1..dimension {
            p[k - 1] = y[row + k] - v[row + k];
        }
        let size = length(&p);
        if size <= friction * normal {
            for k in 0..dimension {
                self.add(vec![(row + k, 1.0)], vec![(row + k, 1.0)], 0.0);
            }
            return;
        }
        let d = [p[0] / size, p[1] / size];
        let mut column = vec![(row, 1.0), (row + 1, friction * d[0])];
        if dimension == 3 {
            column.push((row + 2, friction * d[1]));
        }
        self.add(column, vec![(row, 1.0)], 0.0);
        if dimension == 3 && friction > 0.0 {
            let share = (friction * normal / size).max(LEAST_SHARE);
            let across = vec![(row + 1, -d[1]), (row + 2, d[0])];
            self.add(across.clone(), across, (1.0 - share) / share);
        }
    }

    /// The row that stands for each unknown.
    fn rows(&self) -> impl Iterator<Item = usize> + '_ {
        self.tests.iter().map(|test| test[0].0)
    }

    /// Price of [`Self::solve`] with m unknowns, at most: `m n` for the columns of `W R`, and the elimination.
    fn solve_work(&self, s: &Scaled<'_>) -> u64 {
        self.forming_work(s) + s.order.price(self.rows())
    }

    fn forming_work(&self, s: &Scaled<'_>) -> u64 {
        (2 * self.columns.len() * s.rows()) as u64
    }

    /// `y' = R x + c` with `(Lᵀ W R + δ I + D) x = Lᵀ(δ y - b - W c)`; `None` if singular, not finite or too large.
    fn solve(&self, s: &Scaled<'_>, y: &DVector<f64>, delta: f64) -> Option<DVector<f64>> {
        let (n, m) = (s.rows(), self.columns.len());
        if m > LARGEST_SYSTEM {
            return None;
        }
        s.work.pay(self.forming_work(s));
        let mut target = self.fixed.clone();
        if m > 0 {
            let right = y * delta - s.velocity(&self.fixed);
            let mut a = DMatrix::zeros(m, m);
            let mut b = DVector::zeros(m);
            let mut image = DVector::zeros(n);
            for (j, column) in self.columns.iter().enumerate() {
                image.fill(0.0);
                for &(i, x) in column {
                    s.push(&mut image, i, x);
                }
                for (i, test) in self.tests.iter().enumerate() {
                    a[(i, j)] = test.iter().map(|&(k, x)| x * image[k]).sum::<f64>();
                }
                a[(j, j)] += delta + self.curvature[j];
                b[j] = self.tests[j].iter().map(|&(k, x)| x * right[k]).sum::<f64>();
            }
            let factors = Lu::new(&a, s.order.of(self.rows()))?;
            s.work.pay(factors.work);
            let x = factors.solve(&b);
            for (column, &x) in self.columns.iter().zip(x.iter()) {
                for &(i, r) in column {
                    target[i] += r * x;
                }
            }
        }
        target.iter().all(|x| x.is_finite()).then_some(target)
    }
}
