//! Attribute texts as typed values, checked where they are read.

use super::xml::Element;
use crate::error::Result;
use crate::model::Softness;
use nalgebra::{Matrix3, Quaternion, Rotation3, UnitQuaternion, Vector3};

/// How angles are written in the file.
#[derive(Debug, Clone)]
pub(super) struct AngleUnits {
    pub degrees: bool,
    /// Axes of `euler`, as `xyz`: lower case turns with the frame, upper case does not.
    pub euler_sequence: [char; 3],
}

impl AngleUnits {
    /// An angle of the file in rad.
    pub fn radians(&self, angle: f64) -> f64 {
        if self.degrees { angle.to_radians() } else { angle }
    }
}

/// The attributes of which at most one says how something is turned.
pub(super) const ORIENTATIONS: [&str; 5] = ["quat", "axisangle", "xyaxes", "zaxis", "euler"];

/// `true`, `false`, or left to be found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Switch {
    On,
    Off,
    Auto,
}

impl Element {
    /// All numbers of an attribute, each finite.
    pub fn list(&self, name: &str) -> Result<Option<Vec<f64>>> {
        let Some(text) = self.attribute(name) else { return Ok(None) };
        let values = parse_numbers(text)
            .map_err(|word| self.error(format!("attribute \"{name}\": \"{word}\" is not a finite number")))?;
        Ok(Some(values))
    }

    /// Exactly `N` numbers.
    pub fn numbers<const N: usize>(&self, name: &str) -> Result<Option<[f64; N]>> {
        let Some(list) = self.list(name)? else { return Ok(None) };
        <[f64; N]>::try_from(list.as_slice())
            .map(Some)
            .map_err(|_| self.error(format!("attribute \"{name}\" needs {N} numbers, found {}", list.len())))
    }

    /// Up to `N` numbers; those that are missing at the end come from `rest`.
    pub fn leading_numbers<const N: usize>(&self, name: &str, rest: [f64; N]) -> Result<[f64; N]> {
        let Some(list) = self.list(name)? else { return Ok(rest) };
        if list.is_empty() || list.len() > N {
            return Err(self.error(format!("attribute \"{name}\" needs 1 to {N} numbers, found {}", list.len())));
        }
        let mut values = rest;
        values[..list.len()].copy_from_slice(&list);
        Ok(values)
    }

    /// One number.
    pub fn number(&self, name: &str) -> Result<Option<f64>> {
        Ok(self.numbers::<1>(name)?.map(|[x]| x))
    }

    /// One number that is not negative.
    pub fn magnitude(&self, name: &str) -> Result<Option<f64>> {
        match self.number(name)? {
            Some(x) if x < 0.0 => Err(self.error(format!("attribute \"{name}\" is {x}; it must not be negative"))),
            x => Ok(x),
        }
    }

    /// Softness by its two attributes; what they leave out is MJCF's default.
    pub fn softness(&self, reference: &str, impedance: &str) -> Result<Softness> {
        let rest = Softness::default();
        Ok(Softness {
            reference: self.leading_numbers(reference, rest.reference)?,
            impedance: self.leading_numbers(impedance, rest.impedance)?,
        })
    }

    /// Three numbers.
    pub fn vector(&self, name: &str) -> Result<Option<Vector3<f64>>> {
        Ok(self.numbers::<3>(name)?.map(Vector3::from))
    }

    /// Three numbers that are not all zero, as a unit vector.
    pub fn direction(&self, name: &str) -> Result<Option<Vector3<f64>>> {
        self.vector(name)?.map(|v| self.unit(name, v)).transpose()
    }

    fn unit(&self, name: &str, v: Vector3<f64>) -> Result<Vector3<f64>> {
        v.try_normalize(1e-14)
            .filter(|u| (u.norm() - 1.0).abs() < 1e-9)
            .ok_or_else(|| self.error(format!("attribute \"{name}\" is too short or too long to give a direction")))
    }

    /// A whole number.
    pub fn integer(&self, name: &str) -> Result<Option<i32>> {
        let Some(text) = self.attribute(name) else { return Ok(None) };
        let value = text.trim().parse().map_err(|_| {
            self.error(format!("attribute \"{name}\": \"{text}\" is not a whole number (of at most 32 bits)"))
        })?;
        Ok(Some(value))
    }

    /// One of some words.
    pub fn word<'a>(&self, name: &str, allowed: &[&'a str]) -> Result<Option<&'a str>> {
        let Some(text) = self.attribute(name) else { return Ok(None) };
        match allowed.iter().find(|word| **word == text.trim()) {
            Some(word) => Ok(Some(word)),
            None => Err(self.error(format!("attribute \"{name}\": \"{text}\" must be one of: {}", allowed.join(", ")))),
        }
    }

    /// `true` or `false`.
    pub fn boolean(&self, name: &str) -> Result<Option<bool>> {
        Ok(self.word(name, &["true", "false"])?.map(|word| word == "true"))
    }

    /// `true`, `false` or `auto`.
    pub fn switch(&self, name: &str) -> Result<Option<Switch>> {
        Ok(self.word(name, &["true", "false", "auto"])?.map(|word| match word {
            "true" => Switch::On,
            "false" => Switch::Off,
            _ => Switch::Auto,
        }))
    }

    /// The range `name`, if it limits: by the switch `limited`, or on its own if `automatic`.
    pub fn limit(&self, name: &str, limited: &str, automatic: bool) -> Result<Option<[f64; 2]>> {
        let range = self.numbers::<2>(name)?;
        let switch = self.switch(limited)?.unwrap_or(Switch::Auto);
        match (switch, range) {
            (Switch::Off, _) | (Switch::Auto, None) => Ok(None),
            (Switch::Auto, Some([low, high])) if !automatic && low != high => Err(self.error(format!(
                "\"{name}\" is given and \"{limited}\" is not: say {limited}=\"true\" or \"false\", or switch the compiler's autolimits on"
            ))),
            (Switch::Auto, Some([low, high])) => {
                if low > high {
                    return Err(self.error(format!("attribute \"{name}\": the lower number must stand first")));
                }
                Ok((low < high).then_some([low, high]))
            }
            (Switch::On, Some([low, high])) if low < high => Ok(range),
            (Switch::On, _) => Err(self.error(format!(
                "{limited}=\"true\" needs \"{name}\" with two numbers, the lower first"
            ))),
        }
    }

    /// How it is turned against its parent frame, if the element says so.
    pub fn orientation(&self, angles: &AngleUnits) -> Result<Option<UnitQuaternion<f64>>> {
        let given: Vec<&str> = ORIENTATIONS.into_iter().filter(|name| self.attribute(name).is_some()).collect();
        if given.len() > 1 {
            return Err(self.error(format!("{} are given; keep one of them", given.join(" and "))));
        }
        let Some(&name) = given.first() else { return Ok(None) };
        let orientation = match name {
            "quat" => self.numbers::<4>(name)?.map(|q| self.unit_quaternion(name, q)).transpose()?,
            "axisangle" => self
                .numbers::<4>(name)?
                .map(|[x, y, z, angle]| {
                    let axis = self.unit(name, Vector3::new(x, y, z))?;
                    Ok(UnitQuaternion::new(axis * angles.radians(angle)))
                })
                .transpose()?,
            "zaxis" => self.direction(name)?.map(|z| turn_z_to(&z)),
            "xyaxes" => self
                .numbers::<6>(name)?
                .map(|[a, b, c, d, e, f]| {
                    let x = self.unit(name, Vector3::new(a, b, c))?;
                    let y = Vector3::new(d, e, f);
                    let y = self.unit(name, y - x * x.dot(&y))?;
                    let axes = Matrix3::from_columns(&[x, y, x.cross(&y)]);
                    Ok(UnitQuaternion::from_rotation_matrix(&Rotation3::from_matrix_unchecked(axes)))
                })
                .transpose()?,
            _ => self.numbers::<3>(name)?.map(|turns| euler(turns, angles)),
        };
        Ok(orientation)
    }

    /// A quaternion w x y z, normalised.
    pub fn unit_quaternion(&self, name: &str, [w, x, y, z]: [f64; 4]) -> Result<UnitQuaternion<f64>> {
        UnitQuaternion::try_new(Quaternion::new(w, x, y, z), 1e-14)
            .filter(|q| (q.norm() - 1.0).abs() < 1e-9)
            .ok_or_else(|| self.error(format!("attribute \"{name}\": a quaternion must not be zero (or gigantic)")))
    }
}

/// The numbers of a text, or the first word that is not a finite number.
pub(super) fn parse_numbers(text: &str) -> std::result::Result<Vec<f64>, &str> {
    text.split_whitespace().map(|word| word.parse().ok().filter(|x: &f64| x.is_finite()).ok_or(word)).collect()
}

/// Three turns in the order and about the axes of the euler sequence.
pub(super) fn euler(turns: [f64; 3], angles: &AngleUnits) -> UnitQuaternion<f64> {
    let mut orientation = UnitQuaternion::identity();
    for (turn, letter) in turns.into_iter().zip(angles.euler_sequence) {
        let axis = match letter.to_ascii_lowercase() {
            'x' => Vector3::x(),
            'y' => Vector3::y(),
            _ => Vector3::z(),
        };
        let step = UnitQuaternion::new(axis * angles.radians(turn));
        orientation = if letter.is_ascii_lowercase() { orientation * step } else { step * orientation };
    }
    orientation
}

/// The shortest turn that takes the z axis to the unit vector `z`; half a turn about x if it is -z.
pub(super) fn turn_z_to(z: &Vector3<f64>) -> UnitQuaternion<f64> {
    let cross = Vector3::z().cross(z);
    let sine = cross.norm();
    let axis = if sine < 1e-10 { Vector3::x() } else { cross / sine };
    UnitQuaternion::new(axis * sine.atan2(z.z))
}
