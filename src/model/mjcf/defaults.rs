//! Default classes: what an element has that does not say otherwise.

use super::values::ORIENTATIONS;
use super::xml::Element;
use crate::error::Result;
use std::collections::HashMap;

/// Attributes of which an element may give only the first numbers; the others stay as in its class.
const PARTIAL: &str = "friction size solref solimp gear gainprm biasprm dynprm fluidcoef solreflimit solimplimit solreffriction \
                       solimpfriction";
/// Actuators of all kinds share one set of defaults.
const ACTUATORS: [&str; 9] =
    ["general", "motor", "position", "velocity", "damper", "intvelocity", "cylinder", "muscle", "adhesion"];

/// The defaults of one class, with everything that it inherits.
#[derive(Debug, Clone, Default)]
struct Class {
    /// For each kind of element, one element that carries the defaults.
    elements: HashMap<String, Element>,
    /// Actuators change one common state, in order; those of the outermost class first, then of the classes within it.
    actuators: Vec<Vec<Element>>,
}

/// All default classes of a file.
#[derive(Debug, Default)]
pub(super) struct Defaults {
    classes: HashMap<String, Class>,
}

impl Defaults {
    /// Reads a top-level `<default>`. There may be several, which go on with the same main class; what is attached has main classes of its own.
    pub fn read(&mut self, element: &Element) -> Result<()> {
        let name = element.attribute("class").unwrap_or("main");
        self.read_class(element, name, Class::default())
    }

    fn read_class(&mut self, element: &Element, name: &str, inherited: Class) -> Result<()> {
        // A class may be continued in another file.
        let mut class = self.classes.remove(name).unwrap_or_else(|| {
            let mut inherited = inherited;
            inherited.actuators.push(Vec::new());
            inherited
        });
        for child in element.children.iter().filter(|child| child.tag != "default") {
            if child.attribute("class").is_some() || child.attribute("name").is_some() {
                return Err(child.error("defaults have neither class nor name"));
            }
            if ACTUATORS.contains(&child.tag.as_str()) {
                class.actuators.last_mut().into_iter().for_each(|own| own.push(child.clone()));
            } else {
                let merged = class.elements.get(&child.tag).map_or_else(|| child.clone(), |old| merge(old, child));
                class.elements.insert(child.tag.clone(), merged);
            }
        }
        self.classes.insert(name.into(), class.clone());
        for child in element.children.iter().filter(|child| child.tag == "default") {
            let inner = child.attribute("class").ok_or_else(|| child.error("a nested default needs a class"))?;
            if inner == "main" {
                return Err(child.error("the class \"main\" is the outermost one"));
            }
            self.read_class(child, inner, class.clone())?;
        }
        Ok(())
    }

    /// Checks that a class (given by `childclass`) exists.
    pub fn check(&self, element: &Element, class: &str) -> Result<()> {
        self.class(element, class).map(|_| ())
    }

    fn class(&self, element: &Element, name: &str) -> Result<Option<&Class>> {
        match self.classes.get(name) {
            Some(class) => Ok(Some(class)),
            None if name == "main" => Ok(None),
            None => Err(element.error(format!("there is no default class \"{name}\"; define it in <default>"))),
        }
    }

    /// The element with all attributes that it has or inherits from its class, and without children.
    /// `kind` is the tag under which defaults of its kind stand.
    pub fn complete(&self, element: &Element, kind: &str, child_class: &str) -> Result<Element> {
        let class = self.class(element, element.attribute("class").unwrap_or(child_class))?;
        let own = Element { children: Vec::new(), ..shallow(element) };
        Ok(match class.and_then(|class| class.elements.get(kind)) {
            Some(defaults) => merge(defaults, &own),
            None => own,
        })
    }

    /// The actuator elements whose settings act, in order, before those of `element`: those of the outermost class first, then of the classes within it.
    pub fn actuators(&self, element: &Element) -> Result<&[Vec<Element>]> {
        let class = self.class(element, element.attribute("class").unwrap_or("main"))?;
        Ok(class.map_or(&[], |class| &class.actuators))
    }
}

fn shallow(element: &Element) -> Element {
    Element {
        tag: element.tag.clone(),
        attributes: element.attributes.clone(),
        children: Vec::new(),
        file: element.file.clone(),
        folder: element.folder.clone(),
        line: element.line,
        model: element.model,
    }
}

/// `own` with what `defaults` has and it has not.
fn merge(defaults: &Element, own: &Element) -> Element {
    let mut merged = own.clone();
    let turned = ORIENTATIONS.iter().any(|name| own.attribute(name).is_some());
    for (name, inherited) in &defaults.attributes {
        match own.attribute(name) {
            None if turned && ORIENTATIONS.contains(&name.as_str()) => {}
            None => merged.attributes.push((name.clone(), inherited.clone())),
            Some(value) if PARTIAL.split(' ').any(|partial| partial == name) => {
                let given = value.split_whitespace().count();
                let words: Vec<&str> =
                    value.split_whitespace().chain(inherited.split_whitespace().skip(given)).collect();
                merged.set(name, words.join(" "));
            }
            Some(_) => {}
        }
    }
    merged
}
