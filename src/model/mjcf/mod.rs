//! Reading MJCF, MuJoCo's model format: every element and attribute is read, known to make no difference, or refused.
//!
//! The text becomes a tree of elements ([`xml`]: includes spliced in), which is held against a table of everything that is known
//! ([`vocabulary`]), gets what it attaches put into it ([`attach`]) and its replicas written out ([`replicate`]), and is then read section by section into a [`ModelBuilder`].
//! Checks of values are the builder's, so that a model is judged by the same rules wherever it comes from; an error of the builder
//! is traced back to the line that it came from.
//!
//! A file means what it means in MuJoCo 4.0: `margin` thickens a surface (two geoms rest at the sum of their margins, a joint its margin before its
//! limit), `gap` changes no motion, and a contact `<pair>` takes nothing from its geoms (friction 1, condim 3, margin 0 unless it says so).
//!
//! Contact and joint limits are hard here, so MuJoCo's parameters of softness (`solref`, `solimp` and so on) have no meaning unless [`crate::Constraints::Soft`] is chosen; they,
//! and settings of MuJoCo's own solver and integrator, are accepted and listed in [`Model::notes`].

mod actuators;
mod attach;
mod bodies;
mod constraints;
mod defaults;
mod fits;
mod geoms;
mod height_fields;
mod meshes;
mod muscles;
mod notes;
mod obj;
mod replicate;
mod sensors;
mod settings;
mod states;
mod tendons;
mod values;
mod vocabulary;
mod xml;

use super::rest::spring_length;
use super::{Model, ModelBuilder, check, pairs};
use crate::error::{Error, Result};
use defaults::Defaults;
use notes::Notes;
use settings::{Compiler, Flags};
use std::collections::{HashMap, HashSet};
use std::path::Path;
use xml::{Element, Loader};

/// How a model file is read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// What to do with elements and attributes that are not known, or that would change the motion and are not done here: an error
    /// that names the line (false, the default), or leave them out and list each in [`Model::notes`] as `ignored: …` (true).
    /// [`super::Note::changes_motion`] says whether the motion is another for it.
    pub lenient: bool,
}

impl Model {
    /// Reads an MJCF file. Included files and meshes are looked for relative to its folder.
    ///
    /// # Errors
    /// [`Error::File`] if the file cannot be read; [`Error::ModelFile`], with file, line and element, for everything that is wrong
    /// in it or that this crate does not do.
    pub fn from_mjcf_file(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_mjcf_file_with(path, &ReadOptions::default())
    }

    /// Reads an MJCF file as [`Model::from_mjcf_file`] does, as `options` say.
    ///
    /// # Errors
    /// Those of [`Model::from_mjcf_file`]; fewer if the options are lenient.
    pub fn from_mjcf_file_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut loader = Loader::new(folder);
        let root = loader.load_file(path)?;
        read(root, Some(path), folder, options)
    }

    /// Reads MJCF text. Included files and meshes are looked for relative to the current folder.
    ///
    /// ```
    /// use delassus::model::Model;
    /// # fn main() -> delassus::Result<()> {
    /// let model = Model::from_mjcf_str(
    ///     r#"<mujoco model="drop">
    ///          <worldbody>
    ///            <geom type="plane" size="5 5 1"/>
    ///            <body pos="0 0 1"><freejoint/><geom size="0.1"/></body>
    ///          </worldbody>
    ///        </mujoco>"#,
    /// )?;
    /// assert_eq!((model.nq(), model.nv(), model.pairs.len()), (7, 6, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`Model::from_mjcf_file`]; the file is called `mjcf` in places.
    pub fn from_mjcf_str(text: &str) -> Result<Self> {
        Self::from_mjcf_str_with(text, &ReadOptions::default())
    }

    /// Reads MJCF text as [`Model::from_mjcf_str`] does, as `options` say.
    ///
    /// # Errors
    /// Those of [`Model::from_mjcf_str`]; fewer if the options are lenient.
    pub fn from_mjcf_str_with(text: &str, options: &ReadOptions) -> Result<Self> {
        let folder = Path::new("");
        let root = Loader::new(folder).load_text(text, "mjcf")?;
        read(root, None, folder, options)
    }
}

/// What is known while a file is read.
struct Reader {
    /// How each of the models is meant that the file is made of, see [`Element::model`].
    compilers: Vec<Compiler>,
    flags: Flags,
    defaults: Defaults,
    notes: Notes,
    builder: ModelBuilder,
    meshes: meshes::Meshes,
    height_fields: height_fields::HeightFields,
    /// Materials without colour.
    unseen: HashSet<String>,
    /// Index of everything that has a name, by kind and name.
    names: HashMap<(&'static str, String), usize>,
    /// Where the parts come from: the builder's name of a part → place in the file.
    places: HashMap<String, String>,
    /// Indices of the mocap bodies, which stay where they are.
    mocap: Vec<usize>,
    /// Joints whose spring and damping follow from a time constant.
    springs: Vec<bodies::Spring>,
    /// Spatial tendons whose springs are slack at the length that they have with the springs of the joints at rest.
    slack_at_rest: Vec<usize>,
    /// Muscles whose lengths are to be found.
    open_lengths: Vec<(usize, Element)>,
    /// Muscles whose peak force follows from a scale.
    muscle_scales: Vec<(usize, f64)>,
    /// Joints with `actuatorgravcomp`, and whether the forces of their actuators are bounded.
    lifted: Vec<(Element, bool)>,
    /// Position servos whose damping follows from a ratio: (actuator, ratio).
    damping_ratios: Vec<(usize, f64)>,
}

/// Reads the tree of a whole file, in the order in which sections need each other.
fn read(mut root: Element, file: Option<&Path>, folder: &Path, options: &ReadOptions) -> Result<Model> {
    let mut notes = Notes::new(options.lenient);
    let mut models = attach::Models::new(&mut notes, file);
    models.complete(&mut root, folder)?;
    let compilers = models.compilers;

    let name = root.attribute("model").unwrap_or("MuJoCo Model");
    let mut reader = Reader {
        builder: ModelBuilder::new(name),
        flags: Flags::default(),
        defaults: Defaults::default(),
        notes,
        meshes: meshes::Meshes::default(),
        height_fields: height_fields::HeightFields::default(),
        unseen: HashSet::new(),
        names: HashMap::new(),
        places: HashMap::new(),
        mocap: Vec::new(),
        springs: Vec::new(),
        slack_at_rest: Vec::new(),
        open_lengths: Vec::new(),
        muscle_scales: Vec::new(),
        lifted: Vec::new(),
        damping_ratios: Vec::new(),
        compilers,
    };
    reader.read_options(&sections(&root, "option"))?;
    for section in sections(&root, "default") {
        reader.defaults.read(section)?;
    }
    for asset in parts(&root, "asset") {
        match asset.tag.as_str() {
            "hfield" => reader.declare_height_field(asset)?,
            "mesh" => reader.declare_mesh(asset)?,
            "material" => reader.declare_material(asset)?,
            // models are attached by now
            _ => {}
        }
    }
    reader.read_world(&sections(&root, "worldbody"))?;
    reader.read_custom(&parts(&root, "custom"))?;
    let weld = pairs::welds(&reader.builder.model);
    for part in parts(&root, "contact") {
        reader.read_contact(part, &weld)?;
    }
    for part in parts(&root, "tendon") {
        reader.read_tendon(part)?;
    }
    for part in parts(&root, "equality") {
        reader.read_equality(part)?;
    }
    for part in parts(&root, "actuator") {
        reader.read_actuator(part)?;
    }
    for part in parts(&root, "sensor") {
        reader.read_sensor(part)?;
    }
    reader.check_lifted()?;
    reader.apply_total_mass();
    reader.apply_flags();
    reader.note_explicit_damping(&root);
    reader.part_from_mocap(&weld);
    let keys = parts(&root, "keyframe");
    reader.finish(&root, &keys)
}

/// All sections with a tag.
fn sections<'a>(root: &'a Element, tag: &str) -> Vec<&'a Element> {
    root.children.iter().filter(|e| e.tag == tag).collect()
}

/// The elements in all sections with a tag.
fn parts<'a>(root: &'a Element, tag: &str) -> Vec<&'a Element> {
    sections(root, tag).into_iter().flat_map(|section| &section.children).collect()
}

impl Reader {
    /// How the model is meant that an element is from.
    fn compiler(&self, e: &Element) -> &Compiler {
        &self.compilers[e.model]
    }

    /// Makes the name of a new part known, and where the part comes from.
    fn register(&mut self, kind: &'static str, index: usize, element: &Element) -> Result<()> {
        let name = element.name();
        self.places.insert(check::label(kind, index, name), element.place());
        if !name.is_empty() && self.names.insert((kind, name.into()), index).is_some() {
            return Err(element.error(format!("there are two of kind {kind} with the name \"{name}\"; rename one")));
        }
        Ok(())
    }

    /// The index of what an attribute refers to, if the attribute is there.
    fn find(&self, element: &Element, attribute: &str, kind: &'static str) -> Result<Option<usize>> {
        let Some(name) = element.attribute(attribute) else { return Ok(None) };
        match self.names.get(&(kind, name.to_owned())) {
            Some(&index) => Ok(Some(index)),
            None => Err(element.error(format!("attribute \"{attribute}\": there is no {kind} called \"{name}\""))),
        }
    }

    /// As [`Reader::find`], for an attribute that must be there.
    fn find_required(&self, element: &Element, attribute: &str, kind: &'static str) -> Result<usize> {
        self.find(element, attribute, kind)?
            .ok_or_else(|| element.error(format!("needs the attribute \"{attribute}\", the name of a {kind}")))
    }

    /// Builds the model and does what needs a finished one.
    fn finish(mut self, root: &Element, keys: &[&Element]) -> Result<Model> {
        let Self {
            builder, places, springs, slack_at_rest, open_lengths, muscle_scales, damping_ratios, flags, ..
        } = &mut self;
        let traced = |error: Error| match error {
            Error::Model { element, message } => match places.get(&element) {
                Some(place) => Error::ModelFile { place: place.clone(), message: format!("{element}: {message}") },
                None => Error::ModelFile { place: root.place(), message: format!("{element}: {message}") },
            },
            other => other,
        };
        // Keyframes still need the reader, so the builder is taken out of it.
        let builder = std::mem::replace(builder, ModelBuilder::new(""));
        let mut model = builder.build().map_err(traced)?;
        for spring in springs {
            spring.set(&mut model, [!flags.spring, !flags.damper]);
        }
        for &mut tendon in slack_at_rest {
            model.tendons[tendon].slack = [spring_length(&model, tendon); 2];
        }
        for (muscle, e) in open_lengths {
            let missing = muscles::set_length_range(&mut model, *muscle).err();
            if let Some(missing) = missing {
                return Err(e.error(format!("needs a lengthrange: it is not found here, since {missing}")));
            }
        }
        for &mut (muscle, scale) in muscle_scales {
            muscles::set_force(&mut model, muscle, scale);
        }
        for &mut (actuator, ratio) in damping_ratios {
            actuators::set_damping_ratio(&mut model, actuator, ratio);
        }
        let places = attach::Places::find(root);
        for key in keys {
            if let Some(keyframe) = self.read_key(key, &places.indices(key, &model), &model)? {
                self.register("keyframe", model.keyframes.len(), key)?;
                model.keyframes.push(keyframe);
            }
        }
        model.notes = self.notes.finish();
        Ok(model)
    }
}
