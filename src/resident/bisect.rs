//! Shaders beside their twins, stage by stage, from the same buffers: what a driver does otherwise is bisected to the first stage that it errs in. And twins for the first stages of a step, shaders for
//! those after them.

use super::layout::{self, FAR, LIST, Layout, UNFINISHED_LIST};
use super::twin::{Twin, World};
use super::{LISTED, LISTS, Resident, UNFINISHED, stride};
use crate::error::Result;
use crate::lane::operations;
use crate::step::Plan;
use std::ops::Range;

/// How far apart two numbers may be that a driver and the twin round otherwise, as a share of the largest of their buffer in that world.
const SAME: f32 = 1e-4;
/// The same of what Newton solves, which is z: a step is rounded by 1e-7/δ, which is 1e-3 for its first δ. So rounding decides how many steps a world takes, and impulses that W does not feel.
const SAME_ANSWER: f32 = 1e-3;

/// One stage of a step on a device, beside its twin in Rust from the same numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StageComparison {
    /// Name of the stage, as [`crate::Worlds::shader_times`] has it; the pieces of the free motion are one.
    pub stage: String,
    /// How many worlds were compared.
    pub worlds: usize,
    /// The worlds, by index, in which shader and twin leave numbers that are farther apart than 1e-4 of the largest of their buffer, behind Newton answers that are farther apart than 1e-3, and what differs most.
    pub differ: Vec<(usize, String)>,
    /// How many worlds the sweeps of the problem at hand left to Newton.
    pub listed: usize,
    /// How many contacts all worlds have.
    pub contacts: usize,
    /// The most steps of Newton that a world took in it.
    pub newton_steps: u32,
    /// Floating-point operations of all worlds as the twin counts them: those of its formulas and of Newton's products, a fused multiply-add as two. What loops do between them is left out.
    pub operations: u64,
}

impl StageComparison {
    /// Whether the stage solves a problem. There rounding decides in some worlds how many sweeps or steps that takes, and in a few that Newton is at a loss about, whether it is solved.
    pub fn solves(&self) -> bool {
        self.stage.ends_with("sweeps") || self.stage.ends_with("newton")
    }
    /// Whether the shader does something else than its twin: in any world; where it solves a problem, in more than a quarter of them; where it finds contacts, in more than half, since of points in a tie, such
    /// as those of a cylinder that stands upright, rounding chooses.
    pub fn is_wrong(&self) -> bool {
        let share = match &*self.stage {
            "contacts" => self.worlds / 2,
            _ if self.solves() => self.worlds / 4,
            _ => return !self.differ.is_empty(),
        };
        self.differ.len() > share.max(2)
    }
}

/// The stages of a step by name, with the shaders of each: the pieces of the free motion are one.
fn grouped(resident: &Resident) -> Vec<(String, Range<usize>)> {
    let mut all: Vec<(String, Range<usize>)> = Vec::new();
    for (k, stage) in resident.stages.iter().enumerate() {
        let name = if stage.name.starts_with("free_motion") { "free_motion" } else { &stage.name };
        match all.last_mut().filter(|(last, _)| last == name) {
            Some((_, shaders)) => shaders.end = k + 1,
            None => all.push((name.to_owned(), k..k + 1)),
        }
    }
    all
}

impl Resident {
    /// What every shader of the next step leaves beside what its twin does from the same numbers; the step is not taken. For few worlds: all buffers of the first set are read after every stage.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) where the device fails.
    pub async fn beside_twins(&mut self, plan: &Plan) -> Result<Vec<StageComparison>> {
        let twins = self.twins(plan);
        let kept = self.read_buffers([0, UNFINISHED]).await?;
        let compared = self.compared(&twins).await;
        self.write_buffers(&kept, [None; 2]);
        compared
    }

    /// The twins of its shaders.
    fn twins<'a>(&self, plan: &'a Plan) -> Twin<'a> {
        Twin::new(plan, &self.layout, self.stages.iter().any(|stage| stage.name.ends_with("newton")))
    }

    /// A step, every stage beside its twin.
    async fn compared(&mut self, twins: &Twin<'_>) -> Result<Vec<StageComparison>> {
        self.begin(&[], false, |_, _| 0.0, |_| false, |_| false);
        let mut all = Vec::new();
        for (stage, shaders) in grouped(self) {
            let lists = lists_of(&stage);
            let mut told = self.read_buffers(lists).await?;
            let before: Vec<f32> = told.iter().map(World::newton_steps).collect();
            self.run_stages(shaders);
            let done = self.read_buffers(lists).await?;
            let counted = operations();
            for w in &mut told {
                twins.run(&stage, w);
            }
            let operations = operations() - counted;
            let mut differ = Vec::new();
            for (world, (a, b)) in done.iter().zip(&told).enumerate() {
                let newton = stage.ends_with("newton");
                let (apart, text) = difference(&twins.layout, newton, a, b);
                if a.left() != b.left() {
                    let of = |w: &World| format!("left to Newton {}, to more sweeps {}", w.listed, w.unfinished);
                    differ.push((world, format!("{} on the device, {} of the twin", of(a), of(b))));
                } else if apart > if newton { SAME_ANSWER } else { SAME } || apart.is_nan() {
                    differ.push((world, text));
                }
            }
            let (listed, contacts) = (done.iter().filter(|w| w.listed).count(), done.iter().map(World::count).sum());
            let newton_steps =
                done.iter().zip(&before).fold(0.0, |most: f32, (w, b)| most.max(w.newton_steps() - b)) as u32;
            let worlds = done.len();
            all.push(StageComparison { stage, worlds, differ, listed, contacts, newton_steps, operations });
        }
        Ok(all)
    }

    /// Runs some shaders of a step.
    fn run_stages(&mut self, stages: Range<usize>) {
        let dispatches = self.dispatches(&self.sets[0]);
        self.chain.run(0, &dispatches[stages]);
    }

    /// All buffers of all worlds; `lists`: which say who is left to Newton, and to more sweeps.
    async fn read_buffers(&self, lists: [usize; 2]) -> Result<Vec<World>> {
        let (count, stride) = (self.sets[0].len(), stride(&self.sets[0]));
        let mut all = Vec::new();
        for (k, len) in self.components().into_iter().enumerate() {
            all.push(self.chain.read(0, k + 1, 0..len * stride).await?);
        }
        let counts = self.chain.read(0, LISTED, 0..LISTS).await?;
        let [listed, unfinished] = [0, 1].map(|k| {
            let len = counts[lists[k]].to_bits() as usize;
            &all[3][LIST_COMPONENTS[k] * stride..][..len.min(count)]
        });
        let column = |k: usize, world: usize| all[k].iter().skip(world).step_by(stride).copied().collect();
        let world = |world: usize| {
            let [state, given, motion, contact, rows] = [0, 1, 2, 3, 4].map(|k| column(k, world));
            let [listed, unfinished] = [listed, unfinished].map(|list| list.contains(&(world as f32)));
            World { state, given, motion, contact, rows, listed, unfinished }
        };
        Ok((0..count).map(world).collect())
    }

    /// Writes all buffers of all worlds; `lists`: those of worlds that are left to Newton, and to more sweeps, as far as they are asked for.
    fn write_buffers(&mut self, worlds: &[World], lists: [Option<usize>; 2]) {
        let stride = stride(&self.sets[0]);
        for (k, len) in self.components().into_iter().enumerate() {
            let mut all = vec![0.0; len * stride];
            for (world, w) in worlds.iter().enumerate() {
                let column = [&w.state, &w.given, &w.motion, &w.contact, &w.rows][k];
                column.iter().enumerate().for_each(|(i, x)| all[i * stride + world] = *x);
            }
            for (list, component) in LIST_COMPONENTS.into_iter().enumerate().filter(|_| k == 3) {
                let listed = (0..worlds.len()).filter(|world| worlds[*world].left()[list]);
                listed.enumerate().for_each(|(place, world)| all[component * stride + place] = world as f32);
            }
            self.chain.write(0, k + 1, 0, &all);
        }
        let mut counts = [0.0; LISTS];
        for (k, list) in lists.into_iter().enumerate() {
            if let Some(list) = list {
                counts[list] = f32::from_bits(worlds.iter().filter(|w| w.left()[k]).count() as u32);
            }
        }
        self.chain.write(0, LISTED, 0, &counts);
    }
}

/// What differs most of what two worlds have, behind Newton of their answers: by how much, and where.
fn difference(l: &Layout, newton: bool, a: &World, b: &World) -> (f32, String) {
    let mut most = (0.0, String::new());
    if !a.runs(l) && !b.runs(l) {
        // what has not been solved is nobody's answer, and a small difference grows with every step on the way there
        let [a, b] = [a, b].map(|w| w.state[l.outcome() + layout::HALT]);
        return (
            if a == b { 0.0 } else { f32::INFINITY },
            format!("halted for {a} on the device, for {b} of the twin"),
        );
    }
    for (name, a, b) in [
        ("state", &a.state, &b.state),
        ("motion", &a.motion, &b.motion),
        ("contact", &a.contact, &b.contact),
        ("rows", &a.rows, &b.rows),
    ] {
        // what is not there is no measure
        let there = a.iter().map(|x| x.abs()).filter(|x| *x < FAR);
        let largest = there.fold(1e-3f32, f32::max);
        for (k, (x, y)) in a.iter().zip(b.iter()).enumerate() {
            // what is a shader's own: values between pieces of the free motion, where a world is listed, and steps of Newton, which along what impulses W does not feel are rounding; Jacobi has its sums there
            let own = match name {
                "motion" => k >= l.passed(),
                "rows" if newton => !(l.z()..l.z() + 2 * l.nv).contains(&k),
                "contact" if newton => true,
                "contact" => LIST_COMPONENTS.contains(&k),
                "rows" if l.jacobi => false,
                "rows" if k < l.scalar_impulse() => l.is_newtons(k % l.row_len()),
                "rows" => k >= l.scalar_newton(),
                _ => false,
            };
            let apart = if own || x.to_bits() == y.to_bits() { 0.0 } else { (x - y).abs() / largest };
            if apart > most.0 || apart.is_nan() {
                most = (apart, format!("{name}[{k}]: {x:e} on the device, {y:e} of the twin"));
            }
        }
    }
    most
}

/// Components of `contact` that are the lists of worlds left to Newton, and to more sweeps.
const LIST_COMPONENTS: [usize; 2] = [LIST, UNFINISHED_LIST];

/// Which counts of them a stage has.
fn lists_of(stage: &str) -> [usize; 2] {
    let problem = usize::from(stage.starts_with("position"));
    [problem, problem + UNFINISHED]
}

#[cfg(test)]
mod tests {
    use super::super::Given;
    use super::super::layout::{CONTACT_HEAD, CONTACT_KIND};
    use super::super::tests::{model, plan_of, plan_with, samples};
    use super::*;
    use crate::gpu::Device;
    use crate::model::{Integrator, JointKind, Model};
    use crate::solver::{Algorithm, FrictionLaw};
    use crate::step::Settings;
    use crate::waiting::now;

    /// The worlds of every case: a workgroup.
    const WORLDS: usize = 64;
    /// The share of the world-steps in which rounding may decide whether a problem is solved, and so how many sweeps or steps it takes; where Newton is at a loss after all its steps, whether it is
    /// solved at all. What is wrong in a shader is so in most worlds.
    const DECIDED_BY_ROUNDING: f64 = 0.05;

    /// Worlds on a device that have moved for a while, each otherwise.
    fn moved(plan: &Plan, device: Device, steps: u32) -> Resident {
        let model = &*plan.model;
        let mut resident = Resident::new(plan, device, WORLDS, None).expect("worlds");
        let mut random = 11u32;
        let control = samples(&mut random, WORLDS * model.nu());
        resident.give(Given::Control, |u, world| 0.3 * control[world * model.nu() + u]);
        resident.give(Given::External, |_, _| 0.0);
        resident.give(Given::Gravity, |k, _| model.gravity[k] as f32);
        resident.give(Given::MassScale, |_, _| 1.0);
        resident.give(Given::GainScale, |_, _| 1.0);
        resident.give(Given::Friction, |g, _| model.geoms[g].friction[0] as f32);
        let q = model.keyframes.first().map_or(&model.q0, |key| &key.q);
        let (nq, nv) = (model.nq(), model.nv());
        let noise = samples(&mut random, WORLDS * (nq + nv));
        let scalar = |k: usize| {
            let own = model.joints.iter().find(|joint| joint.q_start == k);
            own.is_some_and(|joint| matches!(joint.kind, JointKind::Hinge | JointKind::Slide))
        };
        let start = |k: usize, world: usize| {
            let noise = noise[world * (nq + nv) + k];
            if k < nq { q[k] as f32 + if scalar(k) { 0.05 * noise } else { 0.0 } } else { 0.2 * noise }
        };
        let all: Vec<usize> = (0..WORLDS).collect();
        resident.begin(&all, true, start, |_| false, |_| true);
        resident.step(steps).expect("steps");
        now(resident.answers()).expect("answers");
        resident
    }

    /// What bounces, gives way, is limited and rubs, and `others`; with friction in boxes, swept only.
    fn toys(algorithm: Algorithm, others: &str) -> Plan {
        let text = format!(
            "<mujoco><option timestep='.004'/><worldbody><geom type='plane' size='5 5 .1' friction='.4'/>
        <body name='ball' pos='0 0 .3'><freejoint/><geom type='sphere' size='.1' friction='.9'/></body>
        <body name='arm' pos='.5 0 .5'><joint name='a' axis='0 1 0' limited='true' range='-40 40' frictionloss='.1'/>
          <geom type='capsule' fromto='0 0 0 .4 0 0' size='.04'/>
          <body pos='.4 0 0'><joint name='b' axis='0 1 0' damping='.2'/><geom type='capsule' fromto='0 0 0 .4 0 -.2' size='.04'/></body></body>
        {others}</mujoco>"
        );
        let settings = Settings {
            restitution: 0.5,
            compliance: 1e-4,
            algorithm,
            friction: FrictionLaw::Box,
            ..Settings::default()
        };
        plan_of(Model::from_mjcf_str(&text).expect("a model"), settings)
    }

    /// What is held together, and a pair that has no formula of its own here.
    const MORE: &str = "<body name='egg' pos='0 .6 .25'><freejoint/><geom type='ellipsoid' size='.1 .08 .12'/></body>
        <body name='stick' pos='0 .6 .7' euler='0 80 10'><freejoint/><geom type='capsule' size='.03 .1'/><site name='rotor' pos='.02 0 .1' euler='0 10 0'/></body>
        <body pos='-.5 0 .6'><joint name='c' axis='0 1 0'/><geom type='capsule' fromto='0 0 0 .2 0 0' size='.03'/>
          <body pos='.2 0 0'><joint name='d' axis='0 1 0'/><geom type='capsule' fromto='0 0 0 .2 0 0' size='.03'/><site name='tip' pos='.2 0 0'/></body></body>
        <site name='hook' pos='-.5 .1 .9'/><site name='beside' pos='-.35 .05 .72'/><geom name='bead' size='.05' pos='-.35 .05 .75' contype='0' conaffinity='0'/>
        </worldbody><equality><joint joint1='a' joint2='b' polycoef='0 1 0 0 0'/></equality>
        <tendon><fixed name='t' range='-.1 .2' frictionloss='.05' stiffness='2' damping='.1'>
          <joint joint='c' coef='1'/><joint joint='d' coef='-.5'/></fixed>
          <spatial name='s' range='0 .5' frictionloss='.02' stiffness='3' damping='.1'><site site='hook'/><geom geom='bead' sidesite='beside'/><site site='tip'/></spatial></tendon>
        <actuator><motor tendon='t'/><motor tendon='s'/><motor site='rotor' gear='0 0 3 0 .01 .02'/></actuator>";

    fn jacobi(name: &str) -> Plan {
        plan_of(model(name), Settings { algorithm: Algorithm::Jacobi, ..Settings::default() })
    }

    /// Patches apart from each other: a box, a cylinder that stands, a capsule that lies, a ball with torsion; and a point.
    fn patches() -> Plan {
        let text = "<mujoco><custom><numeric name='ellipsoid:ball' data='1 .8 .1'/></custom><option timestep='.005'/><worldbody><geom type='plane' size='5 5 .1' friction='.7'/>
        <body pos='0 0 .1'><freejoint/><geom type='box' size='.2 .1 .1'/></body>
        <body pos='1 0 .2'><freejoint/><geom type='cylinder' size='.15 .2'/></body>
        <body pos='2 0 .1' euler='0 90 0'><freejoint/><geom type='capsule' size='.1 .2'/></body>
        <body pos='-1 0 .1'><freejoint/><geom name='ball' type='sphere' size='.1' condim='4'/></body>
        <body pos='-2 0 .1'><freejoint/><geom type='sphere' size='.1'/></body>
        </worldbody></mujoco>";
        patched(Model::from_mjcf_str(text).expect("a model"), Settings::default())
    }

    /// A cylinder that leans and a ball with torsion, which bounce and give way.
    fn patches_that_give_way() -> Plan {
        let text = "<mujoco><option timestep='.005'/><worldbody><geom type='plane' size='5 5 .1' friction='.7'/>
        <body pos='0 0 .2' euler='0 .2 0'><freejoint/><geom type='cylinder' size='.15 .2'/></body>
        <body pos='1 0 .1'><freejoint/><geom type='sphere' size='.1' condim='4' friction='.7 .02 0'/></body>
        </worldbody></mujoco>";
        let settings =
            Settings { restitution: 0.3, compliance: 1e-4, integrator: Some(Integrator::Rk4), ..Settings::default() };
        patched(Model::from_mjcf_str(text).expect("a model"), settings)
    }

    fn patched(model: Model, settings: Settings) -> Plan {
        plan_of(model, Settings { friction: FrictionLaw::Patch, ..settings })
    }

    /// How many contacts of worlds that run are points, patches with vertices, and discs.
    fn kinds(worlds: &[World], twins: &Twin<'_>) -> [usize; 3] {
        let mut kinds = [0; 3];
        for w in worlds.iter().filter(|w| w.runs(&twins.layout)) {
            for c in 0..w.count() {
                let kind = CONTACT_HEAD + twins.layout.contact_len() * c + CONTACT_KIND;
                kinds[if twins.layout.patches { w.contact[kind] as usize } else { 0 }] += 1;
            }
        }
        kinds
    }

    /// Every shader of some models beside its twin, four steps.
    fn compare(cases: &[(&str, Plan)]) {
        let Some(device) = Device::for_tests() else { return };
        let mut faults = Vec::new();
        for (name, plan) in cases {
            let mut resident = moved(plan, device.clone(), 60);
            let twins = resident.twins(plan);
            let (steps, mut decided, mut listed, mut contacts, mut most) = (4, Vec::new(), 0, 0, 0);
            for _ in 0..steps {
                let all = now(resident.compared(&twins)).expect("a step");
                for mut told in all {
                    // rounding chooses points of a cylinder that stands
                    if *name == "patches" && told.stage == "contacts" && !told.is_wrong() {
                        told.differ.clear();
                    }
                    // and, of a face that meets a plane nearly flat, which corners are lowest
                    let decides = told.solves() || (twins.layout.patches && told.stage == "contacts");
                    let differ = told
                        .differ
                        .into_iter()
                        .map(|(world, text)| format!("{name}, {}, world {world}: {text}", told.stage));
                    if decides {
                        decided.extend(differ);
                    } else {
                        faults.extend(differ);
                    }
                    (listed, contacts) = (listed + told.listed, contacts + told.contacts);
                    most = most.max(told.newton_steps);
                }
            }
            assert!(contacts > 0, "{name}: nothing touches");
            let worlds = now(resident.read_buffers([0, UNFINISHED])).expect("worlds");
            let kinds = kinds(&worlds, &twins);
            println!("{name}: {kinds:?} points, patches with vertices and discs");
            assert!(!name.contains("patches") || kinds[1] > 0, "{name}: {kinds:?}");
            assert!(*name != "patches" || kinds.iter().all(|count| *count > 0), "{name}: {kinds:?}");
            // those that Jacobi has swept and solved
            let swept = worlds.iter().filter(|w| w.runs(&twins.layout) && w.contact[5] > 0.0).count();
            assert!(!twins.layout.jacobi || swept > 0, "{name}: nothing is swept");
            // some take more than the few steps of most
            assert!(*name != "ant" || most > 4, "{name}: at most {most} steps of Newton");
            // patches apart from each other are swept to the end
            let alone = name.starts_with("patches");
            assert!(alone || (listed > 0) == twins.newton, "{name}: Newton has {listed}");
            println!("{name}: rounding decided in {} of {}: {decided:#?}", decided.len(), steps * WORLDS);
            if decided.len() as f64 > DECIDED_BY_ROUNDING * (steps * WORLDS) as f64 {
                faults.extend(decided);
            }
        }
        assert!(faults.is_empty(), "{faults:#?}");
    }

    #[test]
    fn every_shader_leaves_what_its_twin_leaves() {
        compare(&[
            ("hopper", plan_with("hopper", Integrator::Euler)),
            ("ant", plan_with("ant", Integrator::Rk4)),
            ("spheres", plan_with("spheres", Integrator::Euler)),
            ("toys", toys(Algorithm::Pgs, MORE)),
        ]);
    }

    #[test]
    fn every_shader_of_jacobi_leaves_what_its_twin_leaves() {
        compare(&[
            ("toys with Jacobi", toys(Algorithm::Jacobi, "</worldbody>")),
            ("hopper with Jacobi", jacobi("hopper")),
        ]);
    }

    #[test]
    fn every_shader_of_patches_leaves_what_its_twin_leaves() {
        compare(&[
            ("patches", patches()),
            ("patches that give way", patches_that_give_way()),
            ("biped with patches", patched(model("biped"), Settings::default())),
        ]);
    }

    #[test]
    fn twins_for_the_first_stages_and_shaders_for_the_others_end_alike() {
        let Some(device) = Device::for_tests() else { return };
        let plan = plan_with("hopper", Integrator::Euler);
        let mut resident = moved(&plan, device, 60);
        let twins = resident.twins(&plan);
        resident.begin(&[], false, |_, _| 0.0, |_| false, |_| false);
        let (start, stages) = (now(resident.read_buffers([0, UNFINISHED])).expect("buffers"), grouped(&resident));
        let mut ends = Vec::new();
        for first in 0..=stages.len() {
            let mut worlds = start.clone();
            for (stage, _) in &stages[..first] {
                for w in &mut worlds {
                    twins.run(stage, w);
                }
            }
            let asked = stages.get(first).map_or([None; 2], |(stage, _)| {
                let [newton, unfinished] = lists_of(stage);
                [stage.ends_with("newton").then_some(newton), stage.contains("more_").then_some(unfinished)]
            });
            resident.write_buffers(&worlds, asked);
            if let Some((_, shaders)) = stages.get(first) {
                resident.run_stages(shaders.start..resident.stages.len());
            }
            ends.push(now(resident.read_buffers([0, UNFINISHED])).expect("buffers"));
        }
        for (first, end) in ends.iter().enumerate() {
            let apart = |(a, b): (&World, &World)| {
                let moving = ..plan.model.nq() + plan.model.nv();
                a.state[moving].iter().zip(&b.state[moving]).fold(0.0f32, |m, (x, y)| m.max((x - y).abs()))
            };
            let worst = end.iter().zip(&ends[0]).map(apart).fold(0.0, f32::max);
            // both answers are certified to 1e-5 m/s
            assert!(worst < 1e-3, "twins for {first} stages: {worst:e}");
        }
    }

    #[test]
    fn what_a_device_does_otherwise_is_found_in_its_stage() {
        let Some(device) = Device::for_tests() else { return };
        let plan = plan_with("hopper", Integrator::Euler);
        let mut resident = moved(&plan, device, 60);
        let twins = resident.twins(&plan);
        let first_fault = |resident: &mut Resident| {
            now(resident.compared(&twins))
                .expect("a step")
                .into_iter()
                .find(|told| told.differ.len() > WORLDS / 4)
                .map(|told| told.stage)
        };
        assert_eq!(first_fault(&mut resident), None);
        let l = &twins.layout;
        // the margins of all pairs; and what of a model moves which side of a pair
        let margins: Vec<usize> = (0..l.pairs.len()).map(|pair| l.pair_len() * pair + 7).collect();
        for (changed, stage) in [(margins, "contacts"), ((l.sign_table()..l.bound_table()).collect(), "contact_rows")] {
            let mut wrong = twins.tables.clone();
            for k in changed {
                wrong[k] = 1.01 * wrong[k] + if stage == "contacts" { 0.01 } else { 0.0 };
            }
            resident.chain.write(0, super::super::TABLES, 0, &wrong);
            assert_eq!(first_fault(&mut resident).as_deref(), Some(stage));
        }
    }
}
