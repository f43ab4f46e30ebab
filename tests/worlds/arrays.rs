//! Arrays in either number type, worlds by list, and threads.

use super::*;
use delassus::worlds::Numbers;

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
