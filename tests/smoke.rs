//! smoke
use delassus::model::*;
use delassus::*;
use nalgebra::Vector3;
fn cube(dt: f64, friction: f64, g: [f64; 3], half: [f64; 3], mass: f64, z: f64) -> Model {
    let mut b = ModelBuilder::new("cube");
    b.timestep(dt).gravity(g);
    let mut floor = Geom::new(0, Shape::Plane);
    floor.friction[0] = friction;
    b.add_geom(floor);
    let body = b.add_body("cube", 0, [0.0, 0.0, z]);
    b.add_joint(Joint::new(body, JointKind::Free));
    let mut g = Geom::new(body, Shape::Box { half: Vector3::from(half) });
    g.friction[0] = friction;
    b.add_geom(g);
    let v = 8.0 * half[0] * half[1] * half[2];
    b.set_inertia_from_geoms(body, mass / v).unwrap();
    b.build().unwrap()
}
#[test]
fn slide() {
    for precision in [Precision::F64, Precision::F32] {
        let m = cube(0.01, 0.12, [0.0, 0.0, -9.8], [0.5; 3], 1.0, 0.5);
        let mut w = Worlds::new(&m, 3, Settings { precision, ..Settings::default() }).unwrap();
        let q = w.positions();
        w.set_state(Mask::All, &q, &[4.0, 3.0, 0.0, 0.0, 0.0, 0.0].repeat(3)).unwrap();
        let mut it = 0;
        let mut res = 0.0f64;
        for _ in 0..400 {
            let r = w.step(1).unwrap();
            it += r[0].iterations;
            res = res.max(r[0].residual);
            assert_eq!(r[0].contact_count, 4);
        }
        let q = w.positions();
        let s: f64 = (1..=400).map(|k| 0.01 * (5.0 - 1.176 * 0.01 * k as f64)).sum();
        println!(
            "{precision:?} {:?} expected {} {} it {it} res {res:e} {:?}",
            &q[7..14],
            0.8 * s,
            0.6 * s,
            w.reports()[0]
        );
    }
}
#[test]
fn incline() {
    for precision in [Precision::F64, Precision::F32] {
        for deg in [26.5f64, 26.63] {
            let a = deg.to_radians();
            let m = cube(0.01, 0.5, [9.81 * a.sin(), 0.0, -9.81 * a.cos()], [0.5, 0.5, 0.5], 1.0, 0.5);
            let mut w = Worlds::new(&m, 1, Settings { precision, ..Settings::default() }).unwrap();
            w.step(200).unwrap();
            println!(
                "{precision:?} {deg} {:?} {:?} {:e} exact {}",
                w.positions(),
                w.velocities(),
                w.reports()[0].residual,
                9.81 * (a.sin() - 0.5 * a.cos()) * 0.01 * 0.01 * 200.0 * 201.0 / 2.0
            );
        }
    }
}
#[test]
fn overlap() {
    for dt in [0.01, 0.001] {
        let m = cube(dt, 0.5, [0.0, 0.0, -9.81], [0.5, 0.5, 0.5], 1.0, 0.49);
        let mut w = Worlds::new(&m, 1, Settings { precision: Precision::F32, ..Settings::default() }).unwrap();
        let n = (0.2 / dt) as u32;
        for _ in 0..10 {
            w.step(n / 10).unwrap();
            println!("{} {:?}", w.positions()[2], w.reports()[0]);
        }
        let mut top = 0.0f64;
        for _ in 0..100 {
            w.step(n / 10).unwrap();
            top = top.max(w.positions()[2]);
        }
        println!("top {top}");
    }
}
#[test]
fn bounce() {
    for precision in [Precision::F64, Precision::F32] {
        let mut b = ModelBuilder::new("ball");
        b.timestep(1.0 / 240.0);
        b.add_geom(Geom::new(0, Shape::Plane));
        let body = b.add_body("ball", 0, [0.0, 0.0, 1.1]);
        b.add_joint(Joint::new(body, JointKind::Free));
        b.add_geom(Geom::new(body, Shape::Sphere { radius: 0.1 }));
        b.set_inertia_from_geoms(body, 1000.0).unwrap();
        let m = b.build().unwrap();
        let mut w = Worlds::new(&m, 1, Settings { precision, restitution: 0.8, ..Settings::default() }).unwrap();
        let (mut last, mut up, mut apex) = (1.1, false, vec![]);
        for _ in 0..1200 {
            w.step(1).unwrap();
            let z = w.positions()[2];
            if z > last {
                up = true;
            } else if up && z < last {
                apex.push(last - 0.1);
                up = false;
            }
            last = z;
        }
        println!(
            "{apex:?} rel {:?}",
            apex.iter().enumerate().map(|(k, a)| a / 0.64f64.powi(k as i32 + 1) - 1.0).collect::<Vec<_>>()
        );
    }
}
#[test]
fn stack() {
    for top in [1.0, 100.0] {
        for precision in [Precision::F64, Precision::F32] {
            let mut b = ModelBuilder::new("stack");
            b.timestep(0.01);
            let mut f = Geom::new(0, Shape::Plane);
            f.friction[0] = 0.5;
            b.add_geom(f);
            for i in 0..10 {
                let body = b.add_body("", 0, [0.0, 0.0, 0.5 + i as f64]);
                b.add_joint(Joint::new(body, JointKind::Free));
                let mut g = Geom::new(body, Shape::Box { half: Vector3::repeat(0.5) });
                g.friction[0] = 0.5;
                b.add_geom(g);
                b.set_inertia_from_geoms(body, if i == 9 { top } else { 1.0 }).unwrap();
            }
            let m = b.build().unwrap();
            let mut w = Worlds::new(&m, 1, Settings { precision, ..Settings::default() }).unwrap();
            let t = std::time::Instant::now();
            let mut pen = 0.0f64;
            let mut unsolved = 0;
            for _ in 0..500 {
                let r = w.step(1).unwrap()[0];
                pen = pen.max(r.penetration);
                if !r.solved() {
                    unsolved += 1;
                }
            }
            let q = w.positions();
            println!(
                "top {top} {precision:?}: z {} xy {} {} pen {pen:e} unsolved {unsolved} {:?} {:?}",
                q[9 * 7 + 2] - 9.5,
                q[9 * 7],
                q[9 * 7 + 1],
                w.reports()[0],
                t.elapsed()
            );
        }
    }
}
