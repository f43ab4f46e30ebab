//! How soft a constraint is where [`crate::Constraints::Soft`] is chosen, in MJCF's words: `solref` and `solimp`.

/// MJCF's `solref` and `solimp` of a constraint. Hard constraints, the default of [`crate::Settings`], do not look at it.
/// What lies outside of its bounds counts as the nearest that does not, and a `solref` of two signs as the default, as in MuJoCo.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Softness {
    /// `solref`: time constant, s, and damping ratio; or, both negative, −stiffness, 1/s², and −damping, 1/s, per unit of impedance.
    pub reference: [f64; 2],
    /// `solimp`: impedance at the surface and beyond `width`, both between 0 and 1; `width`, m or rad; where between them it bends, as a share of `width`; and
    /// the power of the curve, at least 1.
    pub impedance: [f64; 5],
}

/// What all contacts of a model have in common where [`crate::Constraints::Soft`] is chosen: MJCF's `cone` and `impratio`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactSoftness {
    /// Whether MuJoCo's cone is a pyramid, as it is unless the file says `elliptic`: what does not slide is then as soft as its pyramid. Friction is Coulomb's all the same.
    pub pyramidal: bool,
    /// How many times stiffer contacts are along their surface than along their normal.
    pub ratio: f64,
}

impl Default for ContactSoftness {
    fn default() -> Self {
        Self { pyramidal: true, ratio: 1.0 }
    }
}

impl Default for Softness {
    /// MJCF's: 0.02 s, critically damped, impedance 0.9 to 0.95 over 1 mm.
    fn default() -> Self {
        Self { reference: [0.02, 1.0], impedance: [0.9, 0.95, 0.001, 0.5, 2.0] }
    }
}

impl Softness {
    /// Whether all of it is finite.
    pub(super) fn is_finite(&self) -> bool {
        self.reference.iter().chain(&self.impedance).all(|x| x.is_finite())
    }

    /// That of a contact of two geoms of one priority: the mean weighted by `solmix`; of `solref`s that are not both positive, the lower numbers.
    pub(super) fn mix(a: &Self, b: &Self, [mix_a, mix_b]: [f64; 2]) -> Self {
        let sum = mix_a + mix_b;
        let share = if sum > 0.0 { mix_a / sum } else { 0.5 };
        let mean = |x: f64, y: f64| share * x + (1.0 - share) * y;
        let springs = a.reference[0] > 0.0 && b.reference[0] > 0.0;
        let reference = |k: usize| {
            let (x, y) = (a.reference[k], b.reference[k]);
            if springs { mean(x, y) } else { x.min(y) }
        };
        Self {
            reference: [reference(0), reference(1)],
            impedance: std::array::from_fn(|k| mean(a.impedance[k], b.impedance[k])),
        }
    }
}
