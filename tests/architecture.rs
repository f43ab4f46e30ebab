//! Conventions that a machine can check: the order of modules, and shaders against their twins. None of these needs a GPU.

use std::fs;
use std::path::{Path, PathBuf};

/// A module may import those before it.
const MODULES: [&str; 27] = [
    "error",
    "lane",
    "machine",
    "spatial",
    "model",
    "parameters",
    "kinematics",
    "fluid",
    "dynamics",
    "runge_kutta",
    "query",
    "slots",
    "contact",
    "limit",
    "equality",
    "island",
    "lcp",
    "ecp",
    "acceleration",
    "solver",
    "gpu",
    "report",
    "step",
    "resident",
    "worlds",
    "recording",
    "cli",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).expect("folder").map(|e| e.expect("entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
}

/// The names after `crate::` in a source, as in `crate::lane::Pack` or `crate::{error::Error, lane::{Mask, Pack}}`, over however many lines, and the
/// line of each. Comments do not count.
fn imports(source: &str) -> Vec<(usize, String)> {
    let code: String = source.lines().map(|line| line.split("//").next().unwrap_or("").to_owned() + "\n").collect();
    let mut names = Vec::new();
    for (start, found) in code.match_indices("crate::") {
        let mut at = start + found.len();
        let mut depth = 0;
        // A name stands after `crate::` itself; in a list after its brace and every comma that is in no inner list.
        let mut expected = true;
        loop {
            let rest = &code[at..];
            let word = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            if expected && !word.is_empty() {
                names.push((1 + code[..at].matches('\n').count(), word.to_owned()));
                expected = false;
            }
            at += word.len();
            let Some(next) = code[at..].chars().next() else { break };
            match next {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => expected = true,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            at += next.len_utf8();
        }
    }
    names
}

#[test]
fn imports_are_found_however_they_are_written() {
    let source = "use crate::error::{Error, Result};
// use crate::cli;
use crate::{
    lane::{Mask, worlds}, // crate::report
    step,
    gpu::{
        self,
    },
};
fn f() -> crate::model::Model { crate::query::state_query() }";
    let expected = [(1, "error"), (4, "lane"), (5, "step"), (6, "gpu"), (10, "model"), (10, "query")]
        .map(|(l, n)| (l, n.to_owned()));
    assert_eq!(imports(source), expected);
}

#[test]
fn modules_import_only_earlier_ones() {
    let source = root().join("src");
    let mut paths = Vec::new();
    files(&source, "rs", &mut paths);
    let mut wrong = Vec::new();
    for path in paths {
        let relative = path.strip_prefix(&source).expect("under src");
        let first = relative.components().next().expect("a name").as_os_str().to_string_lossy().replace(".rs", "");
        if first == "lib" || first == "main" || first == "bin" {
            continue;
        }
        let Some(own) = MODULES.iter().position(|m| *m == first) else {
            wrong.push(format!("{}: module `{first}` has no place in the order", relative.display()));
            continue;
        };
        for (line, name) in imports(&read(&path)) {
            if MODULES.iter().position(|m| *m == name).is_some_and(|k| k > own) {
                wrong.push(format!("{}:{line}: `{first}` imports `{name}`", relative.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "order {MODULES:?}\n{}", wrong.join("\n"));
}

#[cfg(feature = "gpu")]
mod shaders {
    use std::mem::offset_of;

    use super::{files, read, root};
    use delassus::gpu::{LOOP_BUDGET, STAGES, STORAGE_BUFFER_LIMIT, Stage, loop_count_per_sweep};
    use delassus::solver::{
        BlockSize, Header, LAW_CONE, REPORT_FLOOR, REPORT_LEN, REPORT_LIVE, REPORT_RESIDUAL, REPORT_SWEEPS,
        SolveSettings,
    };
    use wgpu::naga;

    fn parse(stage: &Stage) -> naga::Module {
        naga::front::wgsl::parse_str(stage.source)
            .unwrap_or_else(|e| panic!("{}", e.emit_to_string_with_path(stage.source, stage.name)))
    }

    /// Storage bindings 1, 2, …: name and whether it is written.
    fn storage(module: &naga::Module) -> Vec<(String, bool)> {
        let mut found = Vec::new();
        for (_, variable) in module.global_variables.iter() {
            if let naga::AddressSpace::Storage { access } = variable.space {
                let binding = variable.binding.expect("a binding");
                assert_eq!(binding.group, 0);
                let name = variable.name.clone().expect("a name");
                found.push((binding.binding, name, access.contains(naga::StorageAccess::STORE)));
            }
        }
        found.sort();
        for (k, (binding, ..)) in found.iter().enumerate() {
            assert_eq!(*binding as usize, k + 1, "bindings are numbered without gaps");
        }
        found.into_iter().map(|(_, name, write)| (name, write)).collect()
    }

    /// The arguments of a twin after its header: name and whether it is `&mut`.
    fn arguments(name: &str) -> Vec<(String, bool)> {
        let text = read(&root().join(format!("src/solver/{name}.rs")));
        let start = text.find(&format!("pub fn {name}<R: Pack>(")).expect("the twin");
        let list = &text[start + text[start..].find('(').expect("arguments")..];
        let list = &list[1..list.find(')').expect("arguments")];
        let all: Vec<_> = list
            .split(',')
            .filter_map(|argument| argument.split_once(':'))
            .map(|(name, ty)| (name.trim().to_owned(), ty.contains("&mut")))
            .collect();
        assert_eq!(all[0], ("header".to_owned(), false));
        all[1..].to_vec()
    }

    #[test]
    fn every_shader_is_valid_and_its_entry_point_has_its_name() {
        for stage in &STAGES {
            let module = parse(stage);
            naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty())
                .validate(&module)
                .unwrap_or_else(|e| panic!("{}", e.emit_to_string_with_path(stage.source, stage.name)));
            assert_eq!(module.entry_points.len(), 1);
            assert_eq!(module.entry_points[0].name, stage.name);
            assert_eq!(module.entry_points[0].workgroup_size, [64, 1, 1]);
        }
    }

    #[test]
    fn table_shaders_and_twins_agree_about_every_binding() {
        for stage in &STAGES {
            let table: Vec<_> = stage.bindings.iter().map(|(array, write)| (array.name().to_owned(), *write)).collect();
            assert_eq!(storage(&parse(stage)), table, "shader {}", stage.name);
            assert_eq!(arguments(stage.name), table, "twin {}", stage.name);
            assert!(table.len() <= STORAGE_BUFFER_LIMIT as usize, "{}", stage.name);
        }
    }

    #[test]
    fn every_shader_file_is_in_the_table() {
        let mut paths = Vec::new();
        files(&root().join("shaders"), "wgsl", &mut paths);
        // those of the step that stays on the device are made into shaders for a model: see the tests of `resident`
        paths.retain(|path| !path.parent().is_some_and(|folder| folder.ends_with("resident")));
        let mut names: Vec<_> =
            paths.iter().map(|p| p.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
        names.retain(|name| name != "common");
        let mut table: Vec<_> = STAGES.iter().map(|s| s.name.to_owned()).collect();
        table.sort();
        assert_eq!(names, table);
    }

    #[test]
    fn the_header_has_one_layout() {
        let rust = [
            ("contact_count", offset_of!(Header, contact_count)),
            ("scalar_count", offset_of!(Header, scalar_count)),
            ("block_count", offset_of!(Header, block_count)),
            ("sweep_count", offset_of!(Header, sweep_count)),
            ("law", offset_of!(Header, law)),
            ("lane_count", offset_of!(Header, lane_count)),
            ("tolerance", offset_of!(Header, tolerance)),
            ("infinity", offset_of!(Header, infinity)),
        ];
        for stage in &STAGES {
            let module = parse(stage);
            let (_, ty) = module.types.iter().find(|(_, t)| t.name.as_deref() == Some("Header")).expect("Header");
            let naga::TypeInner::Struct { members, span } = &ty.inner else { panic!("Header is a struct") };
            let wgsl: Vec<_> =
                members.iter().map(|m| (m.name.as_deref().unwrap_or_default(), m.offset as usize)).collect();
            assert_eq!(wgsl, rust);
            assert_eq!(*span as usize, size_of::<Header>());
        }
    }

    #[test]
    fn constants_are_those_of_the_twins() {
        let common = read(&root().join("shaders/common.wgsl"));
        for (name, value) in [
            ("LAW_CONE", LAW_CONE as usize),
            ("REPORT_LEN", REPORT_LEN),
            ("REPORT_RESIDUAL", REPORT_RESIDUAL),
            ("REPORT_FLOOR", REPORT_FLOOR),
            ("REPORT_SWEEPS", REPORT_SWEEPS),
            ("REPORT_LIVE", REPORT_LIVE),
        ] {
            assert!(common.contains(&format!("const {name} = {value}u;")), "{name}");
        }
        assert_eq!("1.1920929e-7".parse(), Ok(f32::EPSILON));
        assert!(common.contains("const EPSILON = 1.1920929e-7;"));
    }

    /// WGSL without its comments.
    fn code(source: &str) -> String {
        source.lines().map(|l| l.split("//").next().unwrap_or("").to_owned() + "\n").collect()
    }

    /// The first word of a shader that some driver gets wrong. Metal and lavapipe traps: only counted loops, no barriers, no private memory, no arrays in
    /// registers, nothing of subgroups.
    fn trap(source: &str) -> Option<String> {
        let code = code(source);
        let uncounted = |word: &str| ["while", "loop", "break", "continue"].contains(&word);
        let mut words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        let wrong = |word: &&str| {
            uncounted(word) || word.ends_with("Barrier") || word.starts_with("subgroup") || *word == "private"
        };
        words.find(wrong).map(str::to_owned).or_else(|| {
            let module = naga::front::wgsl::parse_str(source).expect("valid WGSL");
            let functions =
                module.functions.iter().map(|(_, f)| f).chain(module.entry_points.iter().map(|e| &e.function));
            let is_array = |ty| matches!(module.types[ty].inner, naga::TypeInner::Array { .. });
            let mut locals = functions.flat_map(|f| f.local_variables.iter().map(|(_, local)| local));
            locals.find(|local| is_array(local.ty)).map(|local| local.name.clone().unwrap_or_default())
        })
    }

    #[test]
    fn shaders_keep_to_what_every_driver_gets_right() {
        for stage in &STAGES {
            assert_eq!(trap(stage.source), None, "{}", stage.name);
        }
        for (wrong, word) in [
            ("fn f(x: f32) -> f32 { return subgroupAdd(x); }", "subgroupAdd"),
            ("fn f() { storageBarrier(); }", "storageBarrier"),
            ("var<private> x: f32;", "private"),
            ("fn f() { var i = 0; while i < 3 { i++; } }", "while"),
            ("fn f(i: i32) -> f32 { var list: array<f32, 4>; return list[i]; }", "list"),
        ] {
            assert_eq!(trap(wrong).as_deref(), Some(word));
        }
    }

    /// Iterations of all loops of one invocation of a shader, inner ones as often as they run, as its WGSL says.
    fn loop_count(stage: &Stage, header: Header) -> usize {
        let (contacts, scalars) = (header.contact_count as usize, header.scalar_count as usize);
        let code = code(stage.source);
        let (mut count, mut parsed) = (0, 0);
        // How often the body at hand runs, and that of every brace around it.
        let (mut times, mut outer) = (1, Vec::new());
        for line in code.lines().map(str::trim) {
            let before = times;
            if let Some(rest) = line.strip_prefix("for (var ") {
                // for (var i = 0u; i < bound; i++) {
                let (name, rest) = rest.split_once(" = 0u; ").expect("a loop from 0");
                let bound =
                    rest.strip_prefix(&format!("{name} < ")).and_then(|r| r.strip_suffix(&format!("; {name}++) {{")));
                times *= match bound.expect("a loop that counts up to its bound") {
                    "header.sweep_count" => header.sweep_count as usize,
                    "header.contact_count" => contacts,
                    "header.scalar_count" => scalars,
                    "n" => 3 * contacts + scalars,
                    other => panic!("{}: a loop up to {other}", stage.name),
                };
                (count, parsed) = (count + times, parsed + 1);
            }
            for brace in line.chars() {
                match brace {
                    '{' => outer.push(before),
                    '}' => times = outer.pop().expect("a brace that was opened"),
                    _ => {}
                }
            }
        }
        assert!(outer.is_empty());
        let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
        assert_eq!(parsed, words.filter(|word| *word == "for").count(), "{}: every loop is counted", stage.name);
        count
    }

    #[test]
    fn loop_iterations_are_counted_as_the_shader_runs_them() {
        for (contact_count, scalar_count) in [(0, 1), (1, 0), (4, 3), (16, 0), (16, 8)] {
            let size = BlockSize { contact_count, scalar_count };
            let count = |stage: &Stage, sweep_count| {
                let header = Header::new(size, 1, 16, &SolveSettings::default());
                loop_count(stage, Header { sweep_count, ..header })
            };
            let per_sweep: Vec<usize> =
                STAGES.iter().map(|s| count(s, 7).div_ceil(if count(s, 0) == 0 { 7 } else { 1 })).collect();
            // The budget is that of the hungriest stage: `jacobi`, which copies.
            assert_eq!(per_sweep.iter().max(), Some(&loop_count_per_sweep(size)), "{per_sweep:?}");
        }
        // Blocks of up to 128 contacts run on the device, larger ones on the CPU.
        assert!(loop_count_per_sweep(BlockSize { contact_count: 128, scalar_count: 0 }) <= LOOP_BUDGET);
        assert!(loop_count_per_sweep(BlockSize { contact_count: 192, scalar_count: 0 }) > LOOP_BUDGET);
    }
}
