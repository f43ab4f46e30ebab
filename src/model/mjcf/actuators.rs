//! Actuators. All kinds share one state, which defaults and the element itself change in turn.

use super::Reader;
use super::muscles;
use super::tendons::Found;
use super::values::Switch;
use super::xml::Element;
use crate::error::Result;
use crate::model::rest::{along, rest_inertia};
use crate::model::{Activation, ActivationLaw, Actuator, Model, Transmission, label};
use std::f64::consts::PI;

/// What gain or bias is a function of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    /// Nothing: of a gain one number, of a bias 0.
    Nothing,
    /// Length and velocity.
    Affine,
    /// The same, by the curves of a muscle.
    Muscle,
}

/// What an activation follows by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Following {
    Integrator,
    Filter,
    FilterExact,
    Muscle,
}

/// What defaults and the element make of an actuator.
#[derive(Debug, Clone)]
struct State {
    /// What it was made by a shortcut: another one begins anew. The tag general changes what it names, and makes it nobody's.
    shortcut: Option<String>,
    gain_of: Function,
    bias_of: Function,
    gain: [f64; 10],
    /// A positive third coefficient of a position servo is a damping ratio.
    bias: [f64; 10],
    inherit_range: f64,
    following: Option<Following>,
    /// Numbers of the activation, its time constants first, s.
    dynamics: [f64; 10],
    /// Attributes that are read at the end, when they are all known.
    attributes: Element,
    /// What is asked for and not done.
    refused: Option<&'static str>,
}

/// Numbers of gain and activation before anything is said of them.
const ONE: [f64; 10] = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];

impl State {
    fn new(e: &Element) -> Self {
        let attributes = Element { attributes: Vec::new(), children: Vec::new(), ..e.clone() };
        Self {
            shortcut: None,
            gain_of: Function::Nothing,
            bias_of: Function::Nothing,
            gain: ONE,
            bias: [0.0; 10],
            inherit_range: 0.0,
            following: None,
            dynamics: ONE,
            attributes,
            refused: None,
        }
    }

    /// As the classes around an element make it, the outermost first. Its law is that of the innermost that was not made by another shortcut; everything else is that of all.
    fn inherited(e: &Element, classes: &[Vec<Element>]) -> Result<Self> {
        let mut states = vec![Self::new(e)];
        for class in classes {
            let mut state = states[states.len() - 1].clone();
            for defaults in class {
                state.apply(defaults)?;
            }
            states.push(state);
        }
        let attributes = states[states.len() - 1].attributes.clone();
        let is_law = |state: &&Self| e.tag == "general" || state.shortcut.as_ref().is_none_or(|tag| *tag == e.tag);
        let law = states.iter().rev().find(is_law).cloned().unwrap_or_else(|| Self::new(e));
        Ok(Self { attributes, ..law })
    }

    /// What an actuator is before anything is said of its gain, bias and activation.
    fn reset(&mut self) {
        (self.gain, self.bias, self.dynamics) = (ONE, [0.0; 10], ONE);
        (self.gain_of, self.bias_of, self.following) = (Function::Nothing, Function::Nothing, None);
        self.inherit_range = 0.0;
    }

    /// Applies the settings of one element.
    fn apply(&mut self, e: &Element) -> Result<()> {
        for (name, value) in &e.attributes {
            if name == "gear" {
                // The first numbers of a gear may be given; the others stay.
                let given = value.split_whitespace().count();
                let old = self.attributes.attribute("gear").unwrap_or("").to_owned();
                let rest = old.split_whitespace().skip(given);
                self.attributes.set(name, value.split_whitespace().chain(rest).collect::<Vec<_>>().join(" "));
            } else {
                self.attributes.set(name, value.clone());
            }
        }
        // what stands last of a range and what to inherit for it counts
        let own_range = if e.tag == "intvelocity" { "actrange" } else { "ctrlrange" };
        match (e.attribute(own_range), e.magnitude("inheritrange")?.filter(|stretch| *stretch > 0.0)) {
            (Some(_), Some(_)) => return Err(e.error(format!("give {own_range} or inheritrange, not both"))),
            (Some(_), None) => self.inherit_range = 0.0,
            (None, Some(_)) => self.attributes.attributes.retain(|(name, _)| name != own_range),
            (None, None) => {}
        }
        let tag = e.tag.as_str();
        if tag != "general" && self.shortcut.as_deref() != Some(tag) {
            self.refused = None;
            if self.shortcut.is_some() {
                self.reset();
            }
            self.shortcut = Some(tag.to_owned());
        }
        match tag {
            "general" => {
                self.shortcut = None;
                self.apply_general(e)
            }
            "position" => self.apply_position(e),
            "intvelocity" => {
                self.apply_position(e)?;
                self.following = Some(Following::Integrator);
                Ok(())
            }
            "cylinder" => self.apply_cylinder(e),
            "muscle" => {
                muscles::apply(e, [&mut self.gain, &mut self.dynamics])?;
                self.bias = self.gain;
                (self.gain_of, self.bias_of) = (Function::Muscle, Function::Muscle);
                self.following = Some(Following::Muscle);
                Ok(())
            }
            "velocity" => {
                let kv = e.magnitude("kv")?.unwrap_or(self.gain[0]);
                self.gain[0] = kv;
                self.bias = [0.0; 10];
                self.bias[2] = -kv;
                (self.gain_of, self.bias_of, self.following) = (Function::Nothing, Function::Affine, None);
                Ok(())
            }
            "damper" => {
                // f = −kv u v
                let kv = e.magnitude("kv")?.unwrap_or(-self.gain[2]);
                self.reset();
                (self.gain[0], self.gain[2], self.gain_of) = (0.0, -kv, Function::Affine);
                Ok(())
            }
            "motor" => {
                self.reset();
                Ok(())
            }
            "adhesion" => {
                let gain = e.magnitude("gain")?.unwrap_or(self.gain[0]);
                self.reset();
                self.gain[0] = gain;
                (self.gain_of, self.bias_of, self.following) = (Function::Nothing, Function::Nothing, None);
                Ok(())
            }
            // of defaults only
            _ => {
                self.reset();
                self.refused = Some("its defaults make it a kind of actuator that is not supported");
                Ok(())
            }
        }
    }

    fn apply_general(&mut self, e: &Element) -> Result<()> {
        // what the control is called, which MuJoCo 4.0 writes into every file that it saves
        e.word("input", &["pos", "vel", "pressure"])?;
        match e.attribute("gaintype").map(str::trim) {
            Some("fixed") => self.gain_of = Function::Nothing,
            Some("affine") => self.gain_of = Function::Affine,
            Some("muscle") => self.gain_of = Function::Muscle,
            Some(_) => self.refused = Some("only gaintype fixed, affine and muscle are supported"),
            None => {}
        }
        match e.attribute("biastype").map(str::trim) {
            Some("none") => self.bias_of = Function::Nothing,
            Some("affine") => self.bias_of = Function::Affine,
            Some("muscle") => self.bias_of = Function::Muscle,
            Some(_) => self.refused = Some("only biastype none, affine and muscle are supported"),
            None => {}
        }
        match e.attribute("dyntype").map(str::trim) {
            Some("none") => (self.following, self.refused) = (None, None),
            Some("integrator") => self.following = Some(Following::Integrator),
            Some("filter") => self.following = Some(Following::Filter),
            Some("filterexact") => self.following = Some(Following::FilterExact),
            Some("muscle") => self.following = Some(Following::Muscle),
            Some(_) => {
                self.refused = Some("only dyntype none, integrator, filter, filterexact and muscle are supported");
            }
            None => {}
        }
        self.dynamics = e.leading_numbers("dynprm", self.dynamics)?;
        self.gain = e.leading_numbers("gainprm", self.gain)?;
        self.bias = e.leading_numbers("biasprm", self.bias)?;
        Ok(())
    }

    fn apply_position(&mut self, e: &Element) -> Result<()> {
        let kp = e.magnitude("kp")?.unwrap_or(self.gain[0]);
        (self.gain[0], self.bias[0], self.bias[1]) = (kp, 0.0, -kp);
        match (e.magnitude("kv")?, e.magnitude("dampratio")?) {
            (Some(_), Some(_)) => return Err(e.error("give kv or dampratio, not both")),
            (Some(kv), None) => self.bias[2] = -kv,
            (None, Some(ratio)) => self.bias[2] = ratio,
            (None, None) => {}
        }
        (self.gain_of, self.bias_of) = (Function::Nothing, Function::Affine);
        if let Some(inherit) = e.magnitude("inheritrange")? {
            self.inherit_range = inherit;
        }
        match e.magnitude("timeconst")? {
            Some(time) if time > 0.0 => {
                (self.following, self.dynamics[0]) = (Some(Following::FilterExact), time);
            }
            Some(_) => self.following = None,
            None => {}
        }
        Ok(())
    }

    fn apply_cylinder(&mut self, e: &Element) -> Result<()> {
        self.dynamics[0] = e.magnitude("timeconst")?.unwrap_or(self.dynamics[0]);
        self.gain[0] = e.number("area")?.unwrap_or(self.gain[0]);
        if let Some(diameter) = e.magnitude("diameter")? {
            self.gain[0] = PI / 4.0 * diameter * diameter;
        }
        self.bias = e.leading_numbers("bias", self.bias)?;
        (self.gain_of, self.bias_of) = (Function::Nothing, Function::Affine);
        self.following = Some(Following::Filter);
        Ok(())
    }

    /// The law of the activation, with its time constant; as in MuJoCo, one of nothing is one of next to nothing.
    fn activation_law(&self) -> Option<ActivationLaw> {
        let time = self.dynamics[0].max(1e-15);
        self.following.map(|following| match following {
            Following::Integrator => ActivationLaw::Integrator,
            Following::Filter => ActivationLaw::Filter(time),
            Following::FilterExact => ActivationLaw::FilterExact(time),
            Following::Muscle => ActivationLaw::Muscle(muscles::times(&self.dynamics)),
        })
    }

    /// Whether it pulls as a muscle; none: in part.
    fn is_muscle(&self) -> Option<bool> {
        let parts = [self.gain_of, self.bias_of].map(|of| of == Function::Muscle);
        (parts[0] == parts[1]).then_some(parts[0])
    }

    /// MuJoCo's sign of a servo whose third bias coefficient is a damping ratio.
    fn damping_ratio(&self) -> Option<f64> {
        let affine = self.gain_of == Function::Nothing && self.bias_of == Function::Affine;
        let servo = affine && self.gain[0] == -self.bias[1];
        (servo && self.bias[2] > 0.0).then_some(self.bias[2])
    }
}

impl Reader {
    pub fn read_actuator(&mut self, e: &Element) -> Result<()> {
        let mut state = State::inherited(e, self.defaults.actuators(e)?)?;
        state.apply(e)?;
        let e = &state.attributes;
        if let Some(advice) = state.refused {
            return self.notes.refuse(e, advice);
        }
        let Some(is_muscle) = state.is_muscle() else {
            return self.notes.refuse(e, "give both gaintype and biastype as muscle, or neither");
        };
        let Some(transmission) = self.transmission(e)? else { return Ok(()) };
        let index = self.builder.model.actuators.len();
        let length_range = if is_muscle { self.length_range(e, transmission)? } else { None };
        // until it is found
        let between = length_range.unwrap_or([0.0, 1.0]);
        let muscle = match is_muscle.then(|| muscles::muscle(between, index, [&state.gain, &state.bias])) {
            Some(Err(advice)) => return self.notes.refuse(e, advice),
            Some(Ok(muscle)) => Some(muscle),
            None => None,
        };
        let three = |c: &[f64; 10]| [c[0], c[1], c[2]];
        let (automatic, adheres) = (self.compiler(e).automatic_limits, e.tag == "adhesion");
        let mut actuator = Actuator {
            name: e.name().into(),
            transmission,
            gear: e.leading_numbers("gear", [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])?,
            // the control of a damper is bounded if it has bounds
            control_range: e.limit("ctrlrange", "ctrllimited", automatic || e.tag == "damper" || adheres)?,
            force_range: e.limit("forcerange", "forcelimited", automatic)?,
            gain: match state.gain_of {
                Function::Nothing => [state.gain[0], 0.0, 0.0],
                Function::Affine => three(&state.gain),
                Function::Muscle => [0.0; 3],
            },
            bias: if state.bias_of == Function::Affine { three(&state.bias) } else { [0.0; 3] },
        };
        if adheres && actuator.control_range.is_none_or(|[low, _]| low < 0.0) {
            return Err(e.error("needs a ctrlrange that is not negative: adhesion does not push"));
        }
        // a velocity that is integrated has bounds, or it would wind up
        let integrates = e.tag == "intvelocity";
        let mut activation_range = e.limit("actrange", "actlimited", automatic || integrates)?;
        if state.inherit_range > 0.0 {
            let model = &self.builder.model;
            let range = match transmission {
                Transmission::Joint(joint) => model.joints[joint].range,
                Transmission::Tendon(tendon) => model.tendons[tendon].range,
                Transmission::Site(_) | Transmission::SiteFrom { .. } | Transmission::Body(_) => None,
            };
            let range = Some(inherited_range(e, state.inherit_range, range)?);
            if integrates {
                activation_range = range;
            } else {
                actuator.control_range = range.filter(|_| !matches!(e.switch("ctrllimited"), Ok(Some(Switch::Off))));
            }
        }
        if integrates && activation_range.is_none() {
            return Err(e.error("needs an actrange, or inheritrange and a joint or tendon with a range"));
        }
        if let Some(ratio) = state.damping_ratio() {
            if !transmission.has_length(&self.builder.model) {
                return Err(e.error(
                    "a damping ratio needs a hinge, a slide, a ball, a tendon, or a site with a refsite; give kv",
                ));
            }
            actuator.bias[2] = 0.0;
            self.damping_ratios.push((index, ratio));
        }
        self.builder.add_actuator(actuator);
        if let Some(muscle) = muscle {
            let place = self.builder.model.muscles.len();
            if muscle.force < 0.0 {
                self.muscle_scales.push((place, state.gain[3]));
            }
            if length_range.is_none() {
                let sentence = "its lengths are taken to be those from limit to limit of what moves it: MuJoCo pushes it there in a simulation, and by some thousandths beyond; give a lengthrange, or <lengthrange uselimit=\"true\"> in <compiler>";
                self.notes.differs(e, sentence);
                self.open_lengths.push((place, e.clone()));
            }
            self.places.insert(label("muscle", place, ""), e.place());
            self.builder.add_muscle(muscle);
        }
        match state.activation_law() {
            Some(law) => {
                let early = e.boolean("actearly")?.unwrap_or(false);
                self.places.insert(label("activation", self.builder.model.na(), ""), e.place());
                self.builder.add_activation(Activation { actuator: index, law, range: activation_range, early });
            }
            None if activation_range.is_some() => return Err(e.error("has an actrange, but no activation")),
            None => {}
        }
        self.register("actuator", index, e)
    }
}

impl Reader {
    /// What an actuator acts on; none where that is not supported, and left out.
    fn transmission(&mut self, e: &Element) -> Result<Option<Transmission>> {
        let (joint, parents) = (self.find(e, "joint", "joint")?, self.find(e, "jointinparent", "joint")?);
        let (tendon, site) = (self.find_tendon(e, "tendon")?, self.find(e, "site", "site")?);
        let body = self.find(e, "body", "body")?;
        let given = [joint.is_some(), parents.is_some(), tendon != Found::Nothing, site.is_some(), body.is_some()];
        if given.iter().filter(|given| **given).count() > 1 {
            return Err(e.error("acts on a joint, a tendon, a body or at a site, not on several"));
        }
        if let Some(body) = body {
            return Ok(Some(Transmission::Body(body)));
        }
        match (site, self.find(e, "refsite", "site")?) {
            (Some(site), Some(reference)) => return Ok(Some(Transmission::SiteFrom { site, reference })),
            (Some(site), None) => return Ok(Some(Transmission::Site(site))),
            (None, Some(_)) => return Err(e.error("\"refsite\" needs the attribute \"site\": what is seen from there")),
            (None, None) => {}
        }
        if let Some(joint) = parents
            && self.builder.model.joints[joint].kind.nv() != 1
        {
            let advice =
                "along the axes of the parent, actuators act on hinges and slides only; use the attribute \"joint\"";
            return self.notes.refuse(e, advice).map(|()| None);
        }
        match (joint.or(parents), tendon) {
            (Some(joint), _) => Ok(Some(Transmission::Joint(joint))),
            (None, Found::Tendon(tendon)) => Ok(Some(Transmission::Tendon(tendon))),
            (None, Found::Other) => self.notes.refuse(e, "its tendon is not supported").map(|()| None),
            (None, Found::Nothing) => {
                let advice = "needs the attribute \"joint\", \"tendon\", \"site\" or \"body\": actuators act on joints, tendons, bodies and at sites only";
                self.notes.refuse(e, advice).map(|()| None)
            }
        }
    }
}

/// The range of the joint or tendon, stretched about its middle.
fn inherited_range(e: &Element, stretch: f64, range: Option<[f64; 2]>) -> Result<[f64; 2]> {
    let [low, high] = range.ok_or_else(|| e.error("inheritrange needs a joint or tendon with a range"))?;
    let (middle, half) = (f64::midpoint(low, high), (high - low) / 2.0 * stretch);
    Ok([middle - half, middle + half])
}

/// Gives a position servo the damping 2 ζ √(kp m), where m = 1/(J M⁻¹ Jᵀ) is the inertia that it feels at rest, J its gear along what it acts on (MuJoCo 4.0).
pub(super) fn set_damping_ratio(model: &mut Model, actuator: usize, ratio: f64) {
    let Some(servo) = model.actuators.get(actuator) else { return };
    let Some(along) = along(model, servo).filter(|along| along.amax() > 1e-15) else { return };
    let damping = 2.0 * ratio * (servo.gain[0] * rest_inertia(model, &along)).sqrt();
    model.actuators[actuator].bias[2] = -damping;
}
