//! `<worldbody>`: bodies, frames, joints, inertia and sites.

use super::Reader;
use super::values::{Switch, turn_z_to};
use super::xml::Element;
use crate::error::Result;
use crate::model::builder::{MassPart, combine_inertia};
use crate::model::rest::{along_joint, only_slides, rest_inertia};
use crate::model::{Joint, JointKind, Model, Site};
use nalgebra::{Matrix3, SymmetricEigen, UnitQuaternion, Vector3};

/// A frame against the frame of its body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pose {
    pub position: Vector3<f64>,
    pub orientation: UnitQuaternion<f64>,
}

impl Pose {
    pub fn identity() -> Self {
        Self { position: Vector3::zeros(), orientation: UnitQuaternion::identity() }
    }

    /// A pose given in this frame, in the frame that this pose is given in.
    pub fn then(&self, inner: &Self) -> Self {
        Self {
            position: self.position + self.orientation * inner.position,
            orientation: self.orientation * inner.orientation,
        }
    }
}

/// A joint whose spring and damping are given by a time constant and a damping ratio.
pub(super) struct Spring {
    body: usize,
    /// Which of the joints of the body it is.
    place: usize,
    /// T, s.
    time: f64,
    /// ζ.
    ratio: f64,
}

impl Spring {
    /// Stiffness m/(T² ζ²) and damping 2 m/T, with the inertia m that the joint feels at rest (MuJoCo 4.0).
    pub fn set(&self, model: &mut Model, [stiff, damped]: [bool; 2]) {
        let Some(joint) = model.bodies[self.body].joints.clone().nth(self.place) else { return };
        let alone = only_slides(model, self.body);
        let inertia =
            if alone { model.bodies[self.body].mass } else { rest_inertia(model, &along_joint(model, joint)) };
        let joint = &mut model.joints[joint];
        if stiff {
            joint.stiffness = inertia / (self.time * self.ratio).powi(2);
        }
        if damped {
            joint.damping = 2.0 * inertia / self.time;
        }
    }
}

/// An element of a body with the frames around it resolved.
#[derive(Clone, Copy)]
struct Part<'e> {
    element: &'e Element,
    frame: Pose,
    child_class: &'e str,
}

impl Reader {
    /// Reads the world and everything in it: a body, then its children in order, so that parents stand first.
    pub fn read_world(&mut self, sections: &[&Element]) -> Result<()> {
        self.names.insert(("body", "world".into()), 0);
        let mut waiting = Vec::new();
        for section in sections {
            waiting.append(&mut self.read_contents(0, section, "main")?);
        }
        waiting.reverse();
        // A stack instead of recursion: long chains of bodies are common.
        let mut waiting: Vec<(Part, usize)> = waiting.into_iter().map(|part| (part, 0)).collect();
        while let Some((part, parent)) = waiting.pop() {
            let body = self.read_body(&part, parent)?;
            let child_class = part.element.attribute("childclass").unwrap_or(part.child_class);
            let children = self.read_contents(body, part.element, child_class)?;
            waiting.extend(children.into_iter().rev().map(|child| (child, body)));
        }
        Ok(())
    }

    /// What hangs from a mocap body by joints does not touch it, as a child does not touch its parent: unlike from another body that cannot move.
    pub fn part_from_mocap(&mut self, weld: &[usize]) {
        if self.builder.parent_contacts {
            return;
        }
        let bodies = &self.builder.model.bodies;
        // of what cannot move, the mocap body that carries it, or the world
        let mut carrier = vec![0; bodies.len()];
        for b in 1..bodies.len() {
            carrier[b] = if self.mocap.contains(&b) { b } else { carrier[bodies[b].parent] };
        }
        let mut apart = Vec::new();
        for fixed in (0..bodies.len()).filter(|&b| weld[b] == 0 && carrier[b] != 0) {
            for child in (0..bodies.len()).filter(|&b| weld[b] != 0) {
                let parent = bodies[weld[child]].parent;
                if weld[parent] == 0 && carrier[parent] == carrier[fixed] {
                    apart.push((fixed, child));
                }
            }
        }
        for (fixed, child) in apart {
            self.builder.exclude(fixed, child);
        }
    }

    fn read_body(&mut self, part: &Part, parent: usize) -> Result<usize> {
        let e = part.element;
        let pose = part.frame.then(&self.pose(e)?);
        let body = self.builder.add_body(e.name(), parent, pose.position.into());
        self.builder.body_mut(body).orientation = pose.orientation;
        self.register("body", body, e)?;
        if e.boolean("mocap")? == Some(true) {
            if parent != 0 {
                return Err(e.error("a mocap body is a child of the world; move it there"));
            }
            self.mocap.push(body);
            self.builder.body_mut(body).mocap = true;
            self.notes
                .add(e, "a mocap body stays where the file puts it until a keyframe or mocap_pose puts it elsewhere");
        }
        self.builder.body_mut(body).gravity_compensation = e.number("gravcomp")?.unwrap_or(0.0);
        Ok(body)
    }

    /// Reads what belongs to a body itself, and returns its child bodies.
    fn read_contents<'e>(&mut self, body: usize, e: &'e Element, child_class: &'e str) -> Result<Vec<Part<'e>>> {
        let mut own = Vec::new();
        self.resolve_frames(e, Pose::identity(), child_class, &mut own)?;
        let mut children = Vec::new();
        let mut inertial = None;
        let mut mass_parts = Vec::new();
        for part in own {
            match part.element.tag.as_str() {
                "body" => children.push(part),
                "joint" | "freejoint" if body == 0 => {
                    return Err(part.element.error("the world cannot have joints; put the joint into a body"));
                }
                "joint" | "freejoint" if self.mocap.contains(&body) => {
                    return Err(part.element.error("a mocap body has no joints; remove them, or `mocap`"));
                }
                "joint" => self.read_joint(body, &part)?,
                "freejoint" => self.read_free_joint(body, part.element)?,
                "geom" => {
                    let defined = self.defaults.complete(part.element, "geom", part.child_class)?;
                    mass_parts.extend(self.read_geom(body, &defined, &part.frame)?);
                }
                "site" => self.read_site(body, &part)?,
                "inertial" if body == 0 || inertial.is_some() => {
                    return Err(part.element.error("a body has at most one <inertial>, and the world has none"));
                }
                "inertial" => inertial = Some(part),
                other => return Err(part.element.error(format!("<{other}> cannot stand here"))),
            }
        }
        if body > 0 {
            self.set_inertia(body, e, inertial, &mass_parts)?;
        }
        Ok(children)
    }

    /// The elements of a body in order, with the frames that they stand in resolved.
    fn resolve_frames<'e>(
        &self,
        e: &'e Element,
        frame: Pose,
        child_class: &'e str,
        parts: &mut Vec<Part<'e>>,
    ) -> Result<()> {
        if e.attribute("childclass").is_some() {
            self.defaults.check(e, child_class)?;
        }
        for child in &e.children {
            if child.tag == "frame" {
                let inner = frame.then(&self.pose(child)?);
                let class = child.attribute("childclass").unwrap_or(child_class);
                self.resolve_frames(child, inner, class, parts)?;
            } else {
                parts.push(Part { element: child, frame, child_class });
            }
        }
        Ok(())
    }

    /// Position and orientation of an element in the frame around it.
    pub fn pose(&self, e: &Element) -> Result<Pose> {
        Ok(Pose {
            position: e.vector("pos")?.unwrap_or_default(),
            orientation: e.orientation(&self.compiler(e).angles)?.unwrap_or_default(),
        })
    }

    /// The pose and half the length of something that is given by its two end points; z points from the second to the first.
    pub fn ends(e: &Element) -> Result<Option<(Pose, f64)>> {
        let Some([a, b, c, d, f, g]) = e.numbers::<6>("fromto")? else { return Ok(None) };
        let (from, to) = (Vector3::new(a, b, c), Vector3::new(d, f, g));
        let length = (from - to).norm();
        if !(length > 1e-14 && length.is_finite()) {
            return Err(e.error("attribute \"fromto\": the two points are too close together or too far apart"));
        }
        let pose = Pose { position: (from + to) / 2.0, orientation: turn_z_to(&((from - to) / length)) };
        Ok(Some((pose, length / 2.0)))
    }

    fn read_joint(&mut self, body: usize, part: &Part) -> Result<()> {
        let e = &self.defaults.complete(part.element, "joint", part.child_class)?;
        let kind = match e.word("type", &["free", "ball", "slide", "hinge"])? {
            Some("free") => JointKind::Free,
            Some("ball") => JointKind::Ball,
            Some("slide") => JointKind::Slide,
            _ => JointKind::Hinge,
        };
        let angles = self.compiler(e).angles.clone();
        let turning = matches!(kind, JointKind::Hinge | JointKind::Ball);
        let coordinate = |x: f64| if turning { angles.radians(x) } else { x };
        let mut joint = Joint::new(body, kind);
        joint.name = e.name().into();
        if matches!(kind, JointKind::Hinge | JointKind::Slide) {
            let axis = e.direction("axis")?.unwrap_or_else(Vector3::z);
            joint.axis = (part.frame.orientation * axis).normalize();
            joint.reference = coordinate(e.number("ref")?.unwrap_or(0.0));
            joint.spring_reference = coordinate(e.number("springref")?.unwrap_or(0.0));
        }
        if kind != JointKind::Free {
            let anchor = Pose { position: e.vector("pos")?.unwrap_or_default(), ..Pose::identity() };
            joint.anchor = part.frame.then(&anchor).position;
        }
        if kind == JointKind::Free && e.switch("limited")? == Some(Switch::On) {
            self.notes.add(e, "a free joint has no limits, whatever \"limited\" says");
        }
        if kind != JointKind::Free {
            let range = e.limit("range", "limited", self.compiler(e).automatic_limits)?;
            joint.range = range.map(|range| range.map(coordinate));
        }
        let bounds = e.limit("actuatorfrcrange", "actuatorfrclimited", self.compiler(e).automatic_limits)?;
        // of others it does nothing in MuJoCo
        joint.actuator_force_range = bounds.filter(|_| matches!(kind, JointKind::Hinge | JointKind::Slide));
        joint.limit_softness = e.softness("solreflimit", "solimplimit")?;
        joint.friction_softness = e.softness("solreffriction", "solimpfriction")?;
        joint.limit_margin = e.magnitude("margin")?.unwrap_or(0.0);
        joint.stiffness = e.magnitude("stiffness")?.unwrap_or(0.0);
        joint.damping = e.magnitude("damping")?.unwrap_or(0.0);
        joint.armature = e.magnitude("armature")?.unwrap_or(0.0);
        joint.friction_loss = e.magnitude("frictionloss")?.unwrap_or(0.0);
        if e.boolean("actuatorgravcomp")? == Some(true) {
            self.lifted.push((e.clone(), joint.actuator_force_range.is_some()));
        }
        let index = self.builder.add_joint(joint);
        if let Some([time, ratio]) = e.numbers::<2>("springdamper")?.filter(|values| values.iter().all(|x| *x > 0.0)) {
            if matches!(kind, JointKind::Hinge | JointKind::Slide) {
                // joints of a body keep their order, whatever comes between them
                let place = self.builder.model.joints[..index].iter().filter(|other| other.body == body).count();
                self.springs.push(Spring { body, place, time, ratio });
            } else {
                self.notes.refuse(e, "\"springdamper\" is for hinges and slides; give stiffness and damping")?;
            }
        }
        self.register("joint", index, e)
    }

    /// Gravity compensation that counts as a force of actuators is the same force, but where those are bounded, or there are none.
    pub fn check_lifted(&mut self) -> Result<()> {
        let model = &self.builder.model;
        let compensated = model.bodies.iter().any(|body| body.gravity_compensation != 0.0);
        let acts = !model.actuators.is_empty() && self.flags.actuates();
        for (e, bounded) in self.lifted.iter().filter(|_| compensated) {
            if *bounded || !acts {
                let advice = "actuatorgravcomp is not supported with actuatorfrcrange, and where nothing actuates: gravity compensation is no force of actuators here";
                self.notes.refuse(e, advice)?;
            }
        }
        Ok(())
    }

    /// `<freejoint>` takes nothing from the defaults of joints.
    fn read_free_joint(&mut self, body: usize, e: &Element) -> Result<()> {
        if e.switch("align")? == Some(Switch::On) {
            self.notes.refuse(e, "align=\"true\" changes the meaning of positions and is not supported; remove it")?;
        }
        let index = self.builder.add_joint(Joint { name: e.name().into(), ..Joint::new(body, JointKind::Free) });
        self.register("joint", index, e)
    }

    fn read_site(&mut self, body: usize, part: &Part) -> Result<()> {
        let e = &self.defaults.complete(part.element, "site", part.child_class)?;
        let kind = e.word("type", &["sphere", "capsule", "ellipsoid", "cylinder", "box"])?;
        // MJCF's default of every size of a site, m
        let (shape, own) = self.primitive(e, kind.unwrap_or("sphere"), 0.005)?;
        let Pose { position, orientation } = part.frame.then(&own);
        let index = self.builder.add_site(Site { name: e.name().into(), body, position, orientation, shape });
        self.register("site", index, e)
    }

    /// Mass, centre of mass and inertia of a body, from `<inertial>` or from its geoms.
    fn set_inertia(&mut self, body: usize, e: &Element, inertial: Option<Part>, parts: &[MassPart]) -> Result<()> {
        let from_geoms = match self.compiler(e).inertia_from_geoms {
            Switch::On => !parts.is_empty(),
            Switch::Off => false,
            Switch::Auto => inertial.is_none(),
        };
        let (mass, com, inertia) = match inertial {
            Some(inertial) if !from_geoms => self.read_inertial(&inertial)?,
            _ if from_geoms => combine_inertia(parts),
            _ => (0.0, Vector3::zeros(), Matrix3::zeros()),
        };
        let mass = mass.max(self.compiler(e).least_mass);
        let inertia =
            self.bounded(e, inertia).ok_or_else(|| e.error("its inertia has no principal axes; correct it"))?;
        self.builder.set_inertia(body, mass, com.into(), inertia);
        Ok(())
    }

    fn read_inertial(&self, part: &Part) -> Result<(f64, Vector3<f64>, Matrix3<f64>)> {
        let e = part.element;
        let mass = e.magnitude("mass")?.ok_or_else(|| e.error("needs the attribute \"mass\""))?;
        let com = e.vector("pos")?.ok_or_else(|| e.error("needs the attribute \"pos\", the centre of mass"))?;
        let turned = e.orientation(&self.compiler(e).angles)?;
        let inertia = match (e.vector("diaginertia")?, e.numbers::<6>("fullinertia")?) {
            (Some(_), Some(_)) => return Err(e.error("give diaginertia or fullinertia, not both")),
            (_, Some(_)) if turned.is_some() => {
                return Err(e.error("fullinertia is given in the axes of the frame around it; remove the orientation"));
            }
            (_, Some([xx, yy, zz, xy, xz, yz])) => Matrix3::new(xx, xy, xz, xy, yy, yz, xz, yz, zz),
            (Some(moments), None) => {
                let rotation = turned.unwrap_or_default().to_rotation_matrix();
                let inertia = rotation.matrix() * Matrix3::from_diagonal(&moments) * rotation.matrix().transpose();
                (inertia + inertia.transpose()) / 2.0
            }
            (None, None) => Matrix3::zeros(),
        };
        let turn = part.frame.orientation.to_rotation_matrix();
        let inertia = turn.matrix() * inertia * turn.matrix().transpose();
        Ok((mass, part.frame.position + turn * com, (inertia + inertia.transpose()) / 2.0))
    }

    /// Principal moments raised to the bound and balanced, if the compiler settings ask for it.
    fn bounded(&self, e: &Element, inertia: Matrix3<f64>) -> Option<Matrix3<f64>> {
        let (least, balance) = (self.compiler(e).least_inertia, self.compiler(e).balance_inertia);
        if (least == 0.0 && !balance) || !inertia.iter().all(|x| x.is_finite()) {
            return Some(inertia);
        }
        let SymmetricEigen { eigenvectors, eigenvalues } = SymmetricEigen::try_new(inertia, 1e-15, 1000)?;
        let mut moments = eigenvalues.map(|moment| moment.max(least));
        if balance && 2.0 * moments.max() > moments.sum() {
            moments.fill(moments.sum() / 3.0);
        }
        if moments == eigenvalues {
            return Some(inertia);
        }
        let bounded = eigenvectors * Matrix3::from_diagonal(&moments) * eigenvectors.transpose();
        Some((bounded + bounded.transpose()) / 2.0)
    }
}
