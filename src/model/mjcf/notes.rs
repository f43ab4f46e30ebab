//! What a file says and this crate does not use: gathered here, and listed in [`super::Model::notes`].

use super::xml::Element;
use crate::error::Result;
use crate::model::Note;
use std::collections::BTreeMap;

/// Collects notes while a file is read.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Whether things that are not known or not done are listed instead of refused.
    lenient: bool,
    /// (harmless, tag, sentence) → the first element that it is about, and how many there are.
    counted: BTreeMap<(bool, String, String), (String, usize)>,
    /// What was left out in lenient reading.
    ignored: Vec<Note>,
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

    /// A sentence about an element that makes no difference to the motion; the same about others with its tag is counted only.
    pub fn add(&mut self, element: &Element, sentence: &str) {
        self.count(true, element, sentence);
    }

    /// As [`Notes::add`], about something that is done in another way: the motion differs a little.
    pub fn differs(&mut self, element: &Element, sentence: &str) {
        self.count(false, element, sentence);
    }

    fn count(&mut self, harmless: bool, element: &Element, sentence: &str) {
        let key = (harmless, element.tag.clone(), sentence.to_owned());
        self.counted.entry(key).or_insert_with(|| (element.place(), 0)).1 += 1;
    }

    /// Something that changes the motion, or may, and is not done: an error, or a note when lenient.
    pub fn refuse(&mut self, element: &Element, message: impl Into<String>) -> Result<()> {
        self.leave_out(element, message.into(), true)
    }

    /// Something that is not known and cannot change the motion: an error, or a note when lenient.
    pub fn refuse_harmless(&mut self, element: &Element, message: impl Into<String>) -> Result<()> {
        self.leave_out(element, message.into(), false)
    }

    fn leave_out(&mut self, element: &Element, message: String, changes_motion: bool) -> Result<()> {
        if !self.lenient {
            return Err(element.error(message));
        }
        self.ignored.push(Note { text: format!("ignored: {}: {message}", element.place()), changes_motion });
        Ok(())
    }

    /// All notes: first what changes the motion, and of that first what was left out.
    pub fn finish(self) -> Vec<Note> {
        let counted = self.counted.into_iter().map(|((harmless, _, sentence), (place, count))| {
            let times = if count == 1 { String::new() } else { format!(" ({count} times in the file)") };
            Note { text: format!("{place}: {sentence}{times}"), changes_motion: !harmless }
        });
        let mut notes: Vec<Note> = self.ignored.into_iter().chain(counted).collect();
        notes.sort_by_key(|note| !note.changes_motion);
        notes
    }
}
