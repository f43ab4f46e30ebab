//! What lets shaders run without the checks that wgpu adds to those it does not know (`gpu::chain::trusted`): their loops end, and no index is made of a number that may be anything.

use super::formulas::Formulas;
use super::layout::Layout;
use super::shaders::{draw, movers, shaders};
use super::tests::{every_plan, observers};
use std::collections::BTreeSet;

/// The WGSL of every shader of all kinds of models.
fn sources() -> Vec<String> {
    let mut all = Vec::new();
    for (_, plan) in every_plan() {
        let mut layout = Layout::new(&plan, 16);
        let formulas = Formulas::new(&plan, &layout);
        all.extend(shaders(&plan, &formulas, &mut layout));
        all.extend(movers(&plan, &layout));
        all.push(draw(&plan, &layout));
        all.extend(observers(&plan, &layout));
    }
    all.into_iter().map(|shader| shader.source).collect()
}

/// What stands between a bracket, which `text` begins behind, and the one that closes it.
fn within(text: &str, [open, close]: [char; 2]) -> &str {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        depth += i32::from(c == open) - i32::from(c == close);
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// Whether a statement in `body` gives the variable `name`, or a part of it, another value.
fn assigns(body: &str, name: &str) -> bool {
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    body.match_indices(name).any(|(at, _)| {
        let (before, after) = (&body[..at], &body[at + name.len()..]);
        let whole = !before.ends_with(|c| is_of_name(c) || c == '.') && !after.starts_with(is_of_name);
        let part = if after.starts_with('.') { after.trim_start_matches(|c| is_of_name(c) || c == '.') } else { after };
        let rest = part.trim_start();
        let operators = ['+', '-', '*', '/', '%', '&', '|', '^', '<', '>'];
        let given = rest.trim_start_matches(operators).trim_start();
        let set = given.starts_with('=') && !given.starts_with("==");
        let declared = ["let ", "var "].iter().any(|word| before.ends_with(word));
        let compared = rest.starts_with("<=") || rest.starts_with(">=");
        let counted = rest.starts_with("++") || rest.starts_with("--");
        let lent = before.ends_with("(&") || before.ends_with(" &");
        whole && !declared && (lent || counted || set && !compared)
    })
}

/// Whether a loop, its head between brackets and its body, ends whatever the numbers are.
fn ends(head: &str, body: &str) -> bool {
    let parts: Vec<_> = head.split(';').map(str::trim).collect();
    let [start, condition, step] = parts[..] else { return false };
    let Some(counter) = start.strip_prefix("var ").and_then(|rest| rest.split_whitespace().next()) else {
        return false;
    };
    if assigns(body, counter) {
        return false;
    }
    if step == format!("{counter} &= {counter} - 1u") {
        return condition == format!("{counter} != 0u");
    }
    // there is at least one workgroup
    let by = ["LANES", "TILE_ROWS", "8u", "groups.x"].map(|by| format!("{counter} += {by}"));
    let bound = condition.split("&&").next().and_then(|first| {
        let rest = first.trim().strip_prefix(counter)?.trim();
        rest.strip_prefix("<=").or_else(|| rest.strip_prefix('<'))
    });
    let Some(bound) = bound else { return false };
    // names in the bound, but for those of functions and constants
    let names = bound
        .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '.')
        .filter_map(|path| path.split('.').next())
        .filter(|name| name.starts_with(|c: char| c.is_lowercase()));
    let counts_up = step == format!("{counter}++") || by.iter().any(|known| known == step);
    counts_up && names.into_iter().all(|name| !assigns(body, name))
}

#[test]
fn every_loop_of_every_shader_ends() {
    let mut count = 0;
    for source in sources() {
        for word in ["while", "loop {", "continuing"] {
            assert!(!source.contains(word), "{word}");
        }
        for (at, _) in source.match_indices("for (") {
            let head = within(&source[at + 5..], ['(', ')']);
            let rest = &source[at + 5 + head.len()..];
            let body = within(&rest[rest.find('{').expect("a body") + 1..], ['{', '}']);
            assert!(ends(head, body), "for ({head}) {{{body}}}");
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
}

#[test]
fn a_loop_that_may_not_end_is_found() {
    for (head, body) in [
        ("var k = 0u; k < n; k++", "k = 0u;"),
        ("var k = 0u; k < n; k++", "n += 1u;"),
        ("var k = 0u; k < t.n.y; k++", "t.n.y = 3u;"),
        ("var k = 0u; k < n; k++", "change(&k);"),
        ("var k = 0u; k != n; k++", ""),
        ("var k = 0u; going; k++", ""),
        ("var k = 0u; k < n; k += step", ""),
        ("var k = 5u; k < n; k--", ""),
        ("; ;", ""),
        ("var k = n; k != 0u; k &= k - 1u", "k = 3u;"),
    ] {
        assert!(!ends(head, body), "for ({head}) {{ {body} }}");
    }
    assert!(ends("var k = 0u; k < n && going; k++", "going = k <= 3u; x[k] = n;"));
    assert!(ends("var k = 0u; k < t.n.y; k += LANES", "var y = 0.0; y = f(&x, k);"));
}

/// Where a shader makes an integer of a number, and why it is in range.
const INTEGERS: [(&str, &str); 22] = [
    ("u32(contact[w])", "contacts of a world: `contacts` counts to the capacity"),
    (
        "u32(state[MEMORY * header.stride + w])",
        "contacts that a world remembers: those that it had, or that `Layout::remember` counts to the capacity",
    ),
    ("u32(contact[at * header.stride + w])", "pair of a contact: counter of `contacts`"),
    ("u32(contact[(CONTACT_HEAD + CONTACT_LEN * c) * header.stride + w])", "the same"),
    ("u32(pair_index)", "the same"),
    ("u32(tables[pair])", "geom of a pair: the model's"),
    ("u32(tables[pair + 1u])", "the same"),
    ("u32(tables[pair + 2u])", "body of a pair: the model's"),
    ("u32(tables[pair + 3u])", "the same"),
    ("u32(tables[pair + 4u])", "tree of a pair: the model's"),
    ("u32(tables[pair + 5u])", "the same"),
    ("i32(tables[pair + 6u])", "chooses, indexes nothing"),
    ("i32(tables[pair + 11u])", "chooses, indexes nothing"),
    ("i32(GUARD)", "a constant"),
    ("i32(DISCS)", "a constant"),
    ("i32(k)", "quadrant of an angle, indexes nothing"),
    ("u32(contact[LIST * header.stride + k])", "place of a world: `sweeps` lists each at most once, itself"),
    ("u32(contact[UNFINISHED_LIST * header.stride + id.x])", "place of a world: sweeps list each at most once, itself"),
    ("u32(before)", "flags before that of a scalar row: at most its own index"),
    ("u32(all)", "all those flags: at most the scalar rows"),
    (
        "u32(columns[id.x])",
        "place of a world and one, above zero: the host lists its own, and `look` those below the count of worlds",
    ),
    ("u32(columns[k])", "half of a word of a seed, indexes nothing"),
];

/// Those of `draw`, which indexes nothing by them.
const DRAWN: [&str; 2] = ["u32(columns[k + 1u])", "u32(columns[law + 1u])"];

#[test]
fn integers_are_made_only_of_numbers_that_are_in_range() {
    let mut found = BTreeSet::new();
    for source in sources() {
        for kind in ["u32(", "i32("] {
            for (at, _) in source.match_indices(kind) {
                found.insert(format!("{kind}{})", within(&source[at + 4..], ['(', ')'])));
            }
        }
        assert!(!source.contains("bitcast<i32>"));
    }
    let known = INTEGERS.iter().map(|(integer, _)| *integer).chain(DRAWN).map(str::to_owned).collect();
    assert_eq!(found, known);
}
