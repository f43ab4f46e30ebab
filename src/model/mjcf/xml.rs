//! From text to a tree of elements: parsing, and includes spliced in where they stand.

use crate::error::{Error, Result};
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Elements may not be nested deeper: every reader of the tree descends by recursion.
pub(super) const DEPTH_LIMIT: usize = 300;
/// A model may not have more elements, after includes and replicas.
pub(super) const ELEMENT_LIMIT: usize = 100_000;
/// The namespace of `xsi:noNamespaceSchemaLocation` and the like.
const SCHEMA: &str = "http://www.w3.org/2001/XMLSchema-instance";
/// XML nodes (elements, texts, comments) of one file.
const NODE_LIMIT: u32 = 1_000_000;

/// An element, with its place for error messages.
#[derive(Debug, Clone)]
pub(super) struct Element {
    pub tag: String,
    pub attributes: Vec<(String, String)>,
    pub children: Vec<Element>,
    pub file: Arc<str>,
    /// The folder of that file, from the folder of the main file.
    pub folder: Arc<Path>,
    pub line: usize,
    /// Which of the models that a file is made of it is from, by the order in which they were read; what is attached comes after what attaches it.
    pub model: usize,
}

impl Element {
    /// The text of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The value of `name`, or nothing if the element has no name.
    pub fn name(&self) -> &str {
        self.attribute("name").unwrap_or("")
    }

    /// The name of an asset: one without is called after its file.
    pub fn asset_name(&self) -> Result<String> {
        match (self.name(), self.attribute("file")) {
            ("", None) => Err(self.error(format!("a {} needs a name or a file", self.tag))),
            ("", Some(file)) => Ok(Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned()),
            (name, _) => Ok(name.to_owned()),
        }
    }

    /// Sets an attribute, whether or not it is there.
    pub fn set(&mut self, name: &str, value: String) {
        match self.attributes.iter_mut().find(|(n, _)| n == name) {
            Some(attribute) => attribute.1 = value,
            None => self.attributes.push((name.into(), value)),
        }
    }

    /// Where it stands: `ant.xml:12: <joint>`.
    pub fn place(&self) -> String {
        format!("{}:{}: <{}>", self.file, self.line, self.tag)
    }

    /// An error at this element.
    pub fn error(&self, message: impl Into<String>) -> Error {
        Error::ModelFile { place: self.place(), message: message.into() }
    }

    /// Number of elements of the tree below and including this one.
    pub fn count(&self) -> usize {
        1 + self.children.iter().map(Self::count).sum::<usize>()
    }
}

/// Reads XML text, with the files that it includes.
#[derive(Debug)]
pub(super) struct Loader {
    /// The folder of the main file.
    pub folder: PathBuf,
    /// Every file that was included; none may be included twice, which also rules out cycles.
    included: HashSet<PathBuf>,
    element_count: usize,
}

impl Loader {
    /// For a main file in `folder`.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.into(), included: HashSet::new(), element_count: 0 }
    }

    /// The tree of the main file `path`.
    pub fn load_file(&mut self, path: &Path) -> Result<Element> {
        self.included.insert(identity(path));
        let text = read(path)?;
        self.load_text(&text, &short_name(path))
    }

    /// The tree of a main file with this text; `file` is its name in messages.
    pub fn load_text(&mut self, text: &str, file: &str) -> Result<Element> {
        let root = self.parse(text, file, Path::new(""), 0)?;
        if root.tag == "mujoco" {
            Ok(root)
        } else {
            Err(root.error(format!("the root must be <mujoco>, found <{}>", root.tag)))
        }
    }

    /// The tree of a file that lies in `folder`, seen from that of the main file.
    fn parse(&mut self, text: &str, file: &str, folder: &Path, depth: usize) -> Result<Element> {
        let text = &*plain_comments(text);
        let options = roxmltree::ParsingOptions { nodes_limit: NODE_LIMIT, ..Default::default() };
        let document = roxmltree::Document::parse_with_options(text, options).map_err(|e| {
            use roxmltree::Error as E;
            // What is missing is missing at the end.
            let (row, end) = match e {
                E::UnclosedRootNode | E::UnexpectedEndOfStream | E::NoRootNode => {
                    (text.lines().count().max(1), ", at the end of the file")
                }
                _ => (e.pos().row as usize, ""),
            };
            Error::ModelFile { place: format!("{file}:{row}"), message: format!("not well-formed XML: {e}{end}") }
        })?;
        let line_starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let source = Source { file: file.into(), folder: folder.into(), line_starts };
        self.convert(document.root_element(), &source, depth)
    }

    fn convert(&mut self, node: roxmltree::Node, source: &Source, depth: usize) -> Result<Element> {
        let mut element = Element {
            tag: node.tag_name().name().into(),
            // where a schema is has no meaning for the model
            attributes: (node.attributes().filter(|a| a.namespace() != Some(SCHEMA)))
                .map(|a| (a.name().into(), a.value().into()))
                .collect(),
            children: Vec::new(),
            file: source.file.clone(),
            folder: source.folder.clone(),
            line: source.line_starts.partition_point(|&start| start <= node.range().start),
            model: 0,
        };
        self.element_count += 1;
        if self.element_count > ELEMENT_LIMIT {
            return Err(element.error(format!("more than {ELEMENT_LIMIT} elements; make the model smaller")));
        }
        if depth > DEPTH_LIMIT {
            return Err(element.error(format!("nested deeper than {DEPTH_LIMIT} elements; make the tree flatter")));
        }
        for child in node.children().filter(roxmltree::Node::is_element) {
            let child = self.convert(child, source, depth + 1)?;
            if child.tag == "include" {
                element.children.append(&mut self.include(&child, depth + 1)?);
            } else {
                element.children.push(child);
            }
        }
        Ok(element)
    }

    /// The elements that an `<include>` stands for: the children of the included root.
    fn include(&mut self, include: &Element, depth: usize) -> Result<Vec<Element>> {
        for (name, _) in &include.attributes {
            if name != "file" {
                return Err(include.error(format!("unknown attribute \"{name}\"; an include has a `file` only")));
            }
        }
        if !include.children.is_empty() {
            return Err(include.error("an include cannot have children; put them beside it"));
        }
        let name = include.attribute("file").ok_or_else(|| include.error("needs the attribute `file`"))?;
        // in the folder of the main file, and then in that of the file that includes it
        let near = include.folder.join(name);
        let name_here = if self.folder.join(name).is_file() { Path::new(name) } else { &near };
        let path = self.folder.join(name_here);
        if !self.included.insert(identity(&path)) {
            return Err(
                include.error(format!("\"{name}\" is included twice, or includes itself; a file can be included once"))
            );
        }
        let text = read(&path).map_err(|e| {
            include.error(format!(
                "{e}; the file is looked for relative to the folder of the main file, and then to that of this one"
            ))
        })?;
        let folder = name_here.parent().unwrap_or(Path::new(""));
        let root = self.parse(&text, &short_name(&path), folder, depth)?;
        match root.tag.as_str() {
            "mujoco" | "mujocoinclude" => Ok(root.children),
            other => Err(root
                .error(format!("the root of an included file must be <mujoco> or <mujocoinclude>, found <{other}>"))),
        }
    }
}

/// A file's name in messages and where its lines begin.
struct Source {
    file: Arc<str>,
    folder: Arc<Path>,
    line_starts: Vec<usize>,
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|source| Error::File { action: "read", path: path.into(), source })
}

fn short_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The same for every spelling of a path, as far as the file exists.
pub(super) fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.into())
}

/// The text with dashes in comments taken out where XML allows none and MuJoCo's parser does; every other letter stays where it is.
fn plain_comments(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    let mut from = 0;
    while let Some(start) = text[from..].find("<!--").map(|at| from + at + 4) {
        let Some(end) = text[start..].find("-->").map(|at| start + at) else { break };
        let comment = &text[start..end];
        if comment.contains("--") || comment.ends_with('-') {
            let plain = comment.replace('-', " ");
            text.to_mut().replace_range(start..end, &plain);
        }
        from = end + 3;
    }
    text
}
