//! Worlds in a browser: state, rows and impulses stay on the device that the page was given, and a step is awaited.

use delassus::gpu::Device;
use delassus::recording::{moving_poses, scene};
use delassus::worlds::Start;
use delassus::{DeviceChoice, Mask, Model, Settings, Worlds};
use wasm_bindgen::prelude::*;

/// The models that the page offers, by name.
const MODELS: [(&str, &str); 7] = [
    ("ant", include_str!("../../models/ant.xml")),
    ("quadruped", include_str!("../../models/quadruped.xml")),
    ("biped", include_str!("../../models/biped.xml")),
    ("humanoid", include_str!("../../models/humanoid.xml")),
    ("hopper", include_str!("../../models/hopper.xml")),
    ("spheres", include_str!("../../models/spheres.xml")),
    ("boxes", include_str!("../../models/boxes.xml")),
];

/// How far starts differ, m, rad, m/s or rad/s.
const NOISE: f64 = 0.05;

/// An error of the library, for the page.
fn for_page(error: delassus::Error) -> JsError {
    JsError::new(&error.to_string())
}

/// Names of the models, one a line.
#[wasm_bindgen]
pub fn models() -> String {
    MODELS.map(|(name, _)| name).join("\n")
}

/// Worlds of one model, some of which are drawn.
#[wasm_bindgen]
pub struct Batch {
    worlds: Worlds,
    drawn: Vec<usize>,
    q: Vec<f64>,
    /// Calls of [`Batch::step`], the seeds of random control.
    calls: u64,
    /// What came of all steps since the start.
    sums: Sums,
}

/// Of all steps of all worlds.
#[derive(Default)]
struct Sums {
    world_steps: u64,
    unsolved: u64,
    halted: u64,
    /// Largest residual, m/s.
    residual: f64,
}

#[wasm_bindgen]
impl Batch {
    /// Opens the browser's device, and makes `count` worlds of a model by name, or of MJCF text.
    ///
    /// # Errors
    /// What the library says: a model that cannot be read or stepped on a device, a browser without WebGPU.
    pub async fn open(model: String, count: usize, drawn: usize) -> Result<Batch, JsError> {
        let known = MODELS.iter().find(|(name, _)| *name == model);
        let model = Model::from_mjcf_str(known.map_or(&model, |(_, text)| text)).map_err(for_page)?;
        let device = Device::open(&DeviceChoice::Any).await.map_err(for_page)?;
        let mut worlds = Worlds::on_device(&model, count, Settings::default(), device).map_err(for_page)?;
        let keyframe = (!model.keyframes.is_empty()).then_some(0);
        worlds.set_start(Start { keyframe, position_noise: NOISE, velocity_noise: NOISE }).map_err(for_page)?;
        worlds.reset(Mask::All, 0).map_err(for_page)?;
        let q = vec![0.0; count * model.nq()];
        Ok(Self { worlds, drawn: (0..drawn.min(count)).collect(), q, calls: 0, sums: Sums::default() })
    }

    /// What the viewer draws.
    pub fn scene(&self) -> String {
        scene(self.worlds.model(), &self.drawn)
    }

    /// The device.
    pub fn device(&self) -> String {
        self.worlds.device()
    }

    /// Seconds of a step.
    pub fn dt(&self) -> f64 {
        self.worlds.dt()
    }

    /// Steps all worlds; with random control, drawn anew, or with none.
    ///
    /// # Errors
    /// A device that is lost.
    pub async fn step(&mut self, substeps: u32, random: bool) -> Result<(), JsError> {
        if random {
            self.worlds.draw_control(self.calls);
        } else {
            self.worlds.control_mut().fill(0.0);
        }
        self.calls += 1;
        let reports = self.worlds.step_async(substeps).map_err(for_page)?.await.map_err(for_page)?;
        for report in reports {
            self.sums.world_steps += u64::from(substeps);
            self.sums.unsolved += u64::from(!report.solved());
            self.sums.halted += u64::from(report.halted);
            self.sums.residual = self.sums.residual.max(report.residual);
        }
        Ok(())
    }

    /// Starts all worlds anew.
    ///
    /// # Errors
    /// None that a page can cause.
    pub fn reset(&mut self, seed: u32) -> Result<(), JsError> {
        self.sums = Sums::default();
        self.worlds.reset(Mask::All, u64::from(seed)).map_err(for_page)
    }

    /// Poses of what moves in the drawn worlds, shape `[world][moving][7]`.
    ///
    /// # Errors
    /// None that a page can cause.
    pub fn poses(&mut self) -> Result<Vec<f32>, JsError> {
        self.worlds.positions_into(&mut self.q[..]).map_err(for_page)?;
        let model = self.worlds.model();
        let each = self.drawn.iter().map(|world| &self.q[world * model.nq()..(world + 1) * model.nq()]);
        Ok(each.flat_map(|q| moving_poses(model, q)).collect())
    }

    /// Positions, shape `[world][nq]`.
    pub fn positions(&self) -> Vec<f64> {
        self.worlds.positions()
    }

    /// What came of the last call and of all since the start, in JSON: `contacts` in the mean, largest `residual` (m/s), `time` (s), `world_steps`, and of the calls of single worlds those
    /// not solved (`unsolved`) and those that the CPU took on (`halted`).
    pub fn report(&self) -> String {
        let reports = self.worlds.reports();
        let contacts = reports.iter().map(|r| r.contact_count).sum::<usize>() as f64 / reports.len() as f64;
        let Sums { world_steps, unsolved, halted, residual } = self.sums;
        let time = self.worlds.time().first().copied().unwrap_or_default();
        serde_json::json!({
            "contacts": contacts, "residual": residual, "time": time,
            "world_steps": world_steps, "unsolved": unsolved, "halted": halted, "calls": self.calls,
        })
        .to_string()
    }
}
