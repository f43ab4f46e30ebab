//! The corner of a convex hull that is farthest along a direction: from a corner that is near it, along edges, as long as the next one is farther. On a convex hull that ends at the
//! farthest one, after two or three corners however many there are.

use crate::model::Hull;
use nalgebra::Vector3;

/// Cells along an edge of the cube of directions.
const CELLS: usize = 6;
/// A corner that climbing finds may be nearer than the farthest by such a part of the size of the hull: rounding of its corners.
const ROUNDING: f64 = 1e-9;

/// How the corners of a hull are searched.
#[derive(Debug)]
pub(super) struct Way {
    /// Corners at the other ends of the edges of every corner, one corner after the other.
    neighbours: Vec<u32>,
    /// Where those of every corner begin, and their end, shape \[corner + 1\].
    first: Vec<u32>,
    /// The farthest corner along the middle of every cell, shape \[side of the cube\]\[CELLS\]\[CELLS\]; empty if the triangles are not those of a convex hull: then all corners are looked at.
    starts: Vec<u32>,
}

impl Way {
    pub fn new(hull: &Hull) -> Self {
        let v = &hull.vertices;
        let mut ends: Vec<Vec<u32>> = vec![Vec::new(); v.len()];
        for triangle in &hull.triangles {
            for (i, j) in [(0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)] {
                let (from, to) = (triangle[i], triangle[j] as u32);
                if !ends[from].contains(&to) {
                    ends[from].push(to);
                }
            }
        }
        let mut first = vec![0];
        for ends in &ends {
            first.push(first[first.len() - 1] + ends.len() as u32);
        }
        let mut way = Self { neighbours: ends.concat(), first, starts: Vec::new() };
        // along the middle of every cell
        let starts: Option<Vec<u32>> = directions(0.5).map(|n| all(v, &n).map(|k| k as u32)).collect();
        way.starts = starts.unwrap_or_default();
        // what goes for their corners goes for all directions
        let size = v.iter().map(Vector3::norm).fold(0.0, f64::max);
        let climbs = |n: Vector3<f64>| {
            let along = |k: Option<usize>| k.map_or(f64::NAN, |k| n.dot(&v[k]));
            along(way.farthest(v, &n)) >= along(all(v, &n)) - ROUNDING * size * n.norm()
        };
        if !directions(0.0).all(climbs) {
            way.starts.clear();
        }
        way
    }

    /// Which of the `corners` is farthest along `n`; none if there are none, or n is not finite.
    pub fn farthest(&self, corners: &[Vector3<f64>], n: &Vector3<f64>) -> Option<usize> {
        let Some(&start) = self.starts.get(cell(n)) else { return all(corners, n) };
        let mut at = start as usize;
        let mut most = n.dot(&corners[at]);
        loop {
            let mut next = at;
            for &k in &self.neighbours[self.first[at] as usize..self.first[at + 1] as usize] {
                let along = n.dot(&corners[k as usize]);
                if along > most {
                    (most, next) = (along, k as usize);
                }
            }
            if next == at {
                return Some(at);
            }
            at = next;
        }
    }
}

/// The first of the farthest corners along `n`.
fn all(corners: &[Vector3<f64>], n: &Vector3<f64>) -> Option<usize> {
    let mut best = (f64::NEG_INFINITY, None);
    for (k, corner) in corners.iter().enumerate() {
        let along = n.dot(corner);
        if along > best.0 {
            best = (along, Some(k));
        }
    }
    best.1
}

/// The cell that a direction is in. Not a number is in the first.
fn cell(n: &Vector3<f64>) -> usize {
    let axis = n.iamax();
    let side = 2 * axis + usize::from(n[axis] < 0.0);
    let across = |k: usize| {
        let x = (n[(axis + k) % 3] / n[axis].abs() + 1.0) * (0.5 * CELLS as f64);
        (x as usize).min(CELLS - 1)
    };
    (side * CELLS + across(1)) * CELLS + across(2)
}

/// A direction of every cell, so far into it along both of its edges, in the order of [`cell`].
fn directions(into: f64) -> impl Iterator<Item = Vector3<f64>> {
    (0..6 * CELLS * CELLS).map(move |cell| {
        let (side, row, column) = (cell / (CELLS * CELLS), cell / CELLS % CELLS, cell % CELLS);
        let along = |k: usize| (k as f64 + into) * 2.0 / CELLS as f64 - 1.0;
        let mut n = Vector3::zeros();
        n[side / 2] = if side % 2 == 0 { 1.0 } else { -1.0 };
        n[(side / 2 + 1) % 3] = along(row);
        n[(side / 2 + 2) % 3] = along(column);
        n
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Model, Shape};

    /// Climbing finds what looking at all corners finds, of a box, of a ball of many corners, and of a hull with a corner that lies on a side of it.
    #[test]
    fn the_farthest_corner_is_found_along_edges() {
        let mut random = 1u64;
        let mut number = move || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        for (count, flat) in [(8, 1.0), (40, 1.0), (400, 1.0), (400, 1e-3), (3000, 1.0)] {
            let points: Vec<_> = (0..count)
                .map(|_| Vector3::new(number(), number(), flat * number()).normalize() * (1.0 + 0.1 * number()))
                .collect();
            let corners: Vec<String> = points.iter().map(|p| format!("{} {} {}", p.x, p.y, p.z)).collect();
            let asset = format!(r#"<asset><mesh name="m" vertex="{}"/></asset>"#, corners.join(" "));
            let body = r#"<worldbody><body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody>"#;
            let model = Model::from_mjcf_str(&format!("<mujoco>{asset}{body}</mujoco>")).expect("a model");
            let Shape::Hull(hull) = &model.geoms[0].shape else { panic!("no mesh") };
            let way = Way::new(hull);
            assert!(!way.starts.is_empty(), "{count} corners");
            for _ in 0..2000 {
                let n = Vector3::new(number(), number(), number());
                let [found, wanted] = [way.farthest(&hull.vertices, &n), all(&hull.vertices, &n)]
                    .map(|k| n.dot(&hull.vertices[k.expect("a corner")]));
                assert!(found >= wanted - 1e-9, "{count} corners, along {n:?}: {found}, {wanted}");
            }
        }
    }

    /// Triangles that are no hull's: all corners are looked at.
    #[test]
    fn what_is_no_hull_is_searched_whole() {
        let vertices: Vec<_> =
            (0..20).map(|k| Vector3::new(f64::from(k).cos(), f64::from(k).sin(), f64::from(k % 3))).collect();
        let hull = Hull { name: String::new(), triangles: vec![[0, 1, 2]], vertices };
        let way = Way::new(&hull);
        assert!(way.starts.is_empty());
        assert_eq!(way.farthest(&hull.vertices, &Vector3::x()), all(&hull.vertices, &Vector3::x()));
        assert_eq!(way.farthest(&[], &Vector3::x()), None);
        assert_eq!(way.farthest(&hull.vertices, &Vector3::repeat(f64::NAN)), None);
    }
}
