//! Everything that must hold for a model before it can be simulated.

use super::rest::is_massive;
use super::{
    ActivationLaw, EqualityKind, HeightField, Joint, JointKind, Model, MuscleTimes, POSE_LEN, PairFriction, Shape,
    Tendon, Transmission, Waypoint,
};
use crate::error::{Error, Result};
use nalgebra::{UnitQuaternion, Vector3};

fn finite(v: &Vector3<f64>) -> bool {
    v.iter().all(|x| x.is_finite())
}

/// How errors name a part.
pub(crate) fn label(kind: &str, index: usize, name: &str) -> String {
    if name.is_empty() { format!("{kind} {index}") } else { format!("{kind} \"{name}\"") }
}

fn is_turn(r: &UnitQuaternion<f64>) -> bool {
    (r.coords.norm() - 1.0).abs() < 1e-6
}

fn range_ok(range: Option<[f64; 2]>) -> bool {
    range.is_none_or(|[lo, hi]| !lo.is_nan() && !hi.is_nan() && lo <= hi)
}

impl Model {
    /// Checks everything that must hold for a model before it can be simulated, as [`super::ModelBuilder::build`] does. A model that was made
    /// by a builder or a reader passes; its fields are public, so one that was changed since may not. Whatever takes a model asks for this first.
    ///
    /// What follows from bodies and joints (`dofs`, `trees`, coordinates, ranges) must be what a builder would derive: to change the structure,
    /// build the model anew.
    ///
    /// # Errors
    /// [`Error::Model`] that names the part, what is wrong and what to do.
    pub fn validate(&self) -> Result<()> {
        parts(self)?;
        derived(self)?;
        moving_parts(self)?;
        pairs(self)?;
        states(self)
    }
}

impl Shape {
    /// Whether it has an extent.
    pub(crate) fn is_sized(&self) -> bool {
        let positive = |x: &[f64]| x.iter().all(|x| *x > 0.0 && x.is_finite());
        match self {
            Self::Plane => true,
            Self::HeightField(field) => {
                let HeightField { rows, columns, half, heights, base, .. } = &**field;
                let points = rows.checked_mul(*columns).filter(|count| *count <= HeightField::MOST_POINTS);
                let is_grid = *rows >= 2 && *columns >= 2 && Some(heights.len()) == points;
                let within = heights.iter().all(|x| x.abs() < HeightField::HIGHEST);
                is_grid && positive(half) && positive(&[*base]) && within
            }
            Self::Sphere { radius } => positive(&[*radius]),
            Self::Capsule { radius, half_length } => {
                positive(&[*radius]) && *half_length >= 0.0 && half_length.is_finite()
            }
            Self::Cylinder { radius, half_length } => positive(&[*radius, *half_length]),
            Self::Ellipsoid { radii: v } | Self::Box { half: v } => positive(v.as_slice()),
            Self::Hull(hull) => {
                let corners = hull.vertices.len();
                let exist = hull.triangles.iter().flatten().all(|&corner| corner < corners);
                corners >= 4 && hull.vertices.iter().all(finite) && !hull.triangles.is_empty() && exist
            }
        }
    }
}

/// Values and references of all parts.
pub(super) fn parts(m: &Model) -> Result<()> {
    let check = |ok: bool, element: &dyn Fn() -> String, message: &str| {
        if ok { Ok(()) } else { Err(Error::model(element(), message)) }
    };
    let name = || format!("model \"{}\"", m.name);
    check(m.timestep > 0.0 && m.timestep.is_finite(), &name, "the time step must be a positive number of seconds")?;
    let stiffer = m.contact_softness.ratio > 0.0 && m.contact_softness.ratio.is_finite();
    check(stiffer, &name, "impratio must be positive and finite")?;
    check(finite(&m.gravity), &name, "gravity must be finite")?;
    let resists = |x: f64| x >= 0.0 && x.is_finite();
    let medium = resists(m.medium.density) && resists(m.medium.viscosity) && finite(&m.medium.wind);
    check(medium, &name, "density and viscosity of the medium must be finite and not negative, and its wind finite")?;
    check(m.bodies.first().is_some_and(|b| b.parent == 0), &name, "body 0 must be the world")?;
    for (i, b) in m.bodies.iter().enumerate() {
        let el = || label("body", i, &b.name);
        check(i == 0 || b.parent < i, &el, "its parent must stand before it")?;
        check(b.mass >= 0.0 && b.mass.is_finite(), &el, "the mass must be finite and not negative")?;
        check(finite(&b.position) && finite(&b.com), &el, "position and centre of mass must be finite")?;
        check(is_turn(&b.orientation), &el, "the orientation must be a unit quaternion")?;
        check(b.inertia.iter().all(|x| x.is_finite()), &el, "the inertia must be finite")?;
        check(b.gravity_compensation.is_finite(), &el, "the gravity compensation must be finite")?;
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
        check(finite(&g.position) && is_turn(&g.orientation), &el, "position and orientation must be finite")?;
        check(
            g.shape.is_sized(),
            &el,
            "every size must be positive and finite (a mesh needs at least four points that span a volume)",
        )?;
        check(matches!(g.condim, 1 | 3 | 4 | 6), &el, "condim must be 1, 3, 4 or 6")?;
        check(g.fluid.iter().flatten().all(|c| c.is_finite()), &el, "coefficients in a medium must be finite")?;
        check(g.friction.iter().all(|f| *f >= 0.0 && f.is_finite()), &el, "friction must be finite and not negative")?;
        let softness = g.softness.is_finite() && g.softness_weight >= 0.0 && g.softness_weight.is_finite();
        check(softness, &el, "solref, solimp and solmix must be finite, and solmix not negative")?;
        check(g.margin.is_finite() && g.margin >= 0.0, &el, "the margin must be finite and not negative")?;
        check(
            g.restitution.is_none_or(|e| (0.0..=1.0).contains(&e)),
            &el,
            "restitution must lie between 0 (no bounce) and 1 (no loss)",
        )?;
    }
    for (i, s) in m.sites.iter().enumerate() {
        let el = || label("site", i, &s.name);
        check(s.body < m.bodies.len(), &el, "belongs to a body that does not exist")?;
        check(finite(&s.position) && is_turn(&s.orientation), &el, "position and orientation must be finite")?;
        check(
            !matches!(s.shape, Shape::Plane | Shape::HeightField(_) | Shape::Hull(_)),
            &el,
            "its volume cannot be a plane, a height field or a hull",
        )?;
        check(s.shape.is_sized(), &el, "every size must be positive and finite")?;
    }
    for (i, t) in m.tendons.iter().enumerate() {
        tendon(m, t, &|| label("tendon", i, &t.name))?;
    }
    for (i, a) in m.actuators.iter().enumerate() {
        let el = || label("actuator", i, &a.name);
        match a.transmission {
            Transmission::Joint(joint) => check(joint < m.joints.len(), &el, "acts on a joint that does not exist")?,
            Transmission::Tendon(tendon) => {
                check(tendon < m.tendons.len(), &el, "acts on a tendon that does not exist")?;
            }
            Transmission::Site(site) => check(site < m.sites.len(), &el, "acts at a site that does not exist")?,
            Transmission::Body(body) => check(body < m.bodies.len(), &el, "acts on a body that does not exist")?,
            Transmission::SiteFrom { site, reference } => {
                check(site.max(reference) < m.sites.len(), &el, "acts at a site that does not exist")?;
            }
        }
        let numbers = a.gear.iter().chain(&a.gain).chain(&a.bias);
        check(numbers.into_iter().all(|x| x.is_finite()), &el, "gear, gain and bias must be finite")?;
        let stateless = a.gain[1..].iter().chain(&a.bias[1..]).all(|x| *x == 0.0);
        check(
            a.transmission.has_length(m) || stateless,
            &el,
            "gain and bias that depend on length or velocity need a hinge, a slide, a ball, a tendon, or a site as seen from another",
        )?;
        check(
            range_ok(a.control_range) && range_ok(a.force_range),
            &el,
            "a range must be two numbers, the lower first",
        )?;
    }
    for (k, a) in m.activations.iter().enumerate() {
        let el = || label("activation", k, "");
        check(a.actuator < m.actuators.len(), &el, "is of an actuator that does not exist")?;
        let in_order = k == 0 || m.activations[k - 1].actuator < a.actuator;
        check(in_order, &el, "must come after those of the actuators before its own, and be the only one of it")?;
        check(range_ok(a.range), &el, "its range must be two numbers, the lower first")?;
        let positive = |time: f64| time > 0.0 && time.is_finite();
        let times_ok = match a.law {
            ActivationLaw::Integrator => true,
            ActivationLaw::Filter(time) | ActivationLaw::FilterExact(time) => positive(time),
            ActivationLaw::Muscle(MuscleTimes { rise, fall, blend }) => {
                positive(rise) && positive(fall) && blend >= 0.0 && blend.is_finite()
            }
        };
        check(times_ok, &el, "its time constants must be positive and finite")?;
    }
    for (k, muscle) in m.muscles.iter().enumerate() {
        let el = || label("muscle", k, "");
        check(muscle.actuator < m.actuators.len(), &el, "is of an actuator that does not exist")?;
        let in_order = k == 0 || m.muscles[k - 1].actuator < muscle.actuator;
        check(in_order, &el, "must come after those of the actuators before its own, and be the only one of it")?;
        let scalar = m.actuators[muscle.actuator].transmission.is_scalar(m);
        check(scalar, &el, "needs a hinge, a slide or a tendon")?;
        let rising = |[a, b]: [f64; 2]| a < b && a.is_finite() && b.is_finite();
        check(
            rising(muscle.length_range) && rising(muscle.range),
            &el,
            "needs ranges of two numbers, the lower first",
        )?;
        let [least, most] = muscle.reach;
        check(least < 1.0 && most > 1.0 && rising(muscle.reach), &el, "must reach from below 1 to above 1")?;
        let numbers = [muscle.force, muscle.fastest, muscle.passive, muscle.stretched];
        check(
            numbers.iter().all(|x| x.is_finite()) && muscle.fastest > 0.0,
            &el,
            "forces must be finite, and its velocity positive",
        )?;
    }
    for (i, e) in m.equalities.iter().enumerate() {
        let el = || label("equality", i, &e.name);
        let numbers_ok = match &e.kind {
            EqualityKind::Connect { body_a, body_b, .. } | EqualityKind::Weld { body_a, body_b, .. } => {
                let exist = *body_a < m.bodies.len() && *body_b < m.bodies.len();
                check(exist && body_a != body_b, &el, "needs two different bodies that exist")?;
                match &e.kind {
                    EqualityKind::Connect { anchor, anchor_b, .. } => {
                        finite(anchor) && anchor_b.as_ref().is_none_or(finite)
                    }
                    EqualityKind::Weld { anchor, relative, .. } => {
                        finite(anchor) && relative.as_ref().is_none_or(|(p, r)| finite(p) && is_turn(r))
                    }
                    _ => true,
                }
            }
            EqualityKind::Joint { joint_a, joint_b, polynomial } => {
                let scalar = |j: usize| is_scalar(m, j);
                check(scalar(*joint_a) && joint_b.is_none_or(scalar), &el, "couples hinge and slide joints only")?;
                polynomial.iter().all(|x| x.is_finite())
            }
            EqualityKind::Tendon { tendon_a, tendon_b, polynomial } => {
                let exists = |t: usize| t < m.tendons.len();
                check(exists(*tendon_a) && tendon_b.is_none_or(exists), &el, "couples a tendon that does not exist")?;
                polynomial.iter().all(|x| x.is_finite())
            }
        };
        check(numbers_ok, &el, "anchor, relative pose and coefficients must be finite")?;
        check(e.softness.is_finite(), &el, "solref and solimp must be finite")?;
    }
    for (i, sensor) in m.sensors.iter().enumerate() {
        let el = || label("sensor", i, &sensor.name);
        check(
            sensor.reading.is_none_or(|reading| reading.exists(m)),
            &el,
            "reads what does not exist, or is of another kind",
        )?;
    }
    Ok(())
}

/// Whether there is such a joint, and it is a hinge or a slide.
fn is_scalar(m: &Model, joint: usize) -> bool {
    m.joints.get(joint).is_some_and(|j| j.kind.nv() == 1)
}

fn tendon(m: &Model, t: &Tendon, el: &dyn Fn() -> String) -> Result<()> {
    let check = |ok: bool, message: &str| if ok { Ok(()) } else { Err(Error::model(el(), message)) };
    let scalar = t.joints.iter().all(|&(joint, c)| is_scalar(m, joint) && c.is_finite());
    check(
        scalar && t.joints.is_empty() == t.is_spatial(),
        "needs hinges or slides, with finite coefficients, or a path",
    )?;
    path(m, &t.path, &check)?;
    let twice =
        t.joints.iter().enumerate().any(|(i, (joint, _))| t.joints[..i].iter().any(|(other, _)| other == joint));
    check(!twice, "has a joint twice; add the coefficients up")?;
    check(range_ok(t.range) && range_ok(Some(t.slack)), "a range must be two numbers, the lower first")?;
    let numbers = [t.stiffness, t.damping, t.friction_loss, t.limit_margin];
    check(
        numbers.iter().all(|x| *x >= 0.0 && x.is_finite()),
        "stiffness, damping, friction loss and margin must be finite and not negative",
    )?;
    let has_rows = t.range.is_some() || t.friction_loss > 0.0;
    let pulls = t.joints.iter().any(|(_, c)| *c != 0.0) || t.is_spatial();
    check(pulls || !has_rows, "limits and dry friction need a coefficient that is not zero")?;
    check(t.limit_softness.is_finite() && t.friction_softness.is_finite(), "solref and solimp must be finite")
}

/// The path of a spatial tendon: branches from site to site, between pulleys, with sites on both sides of what they go around.
fn path(m: &Model, path: &[Waypoint], check: &dyn Fn(bool, &str) -> Result<()>) -> Result<()> {
    let site = |i: usize| matches!(path.get(i), Some(Waypoint::Site(_)));
    for (i, part) in path.iter().enumerate() {
        match *part {
            Waypoint::Site(through) => {
                check(through < m.sites.len(), "goes through a site that does not exist")?;
                let first = i == 0 || matches!(path[i - 1], Waypoint::Pulley(_));
                let last = matches!(path.get(i + 1), None | Some(Waypoint::Pulley(_)));
                check(!(first && last), "a branch of its path needs at least two sites")?;
            }
            Waypoint::Around { geom, side } => {
                let round = |geom: usize| matches!(m.geoms[geom].shape, Shape::Sphere { .. } | Shape::Cylinder { .. });
                check(geom < m.geoms.len() && round(geom), "goes around a geom that is no sphere and no cylinder")?;
                check(side.is_none_or(|side| side < m.sites.len()), "passes by a site that does not exist")?;
                check(
                    i > 0 && site(i - 1) && site(i + 1),
                    "what its path goes around needs a site before and after it",
                )?;
            }
            Waypoint::Pulley(divisor) => {
                check(divisor > 0.0 && divisor.is_finite(), "the divisor of a pulley must be positive and finite")?;
                check(site(i + 1), "a pulley needs a branch after it, which begins with a site")?;
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
    check(j.limit_softness.is_finite() && j.friction_softness.is_finite(), "solref and solimp must be finite")?;
    check(j.reference.is_finite() && j.spring_reference.is_finite(), "reference positions must be finite")
}

/// What a builder derives from bodies and joints must be what stands there.
fn derived(m: &Model) -> Result<()> {
    let mut again = Model { bodies: m.bodies.clone(), joints: m.joints.clone(), ..super::ModelBuilder::new("").model };
    let in_order = m.joints.is_sorted_by_key(|j| j.body);
    if in_order {
        again.derive();
    }
    let same_bodies = m.bodies.iter().zip(&again.bodies);
    let same_joints = m.joints.iter().zip(&again.joints);
    let same = in_order
        && m.dofs == again.dofs
        && m.trees == again.trees
        && same_bodies.into_iter().all(|(a, b)| (&a.joints, &a.dofs, a.tree) == (&b.joints, &b.dofs, b.tree))
        && same_joints.into_iter().all(|(a, b)| (a.q_start, a.v_start) == (b.q_start, b.v_start));
    let element = || format!("model \"{}\"", m.name);
    if !same {
        let message = "coordinates, degrees of freedom, trees and ranges do not follow from bodies and joints; build a model of another structure anew";
        return Err(Error::model(element(), message));
    }
    if m.q0.len() != again.q0.len() {
        let message = format!("q0 has {} numbers, its joints need {}", m.q0.len(), again.q0.len());
        return Err(Error::model(element(), message));
    }
    match coordinates(m, &m.q0) {
        None => Ok(()),
        Some(message) => Err(Error::model(element(), format!("q0: {message}"))),
    }
}

/// What is wrong with a position of the right length, if anything.
fn coordinates(m: &Model, q: &[f64]) -> Option<String> {
    if !q.iter().all(|x| x.is_finite()) {
        return Some("every number must be finite".into());
    }
    let turn = |j: &Joint| match j.kind {
        JointKind::Free => Some(j.q_start + 3),
        JointKind::Ball => Some(j.q_start),
        JointKind::Hinge | JointKind::Slide => None,
    };
    let zero = |start: usize| q[start..start + 4].iter().all(|x| *x == 0.0);
    let wrong = m.joints.iter().position(|j| turn(j).is_some_and(zero))?;
    Some(format!("the quaternion of {} is zero", label("joint", wrong, &m.joints[wrong].name)))
}

/// The pairs of geoms that may touch.
pub(super) fn pairs(m: &Model) -> Result<()> {
    for p in &m.pairs {
        let check = |ok: bool, message: &str| {
            if ok { Ok(()) } else { Err(Error::model(format!("contact pair ({}, {})", p.geom_a, p.geom_b), message)) }
        };
        let exist = p.geom_a < m.geoms.len() && p.geom_b < m.geoms.len() && p.geom_a != p.geom_b;
        check(exist, "needs two different geoms that exist")?;
        let (a, b) = (&m.geoms[p.geom_a].shape, &m.geoms[p.geom_b].shape);
        let ordered = a.rank() <= b.rank() && !b.is_ground();
        check(
            ordered,
            "the first geom must have the lower `Shape::rank`, and planes and height fields cannot touch each other",
        )?;
        let fixed_ok = !matches!(p.friction, PairFriction::Fixed(mu) if !(mu >= 0.0 && mu.is_finite()));
        check(fixed_ok, "friction must be finite and not negative")?;
        check(matches!(p.condim, 1 | 3 | 4 | 6), "condim must be 1, 3, 4 or 6")?;
        let allowed = |x: &f64| *x >= 0.0 && x.is_finite();
        let rotation = p.torsion.iter().chain(p.rolling.iter().flatten());
        let rotation_ok = p.ellipsoid.iter().flatten().chain(rotation).all(allowed);
        check(rotation_ok, "ellipsoid, torsion and rolling must be finite and not negative")?;
        check(p.margin.is_finite() && p.margin >= 0.0, "the margin must be finite and not negative")?;
        check(p.softness.is_finite(), "solref and solimp must be finite")?;
        let restitution_ok = p.restitution.is_none_or(|e| (0.0..=1.0).contains(&e));
        check(restitution_ok, "restitution must lie between 0 (no bounce) and 1 (no loss)")?;
    }
    Ok(())
}

/// Every degree of freedom must move some mass, or the mass matrix has no inverse; planes, which have no end, and land must not move.
pub(super) fn moving_parts(m: &Model) -> Result<()> {
    let moving_plane =
        (m.geoms.iter().enumerate()).find(|(_, geom)| geom.shape.is_ground() && m.bodies[geom.body].tree.is_some());
    if let Some((g, geom)) = moving_plane {
        let what = if matches!(geom.shape, Shape::Plane) { "plane" } else { "height field" };
        let message = format!("a {what} must not move; fix it to the world, or use a box");
        return Err(Error::model(label("geom", g, &geom.name), message));
    }
    if let Some((b, body)) =
        (m.bodies.iter().enumerate()).find(|(_, body)| body.mocap && (body.parent != 0 || !body.joints.is_empty()))
    {
        let message = "a mocap body is a child of the world, without joints";
        return Err(Error::model(label("body", b, &body.name), message));
    }
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
    for j in m.joints.iter().filter(|j| m.bodies[j.body].mass == 0.0 && mass[j.body] > 0.0) {
        if !is_massive(m, j.body) {
            return Err(Error::model(
                label("body", j.body, &m.bodies[j.body].name),
                "has joints and no mass, and what hangs from it does not resist all of its motion: give it a mass and an inertia",
            ));
        }
    }
    Ok(())
}

/// Sizes and values of keyframes.
pub(super) fn states(m: &Model) -> Result<()> {
    for (i, k) in m.keyframes.iter().enumerate() {
        let sizes = [
            ("qpos", k.q.len(), m.nq()),
            ("qvel", k.v.len(), m.nv()),
            ("ctrl", k.control.len(), m.nu()),
            ("act", k.activation.len(), m.na()),
            ("the poses of mocap bodies", k.mocap_pose.len(), POSE_LEN * m.mocap_bodies().len()),
        ];
        for (what, found, wanted) in sizes {
            if found != wanted {
                return Err(Error::model(
                    label("keyframe", i, &k.name),
                    format!("{what} has {found} numbers, the model needs {wanted}"),
                ));
            }
        }
        let others = k.v.iter().chain(&k.control).chain(&k.activation).chain(&k.mocap_pose);
        let others_ok = others.chain([&k.time]).all(|x| x.is_finite());
        let wrong = if others_ok { coordinates(m, &k.q) } else { Some("every number must be finite".into()) };
        let turns = k.mocap_pose.chunks_exact(POSE_LEN).all(|pose| pose[3..].iter().any(|x| *x != 0.0));
        let wrong = wrong.or((!turns).then(|| "the quaternion of a mocap body is zero".into()));
        if let Some(message) = wrong {
            return Err(Error::model(label("keyframe", i, &k.name), message));
        }
    }
    Ok(())
}
