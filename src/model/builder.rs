//! Making a [`Model`] part by part, with all checks at the end.

use super::{
    Activation, Actuator, Body, CollisionPair, ContactSoftness, Dof, Equality, EqualityKind, Geom, ImplicitDamping,
    Integrator, Joint, JointKind, Keyframe, Medium, Model, Muscle, Note, Sensor, Shape, Site, Softness, Tendon,
    Transmission, Tree, check, pairs,
};
use crate::error::{Error, Result};
use nalgebra::{Matrix3, UnitQuaternion, Vector3};

/// Makes a [`Model`]: add bodies (parents first), their joints and shapes, then [`ModelBuilder::build`].
///
/// The world is body 0 and is there from the start. Parts are plain data with defaults; nothing is checked before `build`.
///
/// ```
/// use delassus::model::{Geom, Joint, JointKind, ModelBuilder, Shape};
/// # fn main() -> delassus::Result<()> {
/// let mut builder = ModelBuilder::new("drop");
/// builder.add_geom(Geom::new(0, Shape::Plane));
/// let ball = builder.add_body("ball", 0, [0.0, 0.0, 1.0]);
/// builder.add_joint(Joint::new(ball, JointKind::Free));
/// builder.add_geom(Geom::new(ball, Shape::Sphere { radius: 0.1 }));
/// builder.set_inertia_from_geoms(ball, 1000.0)?;
/// let model = builder.build()?;
/// assert_eq!((model.nq(), model.nv()), (7, 6));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct ModelBuilder {
    /// The parts so far. Derived fields (`dofs`, `trees`, `pairs`, `q0`, ranges) are filled by `build`.
    pub(crate) model: Model,
    /// Pairs given by hand, in addition to those that the contact bits allow.
    pub(crate) explicit_pairs: Vec<CollisionPair>,
    /// Body pairs that never touch.
    pub(crate) excluded: Vec<(usize, usize)>,
    /// Whether a body and its parent may touch.
    pub(crate) parent_contacts: bool,
}

impl Joint {
    /// A joint of `body` at its origin about (along) its z axis, without limits, springs, damping or friction.
    pub fn new(body: usize, kind: JointKind) -> Self {
        Self {
            name: String::new(),
            kind,
            body,
            anchor: Vector3::zeros(),
            axis: Vector3::z(),
            q_start: 0,
            v_start: 0,
            range: None,
            limit_margin: 0.0,
            stiffness: 0.0,
            spring_reference: 0.0,
            reference: 0.0,
            damping: 0.0,
            armature: 0.0,
            friction_loss: 0.0,
            actuator_force_range: None,
            limit_softness: Softness::default(),
            friction_softness: Softness::default(),
        }
    }
}

impl Geom {
    /// A shape at the origin of `body` with friction 1 that may touch every other.
    pub fn new(body: usize, shape: Shape) -> Self {
        Self {
            name: String::new(),
            body,
            shape,
            position: Vector3::zeros(),
            orientation: UnitQuaternion::identity(),
            friction: [1.0, 0.005, 0.0001],
            condim: 3,
            ellipsoid: None,
            contype: 1,
            conaffinity: 1,
            margin: 0.0,
            gap: 0.0,
            is_seen: true,
            plane_half: [f64::INFINITY; 2],
            fluid: None,
            priority: 0,
            group: 0,
            restitution: None,
            softness: Softness::default(),
            softness_weight: 1.0,
        }
    }
}

impl ModelBuilder {
    /// A model with nothing but the world, gravity 9.81 m/s² downwards, Δt = 0.002 s.
    pub fn new(name: impl Into<String>) -> Self {
        let world = Body {
            name: "world".into(),
            parent: 0,
            position: Vector3::zeros(),
            orientation: UnitQuaternion::identity(),
            mass: 0.0,
            com: Vector3::zeros(),
            inertia: Matrix3::zeros(),
            joints: 0..0,
            dofs: 0..0,
            tree: None,
            mocap: false,
            gravity_compensation: 0.0,
        };
        Self {
            model: Model {
                name: name.into(),
                timestep: 0.002,
                integrator: Integrator::default(),
                implicit_damping: ImplicitDamping::default(),
                contact_softness: ContactSoftness::default(),
                gravity: Vector3::new(0.0, 0.0, -9.81),
                medium: Medium::default(),
                bodies: vec![world],
                joints: Vec::new(),
                dofs: Vec::new(),
                trees: Vec::new(),
                geoms: Vec::new(),
                sites: Vec::new(),
                tendons: Vec::new(),
                actuators: Vec::new(),
                activations: Vec::new(),
                muscles: Vec::new(),
                equalities: Vec::new(),
                pairs: Vec::new(),
                keyframes: Vec::new(),
                sensors: Vec::new(),
                q0: Vec::new(),
                notes: Vec::new(),
            },
            explicit_pairs: Vec::new(),
            excluded: Vec::new(),
            parent_contacts: false,
        }
    }
    /// Sets the default step, s.
    pub fn timestep(&mut self, dt: f64) -> &mut Self {
        self.model.timestep = dt;
        self
    }
    /// Sets the medium that bodies move through.
    pub fn medium(&mut self, medium: Medium) -> &mut Self {
        self.model.medium = medium;
        self
    }
    /// Sets gravity, m/s², world axes.
    pub fn gravity(&mut self, gravity: [f64; 3]) -> &mut Self {
        self.model.gravity = gravity.into();
        self
    }
    /// Adds a body without mass at `position` (m, parent frame) and returns its index.
    pub fn add_body(&mut self, name: impl Into<String>, parent: usize, position: [f64; 3]) -> usize {
        self.model.bodies.push(Body {
            name: name.into(),
            parent,
            position: position.into(),
            ..self.model.bodies[0].clone()
        });
        self.model.bodies.len() - 1
    }
    /// The body with index `body`, to be changed.
    ///
    /// # Panics
    /// If there is no such body.
    pub fn body_mut(&mut self, body: usize) -> &mut Body {
        &mut self.model.bodies[body]
    }
    /// Sets mass (kg), centre of mass (m, body frame) and inertia about it (kg·m², body axes).
    ///
    /// # Panics
    /// If there is no such body.
    pub fn set_inertia(&mut self, body: usize, mass: f64, com: [f64; 3], inertia: Matrix3<f64>) -> &mut Self {
        let b = &mut self.model.bodies[body];
        (b.mass, b.com, b.inertia) = (mass, com.into(), inertia);
        self
    }
    /// Sets mass, centre of mass and inertia of `body` from its shapes, all of `density` kg/m³.
    ///
    /// # Errors
    /// If a shape of the body has no volume (a plane, a height field).
    pub fn set_inertia_from_geoms(&mut self, body: usize, density: f64) -> Result<&mut Self> {
        let parts: Vec<_> = (self.model.geoms.iter().filter(|g| g.body == body))
            .map(|g| {
                let (volume, com, inertia) = solid_inertia(&g.shape).ok_or_else(|| {
                    Error::model(
                        format!("body {body}"),
                        "a plane or a height field has no mass; give the body's inertia",
                    )
                })?;
                Ok((volume * density, com, inertia * density, g.position, g.orientation))
            })
            .collect::<Result<_>>()?;
        let (mass, com, inertia) = combine_inertia(&parts);
        Ok(self.set_inertia(body, mass, com.into(), inertia))
    }
    /// Adds a joint and returns its index. Joints of one body act in the order in which they are added.
    pub fn add_joint(&mut self, joint: Joint) -> usize {
        self.model.joints.push(joint);
        self.model.joints.len() - 1
    }
    /// Adds a shape and returns its index.
    pub fn add_geom(&mut self, geom: Geom) -> usize {
        self.model.geoms.push(geom);
        self.model.geoms.len() - 1
    }
    /// Adds a named frame and returns its index.
    pub fn add_site(&mut self, site: Site) -> usize {
        self.model.sites.push(site);
        self.model.sites.len() - 1
    }
    /// Adds a tendon and returns its index.
    pub fn add_tendon(&mut self, tendon: Tendon) -> usize {
        self.model.tendons.push(tendon);
        self.model.tendons.len() - 1
    }
    /// Adds an actuator and returns its index.
    pub fn add_actuator(&mut self, actuator: Actuator) -> usize {
        self.model.actuators.push(actuator);
        self.model.actuators.len() - 1
    }
    /// Gives an actuator a state of its own, after those of the actuators before it.
    pub fn add_activation(&mut self, activation: Activation) -> &mut Self {
        self.model.activations.push(activation);
        self
    }
    /// Makes an actuator a muscle.
    pub fn add_muscle(&mut self, muscle: Muscle) -> &mut Self {
        self.model.muscles.push(muscle);
        self
    }
    /// Adds an equality constraint and returns its index.
    pub fn add_equality(&mut self, equality: Equality) -> usize {
        self.model.equalities.push(equality);
        self.model.equalities.len() - 1
    }
    /// Adds a pair of geoms that is tested for contact whatever the contact bits say.
    pub fn add_pair(&mut self, pair: CollisionPair) -> &mut Self {
        self.explicit_pairs.push(pair);
        self
    }
    /// Two bodies whose shapes never touch.
    pub fn exclude(&mut self, body_a: usize, body_b: usize) -> &mut Self {
        self.excluded.push((body_a, body_b));
        self
    }
    /// Whether a body may touch its parent (no by default).
    pub fn parent_contacts(&mut self, allowed: bool) -> &mut Self {
        self.parent_contacts = allowed;
        self
    }
    /// Adds a named state.
    pub fn add_keyframe(&mut self, keyframe: Keyframe) -> &mut Self {
        self.model.keyframes.push(keyframe);
        self
    }
    /// Records a sensor.
    pub fn add_sensor(&mut self, sensor: Sensor) -> &mut Self {
        self.model.sensors.push(sensor);
        self
    }
    /// Records something that the source of the model says and that is not done, or done in another way.
    pub fn note(&mut self, note: Note) -> &mut Self {
        self.model.notes.push(note);
        self
    }

    /// Checks everything and fills what follows from it: degrees of freedom, trees, collision pairs, rest position.
    ///
    /// # Errors
    /// [`Error::Model`] that names the part, what is wrong and what to do.
    pub fn build(mut self) -> Result<Model> {
        check::parts(&self.model)?;
        self.sort_joints()?;
        self.model.derive();
        check::moving_parts(&self.model)?;
        pairs::fill(&mut self)?;
        check::pairs(&self.model)?;
        check::states(&self.model)?;
        Ok(self.model)
    }

    /// Puts the joints in the order of their bodies (stable) and keeps actuators, tendons and equalities pointing at them.
    fn sort_joints(&mut self) -> Result<()> {
        let m = &mut self.model;
        let mut order: Vec<usize> = (0..m.joints.len()).collect();
        order.sort_by_key(|&j| m.joints[j].body);
        let mut place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = new;
        }
        m.joints = order.iter().map(|&j| m.joints[j].clone()).collect();
        for actuator in &mut m.actuators {
            if let Transmission::Joint(joint) = &mut actuator.transmission {
                *joint = *place.get(*joint).ok_or_else(|| {
                    Error::model(format!("actuator \"{}\"", actuator.name), "acts on a joint that does not exist")
                })?;
            }
        }
        for tendon in &mut m.tendons {
            for (joint, _) in &mut tendon.joints {
                *joint = *place.get(*joint).ok_or_else(|| {
                    Error::model(format!("tendon \"{}\"", tendon.name), "has a joint that does not exist")
                })?;
            }
        }
        for equality in &mut m.equalities {
            if let EqualityKind::Joint { joint_a, joint_b, .. } = &mut equality.kind {
                for joint in [Some(joint_a), joint_b.as_mut()].into_iter().flatten() {
                    *joint = *place.get(*joint).ok_or_else(|| {
                        Error::model(format!("equality \"{}\"", equality.name), "couples a joint that does not exist")
                    })?;
                }
            }
        }
        Ok(())
    }
}

impl Model {
    /// Fills what follows from bodies and joints: degrees of freedom, trees, ranges of bodies, rest position. Joints stand in the order of
    /// their bodies.
    pub(super) fn derive(&mut self) {
        for body in &mut self.bodies {
            (body.joints, body.dofs, body.tree) = (0..0, 0..0, None);
        }
        self.dofs.clear();
        self.trees.clear();
        self.q0.clear();
        self.number_coordinates();
        self.find_trees();
    }

    /// Numbers q and v, fills `q0`, the joint and dof ranges of bodies, and the dofs with their ancestors.
    fn number_coordinates(&mut self) {
        let m = self;
        let (mut nq, mut nv) = (0, 0);
        for (j, joint) in m.joints.iter_mut().enumerate() {
            (joint.q_start, joint.v_start) = (nq, nv);
            nq += joint.kind.nq();
            nv += joint.kind.nv();
            let body = &mut m.bodies[joint.body];
            if body.joints.is_empty() {
                (body.joints, body.dofs) = (j..j, joint.v_start..joint.v_start);
            }
            (body.joints.end, body.dofs.end) = (j + 1, nv);
            let quaternion = |q: &UnitQuaternion<f64>| [q.w, q.i, q.j, q.k];
            match joint.kind {
                JointKind::Free => {
                    m.q0.extend(body.position.iter());
                    m.q0.extend(quaternion(&body.orientation));
                }
                JointKind::Ball => m.q0.extend([1.0, 0.0, 0.0, 0.0]),
                JointKind::Hinge | JointKind::Slide => m.q0.push(joint.reference),
            }
        }
        let mut row_start = 0;
        for j in 0..m.joints.len() {
            let (body, v_start) = (m.joints[j].body, m.joints[j].v_start);
            for d in v_start..v_start + m.joints[j].kind.nv() {
                let parent =
                    if d > m.bodies[body].dofs.start { Some(d - 1) } else { m.last_dof(m.bodies[body].parent) };
                let mut ancestors = vec![d];
                ancestors.extend(parent.iter().flat_map(|&p| m.dofs[p].ancestors.iter().copied()));
                let next = row_start + ancestors.len();
                for (column, &a) in ancestors.iter().enumerate().skip(1) {
                    m.dofs[a].descendants.insert(0, (d, row_start + column));
                }
                m.dofs.push(Dof { joint: j, body, tree: 0, parent, row_start, ancestors, descendants: Vec::new() });
                row_start = next;
            }
        }
    }

    /// A tree starts at every body with joints that hangs from something that cannot move.
    fn find_trees(&mut self) {
        let m = self;
        for b in 1..m.bodies.len() {
            let inherited = m.bodies[m.bodies[b].parent].tree;
            let dofs = m.bodies[b].dofs.clone();
            m.bodies[b].tree = match inherited {
                Some(tree) => Some(tree),
                None if dofs.is_empty() => None,
                None => {
                    let is_free = m.joints[m.bodies[b].joints.start].kind == JointKind::Free;
                    m.trees.push(Tree { root: b, is_free, dofs: dofs.clone() });
                    Some(m.trees.len() - 1)
                }
            };
            if let Some(tree) = m.bodies[b].tree {
                for d in dofs {
                    m.dofs[d].tree = tree;
                    m.trees[tree].dofs.end = m.trees[tree].dofs.end.max(d + 1);
                    m.trees[tree].dofs.start = m.trees[tree].dofs.start.min(d);
                }
            }
        }
    }
}

/// Volume (m³), centroid (m) and inertia about the centroid for unit density (m⁵) of a solid shape, in the geom's frame; none for a plane or a height field.
pub fn solid_inertia(shape: &Shape) -> Option<(f64, Vector3<f64>, Matrix3<f64>)> {
    use std::f64::consts::PI;
    let diagonal = |x: f64, y: f64, z: f64| Matrix3::from_diagonal(&Vector3::new(x, y, z));
    let centred = |volume: f64, inertia| Some((volume, Vector3::zeros(), inertia));
    match shape {
        Shape::Plane | Shape::HeightField(_) => None,
        Shape::Sphere { radius } => {
            let volume = 4.0 / 3.0 * PI * radius.powi(3);
            let i = 0.4 * volume * radius * radius;
            centred(volume, diagonal(i, i, i))
        }
        Shape::Capsule { radius, half_length } => {
            // A cylinder and two half balls, whose centroids lie 3 r / 8 beyond the centres of the caps.
            let (r, h) = (*radius, *half_length);
            let cylinder = PI * r * r * 2.0 * h;
            let ball = 4.0 / 3.0 * PI * r.powi(3);
            let across = cylinder * (r * r / 4.0 + h * h / 3.0) + ball * (0.4 * r * r + h * h + 0.75 * h * r);
            let along = cylinder * r * r / 2.0 + ball * 0.4 * r * r;
            centred(cylinder + ball, diagonal(across, across, along))
        }
        Shape::Ellipsoid { radii } => {
            let volume = 4.0 / 3.0 * PI * radii.x * radii.y * radii.z;
            let s = radii.component_mul(radii) * (volume / 5.0);
            centred(volume, diagonal(s.y + s.z, s.x + s.z, s.x + s.y))
        }
        Shape::Cylinder { radius, half_length } => {
            let (r, h) = (*radius, *half_length);
            let volume = PI * r * r * 2.0 * h;
            let across = volume * (r * r / 4.0 + h * h / 3.0);
            centred(volume, diagonal(across, across, volume * r * r / 2.0))
        }
        Shape::Box { half } => {
            let volume = 8.0 * half.x * half.y * half.z;
            let s = half.component_mul(half) * (volume / 3.0);
            centred(volume, diagonal(s.y + s.z, s.x + s.z, s.x + s.y))
        }
        Shape::Hull(hull) => {
            // Sum over tetrahedra from the origin to each triangle: ∫ x xᵀ dV = det/120 (Σᵢ aᵢ aᵢᵀ + (Σᵢ aᵢ)(Σᵢ aᵢ)ᵀ).
            let (mut volume, mut moment, mut second) = (0.0, Vector3::zeros(), Matrix3::zeros());
            for t in &hull.triangles {
                let [a, b, c] = t.map(|i| hull.vertices[i]);
                let det = a.dot(&b.cross(&c));
                let sum = a + b + c;
                volume += det / 6.0;
                moment += sum * (det / 24.0);
                second +=
                    (a * a.transpose() + b * b.transpose() + c * c.transpose() + sum * sum.transpose()) * (det / 120.0);
            }
            let com = moment / volume;
            let about_com = second - com * com.transpose() * volume;
            let inertia = Matrix3::identity() * about_com.trace() - about_com;
            Some((volume, com, inertia))
        }
    }
}

/// A part of a body: mass, centroid and inertia about the centroid in a frame of its own, and that frame's position and orientation.
pub(crate) type MassPart = (f64, Vector3<f64>, Matrix3<f64>, Vector3<f64>, UnitQuaternion<f64>);

/// Mass, centre of mass and inertia about it of parts.
pub(crate) fn combine_inertia(parts: &[MassPart]) -> (f64, Vector3<f64>, Matrix3<f64>) {
    let mass: f64 = parts.iter().map(|p| p.0).sum();
    if mass <= 0.0 {
        return (0.0, Vector3::zeros(), Matrix3::zeros());
    }
    let place = |p: &MassPart| p.3 + p.4 * p.1;
    let com = parts.iter().map(|p| place(p) * p.0).sum::<Vector3<f64>>() / mass;
    let mut inertia = Matrix3::zeros();
    for part in parts {
        // Steiner: I = R I_c Rᵀ + m (d·d 1 − d dᵀ)
        let rotation = part.4.to_rotation_matrix();
        let d = place(part) - com;
        inertia += rotation.matrix() * part.2 * rotation.matrix().transpose()
            + (Matrix3::identity() * d.dot(&d) - d * d.transpose()) * part.0;
    }
    (mass, com, inertia)
}
