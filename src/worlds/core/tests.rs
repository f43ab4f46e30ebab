//! The same motion in all number types, and with or without the rows that a step leaves out.

use super::super::Noise;
use super::super::control::Acting;
use super::*;
use crate::Precision;
use crate::lane::{Counted, HAS_AVX512, Level, Pair, Pair64, Wide, Wide64};
use crate::model::Integrator;

/// One register and two, AVX-512 and AVX2, and one world at a time: the same motion to the bit.
#[test]
fn all_types_of_a_precision_step_to_the_same_bits() {
    fn roll<R: Pack>(model: &Arc<Model>, precision: Precision, integrator: Integrator) -> Vec<u64> {
        let settings = Settings { precision, integrator: Some(integrator), ..Settings::default() };
        let mut core = Core::<R>::new(model, 20, settings).expect("a core");
        let (nq, nv, nu) = (model.nq(), model.nv(), model.nu());
        let mut noise = Noise::new(7);
        let q0 = &model.keyframes[0].q;
        let start = |_: usize, world: usize, [q, v, _]: [&mut [f64]; 3]| {
            q.copy_from_slice(q0);
            Noise::of_world(7, world).uniform(-1.0, 1.0, v);
        };
        core.write(Mask::All, &start).expect("a state");
        let external = vec![0.0; 20 * nv];
        let mut contacts = 0;
        for _ in 0..60 {
            let mut control = vec![0.0; 20 * nu];
            noise.uniform(-1.0, 1.0, &mut control);
            let call = Call {
                substeps: 1,
                control: Acting::Given(&control),
                control_is_new: true,
                external: &external,
                external_is_new: true,
                see: None,
            };
            core.begin(&call).expect("a step");
            assert!(core.finish(&call).is_none(), "the CPU is done at once");
            contacts += core.reports().iter().map(|r| r.contact_count).sum::<usize>();
        }
        let (mut q, mut v) = (vec![0.0; 20 * nq], vec![0.0; 20 * nv]);
        core.positions((&mut q).into()).expect("of the CPU");
        core.velocities((&mut v).into()).expect("of the CPU");
        let residuals = core.reports().iter().map(|r| r.residual);
        assert!(contacts > 500, "{contacts} contacts test little");
        q.iter().chain(&v).copied().chain(residuals).map(f64::to_bits).collect()
    }
    for (name, integrator) in [("ant", Integrator::Euler), ("quadruped", Integrator::Euler), ("ant", Integrator::Rk4)] {
        let path = format!("{}/examples/models/{name}.xml", env!("CARGO_MANIFEST_DIR"));
        let model = Arc::new(Model::from_mjcf_file(&path).expect("an example model"));
        let single = roll::<Counted>(&model, Precision::F32, integrator);
        let double = roll::<f64>(&model, Precision::F64, integrator);
        if Level::detect().runs_packs() {
            assert_eq!(roll::<Pair>(&model, Precision::F32, integrator), single, "{name}: pairs, f32");
            assert_eq!(roll::<Pair64>(&model, Precision::F64, integrator), double, "{name}: pairs, f64");
        }
        if const { HAS_AVX512 } && Level::detect() == Level::Avx512 {
            assert_eq!(roll::<Wide>(&model, Precision::F32, integrator), single, "{name}: registers, f32");
            assert_eq!(roll::<Wide64>(&model, Precision::F64, integrator), double, "{name}: registers, f64");
        }
    }
}

/// Balls in a row, without friction, the first of which is thrown at the others; and a chain of hinges with limits, beside a ball, so that it is a model of several trees.
const THROWN: [&str; 2] = [
    r#"<mujoco><option gravity="0 0 0" timestep="0.002"/><default><geom type="sphere" size="0.05" condim="1"/></default><worldbody>
         <body pos="0 0 1"><freejoint/><geom/></body> <body pos="0.1005 0 1"><freejoint/><geom/></body>
         <body pos="0.2025 0 1"><freejoint/><geom/></body> <body pos="0.3035 0.01 1"><freejoint/><geom/></body>
       </worldbody></mujoco>"#,
    r#"<mujoco><option timestep="0.002"/><worldbody>
         <body><joint axis="0 1 0" range="-10 10"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" contype="0" conaffinity="0"/>
           <body pos="0.3 0 0"><joint axis="0 1 0" range="-0.1 0.1"/><geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" contype="0" conaffinity="0"/>
             <body pos="0.3 0 0"><joint axis="0 1 0" range="-0.1 0.1"/><geom type="capsule" fromto="0 0 0 0.1 0 0" size="0.02" contype="0" conaffinity="0"/></body></body></body>
         <body pos="0 0 1"><freejoint/><geom type="sphere" size="0.05"/></body>
       </worldbody></mujoco>"#,
];

/// Steps worlds twice, from the same state: with the rows that the plan poses, and with all within reach. Both come to the same velocities, to `tolerance` (m/s or rad/s): far above what either is
/// solved to (1e-5 m/s in f32, 1e-10 in f64), far below what an answer that closes a gap is off by (0.17 m/s in the first step). Bits of the first, and
/// how many rows both had.
fn roll_with_all_rows<R: Pack>(model: &Arc<Model>, precision: Precision, tolerance: f64) -> (Vec<u64>, [usize; 2]) {
    let (worlds, nv) = (20, model.nv());
    let settings = Settings { precision, ..Settings::default() };
    let mut cores = [(); 2].map(|()| Core::<R>::new(model, worlds, settings.clone()).expect("a core"));
    assert!(cores[0].plan.share < 1.0, "{}", cores[0].plan.share);
    cores[1].plan.share = 1.0;
    let start = |_: usize, world: usize, [q, v, _]: [&mut [f64]; 3]| {
        q.copy_from_slice(&model.q0);
        Noise::of_world(3, world).uniform(-0.5, 0.5, v);
        v[0] = 3.0;
    };
    cores[0].write(Mask::All, &start).expect("a state");
    let external = vec![0.0; worlds * nv];
    let (mut bits, mut rows) = (Vec::new(), [0; 2]);
    for step in 0..40 {
        let (mut q, mut v) = (vec![0.0; worlds * model.nq()], vec![0.0; worlds * nv]);
        cores[0].positions((&mut q).into()).expect("of the CPU");
        cores[0].velocities((&mut v).into()).expect("of the CPU");
        let same = |_: usize, world: usize, [to_q, to_v, _]: [&mut [f64]; 3]| {
            to_q.copy_from_slice(&q[world * model.nq()..][..model.nq()]);
            to_v.copy_from_slice(&v[world * nv..][..nv]);
        };
        cores[1].write(Mask::All, &same).expect("a state");
        let call = Call {
            substeps: 1,
            control: Acting::Given(&[]),
            control_is_new: true,
            external: &external,
            external_is_new: true,
            see: None,
        };
        let after = [0, 1].map(|k| {
            cores[k].begin(&call).expect("a step");
            rows[k] += cores[k].reports().iter().map(|report| report.row_count).sum::<usize>();
            let (mut q, mut v) = (vec![0f64; worlds * model.nq()], vec![0f64; worlds * nv]);
            cores[k].positions((&mut q).into()).expect("of the CPU");
            cores[k].velocities((&mut v).into()).expect("of the CPU");
            [q, v]
        });
        for (some, all) in after[0].iter().flatten().zip(after[1].iter().flatten()) {
            assert!((some - all).abs() < tolerance, "step {step}: {some} {all}");
        }
        bits.extend(after[0].iter().flatten().map(|x| x.to_bits()));
    }
    let mut again = false;
    cores[0].with_workers(|worker| again |= worker.steps_again());
    assert!(again, "no world took a step once more");
    (bits, rows)
}

/// What free motion leaves open has rows where an answer closes it, and only there: the answer is that of all rows within reach, whatever the number type.
#[test]
fn the_answer_is_that_of_all_rows_within_reach() {
    for xml in THROWN {
        let model = Arc::new(Model::from_mjcf_str(xml).expect("a model"));
        let (single, rows) = roll_with_all_rows::<Counted>(&model, Precision::F32, 1e-3);
        assert!(rows[0] < rows[1], "{rows:?}");
        let (double, _) = roll_with_all_rows::<f64>(&model, Precision::F64, 1e-7);
        if Level::detect().runs_packs() {
            assert_eq!(roll_with_all_rows::<Pair>(&model, Precision::F32, 1e-3).0, single);
            assert_eq!(roll_with_all_rows::<Pair64>(&model, Precision::F64, 1e-7).0, double);
        }
    }
}
