//! Flat faces laid over each other: the part of one face that lies over the other, in f64.

use nalgebra::Vector3;

/// Most corners of a face.
pub(super) const CORNERS: usize = 16;
/// Most points of a face clipped by another: each side adds one.
const CLIPPED: usize = 2 * CORNERS;

/// A point where two bodies may touch.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Point {
    /// Half way between the two surfaces, m.
    pub position: Vector3<f64>,
    /// Unit normal from the first geom to the second.
    pub normal: Vector3<f64>,
    /// Signed distance along the normal, m.
    pub gap: f64,
    /// Which point it is, below 2²⁴.
    pub feature: usize,
}

/// A list of points of one pair, on the stack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Points {
    list: [Point; CLIPPED + 1],
    count: usize,
}

impl Points {
    /// No point.
    pub fn new() -> Self {
        Self { list: [Point::default(); CLIPPED + 1], count: 0 }
    }
    /// Forgets all points.
    pub fn clear(&mut self) {
        self.count = 0;
    }
    /// Appends a point; beyond the room for them it is left out.
    pub fn push(&mut self, point: Point) {
        if self.count < self.list.len() {
            self.list[self.count] = point;
            self.count += 1;
        }
    }
    /// Moves all points by `offset` (m).
    pub fn shift(&mut self, offset: &Vector3<f64>) {
        for point in &mut self.list[..self.count] {
            point.position += offset;
        }
    }
    /// The smallest gap, m; infinite without points.
    pub fn least_gap(&self) -> f64 {
        self.as_slice().iter().map(|p| p.gap).fold(f64::INFINITY, f64::min)
    }
    /// The points.
    pub fn as_slice(&self) -> &[Point] {
        &self.list[..self.count]
    }
}

/// A flat convex face (three corners and more, counter-clockwise about the normal) or an edge (two) of a body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Face {
    /// Corners, m.
    pub corners: [Vector3<f64>; CORNERS],
    /// Number of corners.
    pub count: usize,
    /// Outward unit normal; of an edge one across it.
    pub normal: Vector3<f64>,
    /// Index of the face on its body.
    pub index: usize,
    /// Whether the corners stand for a round face.
    pub round: bool,
}

/// A corner of a face that is being clipped, and the line that starts there: 0 … for edges of the face itself, [`CORNERS`] … for the sides of
/// the other one.
#[derive(Debug, Clone, Copy, Default)]
struct Corner {
    position: Vector3<f64>,
    line: usize,
}

/// Sets of lines that meet in a clipped corner are told apart by `LINES · before + after`.
const LINES: usize = CLIPPED;

/// Calls `emit(point, lines)` for every corner of the part of `incident` that lies over `reference`: within the planes through the
/// sides of `reference` along its normal. `slack` (m) keeps corners that lie on a side whole. `lines` names a corner by the lines that meet there.
pub(super) fn clip(reference: &Face, incident: &Face, slack: f64, mut emit: impl FnMut(Vector3<f64>, usize)) {
    let mut polygon = [Corner::default(); CLIPPED];
    let mut count = incident.count;
    for k in 0..count {
        polygon[k] = Corner { position: incident.corners[k], line: k };
    }
    // An edge has one plane at each end; a face one along each side.
    for k in 0..reference.count {
        let start = reference.corners[k];
        let along = reference.corners[(k + 1) % reference.count] - start;
        let outward = if reference.count == 2 { -along } else { along.cross(&reference.normal) };
        let length = outward.norm();
        if length < f64::MIN_POSITIVE {
            continue;
        }
        let outward = outward / length;
        let beyond = |c: &Corner| outward.dot(&(c.position - start)) - slack;
        let side = CORNERS + k;
        let mut kept = [Corner::default(); CLIPPED];
        let mut kept_count = 0;
        let mut keep = |corner| {
            if kept_count < CLIPPED {
                kept[kept_count] = corner;
                kept_count += 1;
            }
        };
        // An edge is open: no line leads from its second corner back to its first.
        let lines = if incident.count == 2 { count.saturating_sub(1) } else { count };
        for i in 0..count {
            let (a, b) = (polygon[i], polygon[(i + 1) % count]);
            let (da, db) = (beyond(&a), beyond(&b));
            if da <= 0.0 {
                keep(a);
            }
            if i < lines && (da <= 0.0) != (db <= 0.0) {
                let position = a.position + (b.position - a.position) * (da / (da - db));
                // Leaving: the side's line starts here. Entering: the rest of the clipped line does.
                keep(Corner { position, line: if da <= 0.0 { side } else { a.line } });
            }
        }
        polygon = kept;
        count = kept_count;
        if count == 0 {
            return;
        }
    }
    for i in 0..count {
        let before = polygon[(i + count - 1) % count].line;
        emit(polygon[i].position, LINES * before + polygon[i].line);
    }
}

/// The points of two faces that look at each other, as seen from `reference`; `flip` where it belongs to the second geom. The bodies
/// are rounded by the radii `first` and `second` (m).
pub(super) fn face_points(
    reference: &Face,
    incident: &Face,
    flip: bool,
    [first, second]: [f64; 2],
    slack: f64,
    points: &mut Points,
) {
    let normal = if flip { -reference.normal } else { reference.normal };
    let own = if flip { first } else { second };
    // 1 bit, 6 bits and 5 bits for which faces, 10 bits for which corner.
    let faces = (usize::from(flip) * 64 + reference.index % 64) * 32 + incident.index % 32;
    clip(reference, incident, slack, |p, lines| {
        let height = reference.normal.dot(&(p - reference.corners[0]));
        let gap = height - first - second;
        // From the core of the incident body down to its surface, then half of the gap.
        let position = p - reference.normal * (own + 0.5 * gap);
        points.push(Point { position, normal, gap, feature: faces * LINES * LINES + lines });
    });
}
