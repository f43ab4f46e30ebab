//! The steady state allocates nothing.

use allocation_counter::measure;
use delassus::worlds::{Frame, Noise, Quantity, Start};
use delassus::{Backend, Constraints, Integrator, Mask, Model, Precision, Settings, Worlds};

/// Allocations of some steps that were done before, on one thread (the counter sees one); `looks`: and of looking back at every one of them.
fn allocations(
    name: &str,
    precision: Precision,
    (integrator, constraints): (Integrator, Constraints),
    looks: bool,
    world_count: usize,
) -> u64 {
    let path = format!("{}/examples/models/{name}.xml", env!("CARGO_MANIFEST_DIR"));
    let model = Model::from_mjcf_file(path).expect("a model");
    // The exact solver, asked for one block in thousands, is dense and allocates.
    let integrator = Some(integrator);
    let (backend, fallback) = (Backend::Cpu, false);
    let settings = Settings { backend, precision, integrator, constraints, fallback, ..Settings::default() };
    let mut worlds = Worlds::new(&model, world_count, settings).expect("worlds");
    let keyframe = model.keyframe("stand");
    worlds.set_start(Start { keyframe, position_noise: 0.01, velocity_noise: 0.0 }).expect("a start");
    worlds.reset(Mask::All, 1).expect("a reset");
    let (torso, rest) = (Frame::Body(1), Frame::Body(0));
    if looks {
        worlds.feel_contacts_between(&[[torso, rest]]).expect("a pair");
    }
    let mut quantities = vec![Quantity::Contact(torso), Quantity::ContactBetween(torso, rest)];
    quantities.extend((0..model.sensors.len()).map(Quantity::Sensor));
    let mut seen = vec![0.0f32; world_count * quantities.iter().map(|q| q.len(&model)).sum::<usize>()];
    let mut roll = |worlds: &mut Worlds, steps: std::ops::Range<u64>| {
        for step in steps {
            Noise::new(step).uniform(-0.1, 0.1, worlds.control_mut());
            worlds.step(1).expect("a step");
            if looks {
                worlds.observe_into(&quantities, &mut seen[..]).expect("quantities");
            }
        }
    };
    roll(&mut worlds, 0..300);
    let settled = worlds.save();
    // Everything grows to what these steps need: slots, size classes, what a world remembers.
    roll(&mut worlds, 300..350);
    worlds.load(&settled).expect("the same worlds");
    measure(|| roll(&mut worlds, 300..350)).count_total
}

#[test]
fn a_step_allocates_nothing_once_it_has_grown() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
    let (euler, rk4) = ((Integrator::Euler, Constraints::Hard), (Integrator::Rk4, Constraints::Hard));
    for (name, precision, scheme, looks) in [
        ("ant", Precision::F32, euler, false),
        ("ant", Precision::F32, rk4, false),
        ("ant", Precision::F32, (Integrator::Euler, Constraints::Soft), false),
        ("ant", Precision::F32, (Integrator::Rk4, Constraints::Soft), true),
        ("quadruped", Precision::F32, euler, false),
        ("quadruped", Precision::F32, euler, true),
        ("spheres", Precision::F32, euler, false),
        ("ant", Precision::F64, euler, false),
    ] {
        let counted = pool.install(|| allocations(name, precision, scheme, looks, 600));
        println!("{name} {precision:?} {scheme:?}: {counted} allocations in 50 steps of 600 worlds");
        assert_eq!(counted, 0, "{name} {precision:?} {scheme:?} {looks}");
    }
}
