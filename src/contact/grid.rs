//! The grid of a height field as lanes see it: a point with those around it, the points near a shape, the triangles of a cell.

use crate::lane::{MOST_LANES as MOST, Mask, Pack, PackMask, Real, Scalar};
use crate::model::HeightField;
use crate::spatial::{Vec3, vec3};
use std::sync::Arc;

/// Where the grid has no point the land falls away by this much, m.
pub(super) const NO_LAND: f64 = -1e7;
/// How far beyond a triangle's sides, in parts of it, a point is still over it: what is over neither of two neighbours by rounding would fall through.
pub(super) const BESIDE: f64 = 1e-5;
/// Grid points are told apart modulo this number of rows and columns, features of one by this number.
pub(super) const PERIOD: usize = 256;
pub(super) const FEATURES: usize = 64;

/// A height field, and how high it is at most in the cell between every point and the next row and column, m, shape \[row\]\[column\].
#[derive(Debug)]
pub(crate) struct Ground {
    pub(super) field: Arc<HeightField>,
    tops: Vec<f64>,
    /// What is deeper is not pushed up, m.
    pub(super) bottom: f64,
}

impl Ground {
    pub(super) fn new(field: &Arc<HeightField>) -> Self {
        let top = |k: usize| {
            let (row, column) = (k / field.columns, k % field.columns);
            let last = |i: usize, count: usize| (i + 2).min(count);
            let rows = row..last(row, field.rows);
            let cells = rows.flat_map(|row| &field.heights[row * field.columns..][column..last(column, field.columns)]);
            cells.copied().fold(f64::NEG_INFINITY, f64::max)
        };
        let lowest = field.heights.iter().copied().fold(0.0, f64::min);
        let tops = (0..field.heights.len()).map(top).collect();
        Self { field: Arc::clone(field), tops, bottom: lowest - field.base }
    }
}

/// A point of the grid in every lane, and the six around that share a triangle with it, counter-clockwise from the next column on.
pub(super) struct Around<R: Real> {
    /// m.
    pub at: Vec3<R>,
    /// From it to these, m.
    pub to: [Vec3<R>; 6],
    /// Where the first three of them exist.
    pub has: [R::Mask; 3],
    /// Unit vector upward.
    pub up: Vec3<R>,
    /// What its features are numbered from.
    number: R,
}

/// Steps in rows and columns to the points around.
const STEPS: [[i32; 2]; 6] = [[0, 1], [1, 1], [1, 0], [0, -1], [-1, -1], [-1, 0]];

impl<R: Pack> Around<R> {
    /// Of a row and a column in every lane that `live`.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    pub fn new(field: &HeightField, row: &[i32; MOST], column: &[i32; MOST], live: R::Mask) -> Self {
        let [dx, dy] = field.spacing();
        let (rows, columns) = (field.rows as i32, field.columns as i32);
        let mut heights = [R::constant(NO_LAND); 7];
        let (mut x, mut y, mut number) = (R::zero(), R::zero(), R::zero());
        for lane in 0..R::LANES {
            if !live.get(lane) {
                continue;
            }
            let (r, c) = (row[lane], column[lane]);
            for (height, [up, right]) in heights.iter_mut().zip([[0, 0]].iter().chain(&STEPS)) {
                let (r, c) = (r + up, c + right);
                if (0..rows).contains(&r) && (0..columns).contains(&c) {
                    height.set(lane, R::Scalar::from_f64(field.heights[(r * columns + c) as usize]));
                }
            }
            x.set(lane, R::Scalar::from_f64(f64::from(c) * dx - field.half[0]));
            y.set(lane, R::Scalar::from_f64(f64::from(r) * dy - field.half[1]));
            let place = (r as usize % PERIOD) * PERIOD + c as usize % PERIOD;
            number.set(lane, R::Scalar::from_f64((place * FEATURES) as f64));
        }
        let mut to = [Vec3::zero(); 6];
        for (k, [up, right]) in STEPS.iter().enumerate() {
            let (x, y) = (R::constant(f64::from(*right) * dx), R::constant(f64::from(*up) * dy));
            to[k] = vec3(x, y, heights[k + 1] - heights[0]);
        }
        let exists = R::constant(0.5 * NO_LAND);
        let has = [exists.lt(heights[1]), exists.lt(heights[2]), exists.lt(heights[3])];
        Self { at: vec3(x, y, heights[0]), to, has, up: Vec3::unit(2), number }
    }

    /// The same, where lengths along the axes of an ellipsoid are measured in its half axes.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    pub fn measured(&self, measure: Measure<'_, R>) -> Self {
        let mut to = self.to;
        for to in &mut to {
            *to = measured(*to, measure);
        }
        Self { at: self.at, to, has: self.has, up: measured(self.up, measure), number: self.number }
    }

    /// The number of its feature `k`.
    #[inline(always)]
    pub fn feature(&self, k: usize) -> R {
        self.number + R::constant(k as f64)
    }

    /// Where no point around stands out beyond the plane across `n` through the point in the middle, and `n` looks up.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    pub fn holds(&self, n: Vec3<R>) -> R::Mask {
        let mut holds = R::zero().lt(n.dot(self.up));
        for to in self.to {
            holds = holds.and(R::zero().lt(n.dot(to)).not());
        }
        holds
    }

    /// The two points that make triangles with the edge to point `k`.
    #[inline(always)]
    pub fn beside(&self, k: usize) -> [Vec3<R>; 2] {
        [self.to[(k + 1) % 6], self.to[(k + 5) % 6]]
    }
}

/// The points of the grid that may have to do with a shape, in every lane: first row and column, and how many; below `low` (m) nothing has.
pub(super) struct Window<'a> {
    ground: &'a Ground,
    low: [f64; MOST],
    row: [i32; MOST],
    column: [i32; MOST],
    rows: [i32; MOST],
    columns: [i32; MOST],
}

impl<'a> Window<'a> {
    /// All whose own cell, between it and the next row and column, meets the rectangle between two points and is higher than the first.
    #[inline(always)]
    pub fn new<R: Pack>(ground: &'a Ground, low: Vec3<R>, high: Vec3<R>, live: R::Mask) -> Self {
        let (field, zero) = (&*ground.field, [0; MOST]);
        let mut window = Self { ground, low: [0.0; MOST], row: zero, column: zero, rows: zero, columns: zero };
        let [dx, dy] = field.spacing();
        let [across, along] = field.half;
        for lane in 0..R::LANES {
            if live.get(lane) {
                window.low[lane] = low.z.get(lane).to_f64();
                let x = [low.x.get(lane), high.x.get(lane)];
                let y = [low.y.get(lane), high.y.get(lane)];
                [window.column[lane], window.columns[lane]] = cells(x, across, dx, field.columns);
                [window.row[lane], window.rows[lane]] = cells(y, along, dy, field.rows);
            }
        }
        window
    }
    /// Rows and columns of the largest of some lanes.
    #[inline(always)]
    pub fn most(&self, lanes: u32) -> [i32; 2] {
        let mut most = [0; 2];
        for lane in 0..MOST {
            if lanes >> lane & 1 != 0 {
                most = [most[0].max(self.rows[lane]), most[1].max(self.columns[lane])];
            }
        }
        most
    }
    /// Row and column `i`, `j` of every lane's own, and the lanes that have it.
    #[inline(always)]
    pub fn at(&self, i: i32, j: i32) -> ([i32; MOST], [i32; MOST], u32) {
        let (mut row, mut column, mut lanes) = ([0; MOST], [0; MOST], 0);
        for lane in 0..MOST {
            (row[lane], column[lane]) = (self.row[lane] + i, self.column[lane] + j);
            if i < self.rows[lane] && j < self.columns[lane] {
                let cell = row[lane] as usize * self.ground.field.columns + column[lane] as usize;
                lanes |= u32::from(self.low[lane] < self.ground.tops[cell]) << lane;
            }
        }
        (row, column, lanes)
    }
    /// The lanes that have any.
    #[inline(always)]
    pub fn lanes(&self) -> u32 {
        let (mut lanes, width) = (0, self.ground.field.columns);
        for lane in 0..MOST {
            let [rows, columns] = [self.rows[lane] as usize, self.columns[lane] as usize];
            let first = self.row[lane] as usize * width + self.column[lane] as usize;
            for row in 0..if columns > 0 { rows } else { 0 } {
                let tops = &self.ground.tops[first + row * width..][..columns];
                for top in tops {
                    lanes |= u32::from(self.low[lane] < *top) << lane;
                }
            }
        }
        lanes
    }
}

/// The first of the cells between two places (m) along an axis of the grid, and how many they are.
#[inline(always)]
fn cells<S: Scalar>([low, high]: [S; 2], half: f64, step: f64, count: usize) -> [i32; 2] {
    // no further than the last, or steps from there would not be numbers of rows and columns any more
    let first = ((low.to_f64() + half) / step).floor().clamp(0.0, count as f64) as i32;
    let last = ((high.to_f64() + half) / step).floor().min(count as f64 - 1.0) as i32;
    [first, last.saturating_sub(first).saturating_add(1).max(0)]
}

/// The axes of an ellipsoid and its half axes, m.
pub(super) type Measure<'a, R> = (&'a [Vec3<R>; 3], &'a [R; 3]);

/// A vector (m) in the axes of an ellipsoid, in its half axes.
#[inline(always)]
pub(super) fn measured<R: Real>(v: Vec3<R>, ([x, y, z], [a, b, c]): Measure<'_, R>) -> Vec3<R> {
    vec3(v.dot(*x) / *a, v.dot(*y) / *b, v.dot(*z) / *c)
}

/// A triangle of the cell of a point.
pub(super) struct Face<R: Real> {
    a: Vec3<R>,
    b: Vec3<R>,
    /// a × b
    pub area: Vec3<R>,
    /// Its unit vector.
    pub normal: Vec3<R>,
    /// Where the grid has its three corners.
    pub exists: R::Mask,
}

impl<R: Pack> Face<R> {
    /// Triangle 0 or 1.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    pub fn new(around: &Around<R>, k: usize) -> Self {
        let (a, b) = (around.to[k], around.to[k + 1]);
        let area = a.cross(b);
        let exists = around.has[k].and(around.has[k + 1]).and(around.has[1]);
        Self { a, b, area, normal: area.scale(R::one() / area.norm()), exists }
    }
    /// Whether it meets the line through `p` along `way`.
    #[cfg_attr(not(test), inline(always))]
    #[cfg_attr(test, inline(never))]
    pub fn is_within(&self, way: Vec3<R>, p: Vec3<R>) -> R::Mask {
        // p = β a + α b + …:  α ~ way·(a × p),  β ~ way·(p × b),  α + β ≤ way·(a × b)
        let whole = way.dot(self.area);
        let (alpha, beta) = (way.dot(self.a.cross(p)), way.dot(p.cross(self.b)));
        let slack = R::constant(BESIDE) * whole;
        let outside = alpha.lt(-slack).or(beta.lt(-slack)).or((whole + slack).lt(alpha + beta));
        outside.not()
    }
}
