//! Contact problems as JSON lines, format `delassus-lcp/1`: one problem a line.
//!
//! | field | meaning |
//! |---|---|
//! | `format` | `"delassus-lcp/1"` |
//! | `name` | of the problem |
//! | `kind` | `lcp`, `blcp`, `blcp_findex`, `fc2d`, `fc3d`, `patch` or `mixed` |
//! | `n`, `M`, `q` | `w = M z + q`; `M.fmt` is `dense` (`data`, row-major) or `coo` (`i`, `j`, `v`, zero-based) |
//! | `lo`, `hi` | bounds of `blcp` and `blcp_findex`; `null` is infinite |
//! | `findex` | where `>= 0`, the bounds of row i are `± hi[i] z[findex[i]]` |
//! | `nc`, `d`, `mu` | contacts of `fc2d`, `fc3d`: number, rows each (normal first), friction coefficients |
//! | `patches`, `mu`, `e`, `points` | of `patch`: number, and a patch its friction coefficient, half axes `[e_t, e_o, e_r]` and 1 to 4 vertices minus c along t and o ([`super::patch`]) |
//! | `laws` | of `mixed` (our extension): one object for each law, in row order, as below |
//! | `solution` | `null` or an object with `z` |
//! | `solvable` | `false`: no solution exists |
//!
//! The laws of `mixed` are `{"law":"interval","lo":…,"hi":…}` (`null` is infinite),
//! `{"law":"friction","normal":row,"mu":…}`, `{"law":"cone","mu":…,"d":2 or 3}`, `{"law":"patch","mu":…,"e":[…],"points":[[…],…]}` and
//! `{"law":"disc","mu":…,"e":[…],"radius":…}`. Unknown fields are ignored.

use super::patch::{Patch, Support};
use super::problem::{Group, Law, Problem};
use crate::error::{Error, Result};
use nalgebra::{DMatrix, DVector};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::path::Path;

/// The format's name.
pub const FORMAT: &str = "delassus-lcp/1";
/// Largest n that is read: a dense matrix of this size takes half a gigabyte.
pub const MOST_ROWS: usize = 8000;

/// A problem of a file, with what the file knows about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The problem; its name is the file's.
    pub problem: Problem,
    /// The format's kind, as `fc3d`.
    pub kind: String,
    /// `false` if the file says that no solution exists.
    pub solvable: bool,
    /// Why, if it says so.
    pub why_unsolvable: Option<String>,
    /// A reference solution, n (N·s). It need not be the only one.
    pub reference: Option<DVector<f64>>,
    /// The reference's own relative residual, if it is given.
    pub reference_residual: Option<f64>,
    /// Every solution on a nonsingular complementary basis, if the file lists them.
    pub basic_solutions: Vec<DVector<f64>>,
    /// 1-based line in the file.
    pub line: usize,
}

impl Record {
    /// The prefix of the name before the first `/`, or the whole name: like problems share it.
    pub fn family(&self) -> &str {
        self.problem.name.split('/').next().unwrap_or_default()
    }
}

#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(default)]
    format: String,
    #[serde(default)]
    name: String,
    kind: String,
    n: usize,
    #[serde(rename = "M")]
    matrix: Matrix,
    q: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lo: Option<Vec<Option<f64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hi: Option<Vec<Option<f64>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    findex: Option<Vec<i64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nc: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    d: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mu: Option<Vec<f64>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patches: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    e: Option<Vec<[f64; 3]>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    points: Option<Vec<Vec<[f64; 2]>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    laws: Option<Vec<LawLine>>,
    #[serde(default)]
    solution: Option<SolutionLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    solvable: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why_unsolvable: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    basic_solutions: Option<Vec<Vec<f64>>>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "fmt", rename_all = "lowercase")]
enum Matrix {
    Dense { rows: usize, cols: usize, data: Vec<f64> },
    Coo { rows: usize, cols: usize, i: Vec<usize>, j: Vec<usize>, v: Vec<f64> },
}

#[derive(Serialize, Deserialize)]
struct SolutionLine {
    z: Vec<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    residual_rel: Option<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "law", rename_all = "lowercase")]
enum LawLine {
    Interval { lo: Option<f64>, hi: Option<f64> },
    Friction { normal: usize, mu: f64 },
    Cone { mu: f64, d: usize },
    Patch { mu: f64, e: [f64; 3], points: Vec<[f64; 2]> },
    Disc { mu: f64, e: [f64; 3], radius: f64 },
}

/// Reads all problems of a file.
///
/// # Errors
/// [`Error::File`] if it cannot be read, [`Error::Problem`] naming file, line and problem if a line is malformed.
pub fn read_file(path: impl AsRef<Path>) -> Result<Vec<Record>> {
    let path = path.as_ref();
    let failed = |source| Error::File { action: "read", path: path.to_path_buf(), source };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut records = Vec::new();
    let mut text = Vec::new();
    let mut reader = std::io::BufReader::new(file);
    for number in 1.. {
        text.clear();
        if reader.read_until(b'\n', &mut text).map_err(failed)? == 0 {
            break;
        }
        if !text.trim_ascii().is_empty() {
            records.push(parse(&text, &path.display().to_string(), number)?);
        }
    }
    Ok(records)
}

/// Reads all problems of a text; `place` is what errors call it.
///
/// # Errors
/// [`Error::Problem`] naming place, line and problem if a line is malformed.
pub fn read_text(text: &str, place: &str) -> Result<Vec<Record>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(k, line)| parse(line.as_bytes(), place, k + 1)).collect()
}

fn parse(text: &[u8], place: &str, number: usize) -> Result<Record> {
    let at = |name: &str| match name {
        "" => format!("{place}:{number}"),
        _ => format!("{place}:{number} {name:?}"),
    };
    let line: Line = serde_json::from_slice(text).map_err(|error| Error::Problem {
        place: at(""),
        message: format!("malformed JSON line: {}", reason(&error)),
    })?;
    let wrong = |message: String| Error::Problem { place: at(&line.name), message };
    if !line.format.is_empty() && line.format != FORMAT {
        return Err(wrong(format!("format is {:?}, expected {FORMAT:?}", line.format)));
    }
    let n = line.n;
    if n > MOST_ROWS {
        return Err(wrong(format!("{n} rows, at most {MOST_ROWS} are read")));
    }
    if line.q.len() != n {
        return Err(wrong(format!("q has {} entries, n is {n}", line.q.len())));
    }
    let delassus = matrix(&line.matrix, n).map_err(wrong)?;
    let laws = laws(&line).map_err(wrong)?;
    let vector = |z: &Vec<f64>| DVector::from_column_slice(z);
    let reference = line.solution.as_ref().map(|s| vector(&s.z));
    if reference.as_ref().is_some_and(|z| z.len() != n) {
        return Err(wrong(format!("the reference solution has not {n} entries")));
    }
    let problem = Problem { name: line.name.clone(), delassus, bias: DVector::from_column_slice(&line.q), laws };
    problem.validate().map_err(|error| match error {
        Error::Problem { message, .. } => wrong(message),
        other => other,
    })?;
    Ok(Record {
        problem,
        solvable: line.solvable.unwrap_or(true),
        why_unsolvable: line.why_unsolvable.clone(),
        reference_residual: line.solution.as_ref().and_then(|s| s.residual_rel),
        reference,
        basic_solutions: line.basic_solutions.iter().flatten().map(vector).collect(),
        kind: line.kind,
        line: number,
    })
}

/// What is wrong with a line of JSON; its own line number would always be 1.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let what = text.split(" at line ").next().unwrap_or_default();
    format!("{what} at column {}", error.column())
}

fn matrix(matrix: &Matrix, n: usize) -> std::result::Result<DMatrix<f64>, String> {
    let (Matrix::Dense { rows, cols, .. } | Matrix::Coo { rows, cols, .. }) = matrix;
    if (*rows, *cols) != (n, n) {
        return Err(format!("M is {rows} x {cols}, n is {n}"));
    }
    match matrix {
        Matrix::Dense { data, .. } if data.len() == n * n => Ok(DMatrix::from_row_slice(n, n, data)),
        Matrix::Dense { data, .. } => Err(format!("M.data has {} entries, not {n} x {n}", data.len())),
        Matrix::Coo { i, j, v, .. } => {
            if i.len() != v.len() || j.len() != v.len() {
                return Err(format!("M.i, M.j, M.v have {}, {} and {} entries", i.len(), j.len(), v.len()));
            }
            let mut dense = DMatrix::zeros(n, n);
            for ((&i, &j), &v) in i.iter().zip(j).zip(v) {
                let entry = dense.get_mut((i, j)).ok_or_else(|| format!("M has an entry at ({i}, {j}), n is {n}"))?;
                *entry = v;
            }
            Ok(dense)
        }
    }
}

fn laws(line: &Line) -> std::result::Result<Vec<Law>, String> {
    let n = line.n;
    let sized = |name: &str, count: Option<usize>| match count {
        Some(count) if count == n => Ok(()),
        Some(count) => Err(format!("{name} has {count} entries, n is {n}")),
        None => Err(format!("kind {:?} needs {name}", line.kind)),
    };
    match line.kind.as_str() {
        "lcp" => Ok(vec![Law::UNILATERAL; n]),
        "blcp" | "blcp_findex" => {
            sized("lo", line.lo.as_ref().map(Vec::len))?;
            sized("hi", line.hi.as_ref().map(Vec::len))?;
            if line.kind == "blcp_findex" {
                sized("findex", line.findex.as_ref().map(Vec::len))?;
            }
            let (lo, hi) = (line.lo.iter().flatten(), line.hi.iter().flatten());
            let findex = line.findex.iter().flatten().filter(|_| line.kind == "blcp_findex");
            let findex = findex.copied().chain(std::iter::repeat(-1));
            lo.zip(hi)
                .zip(findex)
                .map(|((&lo, &hi), f)| match usize::try_from(f) {
                    Ok(normal) => {
                        let friction = hi.ok_or_else(|| "a friction row needs a finite hi".to_string())?;
                        Ok(Law::Friction { normal, friction })
                    }
                    Err(_) => Ok(interval(lo, hi)),
                })
                .collect()
        }
        "fc2d" | "fc3d" => {
            let dimension = if line.kind == "fc2d" { 2 } else { 3 };
            let mu = line.mu.as_ref().ok_or_else(|| format!("kind {:?} needs mu", line.kind))?;
            if line.d.is_some_and(|d| d != dimension) || line.nc.is_some_and(|nc| nc != mu.len()) {
                return Err(format!("{} wants d = {dimension} and as many mu as contacts nc", line.kind));
            }
            Ok(mu.iter().map(|&friction| Law::Cone { friction, dimension }).collect())
        }
        "patch" => {
            let (Some(mu), Some(e), Some(points)) = (&line.mu, &line.e, &line.points) else {
                return Err("kind \"patch\" needs mu, e and points".into());
            };
            let count = mu.len();
            if e.len() != count || points.len() != count || line.patches.is_some_and(|patches| patches != count) {
                let given = (line.patches.unwrap_or(count), e.len(), points.len());
                return Err(format!("mu has {count} entries; patches, e and points {given:?}"));
            }
            let each = mu.iter().zip(e).zip(points);
            each.map(|((&mu, &e), points)| polygon(mu, e, points)).collect()
        }
        "mixed" => {
            let laws = line.laws.as_ref().ok_or_else(|| "kind \"mixed\" needs laws".to_string())?;
            laws.iter()
                .map(|law| match law {
                    &LawLine::Interval { lo, hi } => Ok(interval(lo, hi)),
                    &LawLine::Friction { normal, mu } => Ok(Law::Friction { normal, friction: mu }),
                    &LawLine::Cone { mu, d } => Ok(Law::Cone { friction: mu, dimension: d }),
                    &LawLine::Disc { mu, e, radius } => Ok(Law::Patch(Patch::disc(mu, e, radius))),
                    LawLine::Patch { mu, e, points } => polygon(*mu, *e, points),
                })
                .collect()
        }
        other => Err(format!("kind {other:?} is none of lcp, blcp, blcp_findex, fc2d, fc3d, patch, mixed")),
    }
}

fn polygon(mu: f64, e: [f64; 3], points: &[[f64; 2]]) -> std::result::Result<Law, String> {
    Patch::polygon(mu, e, points).map(Law::Patch).map_err(|error| error.to_string())
}

fn interval(lower: Option<f64>, upper: Option<f64>) -> Law {
    Law::Interval { lower: lower.unwrap_or(f64::NEG_INFINITY), upper: upper.unwrap_or(f64::INFINITY) }
}

/// Writes one problem as a line, with its solution if given; numbers survive to the bit.
///
/// Pure cones of one dimension become `fc2d` or `fc3d`, pure polygons `patch`, all rows unilateral `lcp`, other scalar rows `blcp` or
/// `blcp_findex`, everything else `mixed`.
///
/// # Errors
/// [`Error::Problem`] for an invalid problem (NaN has no JSON form), [`Error::File`] if the writer fails.
pub fn write(problem: &Problem, solution: Option<&DVector<f64>>, writer: &mut impl Write) -> Result<()> {
    problem.validate()?;
    let wrong = |message: String| Error::Problem { place: format!("{:?}", problem.name), message };
    if solution.is_some_and(|z| z.len() != problem.rows() || z.iter().any(|x| !x.is_finite())) {
        return Err(wrong("the solution has the wrong size or is not finite".into()));
    }
    let text = serde_json::to_string(&line(problem, solution)).map_err(|error| wrong(error.to_string()))?;
    writeln!(writer, "{text}").map_err(|source| Error::File { action: "write", path: "problem line".into(), source })
}

/// Writes problems to a file, one a line.
///
/// # Errors
/// As [`write()`], and [`Error::File`] if the file cannot be created.
pub fn write_file<'a>(path: impl AsRef<Path>, problems: impl IntoIterator<Item = &'a Problem>) -> Result<()> {
    let path = path.as_ref();
    let failed = |action| move |source| Error::File { action, path: path.to_path_buf(), source };
    let mut writer = std::io::BufWriter::new(std::fs::File::create(path).map_err(failed("create"))?);
    for problem in problems {
        write(problem, None, &mut writer)?;
    }
    writer.flush().map_err(failed("write"))
}

fn line(problem: &Problem, solution: Option<&DVector<f64>>) -> Line {
    let n = problem.rows();
    let nonzeros = problem.delassus.iter().filter(|&&x| x != 0.0).count();
    let matrix = if n > 24 && nonzeros * 4 < n * n {
        let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..n {
            for column in 0..n {
                let x = problem.delassus[(row, column)];
                if x != 0.0 {
                    rows.push(row);
                    columns.push(column);
                    values.push(x);
                }
            }
        }
        Matrix::Coo { rows: n, cols: n, i: rows, j: columns, v: values }
    } else {
        Matrix::Dense { rows: n, cols: n, data: problem.delassus.transpose().as_slice().to_vec() }
    };
    let mut line = Line {
        format: FORMAT.into(),
        name: problem.name.clone(),
        kind: String::new(),
        n,
        matrix,
        q: problem.bias.as_slice().to_vec(),
        lo: None,
        hi: None,
        findex: None,
        nc: None,
        d: None,
        mu: None,
        patches: None,
        e: None,
        points: None,
        laws: None,
        solution: solution.map(|z| SolutionLine { z: z.as_slice().to_vec(), residual_rel: None }),
        solvable: None,
        why_unsolvable: None,
        basic_solutions: None,
    };
    let finite = |x: f64| x.is_finite().then_some(x);
    let dimension = match problem.laws.first() {
        Some(Law::Cone { dimension, .. }) => *dimension,
        _ => 0,
    };
    let cones: Option<Vec<f64>> = problem
        .laws
        .iter()
        .map(|law| match *law {
            Law::Cone { friction, dimension: d } if d == dimension => Some(friction),
            _ => None,
        })
        .collect();
    if let Some(mu) = cones.filter(|mu| !mu.is_empty()) {
        line.kind = if dimension == 2 { "fc2d" } else { "fc3d" }.into();
        (line.nc, line.d, line.mu) = (Some(mu.len()), Some(dimension), Some(mu));
    } else if problem.laws.iter().all(|&law| law == Law::UNILATERAL) {
        line.kind = "lcp".into();
    } else if let Some(patches) = polygons(problem) {
        line.kind = "patch".into();
        line.patches = Some(patches.len());
        line.mu = Some(patches.iter().map(|(patch, _)| patch.friction).collect());
        line.e = Some(patches.iter().map(|(patch, _)| patch.ellipsoid).collect());
        line.points = Some(patches.into_iter().map(|(_, points)| points).collect());
    } else if problem.has_cones() || problem.has_patches() {
        line.kind = "mixed".into();
        let law_line = |Group { law, .. }: Group| match law {
            Law::Interval { lower, upper } => LawLine::Interval { lo: finite(lower), hi: finite(upper) },
            Law::Friction { normal, friction } => LawLine::Friction { normal, mu: friction },
            Law::Cone { friction, dimension } => LawLine::Cone { mu: friction, d: dimension },
            Law::Patch(Patch { friction, ellipsoid, support }) => match support {
                Support::Vertices { count, points } => {
                    LawLine::Patch { mu: friction, e: ellipsoid, points: points[..count].to_vec() }
                }
                Support::Disc { radius } => LawLine::Disc { mu: friction, e: ellipsoid, radius },
            },
        };
        line.laws = Some(problem.groups().map(law_line).collect());
    } else {
        let (mut lo, mut hi, mut findex) = (Vec::new(), Vec::new(), Vec::new());
        for Group { law, .. } in problem.groups() {
            let (lower, upper, index) = match law {
                Law::Interval { lower, upper } => (lower, upper, -1),
                Law::Friction { normal, friction } => (-friction, friction, normal as i64),
                Law::Cone { .. } | Law::Patch(_) => continue,
            };
            lo.push(finite(lower));
            hi.push(finite(upper));
            findex.push(index);
        }
        line.kind = if problem.has_box_friction() { "blcp_findex" } else { "blcp" }.into();
        line.findex = problem.has_box_friction().then_some(findex);
        (line.lo, line.hi) = (Some(lo), Some(hi));
    }
    line
}

/// The patches of a problem and their vertices, if there is nothing else, and no disc.
fn polygons(problem: &Problem) -> Option<Vec<(Patch, Vec<[f64; 2]>)>> {
    let each = problem.laws.iter().map(|law| match law {
        Law::Patch(patch) => match patch.support {
            Support::Vertices { count, points } => Some((*patch, points[..count].to_vec())),
            Support::Disc { .. } => None,
        },
        _ => None,
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(laws: Vec<Law>) -> Problem {
        let n = laws.iter().map(Law::rows).sum();
        let delassus = DMatrix::from_fn(n, n, |i, j| 1.0 / (1.0 + i as f64 + 3.0 * j as f64));
        Problem { name: "round/trip".into(), delassus, bias: DVector::from_fn(n, |i, _| 0.1 * i as f64 - 0.3), laws }
    }

    #[test]
    fn every_kind_of_problem_survives_to_the_bit() {
        let bounded = Law::Interval { lower: -0.1, upper: 0.3 };
        let cone = |dimension| Law::Cone { friction: 0.7, dimension };
        let polygon = |vertices: &[[f64; 2]]| Law::Patch(Patch::polygon(0.3, [1.0, 0.5, 0.1], vertices).unwrap());
        let (square, edge) =
            (polygon(&[[-0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, 0.5]]), polygon(&[[0.1, 0.0], [-0.1, 0.0]]));
        let disc = Law::Patch(Patch::disc(0.4, [1.0, 1.0, 0.2], 0.3));
        let cases = [
            ("lcp", vec![Law::UNILATERAL; 3]),
            ("lcp", vec![]),
            ("blcp", vec![Law::UNILATERAL, Law::BILATERAL, bounded]),
            ("blcp_findex", vec![Law::UNILATERAL, Law::Friction { normal: 0, friction: 0.4 }]),
            ("fc2d", vec![cone(2); 2]),
            ("fc3d", vec![cone(3); 2]),
            ("patch", vec![square, edge]),
            ("mixed", vec![square, disc, cone(3), Law::UNILATERAL]),
            ("mixed", vec![cone(3), cone(2), bounded, Law::UNILATERAL, Law::Friction { normal: 6, friction: 0.4 }]),
        ];
        for (kind, laws) in cases {
            let problem = problem(laws);
            let solution = DVector::from_element(problem.rows(), 1.0 / 3.0);
            let mut text = Vec::new();
            write(&problem, Some(&solution), &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            let read = read_text(&text, "test").unwrap().remove(0);
            assert_eq!((read.kind.as_str(), &read.problem), (kind, &problem));
            assert_eq!(read.reference, Some(solution));
            assert_eq!(read.family(), "round");
        }
    }

    #[test]
    fn sparse_matrices_survive() {
        let n = 40;
        let mut p = Problem::standard("s", DMatrix::identity(n, n), DVector::zeros(n));
        p.delassus[(3, 17)] = 0.25;
        let mut text = Vec::new();
        write(&p, None, &mut text).unwrap();
        assert!(text.windows(3).any(|w| w == b"coo"));
        assert_eq!(read_text(&String::from_utf8(text).unwrap(), "t").unwrap()[0].problem, p);
    }

    #[test]
    fn malformed_lines_are_errors_that_say_where() {
        let good = r#"{"kind":"lcp","name":"x","n":1,"M":{"fmt":"dense","rows":1,"cols":1,"data":[1]},"q":[-1]}"#;
        assert!(read_text(good, "f").is_ok());
        for (from, to) in [
            ("\"n\":1", "\"n\":2"),
            ("\"n\":1", "\"n\":-1"),
            ("\"n\":1", "\"n\":99999999999"),
            ("[1]", "[1,2]"),
            ("[1]", "[null]"),
            ("[1]", "[1e999]"),
            ("\"lcp\"", "\"blcp\""),
            ("\"lcp\"", "\"fc3d\""),
            ("\"lcp\"", "\"patch\""),
            ("\"lcp\"", "\"patch\",\"mu\":[1],\"e\":[[1,1,1]],\"points\":[[]]"),
            ("\"lcp\"", "\"patch\",\"mu\":[1],\"e\":[[1,1,1]],\"points\":[[[0,0]]]"),
            ("\"lcp\"", "\"mixed\""),
            ("\"lcp\"", "\"nonsense\""),
            ("\"dense\"", "\"csr\""),
            ("\"q\"", "\"p\""),
            ("}", ""),
            (
                "\"dense\",\"rows\":1,\"cols\":1,\"data\":[1]",
                "\"coo\",\"rows\":1,\"cols\":1,\"i\":[1],\"j\":[0],\"v\":[1]",
            ),
            ("\"kind\"", "\"format\":\"other/9\",\"kind\""),
        ] {
            let bad = good.replace(from, to);
            let error = read_text(&format!("\n{bad}\n"), "f").expect_err(&bad).to_string();
            assert!(error.contains("f:2"), "{error}");
        }
        let mut nan = problem(vec![Law::UNILATERAL]);
        nan.bias[0] = f64::NAN;
        assert!(write(&nan, None, &mut Vec::new()).is_err());
    }
}
