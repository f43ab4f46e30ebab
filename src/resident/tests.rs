use super::formulas::{self, Formulas};
use super::layout::Layout;
use super::loops::{NEWTON_TURNS, loops_of_turns, most_rows, newton_turns, rounds_of_sweeps, worlds_of_a_workgroup};
use super::observation;
use super::patch_formulas::{self, PatchFormulas};
use super::shaders::{Shader, draw, movers, shaders, stages};
use super::twin::{Problem, Twin, World};
use crate::gpu::LOOP_BUDGET;
use crate::lane::Real;
use crate::model::{Frame, Integrator, Model};
use crate::quantity::{Axes, Quantity};
use crate::solver::{Algorithm, BlockSize, FrictionLaw, Header, REPORT_LEN, REPORT_LIVE, SWEPT, SolveSettings, sweeps};
use crate::step::{Plan, Settings};
use std::path::PathBuf;
use std::sync::Arc;

fn plan(name: &str) -> Plan {
    plan_with(name, Integrator::Euler)
}

pub(super) fn plan_with(name: &str, integrator: Integrator) -> Plan {
    plan_of(model(name), Settings { integrator: Some(integrator), ..Settings::default() })
}

pub(super) fn model(name: &str) -> Model {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("examples/models/{name}.xml"));
    Model::from_mjcf_file(path).expect("a model")
}

pub(super) fn plan_of(model: Model, settings: Settings) -> Plan {
    Plan::new(Arc::new(model), settings)
}

/// The example models that may touch in patches, and one with a cylinder, a torsional friction coefficient and an ellipsoid, with compliance and Runge-Kutta.
fn patch_plans() -> Vec<(&'static str, Plan)> {
    let friction = FrictionLaw::Patch;
    let mut all: Vec<_> = MODELS
        .map(|name| (name, plan_of(model(name), Settings { friction, ..Settings::default() })))
        .into_iter()
        .filter(|(_, plan)| plan.settings.friction == friction)
        .collect();
    let text = "<mujoco><custom><numeric name='ellipsoid:drum' data='1 .8 .1'/></custom>
        <worldbody><geom type='plane' size='5 5 .1'/>
        <body pos='0 0 .2'><freejoint/><geom name='drum' type='cylinder' size='.1 .2'/></body>
        <body pos='1 0 .2'><freejoint/><geom type='sphere' size='.2' condim='4'/></body></worldbody></mujoco>";
    let settings = Settings { friction, compliance: 1e-3, integrator: Some(Integrator::Rk4), ..Settings::default() };
    all.push(("drum", plan_of(Model::from_mjcf_str(text).expect("a model"), settings)));
    all
}

/// Numbers of order 1, the same in every run.
pub(super) fn samples(random: &mut u32, count: usize) -> Vec<f32> {
    let mut next = || {
        *random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (*random >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn the_recorded_formulas_of_patches_give_the_bits_of_the_stages() {
    for (name, plan) in patch_plans() {
        let layout = Layout::new(&plan, 8);
        let formulas = PatchFormulas::new(&plan, &layout);
        let mut random = 11u32;
        for round in 0..40 {
            for (what, program, inputs, stage) in [
                ("rows", &formulas.rows, layout.patch_row_lengths().iter().sum(), patch_formulas::rows as Stage),
                ("terms", &formulas.terms, patch_formulas::TERM_INPUTS, patch_formulas::terms),
            ] {
                let x = samples(&mut random, inputs);
                let (told, done) = (program.evaluate(&x), stage(&plan, &layout, &x));
                assert_eq!(told.len(), done.len());
                for (k, (a, b)) in told.iter().zip(&done).enumerate() {
                    let same = a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
                    assert!(same, "{name}, {what} {round}, result {k}: {a:e} {b:e}");
                }
            }
        }
    }
}

/// A formula of patches.
type Stage = fn(&Plan, &Layout, &[f32]) -> Vec<f32>;

pub(super) const MODELS: [&str; 8] =
    ["ant", "biped", "boxes", "hopper", "humanoid", "pendulum", "quadruped", "spheres"];

#[test]
fn the_recorded_free_motion_gives_the_bits_of_the_stages() {
    let every = MODELS.map(|name| (name, Integrator::Euler));
    for (name, integrator) in every.into_iter().chain([("ant", Integrator::Rk4), ("pendulum", Integrator::Rk4)]) {
        let plan = plan_with(name, integrator);
        let layout = Layout::new(&plan, 8);
        let program = Formulas::new(&plan, &layout).motion;
        let mut random = 7u32;
        for _ in 0..20 {
            let mut x = samples(&mut random, layout.inputs());
            let masses = layout.mass_scale() + layout.nq + layout.nv;
            x[masses..masses + layout.bodies].fill(1.25);
            let stages = formulas::motion(&plan, &layout, &x);
            let told = program.evaluate(&x);
            assert_eq!(told.len(), layout.passed(), "{name}: the layout lists all results");
            for (k, (a, b)) in told.iter().zip(&stages).enumerate() {
                assert!(a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(), "{name}, result {k}: {a:e} {b:e}");
            }
        }
    }
}

/// Jacobi with either law.
fn jacobi_plans() -> [(&'static str, Plan); 2] {
    let algorithm = Algorithm::Jacobi;
    let soft = Settings { algorithm, friction: FrictionLaw::Box, compliance: 1e-3, ..Settings::default() };
    let cone = Settings { algorithm, ..Settings::default() };
    [("quadruped", plan_of(model("quadruped"), cone)), ("humanoid", plan_of(model("humanoid"), soft))]
}

/// All kinds of quantities that the state tells.
fn quantities(model: &Model) -> Vec<Quantity> {
    let last = Frame::Geom(model.geoms.len() - 1);
    let mut all = vec![
        Quantity::Positions,
        Quantity::Orientation(last),
        Quantity::LinearVelocity(last, Axes::Local),
        Quantity::AngularVelocity(Frame::Com(1), Axes::World),
        Quantity::ProjectedGravity(Frame::Body(1)),
        Quantity::SubtreeVelocity(0),
        Quantity::JointActuatorForce,
    ];
    all.extend((0..model.bodies.len()).flat_map(|b| [Quantity::CentralInertia(b), Quantity::CentralVelocity(b)]));
    all
}

#[test]
fn the_recorded_quantities_give_the_bits_of_the_functions() {
    for name in MODELS {
        let plan = plan(name);
        let (layout, all) = (Layout::new(&plan, 8), quantities(&plan.model));
        let program = observation::recorded(&plan, &layout, &all);
        let len: usize = all.iter().map(|quantity| quantity.len(&plan.model)).sum();
        let mut random = 7u32;
        for _ in 0..20 {
            let x = samples(&mut random, layout.inputs());
            let (told, done) = (program.evaluate(&x), observation::observation(&plan, &layout, &all, &x));
            assert_eq!([told.len(), done.len()], [len; 2], "{name}");
            for (k, (a, b)) in told.iter().zip(&done).enumerate() {
                assert!(a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan(), "{name}, number {k}: {a:e} {b:e}");
            }
        }
    }
}

/// The shaders of the quantities of a model.
pub(super) fn observers(plan: &Plan, layout: &Layout) -> Vec<Shader> {
    let all = quantities(&plan.model);
    let len = all.iter().map(|quantity| quantity.len(&plan.model)).sum();
    observation::observers(plan, layout, &observation::recorded(plan, layout, &all), len).0
}

/// The example models with points, swept by Jacobi, and with patches.
pub(super) fn every_plan() -> Vec<(&'static str, Plan)> {
    let mut all: Vec<_> = MODELS.map(|name| (name, plan(name))).into();
    all.push(("ant", plan_with("ant", Integrator::Rk4)));
    all.extend(jacobi_plans());
    all.extend(patch_plans());
    all
}

#[test]
fn every_shader_is_valid_and_goes_to_every_language() {
    for (name, plan) in every_plan() {
        let mut layout = Layout::new(&plan, 16);
        let formulas = Formulas::new(&plan, &layout);
        let all = shaders(&plan, &formulas, &mut layout);
        let (movers, draw) = (movers(&plan, &layout), draw(&plan, &layout));
        let observers = observers(&plan, &layout);
        let entry_points = all
            .iter()
            .chain([&draw])
            .chain(&observers)
            .map(|shader| (shader, 1))
            .chain(movers.iter().map(|mover| (mover, movers.len())));
        for (shader, entry_points) in entry_points {
            let module = naga::front::wgsl::parse_str(&shader.source)
                .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string_with_path(&shader.source, &shader.name)));
            let info =
                naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty())
                    .validate(&module)
                    .unwrap_or_else(|e| panic!("{name}: {}", e.emit_to_string_with_path(&shader.source, &shader.name)));
            assert_eq!(module.entry_points.len(), entry_points);
            assert!(module.entry_points.iter().any(|entry| entry.name == shader.name));
            let storage = module.global_variables.iter();
            let storage = storage.filter(|(_, v)| matches!(v.space, naga::AddressSpace::Storage { .. })).count();
            assert!(storage <= crate::gpu::STORAGE_BUFFER_LIMIT as usize);
            let options = naga::back::spv::Options::default();
            naga::back::spv::write_vec(&module, &info, &options, None).expect("SPIR-V");
            let mut text = String::new();
            let options = naga::back::hlsl::Options::default();
            let pipeline = naga::back::hlsl::PipelineOptions::default();
            naga::back::hlsl::Writer::new(&mut text, &options, &pipeline)
                .write(&module, &info, None)
                .unwrap_or_else(|e| panic!("{name}, {}: HLSL: {e}", shader.name));
            let options = naga::back::msl::Options { fake_missing_bindings: true, ..Default::default() };
            let pipeline = naga::back::msl::PipelineOptions::default();
            naga::back::msl::write_string(&module, &info, &options, &pipeline)
                .unwrap_or_else(|e| panic!("{name}, {}: MSL: {e}", shader.name));
        }
    }
}

/// What Tint says against a shader, if it says something: the compiler of Chromium's WebGPU, which reads WGSL of itself and also checks that control flow is uniform at every barrier.
fn tint(name: &str, source: &str) -> std::io::Result<Option<String>> {
    let path = std::env::temp_dir().join(format!("delassus-{}-{name}.wgsl", std::process::id()));
    std::fs::write(&path, source)?;
    // it is told to write what it has understood, in the place of the source
    let command = std::env::var_os("DELASSUS_TINT").unwrap_or_else(|| "tint".into());
    let said = std::process::Command::new(command).arg("--output-name").args([&path, &path]).output();
    std::fs::remove_file(&path)?;
    let said = said?;
    Ok((!said.status.success()).then(|| String::from_utf8_lossy(&said.stderr).into_owned()))
}

#[test]
fn every_shader_is_valid_for_a_second_compiler() {
    let spoilt = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
        @compute @workgroup_size(64) fn f(@builtin(global_invocation_id) id: vec3<u32>) {
            if (x[id.x] > 0.0) { workgroupBarrier(); }
        }";
    match tint("spoilt", spoilt) {
        Ok(said) => assert!(said.is_some_and(|text| text.contains("uniform control flow"))),
        Err(error) => {
            assert!(std::env::var_os("DELASSUS_TINT").is_none(), "DELASSUS_TINT is set: {error}");
            eprintln!("NOT CHECKED: shaders with tint: {error}");
            return;
        }
    }
    let valid = |name: &str, source: &str| {
        let said = tint(name, source).expect("tint");
        assert!(said.is_none(), "{name}: {}", said.unwrap_or_default());
    };
    valid(crate::gpu::SHADER, crate::gpu::SOURCE);
    for (k, (name, plan)) in every_plan().into_iter().enumerate() {
        let mut layout = Layout::new(&plan, 16);
        let formulas = Formulas::new(&plan, &layout);
        let all = shaders(&plan, &formulas, &mut layout);
        for shader in
            all.iter().chain(&movers(&plan, &layout)).chain([&draw(&plan, &layout)]).chain(&observers(&plan, &layout))
        {
            valid(&format!("{k}-{name}-{}", shader.name), &shader.source);
        }
    }
}

#[test]
fn a_step_of_the_ant_takes_few_dispatches_and_bytes() {
    let plan = plan("ant");
    let mut layout = Layout::new(&plan, 16);
    let formulas = Formulas::new(&plan, &layout);
    let all = shaders(&plan, &formulas, &mut layout);
    let names: Vec<_> = all.iter().map(|shader| &*shader.name).collect();
    let stages: Vec<_> = stages(&names).into_iter().map(|stage| stage.name).collect();
    assert_eq!(
        stages,
        [
            "free_motion_0",
            "free_motion_1",
            "contacts",
            "contact_rows",
            "contact_terms",
            "velocity small_sweeps",
            "velocity more_small_sweeps",
            "velocity sweeps",
            "velocity newton",
            "position small_sweeps",
            "position more_small_sweeps",
            "position sweeps",
            "position newton",
            "finish"
        ]
    );
    let components = [
        layout.state_len(),
        layout.given_len(),
        layout.motion_len(),
        layout.contact_buffer_len(),
        layout.rows_buffer_len(),
    ];
    assert!(4 * components.iter().sum::<usize>() < 11_200, "{components:?}");
}

/// Something of that size in every corner of a chain of so many hinges.
fn chain(nv: usize, shape: &str) -> Model {
    let open = format!("<body pos='.2 0 0'><joint axis='0 1 0'/><geom {shape}/>").repeat(nv);
    let text = format!(
        "<mujoco><worldbody><geom type='plane' size='5 5 .1'/>{open}{}</worldbody></mujoco>",
        "</body>".repeat(nv)
    );
    Model::from_mjcf_str(&text).expect("a model")
}

#[test]
fn newton_keeps_to_the_memory_that_a_workgroup_has_everywhere() {
    // an invocation for every column and one for the right-hand side
    let most = 63;
    let all = [1, 14, 27, 31, 32, 48, 60, 63, 64].map(|nv| {
        let (ball, block) = ("type='sphere' size='.05'", "type='box' size='.05 .05 .05'");
        [(nv, ball, FrictionLaw::Cone), (nv, block, FrictionLaw::Patch)]
    });
    for (nv, shape, friction) in all.into_iter().flatten() {
        let plan = plan_of(chain(nv, shape), Settings { friction, ..Settings::default() });
        for capacity in [1, 16, super::MOST_CAPACITY] {
            let mut layout = Layout::new(&plan, capacity);
            let formulas = Formulas::new(&plan, &layout);
            let all = shaders(&plan, &formulas, &mut layout);
            let Some(newton) = all.iter().find(|shader| shader.name == "newton") else {
                assert!(nv > most, "{nv} degrees of freedom, {shape}");
                continue;
            };
            let of_contact = if friction == FrictionLaw::Patch { 7 } else { 3 };
            assert!(nv <= most && layout.newton_tile_rows() >= of_contact, "{nv} degrees of freedom, {shape}");
            let module = naga::front::wgsl::parse_str(&newton.source).expect("WGSL");
            let shared = module.global_variables.iter().filter(|(_, v)| v.space == naga::AddressSpace::WorkGroup);
            // as WebGPU counts
            let bytes: u32 =
                shared.map(|(_, v)| module.types[v.ty].inner.size(module.to_ctx()).next_multiple_of(16)).sum();
            assert!(bytes <= 16_384, "{nv} degrees of freedom: {bytes} bytes");
        }
    }
}

#[test]
fn a_pass_of_gauss_seidel_lowers_what_the_certificate_measures() {
    // One contact on one degree of freedom pressed down: λ = −b/W solves it at once.
    let (y, bias) = ([2.0f32, 0.0, 0.0], [-3.0f32, 0.0, 0.0]);
    let own = [4.0, 1.0, 1.0, 0.0, 0.0, 0.0];
    let input = [&[0.0][..], &y, &bias, &[0.0; 3], &own, &[0.5]].concat();
    for solves in [false, true] {
        let swept = formulas::sweep_contact(crate::solver::LAW_CONE, solves, 0.0, 1, &input);
        assert_eq!(swept, [0.75, 0.0, 0.0, 1.5]);
    }
    let m = [1.5];
    let checked = |z: f32, impulse: f32| {
        let input = [&[z][..], &m, &y, &bias, &[impulse, 0.0, 0.0], &own[..3], &[0.5]].concat();
        formulas::check_contact(crate::solver::LAW_CONE, 0.0, 1, &input)[0]
    };
    assert_eq!(checked(1.5, 0.75), 0.0);
    assert_eq!(Real::abs(checked(0.0, 0.0)), 3.0);
}

#[test]
fn no_shader_may_exceed_what_lavapipe_loops() {
    for (name, plan) in every_plan() {
        assert!(super::loops::loops_of_contacts(plan.collide.pairs.len(), true) <= LOOP_BUDGET, "{name}");
        for capacity in [1, 16, super::MOST_CAPACITY] {
            let layout = Layout::new(&plan, capacity);
            let units = layout.capacity + layout.scalar_rows();
            let rounds = rounds_of_sweeps(&plan, &layout);
            assert!(rounds * super::loops::loops_of_a_round(&plan, &layout) + 4 * units <= LOOP_BUDGET);
            assert!(super::loops::loops_of_small_sweeps(&plan, &layout) <= LOOP_BUDGET);
            assert!(rounds >= 5 && (capacity > 16 || rounds >= 20), "{name}: {rounds} rounds");
            let worlds = worlds_of_a_workgroup(&layout);
            for rows in 0..=most_rows(&layout) {
                let turns = newton_turns(&layout, rows);
                let loops = loops_of_turns(&layout, rows, turns);
                assert!(worlds > 0 && worlds * loops <= LOOP_BUDGET, "{name}, {rows} rows of {capacity} contacts");
                // patches are swept in loops, and so leave less
                let least =
                    match (layout.patches, rows <= layout.newton_tile_rows(), rows <= 16 * layout.contact_rows()) {
                        (false, true, _) => NEWTON_TURNS,
                        (false, false, true) => 30,
                        (false, false, false) => 4,
                        (true, _, true) => 10,
                        (true, _, false) => 1,
                    };
                assert!(turns >= least, "{name}, {rows} rows of {capacity} contacts: {turns}");
            }
        }
    }
}

/// A world of the twins with the problem that it poses: its model in its first keyframe, if it has one, sinking and sliding.
fn posed(twins: &Twin<'_>) -> World {
    let (l, model) = (&twins.layout, &*twins.plan.model);
    let mut w = World {
        state: vec![0.0; l.state_len()],
        given: vec![0.0; l.given_len()],
        motion: vec![0.0; l.motion_len()],
        contact: vec![0.0; l.contact_buffer_len()],
        rows: vec![0.0; l.rows_buffer_len()],
        listed: false,
        unfinished: false,
    };
    let q = model.keyframes.first().map_or(&model.q0, |key| &key.q);
    w.state[..l.nq].iter_mut().zip(q).for_each(|(to, q)| *to = *q as f32);
    w.state[l.v()..l.outcome()].copy_from_slice(&samples(&mut 5, l.nv));
    w.state[l.v()] += 4.0;
    w.state[l.v() + 2] -= 2.0;
    w.given[l.gravity()..l.mass_scale()].iter_mut().zip(&model.gravity).for_each(|(to, g)| *to = *g as f32);
    w.given[l.mass_scale()..l.friction()].fill(1.0);
    let frictions = w.given[l.friction()..].iter_mut().zip(&model.geoms);
    frictions.for_each(|(to, geom)| *to = geom.friction[0] as f32);
    for stage in ["free_motion", "contacts", "contact_rows", "row_sums", "contact_terms"] {
        twins.run(stage, &mut w);
    }
    assert!(w.runs(l) && w.count() > 0, "{} contacts", w.count());
    w
}

/// A block of the batched solver.
struct Block {
    size: BlockSize,
    delassus: Vec<f32>,
    bias: Vec<f32>,
    friction: Vec<f32>,
    bounds: Vec<f32>,
    impulse: Vec<f32>,
}

/// The velocity problem of a world with W formed.
fn formed(twins: &Twin<'_>, w: &World) -> Block {
    let (l, nv) = (&twins.layout, twins.layout.nv);
    let scalars = w.acting(l);
    let mut y: Vec<&[f32]> = Vec::new();
    let (mut bias, mut friction, mut impulse) = (Vec::new(), Vec::new(), Vec::new());
    for row in (0..w.count()).map(|c| l.row_len() * c) {
        y.extend(w.rows[row + Layout::ROW_Y..][..3 * nv].chunks_exact(nv));
        bias.extend_from_slice(&w.rows[row + l.row_bias()..][..3]);
        impulse.extend_from_slice(&w.rows[row + l.row_impulse()..][..3]);
        friction.push(w.rows[row + l.row_friction()]);
    }
    for (s, scalar) in &scalars {
        y.push(&w.motion[scalar + super::layout::SCALAR_HEAD..][..nv]);
        bias.push(w.motion[scalar + 2]);
        impulse.push(w.rows[l.scalar_impulse() + s]);
    }
    let n = y.len();
    let mut delassus: Vec<f32> = (0..n * n).map(|k| y[k / n].iter().zip(y[k % n]).map(|(a, b)| a * b).sum()).collect();
    // normals give way
    (0..w.count()).for_each(|c| delassus[3 * c * (n + 1)] += twins.plan.settings.compliance as f32);
    let size = BlockSize { contact_count: w.count(), scalar_count: scalars.len() };
    let bounds = scalars.iter().flat_map(|(s, _)| twins.bounds(*s)).collect();
    Block { size, delassus, bias, friction, bounds, impulse }
}

/// Sums in another order.
const ROUNDED: f32 = 1e-5;

#[test]
fn sweeps_of_jacobi_are_the_cpus_with_w_formed() {
    for (name, plan) in jacobi_plans() {
        let twins = Twin::new(&plan, &Layout::new(&plan, 16), false);
        for count in [1, 2, 16] {
            let mut w = posed(&twins);
            let Block { size, delassus, bias, friction, bounds, mut impulse } = formed(&twins, &w);
            let settings =
                SolveSettings { tolerance: 0.0, iterations: count, check_every: count, ..plan.settings.solve() };
            let (mut next, mut report) = (vec![0.0; impulse.len()], [0.0f32; REPORT_LEN]);
            report[REPORT_LIVE] = SWEPT as f32;
            let header = Header::new(size, &settings);
            sweeps(&header, &delassus, &bias, &friction, &bounds, &mut next, &mut impulse, &mut report);
            let mut p = Problem { which: 0, z: Vec::new(), m: Vec::new(), residual: 0.0, rounding: 0.0 };
            twins.certify(&w, &mut p);
            let jacobi = twins.jacobi.as_ref().expect("Jacobi");
            (0..count).for_each(|_| twins.sweep_jacobi(jacobi, &mut w, &mut p));
            let told = impulses(&twins, &w);
            assert_eq!(told.len(), impulse.len());
            let largest = impulse.iter().fold(0.0f32, |m, x| m.max(x.abs()));
            assert!(largest > 0.0 && size.scalar_count > 0, "{name}: nothing is pushed");
            for (k, (a, b)) in told.iter().zip(&impulse).enumerate() {
                assert!((a - b).abs() <= ROUNDED * largest, "{name}, {count} sweeps, row {k}: {a:e} and {b:e}");
            }
        }
    }
}

/// Impulses of the velocity problem, contacts first.
fn impulses(twins: &Twin<'_>, w: &World) -> Vec<f32> {
    let l = &twins.layout;
    let contacts = (0..w.count()).flat_map(|c| w.rows[l.row_len() * c + l.row_impulse()..][..3].to_vec());
    let acting = w.acting(l).into_iter();
    contacts.chain(acting.map(|(s, _)| w.rows[l.scalar_impulse() + s])).collect()
}

#[test]
fn sweeps_of_a_world_of_few_rows_are_those_through_y() {
    // a box on four corners, and a joint at its limit
    let text = "<mujoco><worldbody><geom type='plane' size='5 5 .1' friction='.8'/>
        <body pos='0 0 .1'><freejoint/><geom type='box' size='.2 .1 .1'/>
        <body pos='0 0 .1'><joint axis='0 1 0' limited='true' range='0 60'/><geom type='capsule' fromto='0 0 0 .1 0 .3' size='.03'/></body>
        </body></worldbody></mujoco>";
    for (name, friction, compliance) in
        [("cone", FrictionLaw::Cone, 0.0), ("cone", FrictionLaw::Cone, 1e-4), ("box", FrictionLaw::Box, 0.0)]
    {
        let settings = Settings { friction, compliance, ..Settings::default() };
        let plan = plan_of(Model::from_mjcf_str(text).expect("a model"), settings);
        let twins = Twin::new(&plan, &Layout::new(&plan, 16), true);
        let start = posed(&twins);
        assert!(start.count() == 4 && start.acting(&twins.layout).len() == 1 && twins.is_small(&start));
        let (mut formed, mut through_y) = (start.clone(), start.clone());
        twins.run("velocity small_sweeps", &mut formed);
        let mut p = Problem { which: 0, z: Vec::new(), m: Vec::new(), residual: 0.0, rounding: 0.0 };
        twins.certify(&through_y, &mut p);
        let (count, before) = (formed.contact[5] as usize, p.residual);
        (0..count).for_each(|_| twins.sweep(&twins.formulas.sweep_contact, &mut through_y, &mut p));
        let [told, impulse, first] = [&formed, &through_y, &start].map(|w| impulses(&twins, w));
        let largest = impulse.iter().fold(0.0f32, |m, x| m.max(x.abs()));
        assert!(count > 0 && largest > 0.0 && told != first, "{name}: nothing is pushed");
        for (k, (a, b)) in told.iter().zip(&impulse).enumerate() {
            assert!((a - b).abs() <= ROUNDED * largest, "{name}, {count} sweeps, row {k}: {a:e} and {b:e}");
        }
        // no more than are asked for
        let settings = Settings { iterations: 8, check_every: 4, tolerance: Some(1e-9), ..plan.settings.clone() };
        let few = Plan::new(plan.model.clone(), settings);
        let (few, mut w) = (Twin::new(&few, &Layout::new(&few, 16), true), start.clone());
        few.run("velocity small_sweeps", &mut w);
        few.run("velocity more_small_sweeps", &mut w);
        assert_eq!(w.contact[5], 8.0, "{name}");
        // and lead where they are to lead
        twins.certify(&formed, &mut p);
        assert!(p.residual < 0.1 * before, "{name}: {:e} after {count} sweeps, {before:e} before", p.residual);
    }
}

/// What is rounded in u, 1e-7, is enlarged by 1/δ: 1e-5 of the largest impulse, of which 2.5e-6 was seen.
const ROUNDED_STEP: f64 = 2e-5;

#[test]
fn a_step_of_newton_meets_the_laws_with_w_formed() {
    let delta = 1e-2f32;
    for (name, compliance) in [("quadruped", 0.0), ("humanoid", 1e-3)] {
        let plan = plan_of(model(name), Settings { compliance, ..Settings::default() });
        let twins = Twin::new(&plan, &Layout::new(&plan, 16), true);
        let mut w = posed(&twins);
        let mut p = Problem { which: 0, z: Vec::new(), m: Vec::new(), residual: 0.0, rounding: 0.0 };
        // from where sweeps lead, as on the device
        twins.certify(&w, &mut p);
        (0..8).for_each(|_| twins.sweep(&twins.formulas.project_contact, &mut w, &mut p));
        twins.certify(&w, &mut p);
        let block = formed(&twins, &w);
        let laws: Vec<_> = (0..w.count()).map(|c| twins.contact_law(&w, &p, c, delta)).collect();
        let before = w.clone();
        twins.newton_step(&mut w, &p, delta);
        let impulses = |w: &World| impulses(&twins, w).into_iter().map(f64::from).collect::<Vec<_>>();
        let (old, new) = (impulses(&before), impulses(&w));
        let n = new.len();
        let largest = new.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        assert!(largest > 0.0 && old != new, "{name}: nothing is pushed");
        // λ' − λ = g − M Δu of every contact
        for (c, law) in laws.iter().enumerate() {
            let row = |i: usize| &block.delassus[n * i..n * (i + 1)];
            let change = |i: usize| {
                let changes = new.iter().zip(&old).map(|(new, old)| new - old);
                row(i).iter().zip(changes).map(|(w, x)| f64::from(*w) * x).sum::<f64>()
            };
            // the laws hold the compliance of the normal, and so their velocities do not
            let soft = |i: usize| if i == 0 { compliance * (new[3 * c] - old[3 * c]) } else { 0.0 };
            for i in 0..3 {
                let felt: f64 = (0..3).map(|j| f64::from(law.m[i][j]) * (change(3 * c + j) - soft(j))).sum();
                let left = new[3 * c + i] - old[3 * c + i] - (f64::from(law.lack[i]) - felt);
                assert!(left.abs() <= ROUNDED_STEP * largest, "{name}, contact {c}, row {i}: {left:e} of {largest:e}");
            }
        }
        let mut after = p.clone();
        twins.certify(&w, &mut after);
        // all of the way, some of it, and none
        for length in [1.0f32, 0.5, 0.0] {
            let mut back = w.clone();
            let mut on_the_way = after.clone();
            twins.go_back(&mut back, &mut on_the_way, &p.z, length);
            let mut summed = after.clone();
            twins.certify(&back, &mut summed);
            let of_z = summed.z.iter().fold(0.0f32, |m, x| m.max(x.abs()));
            for (z, sum) in on_the_way.z.iter().zip(&summed.z) {
                assert!((z - sum).abs() <= 1e-5 * of_z, "{name}, {length}: z {z} and {sum}");
            }
            for (k, x) in impulses(&back).into_iter().enumerate() {
                let expected = old[k] + f64::from(length) * (new[k] - old[k]);
                assert!((x - expected).abs() <= 1e-6 * largest, "{name}, {length}: {x} and {expected}");
            }
        }
        // from where nothing is a number too
        for c in 0..w.count() {
            w.rows[twins.layout.row_len() * c + twins.layout.row_impulse()] = f32::NAN;
        }
        twins.go_back(&mut w, &mut after, &p.z, 0.0);
        assert_eq!(impulses(&w), old, "{name}");
    }
}
