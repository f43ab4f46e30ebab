//! OBJ files, read as MuJoCo 4.0 does: all points of the file, and the faces of the first group that has some, cut into triangles.

use crate::model::Triangles;
use nalgebra::Vector3;

type Point = [f32; 3];

/// Points and triangles of an OBJ file.
pub(super) fn read_obj(bytes: &[u8]) -> Result<Triangles, String> {
    let text = String::from_utf8_lossy(bytes);
    let (mut points, mut faces, mut is_over) = (Vec::<Point>::new(), Vec::<Vec<usize>>::new(), false);
    // some programs begin with a mark of the byte order
    for (number, line) in text.trim_start_matches('\u{feff}').split(['\n', '\r']).enumerate() {
        let wrong = |needs: &str| format!("line {}: {needs}", number + 1);
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("v") => {
                let numbers: Vec<f32> = words.map_while(|word| word.parse().ok()).take(3).collect();
                points.push(numbers.try_into().map_err(|_| wrong("a point needs three numbers"))?);
            }
            Some("f") if !is_over => {
                let corners: Option<Vec<usize>> = words.map(|word| corner(word, points.len())).collect();
                faces.push(corners.ok_or_else(|| wrong("a face needs the numbers of its points, from 1"))?);
            }
            Some("g" | "o") => is_over = faces.iter().any(|face| face.len() > 2),
            _ => {}
        }
    }
    if faces.iter().flatten().any(|&i| i >= points.len()) {
        return Err("a face names a point that does not exist".into());
    }
    let mut triangles = Vec::new();
    for face in faces {
        cut(face, &points, &mut triangles);
    }
    Ok((points.into_iter().map(|p| Vector3::from(p).map(f64::from)).collect(), triangles))
}

/// The point of a corner: counted from 1, or, if negative, back from the last one so far; behind it may stand normal and texture.
fn corner(word: &str, count: usize) -> Option<usize> {
    let number: i64 = word.split('/').next()?.parse().ok()?;
    let from_start = if number < 0 { number + count as i64 } else { number - 1 };
    usize::try_from(from_start).ok()
}

/// The triangles of a polygon as tinyobjloader cuts it, which MuJoCo reads with: a quad along its shorter diagonal, another ear by ear, in f32. What has no ear is left out.
fn cut(mut left: Vec<usize>, points: &[Point], triangles: &mut Vec<[usize; 3]>) {
    if let [a, b, c, d] = left[..] {
        let square = |i: usize, j: usize| {
            let [x, y, z] = [0, 1, 2].map(|k| points[j][k] - points[i][k]);
            x * x + y * y + z * z
        };
        let halves = if square(a, c) < square(b, d) { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] };
        triangles.extend(halves);
        return;
    }
    let axes = plane(&left, points);
    let at = |i: usize| axes.map(|axis| points[i][axis]);
    let (mut first, mut before, mut tries) = (0, left.len(), left.len());
    while left.len() > 3 && tries > 0 {
        let count = left.len();
        first %= count;
        if before == count {
            tries -= 1;
        } else {
            (before, tries) = (count, count);
        }
        let ear = [0, 1, 2].map(|k| left[(first + k) % count]);
        let [a, b, c] = ear.map(at);
        let turn = (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]);
        let area = a[0] * b[1] - a[1] * b[0];
        let mut others = (3..count).map(|k| at(left[(first + k) % count]));
        if turn * area < 0.0 || others.any(|point| is_inside([a, b, c], point)) {
            first += 1;
        } else {
            triangles.push(ear);
            left.remove((first + 1) % count);
        }
    }
    if let [a, b, c] = left[..] {
        triangles.push([a, b, c]);
    }
}

/// The two axes that a polygon is seen along, by the first of its corners that turns.
fn plane(polygon: &[usize], points: &[Point]) -> [usize; 2] {
    let point = |k: usize| points[polygon[k % polygon.len()]];
    for k in 0..polygon.len() {
        let [a, b, c] = [k, k + 1, k + 2].map(point);
        let [e, f] = [(a, b), (b, c)].map(|(from, to)| [0, 1, 2].map(|i| to[i] - from[i]));
        let [x, y, z] = [(1, 2), (2, 0), (0, 1)].map(|(i, j): (usize, usize)| (e[i] * f[j] - e[j] * f[i]).abs());
        if [x, y, z].into_iter().any(|part| part > f32::EPSILON) {
            return match () {
                () if x > y && x > z => [1, 2],
                () if z > x && z > y => [0, 1],
                () => [0, 2],
            };
        }
    }
    [1, 2]
}

/// Whether a ray from a point crosses the edges of a triangle an odd number of times.
fn is_inside(triangle: [[f32; 2]; 3], [x, y]: [f32; 2]) -> bool {
    let crosses = |(i, j): &(usize, usize)| {
        let ([ax, ay], [bx, by]) = (triangle[*i], triangle[*j]);
        (ay > y) != (by > y) && x < (bx - ax) * (y - ay) / (by - ay) + ax
    };
    [(0, 2), (1, 0), (2, 1)].iter().filter(|edge| crosses(edge)).count() % 2 == 1
}
