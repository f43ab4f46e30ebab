//! Everything that must hold for a model before it can be simulated.

use super::{Joint, JointKind, Model, Shape};
use crate::error::{Error, Result};
use nalgebra::Vector3;

fn finite(v: &Vector3<f64>) -> bool {
    v.iter().all(|x| x.is_finite())
}

/// How errors name a part.
pub(super) fn label(kind: &str, index: usize, name: &str) -> String {
    if name.is_empty() { format!("{kind} {index}") } else { format!("{kind} \"{name}\"") }
}

fn range_ok(range: Option<[f64; 2]>) -> bool {
    range.is_none_or(|[lo, hi]| !lo.is_nan() && !hi.is_nan() && lo <= hi)
}

/// Values and references of all parts.
pub(super) fn parts(m: &Model) -> Result<()> {
    let check = |ok: bool, element: &dyn Fn() -> String, message: &str| {
        if ok { Ok(()) } else { Err(Error::model(element(), message)) }
    };
    let name = || format!("model \"{}\"", m.name);
    check(m.timestep > 0.0 && m.timestep.is_finite(), &name, "the time step must be a positive number of seconds")?;
    check(finite(&m.gravity), &name, "gravity must be finite")?;
    for (i, b) in m.bodies.iter().enumerate() {
        let el = || label("body", i, &b.name);
        check(i == 0 || b.parent < i, &el, "its parent must stand before it")?;
        check(b.mass >= 0.0 && b.mass.is_finite(), &el, "the mass must be finite and not negative")?;
        check(finite(&b.position) && finite(&b.com), &el, "position and centre of mass must be finite")?;
        check(b.orientation.coords.iter().all(|x| x.is_finite()), &el, "the orientation must be finite")?;
        check(b.inertia.iter().all(|x| x.is_finite()), &el, "the inertia must be finite")?;
        if b.mass > 0.0 || b.inertia.norm() > 0.0 {
            let symmetric = (b.inertia - b.inertia.transpose()).norm() <= 1e-9 * b.inertia.norm();
            check(symmetric, &el, "the inertia must be symmetric")?;
            let e = b.inertia.symmetric_eigenvalues();
            let tolerance = 1e-9 * e.max().abs();
            check(e.min() >= -tolerance, &el, "the inertia must not have a negative principal moment")?;
            check(
                e.sum() - 2.0 * e.max() >= -1e-6 * e.max(),
                &el,
                "no real body has this inertia: the largest principal moment exceeds the sum of the other two",
            )?;
        }
    }
    let mut joint_counts = vec![0; m.bodies.len()];
    for joint in m.joints.iter().filter(|joint| joint.body < m.bodies.len()) {
        joint_counts[joint.body] += 1;
    }
    for (i, j) in m.joints.iter().enumerate() {
        joint(m, j, &joint_counts, &|| label("joint", i, &j.name))?;
    }
    for (i, g) in m.geoms.iter().enumerate() {
        let el = || label("geom", i, &g.name);
        check(g.body < m.bodies.len(), &el, "belongs to a body that does not exist")?;
        check(finite(&g.position), &el, "the position must be finite")?;
        let positive = |x: &[f64]| x.iter().all(|x| *x > 0.0 && x.is_finite());
        let sized = match &g.shape {
            Shape::Plane => true,
            Shape::Sphere { radius } => positive(&[*radius]),
            Shape::Capsule { radius, half_length } => {
                positive(&[*radius]) && *half_length >= 0.0 && half_length.is_finite()
            }
            Shape::Cylinder { radius, half_length } => positive(&[*radius, *half_length]),
            Shape::Ellipsoid { radii: v } | Shape::Box { half: v } => positive(v.as_slice()),
            Shape::Hull(hull) => {
                hull.vertices.len() >= 4 && hull.vertices.iter().all(finite) && !hull.triangles.is_empty()
            }
        };
        check(
            sized,
            &el,
            "every size must be positive and finite (a mesh needs at least four points that span a volume)",
        )?;
        check(matches!(g.condim, 1 | 3 | 4 | 6), &el, "condim must be 1, 3, 4 or 6")?;
        check(g.friction.iter().all(|f| *f >= 0.0 && f.is_finite()), &el, "friction must be finite and not negative")?;
        check(g.margin.is_finite() && g.margin >= 0.0, &el, "the margin must be finite and not negative")?;
        check(
            g.restitution.is_none_or(|e| (0.0..=1.0).contains(&e)),
            &el,
            "restitution must lie between 0 (no bounce) and 1 (no loss)",
        )?;
    }
    for (i, s) in m.sites.iter().enumerate() {
        check(s.body < m.bodies.len(), &|| label("site", i, &s.name), "belongs to a body that does not exist")?;
    }
    for (i, a) in m.actuators.iter().enumerate() {
        let el = || label("actuator", i, &a.name);
        check(a.joint < m.joints.len(), &el, "acts on a joint that does not exist")?;
        let numbers = a.gear.iter().chain(&a.gain).chain(&a.bias);
        check(numbers.into_iter().all(|x| x.is_finite()), &el, "gear, gain and bias must be finite")?;
        let scalar = matches!(m.joints[a.joint].kind, JointKind::Hinge | JointKind::Slide);
        let stateless = a.gain[1..].iter().chain(&a.bias[1..]).all(|x| *x == 0.0);
        check(
            scalar || stateless,
            &el,
            "gain and bias that depend on length or velocity need a hinge or a slide joint",
        )?;
        check(
            range_ok(a.control_range) && range_ok(a.force_range),
            &el,
            "a range must be two numbers, the lower first",
        )?;
    }
    for (i, e) in m.equalities.iter().enumerate() {
        let el = || label("equality", i, &e.name);
        match &e.kind {
            super::EqualityKind::Connect { body_a, body_b, .. } | super::EqualityKind::Weld { body_a, body_b, .. } => {
                let exist = *body_a < m.bodies.len() && *body_b < m.bodies.len();
                check(exist && body_a != body_b, &el, "needs two different bodies that exist")?;
            }
            super::EqualityKind::Joint { joint_a, joint_b, .. } => {
                let scalar = |j: usize| m.joints.get(j).is_some_and(|j| j.kind.nq() == 1);
                check(scalar(*joint_a) && joint_b.is_none_or(scalar), &el, "couples hinge and slide joints only")?;
            }
        }
    }
    Ok(())
}

fn joint(m: &Model, j: &Joint, joint_counts: &[usize], el: &dyn Fn() -> String) -> Result<()> {
    let check = |ok: bool, message: &str| if ok { Ok(()) } else { Err(Error::model(el(), message)) };
    check(j.body > 0 && j.body < m.bodies.len(), "belongs to a body that does not exist (the world cannot move)")?;
    check(finite(&j.anchor), "the anchor must be finite")?;
    match j.kind {
        JointKind::Free => {
            check(joint_counts[j.body] == 1, "a free joint must be the only joint of its body")?;
            check(m.bodies[j.body].parent == 0, "a free joint needs a body that is a child of the world")?;
            check(j.range.is_none(), "a free joint cannot have limits")?;
        }
        JointKind::Ball => check(
            j.range.is_none_or(|[lo, hi]| lo == 0.0 && hi > 0.0),
            "the range of a ball joint is 0 and the largest rotation angle",
        )?,
        JointKind::Hinge | JointKind::Slide => {
            check((j.axis.norm() - 1.0).abs() < 1e-9, "the axis must be a unit vector")?;
        }
    }
    check(range_ok(j.range), "the range must be two numbers, the lower first")?;
    check(range_ok(j.actuator_force_range), "the actuator force range must be two numbers, the lower first")?;
    let numbers = [j.stiffness, j.damping, j.armature, j.friction_loss, j.limit_margin];
    check(
        numbers.iter().all(|x| *x >= 0.0 && x.is_finite()),
        "stiffness, damping, armature, friction loss and margin must be finite and not negative",
    )?;
    check(j.reference.is_finite() && j.spring_reference.is_finite(), "reference positions must be finite")
}

/// Every degree of freedom must move some mass, or the mass matrix has no inverse.
pub(super) fn moving_masses(m: &Model) -> Result<()> {
    // Masses of a body and of everything that hangs from it.
    let mut mass: Vec<f64> = m.bodies.iter().map(|b| b.mass).collect();
    let mut inertia: Vec<f64> = m.bodies.iter().map(|b| b.inertia.trace()).collect();
    for b in (1..m.bodies.len()).rev() {
        let parent = m.bodies[b].parent;
        mass[parent] += mass[b];
        // A mass off the axis has rotational inertia too.
        inertia[parent] += inertia[b] + mass[b];
    }
    for (i, j) in m.joints.iter().enumerate() {
        let ok = match j.kind {
            JointKind::Free => mass[j.body] > 0.0 && (inertia[j.body] > 0.0),
            JointKind::Slide => mass[j.body] + j.armature > 0.0,
            JointKind::Hinge | JointKind::Ball => mass[j.body] + inertia[j.body] + j.armature > 0.0,
        };
        if !ok {
            return Err(Error::model(
                label("joint", i, &j.name),
                format!(
                    "moves no mass: give body \"{}\" or a body below it a mass and an inertia",
                    m.bodies[j.body].name
                ),
            ));
        }
    }
    Ok(())
}

/// Sizes and values of keyframes.
pub(super) fn states(m: &Model) -> Result<()> {
    for (i, k) in m.keyframes.iter().enumerate() {
        let sizes = [("qpos", k.q.len(), m.nq()), ("qvel", k.v.len(), m.nv()), ("ctrl", k.control.len(), m.nu())];
        for (what, found, wanted) in sizes {
            if found != wanted {
                return Err(Error::model(
                    label("keyframe", i, &k.name),
                    format!("{what} has {found} numbers, the model needs {wanted}"),
                ));
            }
        }
        if !k.q.iter().chain(&k.v).chain(&k.control).all(|x| x.is_finite()) {
            return Err(Error::model(label("keyframe", i, &k.name), "every number must be finite"));
        }
    }
    Ok(())
}
