//! Arrays in either number type, worlds by list, and threads.

use super::*;
use delassus::worlds::{Law, Numbers, Spread};

fn ants(world_count: usize, settings: Settings) -> Worlds {
    let mut worlds = Worlds::new(&example("ant"), world_count, settings).expect("worlds");
    worlds.set_start(Start { keyframe: None, position_noise: 0.1, velocity_noise: 0.1 }).expect("a start");
    worlds.reset(Mask::All, 3).expect("a reset");
    worlds
}

#[test]
fn worlds_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Worlds>();
}

#[test]
fn what_is_read_in_f32_is_what_is_read_in_f64() {
    let mut worlds = ants(21, Settings::default());
    worlds.step(10).expect("a step");
    let (q, v) = worlds.state();
    let (mut q32, mut v32) = (vec![0.0f32; q.len()], vec![0.0f32; v.len()]);
    worlds.positions_into(&mut q32).expect("positions");
    worlds.velocities_into(&mut v32).expect("velocities");
    let narrow = |x: &[f64]| x.iter().map(|x| *x as f32).collect::<Vec<_>>();
    assert_eq!((q32, v32), (narrow(&q), narrow(&v)));
    let mut short = vec![0.0; q.len() - 1];
    assert!(message(worlds.positions_into(&mut short)).contains("out: has"));
}

#[test]
fn control_in_f32_is_control_in_f64() {
    let nu = example("ant").nu();
    let wide: Vec<f64> = (0..5 * nu).map(|i| f64::from((i as f32).sin())).collect();
    let narrow: Vec<f32> = wide.iter().map(|x| *x as f32).collect();
    let step = |control: Numbers<'_>| {
        let mut worlds = ants(5, Settings::default());
        worlds.set_control(control).expect("a control");
        worlds.step(20).expect("a step");
        worlds.observe()
    };
    assert_eq!(step((&wide).into()), step((&narrow).into()));
}

#[test]
fn a_list_of_worlds_takes_compact_rows() {
    let mut worlds = ants(20, Settings::default());
    let (before, nq, nv) = (worlds.observe(), worlds.model().nq(), worlds.model().nv());
    let rows: Vec<f64> = (0..2 * nq).map(|i| 1.0 + i as f64).collect();
    worlds.set_state(Mask::List(&[17, 4]), &rows, &vec![0.5; 2 * nv]).expect("a state");
    let after = worlds.observe();
    for world in 0..20 {
        let own = &after[world * (nq + nv)..(world + 1) * (nq + nv)];
        match world {
            17 => assert_eq!(&own[..nq], &rows[..nq]),
            4 => assert_eq!(&own[..nq], &rows[nq..]),
            _ => assert_eq!(own, &before[world * (nq + nv)..(world + 1) * (nq + nv)]),
        }
    }
    worlds.reset(Mask::List(&[17, 4]), 3).expect("a reset");
    assert_eq!(worlds.observe(), before);
    let heavy = vec![2.0; worlds.model().bodies.len()];
    worlds.set_parameter(Parameter::MassScale, Mask::List(&[3]), &heavy).expect("masses");
    let masses = worlds.parameter(Parameter::MassScale);
    assert_eq!(masses.iter().filter(|m| **m == 2.0).count(), heavy.len());
    assert!(message(worlds.reset(Mask::List(&[20]), 0)).contains("world 20: there are 20"));
    assert!(message(worlds.set_state(Mask::List(&[1]), &rows, &vec![0.5; nv])).contains("q: has"));
}

/// Few worlds are dealt out to all threads, many in larger chunks: nobody can tell from their motion.
#[test]
fn threads_change_no_bit() {
    for world_count in [40, 1100] {
        let roll = |threads| {
            let mut worlds = ants(world_count, Settings { threads: Some(threads), ..Settings::default() });
            worlds.step(30).expect("a step");
            worlds.observe()
        };
        let alone = roll(1);
        assert_eq!(alone, roll(2), "{world_count} worlds on two threads");
        assert_eq!(alone, roll(5), "{world_count} worlds on five threads");
    }
    assert!(
        message(Worlds::new(&example("ant"), 1, Settings { threads: Some(0), ..Settings::default() }))
            .contains("threads")
    );
}

#[test]
fn snapshots_as_bytes_keep_every_bit_and_say_when_they_are_damaged() {
    let mut worlds = ants(5, Settings::default());
    worlds.step(20).expect("a step");
    let bytes = worlds.save().to_bytes().expect("bytes");
    let mut other = ants(5, Settings::default());
    other.load(&Snapshot::from_bytes(&bytes).expect("a snapshot")).expect("the same worlds");
    worlds.step(20).expect("a step");
    other.step(20).expect("a step");
    assert_eq!(bits(&worlds.observe()), bits(&other.observe()));
    assert!(message(Snapshot::from_bytes(&bytes[1..])).contains("do not begin"));
    assert!(message(Snapshot::from_bytes(&bytes[..bytes.len() - 1])).contains("damaged"));
}

/// Many worlds start on all threads: the same numbers as one by one, whichever mask names them.
#[test]
fn starts_and_states_do_not_depend_on_threads() {
    const COUNT: usize = 2000;
    let model = example("humanoid");
    let some: Vec<bool> = (0..COUNT).map(|world| world % 3 != 0).collect();
    // backwards, and the first thousand twice: the last row of a world counts
    let list: Vec<usize> = (0..COUNT).rev().chain(0..1000).collect();
    let seeds: Vec<u64> = (0..list.len() as u64).collect();
    let v: Vec<f64> = (0..list.len() * model.nv()).map(|i| i as f64).collect();
    let started = |threads: usize| {
        let settings = Settings { threads: Some(threads), backend: Backend::Cpu, ..f64_settings() };
        let mut w = worlds(&model, COUNT, settings);
        w.set_start(Start { keyframe: None, position_noise: 0.1, velocity_noise: 0.2 }).expect("a start");
        let mut seen = Vec::new();
        w.reset(Mask::All, 1).expect("a reset");
        seen.push(bits(&w.observe()));
        w.reset(Mask::Only(&some), 2).expect("a reset");
        seen.push(bits(&w.observe()));
        w.reset_each(Mask::List(&list), &vec![None; list.len()], &seeds).expect("a reset");
        seen.push(bits(&w.observe()));
        w.set_state(Mask::List(&list), &model.q0.repeat(list.len()), &v).expect("a state");
        seen.push(bits(&w.observe()));
        seen
    };
    let alone = started(1);
    for threads in [2, 5] {
        assert!(started(threads) == alone, "{threads} threads");
    }
    // one by one
    let mut w = worlds(&model, COUNT, f64_settings());
    w.set_start(Start { keyframe: None, position_noise: 0.1, velocity_noise: 0.2 }).expect("a start");
    (0..COUNT).for_each(|world| w.reset(Mask::List(&[world]), 1).expect("a reset"));
    assert!(bits(&w.observe()) == alone[0]);
    // the last row of world 7 is behind those of all
    w.reset_each(Mask::List(&[7]), &[None], &[COUNT as u64 + 7]).expect("a reset");
    let (row, nv) = (model.nq() + model.nv(), model.nv());
    assert_eq!(bits(&w.observe()[7 * row..8 * row]), alone[2][7 * row..8 * row]);
    assert_eq!(alone[3][8 * row - nv], ((COUNT + 7) as f64 * nv as f64).to_bits());
}

/// The noise of a start is that of a symmetric spread, and is drawn from `Noise`: displacements, then velocities.
#[test]
fn the_noise_of_a_start_is_a_spread() {
    let model = example("ant");
    let mut w = worlds(&model, 3, f64_settings());
    w.set_start(Start { keyframe: None, position_noise: 0.1, velocity_noise: 0.2 }).expect("a start");
    w.reset(Mask::All, 5 << 32 | 9).expect("a reset");
    let noisy = bits(&w.observe());
    let (position, velocity) = (vec![[-0.1, 0.1]; model.nv()], vec![[-0.2, 0.2]; model.nv()]);
    w.set_spread(Spread { law: Law::Uniform, position, velocity }).expect("a spread");
    w.reset(Mask::All, 5 << 32 | 9).expect("a reset");
    assert_eq!(bits(&w.observe()), noisy);
    let mut noise = Noise::of_world(5 << 32 | 9, 2);
    let mut drawn = vec![0.0; model.nv()];
    noise.unit(&mut drawn);
    noise.uniform(-0.2, 0.2, &mut drawn);
    assert_eq!(bits(&w.velocities()[2 * model.nv()..]), bits(&drawn));
}
