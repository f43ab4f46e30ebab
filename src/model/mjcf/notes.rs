//! What a file says and this crate does not use: gathered here, and listed in [`super::Model::notes`].

use super::xml::Element;
use crate::error::Result;
use std::collections::BTreeMap;

/// Collects notes while a file is read.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Whether things that are not known or not done are listed instead of refused.
    lenient: bool,
    /// (tag, attribute) → the first element that has it and how many have.
    unused: BTreeMap<(String, String), (String, usize)>,
    sentences: Vec<String>,
}

impl Notes {
    /// Without any notes yet.
    pub fn new(lenient: bool) -> Self {
        Self { lenient, ..Self::default() }
    }

    /// An attribute that is known and makes no difference here.
    pub fn unused(&mut self, element: &Element, attribute: &str) {
        let key = (element.tag.clone(), attribute.to_owned());
        self.unused.entry(key).or_insert_with(|| (element.place(), 0)).1 += 1;
    }

    /// A sentence about an element, once.
    pub fn add(&mut self, element: &Element, sentence: &str) {
        self.push(format!("{}: {sentence}", element.place()));
    }

    /// Something that would change the motion and is not done: an error, or a note when lenient.
    pub fn refuse(&mut self, element: &Element, message: impl Into<String>) -> Result<()> {
        let message = message.into();
        if !self.lenient {
            return Err(element.error(message));
        }
        self.push(format!("ignored: {}: {message}", element.place()));
        Ok(())
    }

    fn push(&mut self, sentence: String) {
        if !self.sentences.contains(&sentence) {
            self.sentences.push(sentence);
        }
    }

    /// All notes, one sentence each.
    pub fn finish(self) -> Vec<String> {
        let unused = self.unused.into_iter().map(|((_, attribute), (place, count))| match count {
            1 => format!("{place}: \"{attribute}\" is not used"),
            _ => format!("{place}: \"{attribute}\" is not used ({count} times in the file)"),
        });
        self.sentences.into_iter().chain(unused).collect()
    }
}
