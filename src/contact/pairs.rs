//! What is known of the pairs of a model before a step: which narrow phase each takes, and what of its shapes that needs.

use super::apart::Bound;
use super::convex::Solid;
use super::grid::Ground;
use super::reduce::KEPT;
use crate::model::{HeightField, Hull, Model, Shape};
use std::collections::HashMap;
use std::sync::Arc;

/// The pairs whose points are found in lanes: one formula for every one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shapes {
    PlaneSphere,
    PlaneCapsule,
    PlaneEllipsoid,
    PlaneCylinder,
    PlaneBox,
    SphereSphere,
    SphereCapsule,
    SphereCylinder,
    SphereBox,
    CapsuleCapsule,
    CapsuleCylinder,
    CapsuleBox,
    BoxBox,
}

impl Shapes {
    /// All of them, in the order of their values.
    #[cfg(feature = "gpu")]
    pub const ALL: [Self; 13] = [
        Self::PlaneSphere,
        Self::PlaneCapsule,
        Self::PlaneEllipsoid,
        Self::PlaneCylinder,
        Self::PlaneBox,
        Self::SphereSphere,
        Self::SphereCapsule,
        Self::SphereCylinder,
        Self::SphereBox,
        Self::CapsuleCapsule,
        Self::CapsuleCylinder,
        Self::CapsuleBox,
        Self::BoxBox,
    ];

    /// What a pair of shapes is, if its points are found in lanes.
    fn of(a: &Shape, b: &Shape) -> Option<Self> {
        Some(match (a, b) {
            (Shape::Plane, Shape::Sphere { .. }) => Self::PlaneSphere,
            (Shape::Plane, Shape::Capsule { .. }) => Self::PlaneCapsule,
            (Shape::Plane, Shape::Ellipsoid { .. }) => Self::PlaneEllipsoid,
            (Shape::Plane, Shape::Cylinder { .. }) => Self::PlaneCylinder,
            (Shape::Plane, Shape::Box { .. }) => Self::PlaneBox,
            (Shape::Sphere { .. }, Shape::Sphere { .. }) => Self::SphereSphere,
            (Shape::Sphere { .. }, Shape::Capsule { .. }) => Self::SphereCapsule,
            (Shape::Sphere { .. }, Shape::Cylinder { .. }) => Self::SphereCylinder,
            (Shape::Sphere { .. }, Shape::Box { .. }) => Self::SphereBox,
            (Shape::Capsule { .. }, Shape::Capsule { .. }) => Self::CapsuleCapsule,
            (Shape::Capsule { .. }, Shape::Cylinder { .. }) => Self::CapsuleCylinder,
            (Shape::Capsule { .. }, Shape::Box { .. }) => Self::CapsuleBox,
            (Shape::Box { .. }, Shape::Box { .. }) => Self::BoxBox,
            _ => return None,
        })
    }
}

/// Which narrow phase a pair takes.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// In lanes.
    Lanes(Shapes),
    PlaneHull(Arc<Hull>),
    Land(Arc<Ground>),
    /// World by world, in f64.
    Convex,
    /// Ground and ground: never.
    Nothing,
}

impl Kind {
    /// Whether the pair may touch in more than one point.
    fn spreads(&self) -> bool {
        !matches!(
            self,
            Self::Lanes(
                Shapes::PlaneSphere
                    | Shapes::PlaneEllipsoid
                    | Shapes::SphereSphere
                    | Shapes::SphereCapsule
                    | Shapes::SphereCylinder
                    | Shapes::SphereBox
            ) | Self::Nothing
        )
    }
}

/// What [`collide`] needs to know of one pair.
#[derive(Debug, Clone)]
pub(crate) struct PairPlan {
    pub a: usize,
    pub b: usize,
    pub kind: Kind,
    /// Lengths of both shapes, m.
    pub lengths: [[f64; 3]; 2],
    /// The shapes for the narrow phase in f64, if they have one.
    pub(super) solids: Option<[Solid; 2]>,
    /// What may lie on it, if the first geom is a height field.
    pub(super) on_land: Option<Solid>,
    /// What holds them, and its lengths, m.
    pub(super) bounds: Option<[(Bound, [f64; 3]); 2]>,
    /// Distance between the shapes at which they touch, m.
    pub margin: f64,
    /// Whether the first geom is a plane.
    pub on_plane: bool,
    /// Sum of the bounding radii, m; that of the second geom alone if the first is a plane.
    pub bounding: f64,
    /// The smaller bounding radius, m.
    pub size: f64,
    /// Whether it is that of the first geom.
    pub(super) first_is_smaller: bool,
    /// Whether its points stay together as a patch.
    pub patch: bool,
    /// Whether one point of it by itself resists turning, if it is a patch.
    pub torsion: bool,
}

/// The narrow phases of all pairs of a model, prepared once and shared by all worlds.
#[derive(Debug, Clone)]
pub struct CollidePlan {
    pub(crate) pairs: Vec<PairPlan>,
}

impl CollidePlan {
    /// Prepares the pairs of `model`. All contacts are points.
    pub fn new(model: &Model) -> Self {
        Self::prepare(model, false)
    }
    /// The same, but pairs with friction that may touch in more than one point, or have torsion in one (condim 4), are patches.
    pub fn with_patches(model: &Model) -> Self {
        Self::prepare(model, true)
    }
    /// Whether any pair is a patch.
    pub fn has_patches(&self) -> bool {
        self.pairs.iter().any(|pair| pair.patch)
    }
    /// Whether anything may lie on a height field.
    #[cfg(feature = "gpu")]
    pub fn has_land(&self) -> bool {
        self.pairs.iter().any(|pair| matches!(pair.kind, Kind::Land(_)))
    }
    fn prepare(model: &Model, patches: bool) -> Self {
        let forms = forms(model);
        let pairs = model.pairs.iter().map(|pair| {
            let (a, b) = (&model.geoms[pair.geom_a].shape, &model.geoms[pair.geom_b].shape);
            let [of_a, of_b] = [&forms[pair.geom_a], &forms[pair.geom_b]];
            let (ra, rb) = (of_a.radius, of_b.radius);
            let kind = match (Shapes::of(a, b), a, b) {
                (Some(shapes), ..) => Kind::Lanes(shapes),
                (None, Shape::Plane, Shape::Hull(hull)) => Kind::PlaneHull(Arc::clone(hull)),
                (None, Shape::Plane | Shape::HeightField(_), b) if b.is_ground() => Kind::Nothing,
                (None, Shape::HeightField(_), _) => of_a.ground.clone().map_or(Kind::Nothing, Kind::Land),
                (None, Shape::Plane, _) => Kind::Nothing,
                _ => Kind::Convex,
            };
            let torsion = pair.torsion.is_some() || pair.ellipsoid.is_some();
            PairPlan {
                // points on land lie in no plane
                patch: patches && pair.condim > 1 && !matches!(kind, Kind::Land(_)) && (kind.spreads() || torsion),
                torsion,
                a: pair.geom_a,
                b: pair.geom_b,
                kind,
                lengths: [a.size(), b.size()],
                solids: of_a.solid.clone().zip(of_b.solid.clone()).map(|(a, b)| [a, b]),
                on_land: if matches!(a, Shape::HeightField(_)) { of_b.solid.clone() } else { None },
                bounds: of_a.bound.zip(of_b.bound).map(|(a, b)| [a, b]),
                margin: pair.margin,
                on_plane: matches!(a, Shape::Plane),
                bounding: if ra.is_finite() { ra + rb } else { rb },
                size: ra.min(rb),
                first_is_smaller: ra < rb,
            }
        });
        Self { pairs: pairs.collect() }
    }
    /// The most contacts that a world can have: four for every pair.
    pub fn most_contacts(&self) -> usize {
        KEPT * self.pairs.len()
    }
}

/// What all pairs of a geom have of it.
#[derive(Clone, Default)]
struct Form {
    /// Bounding radius, m.
    radius: f64,
    /// For the narrow phase in f64, if it has one.
    solid: Option<Solid>,
    /// What holds it, and its lengths, m.
    bound: Option<(Bound, [f64; 3])>,
    /// Of a height field.
    ground: Option<Arc<Ground>>,
}

/// The forms of the geoms that have a pair; geoms of one mesh share what is made of it.
fn forms(model: &Model) -> Vec<Form> {
    let mut has_pair = vec![false; model.geoms.len()];
    for pair in &model.pairs {
        (has_pair[pair.geom_a], has_pair[pair.geom_b]) = (true, true);
    }
    let mut forms: Vec<Form> = Vec::with_capacity(model.geoms.len());
    let mut meshes: HashMap<*const Hull, usize> = HashMap::new();
    let mut fields: HashMap<*const HeightField, Arc<Ground>> = HashMap::new();
    for (g, geom) in model.geoms.iter().enumerate() {
        let known = if let Shape::Hull(hull) = &geom.shape { meshes.get(&Arc::as_ptr(hull)) } else { None };
        let form = match known {
            _ if !has_pair[g] => Form::default(),
            Some(&same) => forms[same].clone(),
            None => Form {
                radius: geom.shape.bounding_radius(),
                solid: Solid::new(&geom.shape),
                bound: Bound::of(&geom.shape),
                ground: match &geom.shape {
                    Shape::HeightField(field) => {
                        let ground = fields.entry(Arc::as_ptr(field)).or_insert_with(|| Arc::new(Ground::new(field)));
                        Some(Arc::clone(ground))
                    }
                    _ => None,
                },
            },
        };
        if let (Shape::Hull(hull), true) = (&geom.shape, has_pair[g]) {
            meshes.entry(Arc::as_ptr(hull)).or_insert(g);
        }
        forms.push(form);
    }
    forms
}
