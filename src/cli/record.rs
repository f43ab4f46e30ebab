//! Files that a rollout leaves: records of worlds, and problems that were not solved.

use super::failure::{Failure, Outcome};
use delassus::lcp::{Problem, file};
use delassus::recording::Recording;
use delassus::worlds::{BlockRecord, ContactRecord, WorldReport, WorldStatus};
use delassus::{Model, Worlds};
use serde::Serialize;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A file that is written bit by bit.
#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    writer: BufWriter<File>,
}

impl Lines {
    fn create(path: &Path) -> Outcome<Self> {
        let file = File::create(path).map_err(|e| Failure::file("create", path, &e))?;
        Ok(Self { path: path.to_owned(), writer: BufWriter::new(file) })
    }

    fn finish(mut self) -> Outcome {
        self.writer.flush().map_err(|e| Failure::file("write", &self.path, &e))
    }
}

/// A geom by its name, or by its index if it has none.
#[derive(Serialize)]
#[serde(untagged)]
enum GeomName<'a> {
    Name(&'a str),
    Index(usize),
}

impl<'a> GeomName<'a> {
    fn new(model: &'a Model, geom: usize) -> Self {
        match model.geoms[geom].name.as_str() {
            "" => Self::Index(geom),
            name => Self::Name(name),
        }
    }
}

/// A contact. The normal points from the first geom to the second; the impulse acts on the second, along the normal and the two tangents, as does the torque, about them, of torsional and rolling friction.
#[derive(Serialize)]
struct ContactLine<'a> {
    geoms: [GeomName<'a>; 2],
    position: [f64; 3],
    normal: [f64; 3],
    tangents: [[f64; 3]; 2],
    gap: f64,
    impulse: [f64; 3],
    #[serde(skip_serializing_if = "is_zero")]
    torque: [f64; 3],
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<PatchLine<'a>>,
}

/// Whether no friction turns.
fn is_zero(torque: &[f64; 3]) -> bool {
    *torque == [0.0; 3]
}

/// What a patch has beside a point: torsion about the normal at its position, the equivalent contact point, and where it presses how much.
#[derive(Serialize)]
struct PatchLine<'a> {
    torsion: f64,
    vertices: Vec<[f64; 3]>,
    pressure: &'a [f64],
    #[serde(skip_serializing_if = "Option::is_none")]
    disc: Option<f64>,
}

impl<'a> ContactLine<'a> {
    fn new(model: &'a Model, contact: &'a ContactRecord) -> Self {
        let patch = contact.patch.as_ref().map(|patch| PatchLine {
            torsion: patch.torsion,
            vertices: patch.vertices.iter().map(|&x| x.into()).collect(),
            pressure: &patch.pressure,
            disc: patch.disc,
        });
        let [normal, t1, t2] = contact.frame.map(Into::into);
        Self {
            geoms: [contact.geom_a, contact.geom_b].map(|geom| GeomName::new(model, geom)),
            position: contact.position.into(),
            normal,
            tangents: [t1, t2],
            gap: contact.gap,
            impulse: contact.impulse,
            torque: contact.torque,
            patch,
        }
    }
}

/// The certificate of a world.
#[derive(Serialize)]
struct ReportLine {
    status: &'static str,
    iterations: u32,
    sweeps: u32,
    newton_steps: u32,
    residual: f64,
    floor: f64,
    penetration: f64,
    push_denied: f64,
    impact_passes: u32,
    impacts_left: bool,
    contact_count: usize,
    row_count: usize,
    capacity_needed: usize,
    overflow: bool,
    fallback: bool,
    redone: bool,
    halted: bool,
    unsolved_in_a_row: u32,
    failed: bool,
}

impl From<&WorldReport> for ReportLine {
    fn from(report: &WorldReport) -> Self {
        Self {
            status: match report.status {
                WorldStatus::Solved => "solved",
                WorldStatus::IterationLimit => "iteration limit",
                WorldStatus::Exploded => "exploded",
                WorldStatus::NotFinite => "not finite",
            },
            iterations: report.iterations,
            sweeps: report.sweeps,
            newton_steps: report.newton_steps,
            residual: report.residual,
            floor: report.floor,
            penetration: report.penetration,
            push_denied: report.push_denied,
            impact_passes: report.impact_passes,
            impacts_left: report.impacts_left,
            contact_count: report.contact_count,
            row_count: report.row_count,
            capacity_needed: report.capacity_needed,
            overflow: report.overflow,
            fallback: report.fallback,
            redone: report.redone,
            halted: report.halted,
            unsolved_in_a_row: report.unsolved_in_a_row,
            failed: report.failed(),
        }
    }
}

/// A world after a step.
#[derive(Serialize)]
struct StepLine<'a> {
    world: usize,
    step: u64,
    time: f64,
    q: &'a [f64],
    v: &'a [f64],
    contacts: Vec<ContactLine<'a>>,
    report: ReportLine,
}

/// Moments a second of a page, if nothing else is asked for.
const FPS: f64 = 30.0;

/// Writes down chosen worlds.
#[derive(Debug)]
pub enum Recorder {
    /// One object a step.
    Lines(StepLines),
    /// A page to look at, written at the end.
    Page(Lines, Box<Recording>),
}

impl Recorder {
    /// Creates the file, whose name says what it will be, and watches the chosen worlds.
    pub fn new(path: &Path, chosen: &[usize], fps: Option<f64>, worlds: &mut Worlds) -> Outcome<Self> {
        if let Some(world) = chosen.iter().find(|world| **world >= worlds.world_count()) {
            let message = format!("--record-worlds: there is no world {world}, only {}", worlds.world_count());
            return Err(Failure::Usage(message));
        }
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
        match ending.as_str() {
            "html" => {
                let recording = Recording::start(worlds, chosen, Some(fps.unwrap_or(FPS)))?;
                return Ok(Self::Page(Lines::create(path)?, Box::new(recording)));
            }
            "rrd" => {
                let message = "--record: files of rerun are written from Python: worlds.record(\"x.rrd\")";
                return Err(Failure::Usage(message.into()));
            }
            _ if fps.is_some() => {
                let message = "--record-fps: goes with --record FILE.html; JSON lines hold every step";
                return Err(Failure::Usage(message.into()));
            }
            _ => {}
        }
        chosen.iter().try_for_each(|world| worlds.watch(*world, true))?;
        Ok(Self::Lines(StepLines { lines: Lines::create(path)?, chosen: chosen.to_vec() }))
    }

    /// Writes the chosen worlds after step `step`.
    pub fn record(&mut self, step: u64, worlds: &Worlds) -> Outcome {
        match self {
            Self::Lines(lines) => lines.record(step, worlds),
            Self::Page(_, recording) => Ok(recording.see(worlds)?),
        }
    }

    /// Sees to it that everything is in the file.
    pub fn finish(self) -> Outcome {
        match self {
            Self::Lines(lines) => lines.lines.finish(),
            Self::Page(mut lines, recording) => {
                let written = lines.writer.write_all(recording.page().as_bytes());
                written.map_err(|e| Failure::file("write", &lines.path, &e))?;
                lines.finish()
            }
        }
    }
}

/// Writes one object a step for chosen worlds.
#[derive(Debug)]
pub struct StepLines {
    lines: Lines,
    chosen: Vec<usize>,
}

impl StepLines {
    fn record(&mut self, step: u64, worlds: &Worlds) -> Outcome {
        let (model, (q, v)) = (worlds.model(), worlds.state());
        let (nq, nv) = (model.nq(), model.nv());
        for &world in &self.chosen {
            let contacts = worlds.contacts(world).unwrap_or_default();
            let line = StepLine {
                world,
                step,
                time: worlds.time()[world],
                q: &q[world * nq..(world + 1) * nq],
                v: &v[world * nv..(world + 1) * nv],
                contacts: contacts.iter().map(|c| ContactLine::new(model, c)).collect(),
                report: (&worlds.reports()[world]).into(),
            };
            let path = self.lines.path.as_path();
            serde_json::to_writer(&mut self.lines.writer, &line)
                .map_err(std::io::Error::from)
                .and_then(|()| self.lines.writer.write_all(b"\n"))
                .map_err(|e| Failure::file("write", path, &e))?;
        }
        Ok(())
    }
}

/// Writes the contact problems that missed their tolerance, in the format of `delassus solve`.
#[derive(Debug)]
pub struct Dump {
    lines: Lines,
    found: Mutex<Vec<Problem>>,
    written: usize,
    /// Problems that hold NaN or infinities: the format has no form for them.
    left_out: usize,
}

impl Dump {
    /// Creates the file.
    pub fn new(path: &Path) -> Outcome<Self> {
        Ok(Self { lines: Lines::create(path)?, found: Mutex::default(), written: 0, left_out: 0 })
    }

    /// Looks at a block of the step.
    pub fn see(&self, block: &BlockRecord<'_>) {
        if !block.solved {
            self.found.lock().unwrap_or_else(PoisonError::into_inner).push(block.problem.clone());
        }
    }

    /// Writes what was found in step `step`, in the order of the worlds.
    pub fn write(&mut self, step: u64, model: &Model) -> Outcome {
        let mut found = std::mem::take(self.found.get_mut().unwrap_or_else(PoisonError::into_inner));
        found.sort_by(|a, b| a.name.cmp(&b.name));
        for problem in &mut found {
            if !problem.is_finite() {
                self.left_out += 1;
                continue;
            }
            problem.name = format!("{}/step {step}, {}", model.name, problem.name);
            file::write(problem, None, &mut self.lines.writer)?;
            self.written += 1;
        }
        Ok(())
    }

    /// Sees to it that everything is in the file, and says how much.
    pub fn finish(self) -> Outcome<String> {
        let (path, left_out) = (self.lines.path.display(), self.left_out);
        let more = if left_out > 0 { format!(", {left_out} with NaN or infinities left out") } else { String::new() };
        let text = format!("{} unsolved problems written to {path}{more}", self.written);
        self.lines.finish()?;
        Ok(text)
    }
}
