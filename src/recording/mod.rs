//! A few worlds over time, to be looked at.
//!
//! ```text
//! Worlds ─► step ─► see ─► moments: q, v, contacts, report, energy ─► page: one HTML file that needs nothing else
//! ```
//!
//! What follows from q, such as the poses of geoms, is computed when it is asked for.

mod page;

use crate::error::{Error, Result};
use crate::kinematics::{Kinematics, kinematics, mocap_poses, orientation};
use crate::model::Model;
use crate::parameters::TileParameters;
use crate::query::energy;
use crate::spatial::Quat;
use crate::worlds::{ContactRecord, Parameter, WorldReport, Worlds};
use std::sync::Arc;

pub use crate::query::Energy;

/// One world at one moment.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Position, shape \[nq\].
    pub q: Vec<f64>,
    /// Velocity, shape \[nv\].
    pub v: Vec<f64>,
    /// Poses of the mocap bodies, see [`Parameter::MocapPose`].
    pub mocap: Vec<f64>,
    /// Contacts of the last substep before it.
    pub contacts: Vec<ContactRecord>,
    /// The certificate of the call of `step` that led to it.
    pub report: WorldReport,
    /// Its energy, under its own gravity and masses.
    pub energy: Energy,
}

/// Chosen worlds at chosen moments.
///
/// ```
/// use delassus::{Model, Settings, Worlds, recording::Recording};
/// # fn main() -> delassus::Result<()> {
/// let model = Model::from_mjcf_str(
///     r#"<mujoco model="ball">
///          <worldbody>
///            <geom type="plane" size="1 1 1"/>
///            <body pos="0 0 1"><freejoint/><geom type="sphere" size="0.1"/></body>
///          </worldbody>
///        </mujoco>"#,
/// )?;
/// let mut worlds = Worlds::new(&model, 64, Settings::default())?;
/// let mut recording = Recording::start(&mut worlds, &[0, 7], Some(50.0))?;
/// for _ in 0..100 {
///     worlds.step(5)?;
///     recording.see(&worlds)?;
/// }
/// recording.end(&mut worlds)?;
/// let page = recording.page(); // to be written to `ball.html`
/// # assert!(page.contains("ball"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Recording {
    model: Arc<Model>,
    worlds: Vec<usize>,
    /// Moments a second of simulated time at most; none: every one that is seen.
    fps: Option<f64>,
    /// Step Δt, s.
    dt: f64,
    /// Time since the start, s.
    clock: f64,
    /// Index of the next moment if they came every 1 / fps.
    next: f64,
    /// Time of every moment since the start, s, shape \[moment\].
    times: Vec<f64>,
    /// Shape `[moment][world]`.
    moments: Vec<Moment>,
    /// Worlds that are watched for this recording only.
    watched: Vec<usize>,
    /// Positions of all worlds, shape `[world][nq]`, then velocities.
    state: [Vec<f64>; 2],
}

impl Recording {
    /// Begins with the chosen worlds as they are now, and watches them ([`Worlds::watch`]). `fps`: moments a second of simulated time at most; none: one
    /// after every call of `step`.
    ///
    /// # Errors
    /// [`Error::Argument`] if there is no such world or none is chosen, or if `fps` is not a positive number.
    pub fn start(worlds: &mut Worlds, chosen: &[usize], fps: Option<f64>) -> Result<Self> {
        if chosen.is_empty() {
            return Err(Error::argument("worlds", "choose at least one world to record"));
        }
        if fps.is_some_and(|fps| fps <= 0.0 || !fps.is_finite()) {
            return Err(Error::argument("fps", "must be a positive number of moments a second"));
        }
        if let Some(world) = chosen.iter().find(|world| **world >= worlds.world_count()) {
            let message = format!("there is no world {world}, only {}", worlds.world_count());
            return Err(Error::argument("worlds", message));
        }
        let watched: Vec<usize> = chosen.iter().copied().filter(|w| worlds.contacts(*w).is_none()).collect();
        watched.iter().try_for_each(|world| worlds.watch(*world, true))?;
        let (model, count) = (worlds.shared_model().clone(), worlds.world_count());
        let state = [vec![0.0; count * model.nq()], vec![0.0; count * model.nv()]];
        let mut recording = Self {
            worlds: chosen.to_vec(),
            dt: worlds.dt(),
            clock: 0.0,
            next: 0.0,
            times: Vec::new(),
            moments: Vec::new(),
            fps,
            model,
            watched,
            state,
        };
        recording.keep(worlds)?;
        Ok(recording)
    }

    /// Keeps a moment if one is due; to be called once after every call of `step`.
    ///
    /// # Errors
    /// [`Error::Argument`] if these are not the worlds that the recording began with.
    pub fn see(&mut self, worlds: &Worlds) -> Result<()> {
        self.check(worlds)?;
        // All worlds have made the same number of steps; their own time starts anew with a reset, this one does not.
        self.clock += f64::from(worlds.reports()[self.worlds[0]].steps) * self.dt;
        self.keep(worlds)
    }

    fn check(&self, worlds: &Worlds) -> Result<()> {
        // Worlds share their model with nothing but their recordings.
        if Arc::ptr_eq(&self.model, worlds.shared_model()) {
            return Ok(());
        }
        Err(Error::argument("worlds", "are not those that the recording began with"))
    }

    fn keep(&mut self, worlds: &Worlds) -> Result<()> {
        // The sum of many Δt falls short of a multiple of 1 / fps by rounding.
        const ROUNDING: f64 = 1e-6;
        if let Some(fps) = self.fps {
            let now = self.clock * fps + ROUNDING;
            if now < self.next {
                return Ok(());
            }
            self.next = now.floor() + 1.0;
        }
        let model = &self.model;
        let (nq, nv) = (model.nq(), model.nv());
        let [q, v] = &mut self.state;
        worlds.positions_into(&mut q[..])?;
        worlds.velocities_into(&mut v[..])?;
        self.times.push(self.clock);
        for &world in &self.worlds {
            let (q, v) = (&q[world * nq..][..nq], &v[world * nv..][..nv]);
            let own = Parameter::ALL.map(|parameter| worlds.parameter_of(parameter, world));
            let parameters = Parameter::ALL.map(|parameter| parameter.completed(model, &own[parameter as usize]));
            let parameters = TileParameters::new(|parameter| &*parameters[parameter as usize]);
            self.moments.push(Moment {
                contacts: worlds.contacts(world).unwrap_or_default().to_vec(),
                report: worlds.reports()[world],
                energy: energy(model, &parameters, q, v),
                q: q.to_vec(),
                v: v.to_vec(),
                mocap: own[Parameter::MocapPose as usize].clone(),
            });
        }
        Ok(())
    }

    /// Ends the watch of worlds that were not watched before; what is recorded stays.
    ///
    /// # Errors
    /// [`Error::Argument`] if these are not the worlds that the recording began with.
    pub fn end(&mut self, worlds: &mut Worlds) -> Result<()> {
        self.check(worlds)?;
        self.watched.drain(..).try_for_each(|world| worlds.watch(world, false))
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }
    /// The recorded worlds.
    pub fn worlds(&self) -> &[usize] {
        &self.worlds
    }
    /// Step Δt of the worlds, s.
    pub fn dt(&self) -> f64 {
        self.dt
    }
    /// Time of every moment since the start of the recording, s, shape \[moment\].
    pub fn times(&self) -> &[f64] {
        &self.times
    }
    /// What is recorded, shape `[moment][world]`.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }

    /// Poses of all geoms: position (m) and orientation (w x y z), shape `[moment][world][geom][7]`.
    pub fn poses(&self) -> Vec<f64> {
        let mut k = Kinematics::<f64>::new(&self.model);
        let mut poses = Vec::with_capacity(self.moments.len() * self.model.geoms.len() * 7);
        self.moments.iter().for_each(|moment| add_poses(&self.model, &moment.q, &moment.mocap, &mut k, &mut poses));
        poses
    }

    /// One HTML file that shows the recording in any browser with WebGL 2: poses over time, contact forces as arrows, and the certificate.
    pub fn page(&self) -> String {
        page::page(self)
    }
}

/// Poses of all geoms at q, shape \[nq\], mocap bodies at rest: position (m) and orientation (w x y z), shape `[geom][7]`.
pub fn poses(model: &Model, q: &[f64]) -> Vec<f64> {
    let mut poses = Vec::with_capacity(model.geoms.len() * 7);
    add_poses(model, q, &[], &mut Kinematics::new(model), &mut poses);
    poses
}

/// `mocap`: poses of the mocap bodies; none: at rest.
fn add_poses(model: &Model, q: &[f64], mocap: &[f64], k: &mut Kinematics<f64>, poses: &mut Vec<f64>) {
    if !mocap.is_empty() {
        mocap_poses(&Parameter::MocapPose.completed(model, mocap), k);
    }
    kinematics(model, q, k);
    for (geom, pose) in model.geoms.iter().zip(&k.geom_pose) {
        let turn = orientation(model, q, k, geom.body) * Quat::constant(&geom.orientation);
        let (p, r) = (pose.position, turn.v);
        poses.extend_from_slice(&[p.x, p.y, p.z, turn.w, r.x, r.y, r.z]);
    }
}

/// Poses of the geoms that may move at q, shape \[nq\], mocap bodies at rest, as the viewer takes them: position (m) and orientation (w x y z), shape `[moving][7]`.
pub fn moving_poses(model: &Model, q: &[f64]) -> Vec<f32> {
    page::moving(model, &poses(model, q)).into_iter().map(|x| x as f32).collect()
}

/// What the viewer of recordings (`src/recording/viewer.js`) draws of so many worlds of a model, without any moment, in JSON: for pages that show worlds as they are stepped
/// (`examples/web`).
pub fn scene(model: &Model, worlds: &[usize]) -> String {
    page::scene(model, worlds)
}
