//! A number that tells models apart by what enters their motion.

use super::{
    ActivationLaw, CollisionPair, ContactSoftness, EqualityKind, ImplicitDamping, Integrator, JointKind, Model,
    PairFriction, Shape, Softness, Transmission, Waypoint,
};
use nalgebra::{UnitQuaternion, Vector3};

/// A part of a model that has a fingerprint of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelPart {
    /// Time step, gravity, medium, integrator and what contacts have in common.
    Options,
    /// Bodies: parents, poses, masses, inertias.
    Bodies,
    /// Joints and tendons, and the rest position.
    Joints,
    /// Geoms and the pairs of them that may touch.
    Geoms,
    /// Actuators.
    Actuators,
    /// Equality constraints.
    Equalities,
}

impl ModelPart {
    /// All parts, in the order in which [`Model::fingerprint`] takes them.
    pub const ALL: [Self; 6] =
        [Self::Options, Self::Bodies, Self::Joints, Self::Geoms, Self::Actuators, Self::Equalities];

    /// What people call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Options => "time step, gravity, medium, integrator or cone",
            Self::Bodies => "bodies",
            Self::Joints => "joints",
            Self::Geoms => "geoms",
            Self::Actuators => "actuators",
            Self::Equalities => "equality constraints",
        }
    }
}

/// The hash FNV-1a of 64 bits (Fowler, Noll, Vo), over words of eight bytes, lowest byte first.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
    fn word(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    fn index(&mut self, index: usize) {
        self.word(index as u64);
    }
    fn indices(&mut self, indices: &[usize]) {
        for &index in indices {
            self.index(index);
        }
    }
    /// Both zeros are the same number.
    fn number(&mut self, x: f64) {
        self.word((x + 0.0).to_bits());
    }
    fn numbers<'a>(&mut self, numbers: impl IntoIterator<Item = &'a f64>) {
        numbers.into_iter().for_each(|x| self.number(*x));
    }
    /// How many there are, then each.
    fn list(&mut self, numbers: &[f64]) {
        self.index(numbers.len());
        self.numbers(numbers);
    }
    /// Nothing and zero are told apart.
    fn optional(&mut self, numbers: Option<&[f64]>) {
        self.word(u64::from(numbers.is_some()));
        self.numbers(numbers.unwrap_or_default());
    }
    /// What has MJCF's default has the number that it always had.
    fn softness(&mut self, softness: &Softness) {
        if *softness != Softness::default() {
            self.numbers(softness.reference.iter().chain(&softness.impedance));
        }
    }
    fn pose(&mut self, position: &Vector3<f64>, orientation: &UnitQuaternion<f64>) {
        self.numbers(position.iter());
        self.numbers(orientation.coords.iter());
    }
    fn shape(&mut self, shape: &Shape) {
        // height fields came later: what has none keeps its number
        self.index(match shape {
            Shape::HeightField(_) => 7,
            _ => shape.rank().saturating_sub(1),
        });
        match shape {
            Shape::Plane => {}
            Shape::HeightField(field) => {
                self.index(field.rows);
                self.index(field.columns);
                self.numbers(field.half.iter());
                self.numbers(field.heights.iter());
                self.number(field.base);
            }
            Shape::Sphere { radius } => self.number(*radius),
            Shape::Capsule { radius, half_length } | Shape::Cylinder { radius, half_length } => {
                self.numbers([radius, half_length]);
            }
            Shape::Ellipsoid { radii: v } | Shape::Box { half: v } => self.numbers(v.iter()),
            Shape::Hull(hull) => {
                self.index(hull.vertices.len());
                hull.vertices.iter().for_each(|v| self.numbers(v.iter()));
                self.index(hull.triangles.len());
                self.indices(hull.triangles.as_flattened());
            }
        }
    }
    fn waypoint(&mut self, model: &Model, part: &Waypoint) {
        let through = |site: usize| (model.sites[site].body, &model.sites[site].position);
        match *part {
            Waypoint::Site(site) => {
                let (body, position) = through(site);
                self.index(body);
                self.numbers(position.iter());
            }
            Waypoint::Around { geom, side } => {
                let geom = &model.geoms[geom];
                // whatever else it is, it is part of the path
                self.indices(&[usize::MAX / 3, geom.body]);
                self.shape(&geom.shape);
                self.pose(&geom.position, &geom.orientation);
                if let Some((body, position)) = side.map(through) {
                    self.index(body);
                    self.numbers(position.iter());
                }
            }
            Waypoint::Pulley(divisor) => self.number(divisor),
        }
    }
    fn pair(&mut self, pair: &CollisionPair) {
        self.index(pair.geom_a);
        self.index(pair.geom_b);
        let (kind, friction) = match pair.friction {
            PairFriction::Larger => (0, 0.0),
            PairFriction::First => (1, 0.0),
            PairFriction::Second => (2, 0.0),
            PairFriction::Fixed(friction) => (3, friction),
        };
        self.index(kind);
        self.number(friction);
        self.index(pair.condim);
        // what gives none of them has the number that it always had
        let [ellipsoid, rolling] = [pair.ellipsoid.as_ref().map(|e| &e[..]), pair.rolling.as_ref().map(|r| &r[..])];
        for numbers in [ellipsoid, pair.torsion.as_ref().map(std::slice::from_ref), rolling] {
            if numbers.is_some() {
                self.optional(numbers);
            }
        }
        self.number(pair.margin);
        self.optional(pair.restitution.as_ref().map(std::slice::from_ref));
        self.softness(&pair.softness);
    }
}

impl Model {
    /// A number that two models share if the same state and inputs make them move alike: a 64-bit FNV-1a hash over the bits of every number and
    /// index that enters the motion, part by part ([`ModelPart::ALL`]). Names, notes, sensors, sites, keyframes, and what only decides which pairs there
    /// are, do not enter. The same file gives the same number wherever the system computes sines and roots to the same bits.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Hash::new();
        for part in ModelPart::ALL {
            hash.word(self.fingerprint_of(part));
        }
        hash.0
    }

    /// The same of one part, to say where two models differ.
    pub fn fingerprint_of(&self, part: ModelPart) -> u64 {
        let mut hash = Hash::new();
        match part {
            ModelPart::Options => {
                hash.number(self.timestep);
                hash.numbers(self.gravity.iter());
                hash.numbers([&self.medium.density, &self.medium.viscosity]);
                hash.numbers(self.medium.wind.iter());
                hash.index(match self.integrator {
                    Integrator::Euler => 0,
                    Integrator::Rk4 => 1,
                });
                match self.implicit_damping {
                    ImplicitDamping::JointsAndServos => {}
                    ImplicitDamping::Joints => hash.word(2),
                    ImplicitDamping::None => hash.word(3),
                }
                let ContactSoftness { pyramidal, ratio } = self.contact_softness;
                if self.contact_softness != ContactSoftness::default() {
                    hash.word(u64::from(pyramidal));
                    hash.number(ratio);
                }
            }
            ModelPart::Bodies => self.bodies.iter().for_each(|b| {
                hash.index(b.parent);
                hash.pose(&b.position, &b.orientation);
                hash.number(b.mass);
                hash.numbers(b.com.iter());
                hash.numbers(b.inertia.iter());
                if b.mocap {
                    hash.word(1);
                }
                if b.gravity_compensation != 0.0 {
                    hash.number(b.gravity_compensation);
                }
            }),
            ModelPart::Joints => {
                for j in &self.joints {
                    hash.index(match j.kind {
                        JointKind::Free => 0,
                        JointKind::Ball => 1,
                        JointKind::Hinge => 2,
                        JointKind::Slide => 3,
                    });
                    hash.index(j.body);
                    hash.numbers(j.anchor.iter());
                    hash.numbers(j.axis.iter());
                    hash.optional(j.range.as_ref().map(|r| &r[..]));
                    hash.numbers([&j.limit_margin, &j.stiffness, &j.spring_reference, &j.reference]);
                    hash.numbers([&j.damping, &j.armature, &j.friction_loss]);
                    hash.optional(j.actuator_force_range.as_ref().map(|r| &r[..]));
                    hash.softness(&j.limit_softness);
                    hash.softness(&j.friction_softness);
                }
                hash.list(&self.q0);
                for t in &self.tendons {
                    hash.index(t.joints.len());
                    for (joint, c) in &t.joints {
                        hash.index(*joint);
                        hash.number(*c);
                    }
                    t.path.iter().for_each(|part| hash.waypoint(self, part));
                    hash.optional(t.range.as_ref().map(|r| &r[..]));
                    hash.numbers([&t.limit_margin, &t.stiffness, &t.damping, &t.friction_loss]);
                    hash.numbers(&t.slack);
                    hash.softness(&t.limit_softness);
                    hash.softness(&t.friction_softness);
                }
            }
            ModelPart::Geoms => {
                for g in &self.geoms {
                    hash.index(g.body);
                    hash.shape(&g.shape);
                    hash.pose(&g.position, &g.orientation);
                    hash.number(g.friction[0]);
                    // what has none has the number that it always had
                    if let Some(fluid) = &g.fluid {
                        hash.numbers(fluid);
                    }
                }
                hash.index(self.pairs.len());
                self.pairs.iter().for_each(|pair| hash.pair(pair));
            }
            ModelPart::Actuators => {
                self.actuators.iter().for_each(|a| {
                    match a.transmission {
                        Transmission::Joint(joint) => hash.index(joint),
                        Transmission::Tendon(tendon) => hash.word(u64::MAX - tendon as u64),
                        Transmission::Site(site) => {
                            let site = &self.sites[site];
                            hash.indices(&[usize::MAX / 2, site.body]);
                            hash.pose(&site.position, &site.orientation);
                        }
                        Transmission::Body(body) => {
                            hash.indices(&[usize::MAX / 8, body]);
                            self.pairs.iter().for_each(|pair| hash.number(pair.gap));
                        }
                        Transmission::SiteFrom { site, reference } => {
                            for site in [site, reference] {
                                let site = &self.sites[site];
                                hash.indices(&[usize::MAX / 4, site.body]);
                                hash.pose(&site.position, &site.orientation);
                            }
                        }
                    }
                    hash.numbers(&a.gear);
                    hash.optional(a.control_range.as_ref().map(|r| &r[..]));
                    hash.optional(a.force_range.as_ref().map(|r| &r[..]));
                    hash.numbers(a.gain.iter().chain(&a.bias));
                });
                for a in &self.activations {
                    hash.index(a.actuator);
                    match a.law {
                        ActivationLaw::Integrator => hash.index(0),
                        ActivationLaw::Filter(time) => hash.numbers(&[1.0, time]),
                        ActivationLaw::FilterExact(time) => hash.numbers(&[2.0, time]),
                        ActivationLaw::Muscle(of) => hash.numbers(&[3.0, of.rise, of.fall, of.blend]),
                    }
                    hash.optional(a.range.as_ref().map(|r| &r[..]));
                    hash.word(u64::from(a.early));
                }
                for m in &self.muscles {
                    hash.index(m.actuator);
                    hash.numbers(m.length_range.iter().chain(&m.range).chain(&m.reach));
                    hash.numbers(&[m.force, m.fastest, m.passive, m.stretched]);
                }
            }
            ModelPart::Equalities => {
                for e in &self.equalities {
                    hash.word(u64::from(e.active));
                    hash.softness(&e.softness);
                    match &e.kind {
                        EqualityKind::Connect { body_a, body_b, anchor, anchor_b } => {
                            hash.indices(&[0, *body_a, *body_b]);
                            hash.numbers(anchor.iter().chain(anchor_b.iter().flatten()));
                        }
                        EqualityKind::Weld { body_a, body_b, anchor, relative } => {
                            hash.indices(&[1, *body_a, *body_b]);
                            hash.numbers(anchor.iter());
                            hash.word(u64::from(relative.is_some()));
                            if let Some((position, orientation)) = relative {
                                hash.pose(position, orientation);
                            }
                        }
                        EqualityKind::Joint { joint_a, joint_b, polynomial } => {
                            hash.indices(&[2, *joint_a, joint_b.map_or(0, |j| j + 1)]);
                            hash.numbers(polynomial);
                        }
                        EqualityKind::Tendon { tendon_a, tendon_b, polynomial } => {
                            hash.indices(&[3, *tendon_a, tendon_b.map_or(0, |t| t + 1)]);
                            hash.numbers(polynomial);
                        }
                    }
                }
            }
        }
        hash.0
    }
}
