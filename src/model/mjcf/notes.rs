//! What a file says and this crate does not use: gathered here, and listed in [`super::Model::notes`].

use super::xml::Element;
use crate::error::Result;
use std::collections::BTreeMap;

/// Collects notes while a file is read.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Whether things that are not known or not done are listed instead of refused.
    lenient: bool,
    /// (tag, sentence) → the first element that it is about, and how many there are.
    counted: BTreeMap<(String, String), (String, usize)>,
    /// What was left out in lenient reading.
    ignored: Vec<String>,
}

impl Notes {
    /// Without any notes yet.
    pub fn new(lenient: bool) -> Self {
        Self { lenient, ..Self::default() }
    }

    /// An attribute that is known and makes no difference here.
    pub fn unused(&mut self, element: &Element, attribute: &str) {
        self.add(element, &format!("\"{attribute}\" is not used"));
    }

    /// A sentence about an element; the same sentence about others with its tag is counted only.
    pub fn add(&mut self, element: &Element, sentence: &str) {
        let key = (element.tag.clone(), sentence.to_owned());
        self.counted.entry(key).or_insert_with(|| (element.place(), 0)).1 += 1;
    }

    /// Something that would change the motion and is not done: an error, or a note when lenient.
    pub fn refuse(&mut self, element: &Element, message: impl Into<String>) -> Result<()> {
        let message = message.into();
        if !self.lenient {
            return Err(element.error(message));
        }
        self.ignored.push(format!("ignored: {}: {message}", element.place()));
        Ok(())
    }

    /// All notes, one sentence each: first what was left out.
    pub fn finish(self) -> Vec<String> {
        let counted = self.counted.into_iter().map(|((_, sentence), (place, count))| match count {
            1 => format!("{place}: {sentence}"),
            _ => format!("{place}: {sentence} ({count} times in the file)"),
        });
        self.ignored.into_iter().chain(counted).collect()
    }
}
