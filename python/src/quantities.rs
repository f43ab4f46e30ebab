//! `delassus._core.Quantities`: what `delassus.Observer` reads.

use crate::array::exception;
use crate::model::Model;
use crate::settings::named;
use delassus::worlds::{Axes, Frame, Quantity};
use pyo3::prelude::*;

/// Quantities in the order in which they are written.
#[pyclass(frozen, module = "delassus._core")]
pub struct Quantities {
    pub list: Vec<Quantity>,
    /// Numbers a world.
    #[pyo3(get)]
    size: usize,
    /// Whether worlds have to feel contacts for them.
    pub is_felt: bool,
}

/// (kind, kind of frame, index, whether in local axes, index of the other frame of a pair)
type Part = (String, String, usize, bool, usize);

#[pymethods]
impl Quantities {
    #[new]
    fn new(model: &Model, parts: Vec<Part>) -> PyResult<Self> {
        let list = parts.iter().map(quantity).collect::<PyResult<Vec<_>>>()?;
        for quantity in &list {
            quantity.check(&model.model).map_err(exception)?;
        }
        let size = list.iter().map(|quantity| quantity.len(&model.model)).sum();
        let is_felt = list.iter().any(|quantity| quantity.is_felt(&model.model));
        Ok(Self { list, size, is_felt })
    }
}

fn quantity((kind, kind_of_frame, index, local, other): &Part) -> PyResult<Quantity> {
    let (i, axes) = (*index, if *local { Axes::Local } else { Axes::World });
    let frames = |i: usize| {
        [("body", Frame::Body(i)), ("com", Frame::Com(i)), ("geom", Frame::Geom(i)), ("site", Frame::Site(i))]
    };
    let frame = named("frame", kind_of_frame, &frames(i))?;
    let other = named("frame", kind_of_frame, &frames(*other))?;
    let quantities = [
        ("positions", Quantity::Positions),
        ("velocities", Quantity::Velocities),
        ("position", Quantity::Position(frame)),
        ("orientation", Quantity::Orientation(frame)),
        ("linear_velocity", Quantity::LinearVelocity(frame, axes)),
        ("angular_velocity", Quantity::AngularVelocity(frame, axes)),
        ("projected_gravity", Quantity::ProjectedGravity(frame)),
        ("contact", Quantity::Contact(frame)),
        ("contact_between", Quantity::ContactBetween(frame, other)),
        ("subtree_com", Quantity::SubtreeCom(i)),
        ("subtree_velocity", Quantity::SubtreeVelocity(i)),
        ("central_inertia", Quantity::CentralInertia(i)),
        ("central_velocity", Quantity::CentralVelocity(i)),
        ("central_contact", Quantity::CentralContact(i)),
        ("actuator_force", Quantity::ActuatorForce),
        ("joint_actuator_force", Quantity::JointActuatorForce),
        ("tendon_length", Quantity::TendonLength),
        ("tendon_velocity", Quantity::TendonVelocity),
        ("limit_force", Quantity::LimitForce),
        ("sensor", Quantity::Sensor(i)),
    ];
    named("quantity", kind, &quantities)
}
