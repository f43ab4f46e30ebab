//! Residuals of one patch in f64, from its impulses and velocities, for [`crate::lcp::residual`].

use super::Patch;
use super::Support;
use super::ellipsoid::{Friction, length, natural_map as ball_map};
use super::system::{friction_scale, project_disc_cone};
use crate::lcp::complementarity::{fischer_burmeister as scalar, jordan_fischer_burmeister, worse};

/// What the laws of a patch speak about.
struct State {
    block: Friction<f64>,
    /// N, N·s.
    sum: f64,
    centre: [f64; 2],
    /// N·s.
    s: [f64; 3],
    /// m/s.
    y: [f64; 3],
}

impl State {
    fn new(row: usize, patch: &Patch, z: &[f64], w: &[f64]) -> Self {
        let block = Friction::new(row, patch);
        let pressure = block.pressure(z);
        let (s, y) = (block.scaled_impulse(z, pressure.centre), block.slip(w, pressure.centre));
        Self { block, sum: pressure.sum, centre: pressure.centre, s, y }
    }

    /// μ N
    fn radius(&self) -> f64 {
        self.block.friction * self.sum
    }

    /// Impulses along axes without friction, each with its row.
    fn forbidden<'a>(&'a self, z: &[f64]) -> impl Iterator<Item = (usize, f64)> + 'a {
        let f = self.block.at_ecp(z, self.centre);
        (0..3).filter(|&k| self.block.ellipsoid[k] == 0.0).map(move |k| (self.block.rows[k], f[k].abs()))
    }
}

impl Patch {
    /// Scales of its rows from the diagonal of W there; see [`crate::lcp::Problem::row_scale`].
    pub(in crate::lcp) fn row_scale(&self, diagonal: &[f64]) -> Vec<f64> {
        let positive = |x: f64| if x > 0.0 { x } else { 1.0 };
        let (normals, frictions) = diagonal.split_at(self.normal_rows());
        let mut scale: Vec<f64> = match self.support {
            Support::Vertices { .. } => normals.iter().map(|&d| positive(d)).collect(),
            Support::Disc { .. } => vec![positive(normals.iter().sum::<f64>() / 3.0); 3],
        };
        let mean = friction_scale(self.ellipsoid, [frictions[0], frictions[1], frictions[2]]);
        let each = self.ellipsoid.iter().zip(frictions);
        scale.extend(each.map(|(&e, &d)| if e == 0.0 { (mean * positive(d)).sqrt() } else { mean }));
        scale
    }
}

/// The natural map: the largest of the pressure's, the friction's, and `√(a W_kk) |f_k|` along axes without friction; m/s.
pub(in crate::lcp) fn natural_map(row: usize, patch: &Patch, scale: &[f64], z: &[f64], w: &[f64]) -> f64 {
    let state = State::new(row, patch, z, w);
    let mut worst = match patch.support {
        // D |λ − max(0, λ − w/D)|
        Support::Vertices { count, .. } => (row..row + count)
            .fold(0.0, |worst, i| worse(worst, scale[i] * (z[i] - (z[i] - w[i] / scale[i]).max(0.0)).abs())),
        Support::Disc { .. } => {
            let p = project_disc_cone(std::array::from_fn(|k| z[row + k] - w[row + k] / scale[row])).0;
            scale[row] * length(std::array::from_fn(|k| z[row + k] - p[k]))
        }
    };
    let axis = (0..3).find(|&k| patch.ellipsoid[k] > 0.0).map_or(1.0, |k| scale[state.block.rows[k]]);
    worst = worse(worst, ball_map(state.s, state.y, state.radius(), axis));
    for (row, f) in state.forbidden(z) {
        worst = worse(worst, scale[row] * f);
    }
    worst
}

/// Fischer-Burmeister in place of the projections, m/s.
pub(in crate::lcp) fn fischer_burmeister(row: usize, patch: &Patch, scale: &[f64], z: &[f64], w: &[f64]) -> f64 {
    let state = State::new(row, patch, z, w);
    let mut worst = match patch.support {
        Support::Vertices { count, .. } => {
            (row..row + count).fold(0.0, |worst, i| worse(worst, scalar(scale[i] * z[i], w[i]).abs()))
        }
        Support::Disc { .. } => {
            let x: [f64; 3] = std::array::from_fn(|k| scale[row] * z[row + k]);
            jordan_fischer_burmeister(&x, &w[row..row + 3])
        }
    };
    let axis = (0..3).find(|&k| patch.ellipsoid[k] > 0.0).map_or(1.0, |k| scale[state.block.rows[k]]);
    let ([s0, s1, s2], [y0, y1, y2]) = (state.s.map(|s| axis * s), state.y);
    let friction = jordan_fischer_burmeister(&[axis * state.radius(), s0, s1, s2], &[length(state.y), y0, y1, y2]);
    worst = worse(worst, friction);
    for (row, f) in state.forbidden(z) {
        worst = worse(worst, scale[row] * f);
    }
    worst
}

/// `λ_i |w_i|` (`|z · w|` of a disc) and `μ N |y| + s · y`, the largest, J.
pub(in crate::lcp) fn complementarity(row: usize, patch: &Patch, z: &[f64], w: &[f64]) -> f64 {
    let state = State::new(row, patch, z, w);
    let pressure = match patch.support {
        Support::Vertices { count, .. } => (row..row + count).fold(0.0, |worst, i| worse(worst, (z[i] * w[i]).abs())),
        Support::Disc { .. } => (row..row + 3).map(|i| z[i] * w[i]).sum::<f64>().abs(),
    };
    let power: f64 = state.s.iter().zip(&state.y).map(|(s, y)| s * y).sum();
    worse(pressure, (state.radius() * length(state.y) + power).abs())
}

/// How far the impulses leave `λ ≥ 0`, the disc's cone and the ellipsoid, N·s.
pub(in crate::lcp) fn violation(row: usize, patch: &Patch, z: &[f64]) -> f64 {
    let state = State::new(row, patch, z, z);
    let pressure = match patch.support {
        Support::Vertices { count, .. } => z[row..row + count].iter().fold(0.0, |worst, &z| worse(worst, -z)),
        Support::Disc { .. } => {
            let p = project_disc_cone([z[row], z[row + 1], z[row + 2]]).0;
            length(std::array::from_fn(|k| z[row + k] - p[k]))
        }
    };
    let beyond = state.forbidden(z).fold(length(state.s) - state.radius(), |worst, (_, f)| worse(worst, f));
    worse(pressure, beyond.max(0.0))
}

/// The energy that friction takes out, `−s · y`, J.
pub(in crate::lcp) fn dissipation(row: usize, patch: &Patch, z: &[f64], w: &[f64]) -> f64 {
    let state = State::new(row, patch, z, w);
    -state.s.iter().zip(&state.y).map(|(s, y)| s * y).sum::<f64>()
}

/// What the natural map of a patch is made of, m/s: its velocities, from `size` of each row (`Σ_j |W_ij z_j| + |b_i|`), and
/// `a/e_r` times the parts of τ_r, which a small e_r blows up.
pub(in crate::lcp) fn size(row: usize, patch: &Patch, scale: &[f64], z: &[f64], size: &[f64]) -> f64 {
    let state = State::new(row, patch, z, size);
    let normals = size[row..row + patch.normal_rows()].iter().fold(0.0, |worst, &s| worse(worst, s));
    let [t, o, r] = state.block.rows.map(|row| size[row]);
    let [e_t, e_o, e_r] = patch.ellipsoid;
    let [d_t, d_o] = state.centre.map(f64::abs);
    let velocity = length([e_t * (t + d_o * r), e_o * (o + d_t * r), e_r * r]);
    let [f_t, f_o, torsion] = state.block.rows.map(|row| z[row].abs());
    let parts = torsion + d_t * f_o + d_o * f_t;
    let axis = scale[state.block.rows[2]];
    worse(normals, velocity + if e_r > 0.0 { axis * parts / e_r } else { axis * parts })
}
