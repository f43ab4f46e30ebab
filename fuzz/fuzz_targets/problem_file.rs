//! Any text through the reader of contact problems: an error or valid problems, which written and read again are the same.
#![no_main]

use delassus::lcp::file::{read_text, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(records) = read_text(text, "fuzz") else { return };
    for record in records {
        assert!(record.problem.validate().is_ok(), "the reader let a malformed problem pass");
        let mut line = Vec::new();
        write(&record.problem, record.reference.as_ref(), &mut line).expect("a problem that was read can be written");
        let line = String::from_utf8(line).expect("JSON is UTF-8");
        let again = read_text(&line, "written").expect("what was written can be read");
        assert_eq!(again.len(), 1);
        assert_eq!(again[0].problem, record.problem);
    }
});
