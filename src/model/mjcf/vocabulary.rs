//! Every element and attribute that this reader knows, and what becomes of it.
//!
//! A file is held against this table before anything is read from it. What is not in the table is an error (or, when lenient, is
//! taken out and listed), so nothing in a file is lost without a word.

use super::notes::Notes;
use super::xml::Element;
use crate::error::Result;

/// Where an element stands; the same tag means different things in different places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Root,
    Compiler,
    Options,
    Defaults,
    Assets,
    Material,
    Deformables,
    Tree,
    Contacts,
    Equalities,
    Tendons,
    TendonPath,
    Actuators,
    Sensors,
    Keyframes,
    Custom,
    /// Has no children.
    Leaf,
}

/// What to do with a known element.
enum Use {
    /// Read it; its children stand in the given place.
    Read(Place, Attributes),
    /// Nothing in it changes the physics: skip it and everything below it.
    Skip,
    /// The same, with a note.
    Note(&'static str),
    /// It changes the physics and is not done here.
    Refuse(&'static str),
}

/// Attribute names, separated by blanks.
#[derive(Default)]
struct Attributes {
    /// Read by this crate.
    read: &'static str,
    /// Used where constraints are soft, which they are not by default: noted as such.
    soft: &'static str,
    /// Not used, because they concern MuJoCo's own solver: noted.
    noted: &'static str,
    /// Done in another way here, so that the motion differs a little: noted as such.
    differing: &'static str,
    /// For people and graphics: skipped without a word.
    skipped: &'static str,
    /// Change the physics and are not done here.
    refused: &'static str,
    /// The same, where they have a number above zero.
    late: &'static str,
}

const POSE: &str = "pos quat axisangle xyaxes zaxis euler";
const ACTUATOR: &str = "name class ctrllimited forcelimited ctrlrange forcerange actlimited actrange actearly gear joint jointinparent tendon site refsite body lengthrange";
const ACTUATOR_SKIPPED: &str = "group user nsample interp actdim";
const ACTUATOR_REFUSED: &str = "cranksite slidersite cranklength plugin";

const SKIN: &str = "a skin is for graphics: it is not used";

/// Sensors that can be recorded.
const SENSORS: &str = "touch accelerometer velocimeter gyro force torque magnetometer rangefinder camprojection jointpos jointvel \
    tendonpos tendonvel actuatorpos actuatorvel actuatorfrc jointactuatorfrc tendonactuatorfrc ballquat ballangvel \
    jointlimitpos jointlimitvel jointlimitfrc tendonlimitpos tendonlimitvel tendonlimitfrc framepos framequat framexaxis \
    frameyaxis framezaxis framelinvel frameangvel framelinacc frameangacc subtreecom subtreelinvel subtreeangmom \
    insidesite distance normal fromto contact e_potential e_kinetic clock tactile user";

/// Checks `root` and everything below it. When lenient, what is not known is taken out and listed.
pub(super) fn check(root: &mut Element, notes: &mut Notes) -> Result<()> {
    check_attributes(root, &Attributes { read: "model", ..Attributes::default() }, notes)?;
    check_children(root, Place::Root, notes)
}

fn check_children(parent: &mut Element, place: Place, notes: &mut Notes) -> Result<()> {
    let mut kept = Vec::with_capacity(parent.children.len());
    for mut child in std::mem::take(&mut parent.children) {
        match rule(place, &child.tag) {
            Some(Use::Read(below, attributes)) => {
                check_attributes(&mut child, &attributes, notes)?;
                check_children(&mut child, below, notes)?;
                kept.push(child);
            }
            Some(Use::Skip) => {}
            Some(Use::Note(sentence)) => notes.add(&child, sentence),
            Some(Use::Refuse(advice)) => notes.refuse(&child, advice)?,
            None => {
                let message = format!("is not known inside <{}>; remove it, or read with `lenient`", parent.tag);
                if place == Place::Sensors {
                    notes.refuse_harmless(&child, message)?;
                } else {
                    notes.refuse(&child, message)?;
                }
            }
        }
    }
    parent.children = kept;
    Ok(())
}

fn check_attributes(element: &mut Element, known: &Attributes, notes: &mut Notes) -> Result<()> {
    let among = |names: &str, name: &str| names.split(' ').any(|n| n == name);
    let mut unknown = Vec::new();
    for (name, _) in &element.attributes {
        if among(known.soft, name) {
            notes.add(element, &format!("\"{name}\" is not used, unless constraints are chosen to be soft"));
        } else if among(known.noted, name) {
            notes.unused(element, name);
        } else if among(known.differing, name) {
            notes.differs(element, &format!("\"{name}\" is not used"));
        } else if among(known.refused, name) {
            notes.refuse(
                element,
                format!("attribute \"{name}\" is not supported and would change the motion; remove it, or read with `lenient`"),
            )?;
            unknown.push(name.clone());
        } else if among(known.late, name) {
            if element.list(name)?.is_some_and(|numbers| numbers.iter().any(|x| *x > 0.0)) {
                let advice = "is not supported: nothing comes late here; remove it, or read with `lenient`";
                notes.refuse(element, format!("attribute \"{name}\" {advice}"))?;
            }
        } else if !(among(known.read, name)
            || among(known.skipped, name)
            || among(POSE, name) && among(known.read, "POSE")
            || among(ACTUATOR, name) && among(known.read, "ACTUATOR"))
        {
            notes.refuse(
                element,
                format!("attribute \"{name}\" is not known; correct or remove it, or read with `lenient`"),
            )?;
            unknown.push(name.clone());
        }
    }
    element.attributes.retain(|(name, _)| !unknown.contains(name));
    Ok(())
}

/// The rule for `tag` at `place`, if it is known there.
#[allow(clippy::match_same_arms, reason = "the table is ordered by place")]
fn rule(place: Place, tag: &str) -> Option<Use> {
    let none = Attributes::default;
    let read = |read| Attributes { read, ..none() };
    Some(match (place, tag) {
        (Place::Root, "compiler") => Use::Read(
            Place::Compiler,
            Attributes {
                read: "angle eulerseq autolimits coordinate inertiafromgeom inertiagrouprange boundmass boundinertia \
                       balanceinertia settotalmass meshdir assetdir strippath alignfree fitaabb",
                skipped: "texturedir usethread",
                noted: "discardvisual fusestatic convexhull saveinertial exactmeshinertia",
                ..none()
            },
        ),
        (Place::Compiler, "lengthrange") => Use::Read(
            Place::Leaf,
            Attributes {
                read: "mode useexisting uselimit",
                // of a simulation that there is none of here
                skipped: "accel maxforce timeconst timestep inttotal interval tolrange",
                ..none()
            },
        ),
        (Place::Root, "option") => Use::Read(
            Place::Options,
            Attributes {
                read: "timestep gravity density viscosity wind integrator",
                soft: "impratio cone",
                noted: "solver iterations tolerance jacobian noslip_iterations noslip_tolerance \
                        ls_iterations ls_tolerance mpr_iterations mpr_tolerance ccd_iterations ccd_tolerance \
                        sdf_iterations sdf_initpoints magnetic o_margin o_solref o_solimp o_friction \
                        sleep_tolerance apirate",
                refused: "actuatorgroupdisable collision",
                ..none()
            },
        ),
        (Place::Options, "flag") => Use::Read(
            Place::Leaf,
            Attributes {
                read: "constraint equality frictionloss limit contact passive spring damper gravity clampctrl filterparent \
                       actuation override eulerdamp",
                // How MuJoCo's own solver, collision detection, sensors and bookkeeping work.
                noted: "warmstart refsafe sensor midphase nativeccd autoreset island multiccd fwdinv invdiscrete sleep energy \
                        diagexact speculative ipc",
                ..none()
            },
        ),
        (Place::Root | Place::Defaults, "default") => Use::Read(Place::Defaults, read("class")),
        (Place::Root, "asset") => Use::Read(Place::Assets, none()),
        (Place::Root, "worldbody") => Use::Read(Place::Tree, none()),
        (Place::Root, "contact") => Use::Read(Place::Contacts, none()),
        (Place::Root, "equality") => Use::Read(Place::Equalities, none()),
        (Place::Root, "tendon") => Use::Read(Place::Tendons, none()),
        (Place::Root, "actuator") => Use::Read(Place::Actuators, none()),
        (Place::Root, "sensor") => Use::Read(Place::Sensors, none()),
        (Place::Root, "keyframe") => Use::Read(Place::Keyframes, none()),
        (Place::Root, "custom") => Use::Read(Place::Custom, none()),
        (Place::Root, "size" | "statistic" | "visual") => Use::Skip,
        (Place::Root, "deformable") => Use::Read(Place::Deformables, none()),
        (Place::Root, "extension") => Use::Refuse("plugins are not supported; remove them"),

        (Place::Defaults, "light" | "camera" | "material" | "mesh" | "geom" | "joint" | "site") => {
            let home = if matches!(tag, "mesh" | "material") { Place::Assets } else { Place::Tree };
            return rule(home, tag);
        }
        (Place::Defaults, "pair") => return rule(Place::Contacts, tag),
        (Place::Defaults, "equality") => {
            Use::Read(Place::Leaf, Attributes { read: "active", soft: "solref solimp", ..none() })
        }
        (Place::Defaults, "tendon") => return rule(Place::Tendons, "fixed"),
        (Place::Defaults, _) => return rule(Place::Actuators, tag),

        (Place::Assets, "mesh") => Use::Read(
            Place::Leaf,
            Attributes {
                read: "name class file vertex face scale refpos refquat inertia",
                skipped: "normal texcoord smoothnormal content_type material",
                noted: "octree_maxdepth needsdf",
                // A hull keeps all its corners.
                differing: "maxhullvert",
                refused: "builtin params",
                ..none()
            },
        ),
        (Place::Assets, "texture") | (Place::Material, "layer") => Use::Skip,
        (Place::Assets, "material") => Use::Read(
            Place::Material,
            Attributes {
                read: "name class rgba",
                skipped: "texture texrepeat texuniform emission specular shininess reflectance metallic roughness",
                ..none()
            },
        ),
        (Place::Assets, "hfield") => {
            Use::Read(Place::Leaf, Attributes { read: "name file content_type nrow ncol size elevation", ..none() })
        }
        (Place::Assets | Place::Deformables, "skin") => Use::Note(SKIN),
        (Place::Deformables, "flex") => Use::Refuse("deformable bodies are not supported; rigid bodies only"),
        (Place::Assets, "model") => Use::Read(Place::Leaf, read("name file content_type")),

        (Place::Tree, "body") => Use::Read(
            Place::Tree,
            Attributes { read: "name childclass mocap gravcomp POSE", skipped: "user", noted: "sleep", ..none() },
        ),
        (Place::Tree, "frame") => Use::Read(Place::Tree, read("name childclass POSE")),
        (Place::Tree, "replicate") => Use::Read(Place::Tree, read("count offset euler sep childclass")),
        (Place::Tree, "inertial") => Use::Read(Place::Leaf, read("mass diaginertia fullinertia POSE")),
        (Place::Tree, "joint") => Use::Read(
            Place::Leaf,
            Attributes {
                read: "name class type pos axis springdamper limited range actuatorfrclimited actuatorfrcrange margin ref \
                       springref armature damping frictionloss stiffness actuatorgravcomp",
                soft: "solreflimit solimplimit solreffriction solimpfriction",
                skipped: "group user",
                ..none()
            },
        ),
        (Place::Tree, "freejoint") => {
            Use::Read(Place::Leaf, Attributes { read: "name align", skipped: "group", ..none() })
        }
        (Place::Tree, "geom") => Use::Read(
            Place::Leaf,
            Attributes {
                read: "name class type contype conaffinity condim group priority size friction mass density shellinertia \
                       margin gap fromto mesh hfield fitscale fluidshape fluidcoef material rgba POSE",
                soft: "solmix solref solimp",
                skipped: "user",
                ..none()
            },
        ),
        (Place::Tree, "site") => Use::Read(
            Place::Leaf,
            Attributes { read: "name class type size fromto POSE", skipped: "group material rgba user", ..none() },
        ),
        (Place::Tree, "camera" | "light") => Use::Skip,
        (Place::Tree, "composite" | "flexcomp") => {
            Use::Refuse("composite and flexible objects are not supported; write the bodies out")
        }
        (Place::Tree, "attach") => Use::Read(Place::Leaf, read("model body frame prefix")),
        (Place::Tree | Place::Actuators | Place::Sensors, "plugin") => {
            Use::Refuse("plugins are not supported; remove it")
        }

        (Place::Contacts, "pair") => Use::Read(
            Place::Leaf,
            Attributes {
                read: "name class geom1 geom2 condim friction margin gap",
                soft: "solref solimp",
                noted: "solreffriction",
                ..none()
            },
        ),
        (Place::Contacts, "exclude") => Use::Read(Place::Leaf, read("name body1 body2")),

        (Place::Equalities, "connect") => equality("name class active body1 body2 anchor site1 site2"),
        (Place::Equalities, "weld") => equality("name class active body1 body2 anchor relpose site1 site2 torquescale"),
        (Place::Equalities, "joint") => equality("name class active joint1 joint2 polycoef"),
        (Place::Equalities, "tendon") => equality("name class active tendon1 tendon2 polycoef"),
        (Place::Equalities, "flex" | "flexvert" | "flexstrain") => {
            Use::Refuse("this kind of equality is not supported; connect, weld, joint and tendon are")
        }

        (Place::Tendons, "fixed" | "spatial") => Use::Read(
            Place::TendonPath,
            Attributes {
                read: "name class limited range stiffness damping frictionloss armature actuatorfrclimited actuatorfrcrange \
                       springlength margin",
                soft: "solreflimit solimplimit solreffriction solimpfriction",
                skipped: "group width material rgba user",
                ..none()
            },
        ),
        (Place::TendonPath, "joint") => Use::Read(Place::Leaf, read("joint coef")),
        (Place::TendonPath, "site") => Use::Read(Place::Leaf, read("site")),
        (Place::TendonPath, "geom") => Use::Read(Place::Leaf, read("geom sidesite")),
        (Place::TendonPath, "pulley") => Use::Read(Place::Leaf, read("divisor")),

        (Place::Actuators, "motor") => actuator("ACTUATOR"),
        (Place::Actuators, "general") => actuator("ACTUATOR input gaintype biastype gainprm biasprm dyntype dynprm"),
        (Place::Actuators, "position") => actuator("ACTUATOR kp kv dampratio timeconst inheritrange"),
        (Place::Actuators, "velocity" | "damper") => actuator("ACTUATOR kv"),
        (Place::Actuators, "intvelocity") => actuator("ACTUATOR kp kv dampratio inheritrange"),
        (Place::Actuators, "cylinder") => actuator("ACTUATOR timeconst area diameter bias"),
        (Place::Actuators, "muscle") => {
            actuator("ACTUATOR timeconst tausmooth range force scale lmin lmax vmax fpmax fvmax")
        }
        (Place::Actuators, "adhesion") => Use::Read(
            Place::Leaf,
            Attributes {
                read: "name class body gain ctrlrange forcelimited forcerange",
                skipped: ACTUATOR_SKIPPED,
                late: "delay",
                ..none()
            },
        ),
        (Place::Actuators, "dcmotor") => Use::Refuse(
            "this kind of actuator is not supported; use motor, position, velocity, intvelocity, damper, cylinder, muscle, adhesion or general",
        ),

        (Place::Sensors, kind) if !SENSORS.split_ascii_whitespace().any(|known| known == kind) => return None,
        (Place::Sensors, _) => Use::Read(
            Place::Leaf,
            Attributes {
                read: "name cutoff site body joint tendon actuator objtype objname reftype refname",
                skipped: "class noise user camera geom geom1 geom2 body1 body2 subtree1 subtree2 needstage datatype dim key \
                          mesh num data reduce interp nsample",
                late: "delay interval",
                ..none()
            },
        ),

        (Place::Keyframes, "key") => Use::Read(Place::Leaf, read("name time qpos qvel act ctrl mpos mquat")),

        (Place::Custom, "numeric") => {
            Use::Read(Place::Leaf, Attributes { read: "name data", skipped: "size", ..none() })
        }
        (Place::Custom, "text" | "tuple") => Use::Skip,
        _ => return None,
    })
}

fn equality(read: &'static str) -> Use {
    Use::Read(Place::Leaf, Attributes { read, soft: "solref solimp", ..Attributes::default() })
}

fn actuator(read: &'static str) -> Use {
    let (skipped, refused) = (ACTUATOR_SKIPPED, ACTUATOR_REFUSED);
    let attributes = Attributes { read, skipped, refused, late: "delay", ..Attributes::default() };
    Use::Read(Place::Leaf, attributes)
}
