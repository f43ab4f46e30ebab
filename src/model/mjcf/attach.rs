//! `<attach>` becomes a `<frame>` with a part of another model; names and classes of that model get a prefix, and what refers to the part comes with it.

use super::notes::Notes;
use super::replicate::{self, named_kind, referred_kind};
use super::settings::Compiler;
use super::xml::{DEPTH_LIMIT, ELEMENT_LIMIT, Element, Loader, identity};
use super::{parts, sections, vocabulary};
use crate::error::Result;
use crate::model::Model;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What a frame is called that was an `<attach>`, and what has come with it: no attribute of MJCF's.
const ATTACHED: &str = "attached";
/// How many actuators came with it.
const COUNT: &str = "count";

/// Models may not attach models any deeper: they are read by recursion.
const NESTING_LIMIT: usize = 32;

/// Names by kind.
type Names = HashSet<(&'static str, String)>;

/// Models that are read and may be attached.
pub(super) struct Models<'a> {
    pub notes: &'a mut Notes,
    /// How each is meant, see [`Element::model`].
    pub compilers: Vec<Compiler>,
    /// The files that are being read, each attached by the one before it.
    chain: Vec<PathBuf>,
    /// Elements of all models.
    count: usize,
}

/// A model that may be attached.
struct Part {
    root: Element,
    file: String,
}

impl<'a> Models<'a> {
    /// For a main file, if it is one.
    pub fn new(notes: &'a mut Notes, file: Option<&Path>) -> Self {
        Self { notes, compilers: Vec::new(), chain: file.into_iter().map(identity).collect(), count: 0 }
    }

    /// Checks a model whose files are in `folder`, puts into it what it attaches, and writes its replicas out.
    pub fn complete(&mut self, root: &mut Element, folder: &Path) -> Result<()> {
        vocabulary::check(root, self.notes)?;
        let nested = |default: &&&Element| default.attribute("class").is_some_and(|class| class != "main");
        if let Some(default) = sections(root, "default").iter().find(nested) {
            return Err(default.error("the outermost class is called \"main\"; put other classes inside it"));
        }
        let model = self.compilers.len();
        self.compilers.push(Compiler::read(&sections(root, "compiler"), folder, self.notes)?);
        self.count += mark(root, model);
        let mut known = HashMap::new();
        for asset in parts(root, "asset").into_iter().filter(|asset| asset.tag == "model") {
            let (part, name) = self.load(asset, folder)?;
            if known.insert(name.clone(), part).is_some() {
                return Err(asset.error(format!("there are two models called \"{name}\"; give one another name")));
            }
        }
        let mut others = Vec::new();
        let mut worlds: Vec<&mut Element> = root.children.iter_mut().filter(|e| e.tag == "worldbody").collect();
        for world in &mut worlds {
            self.fill(world, &known, &mut others)?;
        }
        if !others.is_empty() && root.children.iter().chain(&others).any(|e| depth(e) > DEPTH_LIMIT) {
            return Err(root.error(format!("with what it attaches, nested deeper than {DEPTH_LIMIT} elements")));
        }
        root.children.append(&mut others);
        replicate::expand(root, &self.compilers[model].angles)
    }

    /// The model that an asset names, complete, and its name.
    fn load(&mut self, asset: &Element, folder: &Path) -> Result<(Part, String)> {
        if let Some(kind) = asset.attribute("content_type").filter(|kind| *kind != "text/xml") {
            return Err(asset.error(format!("content_type \"{kind}\" is not supported; models are read from text/xml")));
        }
        let file = asset.attribute("file").ok_or_else(|| asset.error("needs the attribute \"file\""))?;
        let near = folder.join(&asset.folder).join(file);
        let path = Some(folder.join(file)).filter(|path| path.is_file()).unwrap_or(near);
        let own = identity(&path);
        if self.chain.contains(&own) {
            return Err(asset.error(format!("\"{file}\" attaches itself; a model cannot be part of itself")));
        }
        if self.chain.len() > NESTING_LIMIT {
            return Err(asset.error(format!("models that attach models, more than {NESTING_LIMIT} deep")));
        }
        self.chain.push(own);
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut root = Loader::new(folder).load_file(&path).map_err(|error| match error {
            crate::Error::File { .. } => asset.error(format!(
                "{error}; the file is looked for relative to the folder of the main file, and then to that of this one"
            )),
            other => other,
        })?;
        self.complete(&mut root, folder)?;
        self.chain.pop();
        if self.count > ELEMENT_LIMIT {
            return Err(asset.error(format!("makes the model larger than {ELEMENT_LIMIT} elements")));
        }
        let name = asset.attribute("name").or(root.attribute("model")).unwrap_or("MuJoCo Model").to_owned();
        Ok((Part { root, file: file.to_owned() }, name))
    }

    /// Puts into an element of the tree, and all below it, what is to be attached there; `others` is what comes with that.
    fn fill(&mut self, e: &mut Element, known: &HashMap<String, Part>, others: &mut Vec<Element>) -> Result<()> {
        for child in &mut e.children {
            if child.tag != "attach" {
                self.fill(child, known, others)?;
                continue;
            }
            let Some(name) = child.attribute("model") else {
                return Err(child.error("needs the attribute \"model\": a model does not attach parts of its own here; use <replicate>, or put the part into a file of its own"));
            };
            let part = known.get(name);
            let part =
                part.ok_or_else(|| child.error(format!("there is no model \"{name}\"; declare it in <asset>")))?;
            let (frame, mut own) = self.attached(child, part)?;
            others.append(&mut own);
            *child = frame;
        }
        Ok(())
    }

    /// The frame that an `<attach>` stands for, and the sections that come with it.
    fn attached(&mut self, e: &Element, part: &Part) -> Result<(Element, Vec<Element>)> {
        self.count = self.count.saturating_add(part.root.count());
        if self.count > ELEMENT_LIMIT {
            return Err(e.error(format!("makes the model larger than {ELEMENT_LIMIT} elements")));
        }
        let prefix = e.attribute("prefix").ok_or_else(|| e.error("needs the attribute \"prefix\""))?;
        let (contents, class) = chosen(e, part)?;
        let mut names = (Names::new(), Names::new());
        for world in sections(&part.root, "worldbody") {
            collect(world, &mut names.0);
        }
        for content in &contents {
            collect(content, &mut names.1);
        }
        let mut absent: Names = names.0.difference(&names.1).cloned().collect();
        let mut frame = Element {
            tag: "frame".into(),
            attributes: vec![("childclass".into(), class), (ATTACHED.into(), String::new())],
            children: contents.into_iter().cloned().collect(),
            ..e.clone()
        };
        rename(&mut frame, prefix);

        let root = &part.root;
        let mut own =
            vec![Element { children: Vec::new(), attributes: Vec::new(), tag: "default".into(), ..root.clone() }];
        own.extend(sections(root, "default").into_iter().cloned());
        for default in &mut own {
            if default.attribute("class").is_none() {
                default.set("class", "main".into());
            }
        }
        // what is named in one of them is referred to in those that follow
        for tag in ["asset", "custom", "contact", "tendon", "equality", "actuator", "sensor", "keyframe"] {
            for section in sections(root, tag) {
                let mut section = section.clone();
                let (left_out, kept) = (section.children.into_iter()).partition(|child| {
                    refers(child, &absent) || geom_of(child).is_some_and(|geom| absent.contains(&geom))
                });
                section.children = kept;
                for child in &left_out {
                    self.notes.add(child, "left out: it is about a part of its model that is not attached");
                    if matches!(tag, "tendon" | "actuator") {
                        collect(child, &mut absent);
                    }
                }
                if tag == "actuator" {
                    section.set(COUNT, section.children.len().to_string());
                    section.set(ATTACHED, section.attribute(ATTACHED).unwrap_or("").to_owned());
                }
                for child in &mut section.children {
                    complete_names(child, tag)?;
                }
                own.push(section);
            }
        }
        for section in &mut own {
            rename(section, prefix);
        }
        for option in sections(root, "option") {
            self.notes.add(option, "not used: options are those of the model that attaches this one");
        }
        let total_mass = (sections(root, "compiler").into_iter()).find(|e| e.attribute("settotalmass").is_some());
        if let Some(compiler) = total_mass {
            self.notes.add(compiler, "\"settotalmass\" is not used where the model is attached");
        }
        Ok((frame, own))
    }
}

/// What is to be attached, and the class that it would have in its own model.
fn chosen<'e>(e: &Element, part: &'e Part) -> Result<(Vec<&'e Element>, String)> {
    let worlds = sections(&part.root, "worldbody");
    let (tag, name) = match (e.attribute("body"), e.attribute("frame")) {
        (Some(_), Some(_)) => return Err(e.error("give \"body\" or \"frame\", not both")),
        (None, None) => return Ok((worlds.iter().flat_map(|world| &world.children).collect(), "main".into())),
        (Some(body), None) => ("body", body),
        (None, Some(frame)) => ("frame", frame),
    };
    let found = worlds.iter().find_map(|world| find(world, tag, name, "main"));
    let (found, class) = found.ok_or_else(|| e.error(format!("there is no {tag} \"{name}\" in \"{}\"", part.file)))?;
    if tag == "frame" && has_joints(found) {
        return Err(e.error(format!("the frame \"{name}\" has joints of the body around it; attach that body")));
    }
    Ok((vec![found], class.to_owned()))
}

/// Whether a frame has joints that are not those of a body in it.
fn has_joints(frame: &Element) -> bool {
    let mut parts = frame.children.iter();
    parts.any(|e| matches!(e.tag.as_str(), "joint" | "freejoint") || e.tag == "frame" && has_joints(e))
}

/// An element of the tree by its name, with the class of what stands around it.
fn find<'e>(e: &'e Element, tag: &str, name: &str, class: &'e str) -> Option<(&'e Element, &'e str)> {
    e.children.iter().find_map(|child| {
        if child.tag == tag && child.name() == name {
            return Some((child, class));
        }
        find(child, tag, name, child.attribute("childclass").unwrap_or(class))
    })
}

/// Says of an element and all below it, which have no model yet, what their model is; returns how many they are.
fn mark(e: &mut Element, model: usize) -> usize {
    e.model = model;
    1 + e.children.iter_mut().map(|child| mark(child, model)).sum::<usize>()
}

fn depth(e: &Element) -> usize {
    1 + e.children.iter().map(depth).max().unwrap_or(0)
}

/// The kind of thing that an element names, anywhere in a model.
fn kind_of(tag: &str) -> Option<&'static str> {
    Some(match tag {
        "fixed" | "spatial" => "tendon",
        "motor" | "general" | "position" | "velocity" | "intvelocity" | "damper" | "cylinder" | "muscle"
        | "adhesion" => "actuator",
        _ => return named_kind(tag),
    })
}

fn collect(e: &Element, names: &mut Names) {
    // within a tendon, those that it runs along have no names
    if let (Some(kind), Some(name)) = (kind_of(&e.tag), e.attribute("name")) {
        names.insert((kind, name.into()));
    }
    for child in &e.children {
        collect(child, names);
    }
}

/// The kind of thing that an attribute refers to, anywhere in a model.
fn reference(e: &Element, attribute: &str) -> Option<&'static str> {
    Some(match attribute {
        "mesh" => "mesh",
        "material" => "material",
        "hfield" => "height field",
        _ => return referred_kind(e, attribute),
    })
}

/// Whether an element, or one below it, refers to one of `names`.
fn refers(e: &Element, names: &Names) -> bool {
    let named = |(attribute, value): &(String, String)| {
        reference(e, attribute).is_some_and(|kind| names.contains(&(kind, value.clone())))
    };
    e.attributes.iter().any(named) || e.children.iter().any(|child| refers(child, names))
}

/// The geom that a custom number is about, as `restitution:GEOM` is.
fn geom_of(e: &Element) -> Option<(&'static str, String)> {
    let (_, geom) = e.name().split_once(':').filter(|_| e.tag == "numeric")?;
    Some(("geom", geom.to_owned()))
}

/// Says what an element of a section would be without saying it, so that it is the same in another model: its class, and the name of an asset that is called after its file.
fn complete_names(e: &mut Element, section: &str) -> Result<()> {
    match section {
        "asset" if e.tag != "model" => {
            let name = e.asset_name()?;
            e.set("name", name);
        }
        "keyframe" => e.set(ATTACHED, e.attribute(ATTACHED).unwrap_or("").to_owned()),
        _ => {}
    }
    let has_class = match section {
        "asset" => matches!(e.tag.as_str(), "mesh" | "material"),
        "contact" => e.tag == "pair",
        "tendon" | "equality" | "actuator" => true,
        _ => false,
    };
    if has_class && e.attribute("class").is_none() {
        e.set("class", "main".into());
    }
    Ok(())
}

/// Puts the prefix before all names, classes and references of an element and of all below it; the world is called so everywhere.
fn rename(e: &mut Element, prefix: &str) {
    let custom = if e.tag == "numeric" { e.name().find(':').map(|colon| colon + 1) } else { None };
    let renamed: Vec<usize> = (0..e.attributes.len())
        .filter(|&i| {
            let (attribute, value) = (e.attributes[i].0.as_str(), e.attributes[i].1.as_str());
            let is_name = matches!(attribute, "name" | "class" | "childclass" | ATTACHED);
            let kind = reference(e, attribute);
            is_name || kind.is_some() && (kind, value) != (Some("body"), "world")
        })
        .collect();
    for i in renamed {
        let (attribute, value) = &mut e.attributes[i];
        // a custom number is named after a geom
        value.insert_str(custom.unwrap_or(0), prefix);
        if attribute == ATTACHED {
            // what is within a part begins with what that is called, and no other does
            value.insert(prefix.len(), '\n');
        }
    }
    for child in &mut e.children {
        rename(child, prefix);
    }
}

/// Where the parts of a file are that came with an `<attach>`, for the states of their own file.
#[derive(Debug, Default)]
pub(super) struct Places {
    joints: HashMap<String, Joints>,
    /// Sections of actuators: what they came with, the first and how many.
    actuators: Vec<(String, usize, usize)>,
    joint_count: usize,
}

/// Joints that came with an `<attach>`, in the order in which joints are read.
#[derive(Debug, Default)]
struct Joints {
    first: Option<usize>,
    count: usize,
    /// The same part stands there so often, as replicas.
    replicas: usize,
}

/// Places in a state, shape \[numbers\] each.
#[derive(Debug)]
pub(super) struct Indices {
    pub q: Vec<usize>,
    pub v: Vec<usize>,
    pub control: Vec<usize>,
    pub activation: Vec<usize>,
}

impl Places {
    /// Of a whole file, with its replicas.
    pub fn find(root: &Element) -> Self {
        let mut places = Self::default();
        for world in sections(root, "worldbody") {
            places.visit(world, &[]);
        }
        let mut start = 0;
        for section in sections(root, "actuator") {
            let count = section.attribute(COUNT).and_then(|count| count.parse().ok()).unwrap_or(0);
            places.actuators.push((section.attribute(ATTACHED).unwrap_or("").into(), start, count));
            start += section.children.len();
        }
        places
    }

    /// A body: its own joints come first, and then its children in turn. `around`: the parts that it is in.
    fn visit<'e>(&mut self, body: &'e Element, around: &[&'e str]) {
        let mut bodies = Vec::new();
        self.visit_own(body, around, &mut bodies);
        for (child, around) in bodies {
            self.visit(child, &around);
        }
    }

    fn visit_own<'e>(&mut self, e: &'e Element, around: &[&'e str], bodies: &mut Vec<(&'e Element, Vec<&'e str>)>) {
        for child in &e.children {
            match child.tag.as_str() {
                "body" => bodies.push((child, around.to_vec())),
                "frame" => {
                    let mut inner = around.to_vec();
                    if let Some(part) = child.attribute(ATTACHED) {
                        self.joints.entry(part.to_owned()).or_default().replicas += 1;
                        inner.push(part);
                    }
                    self.visit_own(child, &inner, bodies);
                }
                "joint" | "freejoint" => {
                    for part in around {
                        let joints = self.joints.entry((*part).to_owned()).or_default();
                        joints.first.get_or_insert(self.joint_count);
                        joints.count += 1;
                    }
                    self.joint_count += 1;
                }
                _ => {}
            }
        }
    }

    /// Where in a state of the model the numbers of a keyframe belong: all, or those of the first replica of the part that the keyframe came with.
    pub fn indices(&self, key: &Element, model: &Model) -> Indices {
        let Some(part) = key.attribute(ATTACHED) else {
            let all = |count: usize| (0..count).collect();
            let activation = all(model.na());
            return Indices { q: all(model.nq()), v: all(model.nv()), control: all(model.nu()), activation };
        };
        let joints: Range<usize> = match self.joints.get(part) {
            Some(Joints { first: Some(first), count, replicas }) => *first..first + count / (*replicas).max(1),
            _ => 0..0,
        };
        let (mut q, mut v) = (Vec::new(), Vec::new());
        for joint in model.joints.get(joints).unwrap_or_default() {
            q.extend(joint.q_start..joint.q_start + joint.kind.nq());
            v.extend(joint.v_start..joint.v_start + joint.kind.nv());
        }
        let sections = self.actuators.iter().filter(|(of, ..)| of.starts_with(part));
        let control: Vec<usize> = sections.flat_map(|&(_, start, count)| start..start + count).collect();
        let activation = (model.activations.iter().enumerate())
            .filter(|(_, activation)| control.contains(&activation.actuator))
            .map(|(k, _)| k)
            .collect();
        Indices { q, v, control, activation }
    }
}

/// Whether a keyframe came with an `<attach>`.
pub(super) fn is_attached(key: &Element) -> bool {
    key.attribute(ATTACHED).is_some()
}
