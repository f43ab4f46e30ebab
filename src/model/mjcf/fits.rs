//! Primitives that are fitted to a mesh.

use super::Reader;
use super::bodies::Pose;
use super::xml::Element;
use crate::error::Result;
use crate::model::Shape;
use nalgebra::{Matrix3, Rotation3, UnitQuaternion, Vector3};

/// Share of the largest moment within which two moments are one, so that rounding decides about their axes.
const SAME: f64 = 1e-6;

impl Reader {
    /// Shape and pose of a primitive that is fitted to a mesh as MuJoCo 4.0 does it, along the principal axes of the mesh: by the box that has its inertia, or with the compiler's
    /// `fitaabb` by the box around it.
    pub fn fitted(&mut self, e: &Element, kind: &str, name: &str) -> Result<(Shape, Pose)> {
        if kind == "plane" || e.attribute("fromto").is_some() {
            return Err(e.error("neither a plane nor \"fromto\" goes with a mesh; remove one of them"));
        }
        let scale = e.number("fitscale")?.unwrap_or(1.0);
        if scale <= 0.0 {
            return Err(e.error("\"fitscale\" must be positive"));
        }
        let mesh = self.mesh(e, name)?;
        let (moments, turn) = principal(&mesh.inertia);
        let around = self.compiler(e).fit_box;
        // of two axes with the same moment any two will do, or which is the longer is open
        let same = |k: usize| moments[k] - moments[k + 1] <= SAME * moments[0];
        let turns = (same(0) || same(1)) && !is_diagonal(&mesh.inertia) && (around || kind == "box");
        if turns || same(1) && matches!(kind, "capsule" | "cylinder") {
            return Err(e.error(format!(
                "two principal moments of its mesh are the same, and so it is open how to turn a {kind} that is fitted to it; give size and pose, or type=\"mesh\""
            )));
        }
        let (low, high) = mesh
            .hull
            .vertices
            .iter()
            .map(|v| turn.inverse() * v)
            .fold((Vector3::repeat(f64::INFINITY), Vector3::repeat(f64::NEG_INFINITY)), |(low, high), v| {
                (low.inf(&v), high.sup(&v))
            });
        let (half, centre) = if around {
            ((high - low) / 2.0, (high + low) / 2.0)
        } else {
            // of a box I₁ + I₂ − I₀ = ⅔ m a²
            let square = moments.map(|own| 1.5 * (moments.sum() - 2.0 * own) / mesh.volume);
            (square.map(|square| square.max(0.0).sqrt()), Vector3::zeros())
        };
        let radius = if around { half.x.max(half.y) } else { f64::midpoint(half.x, half.y) };
        let size = match kind {
            "sphere" if around => [half.max(), 0.0, 0.0],
            "sphere" => [half.mean(), 0.0, 0.0],
            "capsule" if around => [radius, half.z - radius, 0.0],
            "capsule" => [radius, half.z - radius / 2.0, 0.0],
            "cylinder" => [radius, half.z, 0.0],
            _ => half.into(),
        };
        let fit = Pose { position: mesh.centroid + turn * centre, orientation: turn };
        Ok((Self::sized(e, kind, size.map(|length| scale * length))?, self.pose(e)?.then(&fit)))
    }
}

/// Principal moments, the largest first, and their axes.
fn principal(inertia: &Matrix3<f64>) -> (Vector3<f64>, UnitQuaternion<f64>) {
    let (moments, axes) = if is_diagonal(inertia) {
        (inertia.diagonal(), Matrix3::identity())
    } else {
        let eigen = inertia.symmetric_eigen();
        (eigen.eigenvalues, eigen.eigenvectors)
    };
    let mut order = [0, 1, 2];
    order.sort_by(|&i, &j| moments[j].total_cmp(&moments[i]));
    let [x, y] = [order[0], order[1]].map(|k| axes.column(k).into_owned());
    let turn = Rotation3::from_matrix_unchecked(Matrix3::from_columns(&[x, y, x.cross(&y)]));
    (Vector3::from(order.map(|k| moments[k])), UnitQuaternion::from_rotation_matrix(&turn))
}

/// Whether the axes are principal, to rounding.
fn is_diagonal(inertia: &Matrix3<f64>) -> bool {
    (inertia - Matrix3::from_diagonal(&inertia.diagonal())).amax() <= 1e-12 * inertia.amax()
}
