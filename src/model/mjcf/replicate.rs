//! `<replicate>` becomes one `<frame>` for each replica, with suffixed names; what refers to those names is repeated too.

use super::values::{AngleUnits, euler};
use super::xml::{ELEMENT_LIMIT, Element};
use crate::error::Result;
use nalgebra::{UnitQuaternion, Vector3};
use std::collections::HashSet;

/// A finished replication: which names (kind, name) it repeated, under which suffixes.
struct Replication {
    names: HashSet<(&'static str, String)>,
    suffixes: Vec<String>,
}

/// Replaces every `<replicate>` below `root`.
pub(super) fn expand(root: &mut Element, angles: &AngleUnits) -> Result<()> {
    let mut expander = Expander { angles, done: Vec::new(), count: root.count() };
    for section in root.children.iter_mut().filter(|e| e.tag == "worldbody") {
        expander.children(section)?;
    }
    let Expander { mut done, mut count, .. } = expander;
    for replication in &mut done {
        // what is repeated in one of them is referred to in those that follow
        for tag in ["contact", "tendon", "equality", "actuator", "sensor"] {
            for section in root.children.iter_mut().filter(|section| section.tag == tag) {
                repeat_references(section, replication, &mut count)?;
            }
        }
    }
    Ok(())
}

struct Expander<'a> {
    angles: &'a AngleUnits,
    /// Inner replications stand before the ones around them.
    done: Vec<Replication>,
    count: usize,
}

impl Expander<'_> {
    fn children(&mut self, element: &mut Element) -> Result<()> {
        for mut child in std::mem::take(&mut element.children) {
            self.children(&mut child)?;
            if child.tag == "replicate" {
                let mut replicas = self.replicas(&child)?;
                element.children.append(&mut replicas);
            } else {
                element.children.push(child);
            }
        }
        Ok(())
    }

    /// One frame for each replica. Each stands at the offset from the one before it, in the axes of that one.
    fn replicas(&mut self, replicate: &Element) -> Result<Vec<Element>> {
        let count = replicate.integer("count")?.ok_or_else(|| replicate.error("needs the attribute `count`"))?;
        if count < 1 {
            return Err(replicate.error("count must be at least 1"));
        }
        let count = count as usize;
        self.count =
            (replicate.count().checked_mul(count)).and_then(|n| n.checked_add(self.count)).unwrap_or(usize::MAX);
        if self.count > ELEMENT_LIMIT {
            return Err(
                replicate.error(format!("makes the model larger than {ELEMENT_LIMIT} elements; lower the count"))
            );
        }
        let offset = replicate.vector("offset")?.unwrap_or_default();
        let turns = replicate.numbers::<3>("euler")?.unwrap_or_default();
        let separator = replicate.attribute("sep").unwrap_or("");
        let digits = count.to_string().len();
        let suffixes: Vec<String> = (0..count).map(|i| format!("{separator}{i:0digits$}")).collect();
        let mut names = HashSet::new();
        for child in &replicate.children {
            collect_names(child, &mut names);
        }
        let mut replicas = Vec::with_capacity(count);
        let mut position = Vector3::zeros();
        for (i, suffix) in suffixes.iter().enumerate() {
            let orientation = euler(turns.map(|turn| turn * i as f64), self.angles);
            replicas.push(replica(replicate, &position, &orientation, suffix, &names));
            position += orientation * offset;
        }
        self.done.push(Replication { names, suffixes });
        Ok(replicas)
    }
}

fn replica(
    replicate: &Element,
    position: &Vector3<f64>,
    orientation: &UnitQuaternion<f64>,
    suffix: &str,
    names: &HashSet<(&'static str, String)>,
) -> Element {
    let q = orientation;
    let mut frame = Element {
        tag: "frame".into(),
        attributes: vec![
            ("pos".into(), format!("{} {} {}", position.x, position.y, position.z)),
            ("quat".into(), format!("{} {} {} {}", q.w, q.i, q.j, q.k)),
        ],
        children: replicate.children.clone(),
        ..replicate.clone()
    };
    if let Some(class) = replicate.attribute("childclass") {
        frame.set("childclass", class.into());
    }
    for child in &mut frame.children {
        add_suffix(child, suffix, names);
    }
    frame
}

/// The kind of thing that an element of the body tree names.
pub(super) fn named_kind(tag: &str) -> Option<&'static str> {
    Some(match tag {
        "body" => "body",
        "joint" | "freejoint" => "joint",
        "geom" => "geom",
        "site" => "site",
        "camera" => "camera",
        _ => return None,
    })
}

/// The kind of thing that an attribute outside of the body tree refers to.
pub(super) fn referred_kind(element: &Element, attribute: &str) -> Option<&'static str> {
    let kind_in = |name: &str| match element.attribute(name) {
        Some("body" | "xbody") => Some("body"),
        Some("joint") => Some("joint"),
        Some("geom") => Some("geom"),
        Some("site") => Some("site"),
        Some("camera") => Some("camera"),
        _ => None,
    };
    Some(match attribute {
        "joint" | "joint1" | "joint2" | "jointinparent" => "joint",
        "body" | "body1" | "body2" | "subtree1" | "subtree2" => "body",
        "geom" | "geom1" | "geom2" => "geom",
        "site" | "site1" | "site2" | "refsite" | "cranksite" | "slidersite" | "sidesite" => "site",
        "camera" => "camera",
        "tendon" | "tendon1" | "tendon2" => "tendon",
        "actuator" => "actuator",
        "objname" => return kind_in("objtype"),
        "refname" => return kind_in("reftype"),
        _ => return None,
    })
}

fn collect_names(element: &Element, names: &mut HashSet<(&'static str, String)>) {
    if let (Some(kind), Some(name)) = (named_kind(&element.tag), element.attribute("name")) {
        names.insert((kind, name.into()));
    }
    for child in &element.children {
        collect_names(child, names);
    }
}

fn add_suffix(element: &mut Element, suffix: &str, names: &HashSet<(&'static str, String)>) {
    for (attribute, value) in &mut element.attributes {
        // A light or a camera may look at a body of its own replica.
        let inner = attribute == "target" && names.contains(&("body", value.clone()));
        if attribute == "name" || inner {
            value.push_str(suffix);
        }
    }
    for child in &mut element.children {
        add_suffix(child, suffix, names);
    }
}

/// Repeats every direct child that refers (itself, or below it) to a repeated name: behind all others, replica by replica, as MuJoCo does.
fn repeat_references(section: &mut Element, replication: &mut Replication, count: &mut usize) -> Result<()> {
    let (repeated, others): (Vec<_>, Vec<_>) =
        std::mem::take(&mut section.children).into_iter().partition(|child| refers(child, replication));
    section.children = others;
    for child in &repeated {
        *count = (child.count().checked_mul(replication.suffixes.len()))
            .and_then(|n| n.checked_add(*count))
            .unwrap_or(usize::MAX);
        if *count > ELEMENT_LIMIT {
            return Err(child.error(format!("its replicas make the model larger than {ELEMENT_LIMIT} elements")));
        }
    }
    for suffix in &replication.suffixes {
        for child in &repeated {
            let mut copy = child.clone();
            rename_references(&mut copy, replication, suffix);
            if let Some(name) = child.attribute("name") {
                copy.set("name", format!("{name}{suffix}"));
            }
            section.children.push(copy);
        }
    }
    let kind = match section.tag.as_str() {
        "tendon" => "tendon",
        "actuator" => "actuator",
        _ => return Ok(()),
    };
    replication.names.extend(repeated.iter().filter_map(|child| Some((kind, child.attribute("name")?.to_owned()))));
    Ok(())
}

fn refers(element: &Element, replication: &Replication) -> bool {
    let own = element.attributes.iter().any(|(attribute, value)| {
        referred_kind(element, attribute).is_some_and(|kind| replication.names.contains(&(kind, value.clone())))
    });
    own || element.children.iter().any(|child| refers(child, replication))
}

fn rename_references(element: &mut Element, replication: &Replication, suffix: &str) {
    let renamed: Vec<(String, String)> = (element.attributes.iter())
        .filter(|(attribute, value)| {
            referred_kind(element, attribute).is_some_and(|kind| replication.names.contains(&(kind, value.clone())))
        })
        .map(|(attribute, value)| (attribute.clone(), format!("{value}{suffix}")))
        .collect();
    for (attribute, value) in renamed {
        element.set(&attribute, value);
    }
    for child in &mut element.children {
        rename_references(child, replication, suffix);
    }
}
