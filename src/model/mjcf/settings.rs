//! `<compiler>` and `<option>`: how the file is meant, and the few global settings that are used here.

use super::Reader;
use super::notes::Notes;
use super::values::{AngleUnits, Switch};
use super::xml::Element;
use crate::error::Result;
use crate::model::{Actuator, ImplicitDamping, Integrator, Medium, Transmission};
use std::path::{Path, PathBuf};

/// How the file is meant.
#[derive(Debug)]
pub(super) struct Compiler {
    pub angles: AngleUnits,
    /// A range limits even if `limited` is not given.
    pub automatic_limits: bool,
    /// Where inertia comes from: the geoms, `<inertial>`, or the geoms where there is no `<inertial>`.
    pub inertia_from_geoms: Switch,
    /// Geoms of these groups (first, last) have mass.
    pub inertia_groups: [i32; 2],
    pub least_mass: f64,
    pub least_inertia: f64,
    /// Principal moments that no real body has are replaced by their mean.
    pub balance_inertia: bool,
    pub total_mass: Option<f64>,
    pub mesh_folder: PathBuf,
    /// Primitives are fitted to the box around a mesh, not to that of its inertia.
    pub fit_box: bool,
    /// Only the last part of a mesh's path counts.
    pub strip_path: bool,
    /// Whether lengths between which muscles act are found where they are not given.
    pub find_lengths: bool,
    /// Whether those that are given stay.
    pub keep_lengths: bool,
    /// Whether they are the limits of a joint or a tendon, where it has any.
    pub limit_lengths: bool,
}

impl Compiler {
    /// Later sections change what earlier ones say.
    pub fn read(sections: &[&Element], folder: &Path, notes: &mut Notes) -> Result<Self> {
        let mut compiler = Self {
            angles: AngleUnits { degrees: true, euler_sequence: ['x', 'y', 'z'] },
            automatic_limits: true,
            inertia_from_geoms: Switch::Auto,
            inertia_groups: [0, 5],
            least_mass: 0.0,
            least_inertia: 0.0,
            balance_inertia: false,
            total_mass: None,
            mesh_folder: folder.into(),
            fit_box: false,
            strip_path: false,
            find_lengths: true,
            keep_lengths: true,
            limit_lengths: false,
        };
        for e in sections {
            compiler.read_section(e, folder, notes)?;
        }
        Ok(compiler)
    }

    fn read_section(&mut self, e: &Element, folder: &Path, notes: &mut Notes) -> Result<()> {
        if let Some(unit) = e.word("angle", &["degree", "radian"])? {
            self.angles.degrees = unit == "degree";
        }
        if let Some(sequence) = e.attribute("eulerseq") {
            let letters: Vec<char> = sequence.chars().filter(|c| "xyzXYZ".contains(*c)).collect();
            self.angles.euler_sequence = <[char; 3]>::try_from(letters)
                .ok()
                .filter(|_| sequence.len() == 3)
                .ok_or_else(|| e.error(format!("eulerseq \"{sequence}\" must be three letters out of xyzXYZ")))?;
        }
        if e.word("coordinate", &["local", "global"])? == Some("global") {
            return Err(e.error("global coordinates are not supported; save the model with local ones"));
        }
        self.automatic_limits = e.boolean("autolimits")?.unwrap_or(self.automatic_limits);
        self.inertia_from_geoms = e.switch("inertiafromgeom")?.unwrap_or(self.inertia_from_geoms);
        if let Some(groups) = e.numbers::<2>("inertiagrouprange")? {
            self.inertia_groups = groups.map(|group| group as i32);
        }
        self.least_mass = e.magnitude("boundmass")?.unwrap_or(self.least_mass);
        self.least_inertia = e.magnitude("boundinertia")?.unwrap_or(self.least_inertia);
        self.balance_inertia = e.boolean("balanceinertia")?.unwrap_or(self.balance_inertia);
        if let Some(mass) = e.number("settotalmass")? {
            self.total_mass = Some(mass).filter(|mass| *mass > 0.0);
        }
        if let Some(assets) = e.attribute("meshdir").or(e.attribute("assetdir")) {
            self.mesh_folder = folder.join(assets);
        }
        self.fit_box = e.boolean("fitaabb")?.unwrap_or(self.fit_box);
        self.strip_path = e.boolean("strippath")?.unwrap_or(self.strip_path);
        for lengths in &e.children {
            let mode = lengths.word("mode", &["none", "muscle", "muscleuser", "all"])?;
            self.find_lengths = mode.map_or(self.find_lengths, |mode| mode != "none");
            self.keep_lengths = lengths.boolean("useexisting")?.unwrap_or(self.keep_lengths);
            self.limit_lengths = lengths.boolean("uselimit")?.unwrap_or(self.limit_lengths);
        }
        if e.boolean("alignfree")? == Some(true) {
            notes.refuse(e, "alignfree changes the meaning of positions and is not supported; set it to false")?;
        }
        Ok(())
    }
}

/// What `<flag>` switches off.
#[derive(Debug, Default)]
pub(super) struct Flags {
    contact: bool,
    limit: bool,
    friction_loss: bool,
    pub spring: bool,
    pub damper: bool,
    equality: bool,
    control_clamp: bool,
    actuation: bool,
    gravity: bool,
    parent_filter: bool,
    euler_damping: bool,
}

impl Flags {
    /// Whether actuators have forces.
    pub fn actuates(&self) -> bool {
        !self.actuation
    }
}

impl Reader {
    pub fn read_options(&mut self, sections: &[&Element]) -> Result<()> {
        self.builder.model.implicit_damping = ImplicitDamping::Joints;
        for e in sections {
            if let Some(dt) = e.number("timestep")? {
                if dt <= 0.0 {
                    return Err(e.error("the timestep must be positive"));
                }
                self.builder.timestep(dt);
            }
            if let Some(gravity) = e.numbers::<3>("gravity")? {
                self.builder.gravity(gravity);
            }
            let softness = &mut self.builder.model.contact_softness;
            softness.ratio = e.number("impratio")?.unwrap_or(softness.ratio);
            softness.pyramidal =
                e.word("cone", &["pyramidal", "elliptic"])?.map_or(softness.pyramidal, |word| word == "pyramidal");
            self.read_integrator(e)?;
            let medium = &mut self.builder.model.medium;
            medium.density = e.magnitude("density")?.unwrap_or(medium.density);
            medium.viscosity = e.magnitude("viscosity")?.unwrap_or(medium.viscosity);
            medium.wind = e.numbers::<3>("wind")?.map_or(medium.wind, Into::into);
            let resists = medium.density > 0.0 || medium.viscosity > 0.0;
            if resists && e.attribute("integrator").is_some_and(|name| name.starts_with("implicit")) {
                self.notes.differs(
                    e,
                    "forces of the medium (density, viscosity) are explicit, not implicit as in MuJoCo's implicitfast",
                );
            }
            for flag in &e.children {
                self.read_flags(flag)?;
            }
        }
        Ok(())
    }

    /// What is not the same scheme here is noted. `implicitfast` is none, but for [`Self::note_explicit_damping`]: Euler, implicit in the damping of joints and actuators.
    fn read_integrator(&mut self, e: &Element) -> Result<()> {
        let Some(name) = e.word("integrator", &["Euler", "implicitfast", "implicit", "RK4"])? else { return Ok(()) };
        match name {
            "RK4" => self.notes.differs(
                e,
                "integrator \"RK4\": contacts, limits and dry friction that are hard are solved once a step, not at each of its four evaluations, \
                 and damping is implicit; with soft constraints all is as in MuJoCo",
            ),
            "implicit" => {
                self.notes.differs(e, "integrator \"implicit\" is stepped as implicitfast: Coriolis forces are not implicit");
            }
            _ => {}
        }
        let model = &mut self.builder.model;
        model.integrator = if name == "RK4" { Integrator::Rk4 } else { Integrator::Euler };
        let servos = name.starts_with("implicit");
        model.implicit_damping = if servos { ImplicitDamping::JointsAndServos } else { ImplicitDamping::Joints };
        Ok(())
    }

    /// What `implicitfast` makes implicit in MuJoCo and is explicit here.
    pub fn note_explicit_damping(&mut self, root: &Element) {
        let model = &self.builder.model;
        let damped = |actuator: &Actuator| actuator.gain[2] != 0.0 || actuator.bias[2] != 0.0;
        let on_joint = |actuator: &Actuator| {
            let scalar = actuator.transmission.is_scalar(model);
            scalar && matches!(actuator.transmission, Transmission::Joint(_))
        };
        let others = model.tendons.iter().any(|tendon| tendon.damping > 0.0)
            || model.actuators.iter().any(|actuator| !on_joint(actuator) && damped(actuator))
            || self.damping_ratios.iter().any(|&(actuator, _)| !on_joint(&model.actuators[actuator]));
        if model.implicit_damping == ImplicitDamping::JointsAndServos && others {
            self.notes.differs(
                root,
                "damping along tendons is explicit, as that about balls and between sites, not implicit as in MuJoCo's implicitfast",
            );
        }
    }

    fn read_flags(&mut self, e: &Element) -> Result<()> {
        let off = |name: &str, switch: &mut bool| -> Result<()> {
            if let Some(word) = e.word(name, &["enable", "disable"])? {
                *switch = word == "disable";
            }
            Ok(())
        };
        let flags = &mut self.flags;
        let (mut constraint, mut passive, mut euler_damping) = (false, false, false);
        off("contact", &mut flags.contact)?;
        off("limit", &mut flags.limit)?;
        off("frictionloss", &mut flags.friction_loss)?;
        off("spring", &mut flags.spring)?;
        off("damper", &mut flags.damper)?;
        off("passive", &mut passive)?;
        off("equality", &mut flags.equality)?;
        off("clampctrl", &mut flags.control_clamp)?;
        off("actuation", &mut flags.actuation)?;
        off("gravity", &mut flags.gravity)?;
        off("filterparent", &mut flags.parent_filter)?;
        off("constraint", &mut constraint)?;
        off("eulerdamp", &mut euler_damping)?;
        for part in [&mut flags.spring, &mut flags.damper] {
            *part |= passive;
        }
        for part in [&mut flags.contact, &mut flags.limit, &mut flags.friction_loss, &mut flags.equality] {
            *part |= constraint;
        }
        if euler_damping {
            flags.euler_damping = true;
            self.notes.differs(e, "eulerdamp=\"disable\" is for soft constraints: where they are hard, joint damping is implicit in every step");
        }
        if e.word("override", &["enable", "disable"])? == Some("enable") {
            self.notes.refuse(e, "override=\"enable\" is not supported; set margin and friction on the geoms")?;
        }
        Ok(())
    }

    /// Takes out of the model what flags switch off.
    pub fn apply_flags(&mut self) {
        let (flags, builder) = (&self.flags, &mut self.builder);
        builder.parent_contacts(flags.parent_filter);
        let model = &mut builder.model;
        if flags.gravity {
            model.gravity.fill(0.0);
        }
        if flags.euler_damping && model.implicit_damping == ImplicitDamping::Joints {
            model.implicit_damping = ImplicitDamping::None;
        }
        if flags.contact {
            builder.explicit_pairs.clear();
            model.geoms.iter_mut().for_each(|geom| (geom.contype, geom.conaffinity) = (0, 0));
        }
        let unless = |off: bool| f64::from(u8::from(!off));
        let (friction, spring, damper) = (unless(flags.friction_loss), unless(flags.spring), unless(flags.damper));
        for joint in &mut model.joints {
            joint.range = joint.range.filter(|_| !flags.limit);
            joint.friction_loss *= friction;
            joint.stiffness *= spring;
            joint.damping *= damper;
        }
        for tendon in &mut model.tendons {
            tendon.range = tendon.range.filter(|_| !flags.limit);
            tendon.friction_loss *= friction;
            tendon.stiffness *= spring;
            tendon.damping *= damper;
        }
        if flags.equality {
            model.equalities.iter_mut().for_each(|equality| equality.active = false);
        }
        if flags.control_clamp {
            model.actuators.iter_mut().for_each(|actuator| actuator.control_range = None);
        }
        if flags.spring && flags.damper {
            // All that is passive is off then.
            model.medium = Medium::default();
            model.bodies.iter_mut().for_each(|body| body.gravity_compensation = 0.0);
        }
        if flags.actuation {
            // The actuators stay, so that controls keep their places; they have no force.
            for actuator in &mut model.actuators {
                (actuator.gain, actuator.bias, actuator.force_range) = ([0.0; 3], [0.0; 3], None);
            }
            // bounds that leave out zero bound no force that is not there
            model.joints.iter_mut().for_each(|joint| joint.actuator_force_range = None);
            self.damping_ratios.clear();
        }
    }

    /// Scales masses and inertias to the total mass that the compiler settings ask for.
    pub fn apply_total_mass(&mut self) {
        let Some(wanted) = self.compilers[0].total_mass else { return };
        let bodies = &mut self.builder.model.bodies;
        let total: f64 = bodies.iter().map(|body| body.mass).sum();
        if total > 0.0 {
            for body in bodies {
                body.mass *= wanted / total;
                body.inertia *= wanted / total;
            }
        }
    }
}
