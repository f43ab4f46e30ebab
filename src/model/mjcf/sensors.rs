//! `<sensor>`: what can be evaluated is; the others are recorded by name and kind.

use super::Reader;
use super::tendons::Found;
use super::xml::Element;
use crate::error::Result;
use crate::model::{Frame, FrameReading, Reading, Sensor, Shape};

impl Reader {
    pub fn read_sensor(&mut self, e: &Element) -> Result<()> {
        let index = self.builder.model.sensors.len();
        let reading = self.reading(e)?;
        if e.tag == "rangefinder" && reading.is_none() {
            let sentence = "is not evaluated: rays are followed from sites, for the distance alone, and where no mesh or height field could be in their way";
            self.notes.add(e, sentence);
        }
        let cutoff = e.magnitude("cutoff")?.unwrap_or(0.0);
        self.builder.add_sensor(Sensor { name: e.name().into(), kind: e.tag.clone(), reading, cutoff });
        self.register("sensor", index, e)
    }

    fn reading(&self, e: &Element) -> Result<Option<Reading>> {
        let of = |attribute, kind| self.find_required(e, attribute, kind);
        Ok(Some(match e.tag.as_str() {
            "jointpos" => Reading::JointPosition(of("joint", "joint")?),
            "jointvel" => Reading::JointVelocity(of("joint", "joint")?),
            "ballquat" => Reading::BallOrientation(of("joint", "joint")?),
            "ballangvel" => Reading::BallVelocity(of("joint", "joint")?),
            "tendonpos" | "tendonvel" => match self.find_tendon(e, "tendon")? {
                Found::Tendon(tendon) if e.tag == "tendonpos" => Reading::TendonPosition(tendon),
                Found::Tendon(tendon) => Reading::TendonVelocity(tendon),
                Found::Other => return Ok(None),
                Found::Nothing => return Err(e.error("needs the attribute \"tendon\", the name of a tendon")),
            },
            "jointactuatorfrc" => Reading::JointActuatorForce(of("joint", "joint")?),
            "gyro" => Reading::Gyro(of("site", "site")?),
            "velocimeter" => Reading::Velocimeter(of("site", "site")?),
            "accelerometer" => Reading::Accelerometer(of("site", "site")?),
            "force" => Reading::Force(of("site", "site")?),
            "torque" => Reading::Torque(of("site", "site")?),
            "rangefinder" => return self.rangefinder(e),
            "touch" => Reading::Touch(of("site", "site")?),
            "subtreecom" => Reading::SubtreeCom(of("body", "body")?),
            "subtreelinvel" => Reading::SubtreeVelocity(of("body", "body")?),
            // Sensors stand before actuators in some files, and are read after them.
            "actuatorpos" | "actuatorvel" | "actuatorfrc" => {
                let u = of("actuator", "actuator")?;
                let model = &self.builder.model;
                let has_length = model.actuators[u].transmission.has_length(model);
                match e.tag.as_str() {
                    "actuatorfrc" => Reading::ActuatorForce(u),
                    _ if !has_length => return Ok(None),
                    "actuatorpos" => Reading::ActuatorPosition(u),
                    _ => Reading::ActuatorVelocity(u),
                }
            }
            tag => {
                let what = match tag {
                    "framepos" => FrameReading::Position,
                    "framequat" => FrameReading::Orientation,
                    "framexaxis" => FrameReading::Axis(0),
                    "frameyaxis" => FrameReading::Axis(1),
                    "framezaxis" => FrameReading::Axis(2),
                    "framelinvel" => FrameReading::LinearVelocity,
                    "frameangvel" => FrameReading::AngularVelocity,
                    "framelinacc" => FrameReading::LinearAcceleration,
                    "frameangacc" => FrameReading::AngularAcceleration,
                    _ => return Ok(None),
                };
                let Some(frame) = self.frame(e, "objtype", "objname", what)? else { return Ok(None) };
                let relative = e.attribute("reftype").is_some();
                let reference = if relative { self.frame(e, "reftype", "refname", what)? } else { None };
                let of_one = matches!(what, FrameReading::LinearAcceleration | FrameReading::AngularAcceleration);
                if relative && (reference.is_none() || of_one) {
                    return Ok(None);
                }
                Reading::Frame(what, frame, reference)
            }
        }))
    }

    /// A rangefinder of a site; none if it has another output than the distance, is of a camera, or might see what rays are not followed to.
    fn rangefinder(&self, e: &Element) -> Result<Option<Reading>> {
        let plain = e.attribute("data").is_none_or(|data| data.trim() == "dist");
        if e.attribute("camera").is_some() || !plain {
            return Ok(None);
        }
        let (site, model) = (self.find_required(e, "site", "site")?, &self.builder.model);
        let others = model.geoms.iter().filter(|geom| geom.is_seen && geom.body != model.sites[site].body);
        let followed = others.into_iter().all(|geom| !matches!(geom.shape, Shape::Hull(_) | Shape::HeightField(_)));
        Ok(followed.then_some(Reading::Range(site)))
    }

    /// A frame by type and name; none if it is one that is not kept: cameras, and the principal axes of a body.
    fn frame(&self, e: &Element, kind: &str, name: &str, what: FrameReading) -> Result<Option<Frame>> {
        let of_a_point =
            matches!(what, FrameReading::Position | FrameReading::LinearVelocity | FrameReading::LinearAcceleration);
        let turning = matches!(what, FrameReading::AngularVelocity | FrameReading::AngularAcceleration);
        let attribute = if name == "objname" { "objname" } else { "refname" };
        let find = |kind| self.find_required(e, attribute, kind);
        Ok(match e.attribute(kind) {
            Some("xbody") => Some(Frame::Body(find("body")?)),
            Some("body") if kind == "objtype" && (of_a_point || turning) => Some(Frame::Com(find("body")?)),
            Some("geom") => Some(Frame::Geom(find("geom")?)),
            Some("site") => Some(Frame::Site(find("site")?)),
            _ => None,
        })
    }
}
