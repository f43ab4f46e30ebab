//! Conventions that a machine can check: the order of modules, and shaders against their twins. None of these needs a GPU.

use std::fs;
use std::path::{Path, PathBuf};

/// A module may import those before it.
const MODULES: [&str; 38] = [
    "error",
    "waiting",
    "lane",
    "machine",
    "spatial",
    "model",
    "mocap",
    "parameters",
    "kinematics",
    "tendon",
    "muscle",
    "fluid",
    "body_force",
    "transmission",
    "inertia",
    "planar",
    "dynamics",
    "damping",
    "runge_kutta",
    "activation",
    "query",
    "quantity",
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

fn without_comments(source: &str) -> String {
    source.lines().map(|line| line.split("//").next().unwrap_or("").to_owned() + "\n").collect()
}

/// The names after `crate::` in a source, as in `crate::lane::Pack` or `crate::{error::Error, lane::{Mask, Pack}}`, over however many lines, and the
/// line of each. Comments do not count.
fn imports(source: &str) -> Vec<(usize, String)> {
    let code = without_comments(source);
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

/// What the files of a folder import of each other: `super::name` in a file of it, `super::super::name` in a folder within it. What `mod.rs` imports does not count: it is
/// above them all. Neither do tests.
fn siblings(folder: &Path) -> Vec<(String, Vec<String>)> {
    let mut paths = Vec::new();
    files(folder, "rs", &mut paths);
    let name = |path: &Path| {
        let relative = path.strip_prefix(folder).expect("in the folder");
        relative.components().next().expect("a name").as_os_str().to_string_lossy().replace(".rs", "")
    };
    let names: Vec<String> = paths.iter().map(|path| name(path)).collect();
    let mut found = Vec::new();
    for path in paths.iter().filter(|path| !["mod", "tests"].contains(&&*name(path))) {
        let depth = path.strip_prefix(folder).expect("in the folder").components().count();
        // the folder itself, as seen from `mod.rs` of a folder within it, or from any other file
        let ups = if path.ends_with("mod.rs") { depth - 1 } else { depth };
        let source = read(path);
        let code = without_comments(source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default());
        let prefix = "super::".repeat(ups);
        let imported =
            code.match_indices(&prefix).filter(|(at, _)| !code[..*at].ends_with("super::")).map(|(at, _)| {
                let rest = &code[at + prefix.len()..];
                rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned()
            });
        let own = name(path);
        let imported = imported.filter(|other| *other != own && names.contains(other)).collect();
        found.push((own, imported));
    }
    found
}

/// A ring of imports, if there is one: a name, what it imports, what that imports, and so on until the first again.
fn ring(imports: &[(String, Vec<String>)]) -> Option<Vec<String>> {
    fn visit<'a>(
        name: &'a str,
        imports: &'a [(String, Vec<String>)],
        way: &mut Vec<&'a str>,
        done: &mut Vec<&'a str>,
    ) -> Option<Vec<String>> {
        if let Some(first) = way.iter().position(|passed| *passed == name) {
            return Some(way[first..].iter().chain([&name]).map(|n| (*n).to_owned()).collect());
        }
        if done.contains(&name) {
            return None;
        }
        way.push(name);
        let of_it = imports.iter().filter(|(own, _)| own == name).flat_map(|(_, others)| others);
        let found = of_it.into_iter().find_map(|other| visit(other, imports, way, done));
        way.pop();
        done.push(name);
        found
    }
    let mut done = Vec::new();
    imports.iter().find_map(|(name, _)| visit(name, imports, &mut Vec::new(), &mut done))
}

#[test]
fn the_files_of_a_folder_import_in_no_ring() {
    let imports = |all: &[(&str, &[&str])]| -> Vec<_> {
        all.iter().map(|(own, others)| ((*own).to_owned(), others.iter().map(|o| (*o).to_owned()).collect())).collect()
    };
    assert_eq!(ring(&imports(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])), None);
    let found = ring(&imports(&[("a", &["b"]), ("b", &["c"]), ("c", &["d", "b"]), ("d", &[])]));
    assert_eq!(found, Some(["b", "c", "b"].map(str::to_owned).to_vec()));

    let source = root().join("src");
    let mut paths = Vec::new();
    files(&source, "rs", &mut paths);
    let folders: Vec<_> = paths.iter().filter(|p| p.ends_with("mod.rs")).filter_map(|p| p.parent()).collect();
    assert!(folders.len() > 10);
    let arrows: usize = folders.iter().flat_map(|folder| siblings(folder)).map(|(_, others)| others.len()).sum();
    assert!(arrows > 200, "only {arrows} imports found");
    for folder in folders {
        let found = ring(&siblings(folder));
        assert_eq!(found, None, "{}: files that import each other", folder.display());
    }
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
    use std::path::Path;

    use super::{files, read, root};
    use delassus::gpu::{
        Array, Header, LOOP_BUDGET, PATCHES, SHADER, SMALL, SOURCE, STORAGE_BUFFER_LIMIT, Tile, loop_count,
        small_source, sweeps_in_a_dispatch,
    };
    use delassus::lane::{F32x16, Pack};
    use delassus::lcp::patch::ellipsoid::SECULAR_STEPS;
    use delassus::solver::{
        ALGORITHM_PGS, BlockSize, DISC_STEPS, LAW_BOX, LAW_CONE, PATCH_LEN, PATCH_ROWS, REPORT_FLOOR, REPORT_LEN,
        REPORT_LIVE, REPORT_RESIDUAL, REPORT_SWEEPS, SWEPT, SolveSettings,
    };
    use wgpu::naga;

    /// Files of the shader; all but the first two are named after their function, and after their twin.
    const PARTS: [&str; 7] = ["common", "numbers", "warm_start", "residual", "pgs", "jacobi", "sweeps"];
    /// Those about patches, and their twins: functions have the names that they have there, but those that begin with `patch_`, which read and write arrays or are made of
    /// formulas.
    const PATCH_PARTS: [(&str, &str); 5] = [
        ("patch/ellipsoid", "lcp/patch/ellipsoid"),
        ("patch/law", "solver/patch/law"),
        ("patch/sweeps", "solver/patch/sweeps"),
        ("patch/certificate", "solver/patch/certificate"),
        ("patch/block", "solver/patch/sweeps"),
    ];

    fn parse(source: &str) -> naga::Module {
        naga::front::wgsl::parse_str(source)
            .unwrap_or_else(|e| panic!("{}", e.emit_to_string_with_path(source, SHADER)))
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

    /// The shaders of blocks that lie in registers.
    fn small() -> Vec<String> {
        let laws = [LAW_CONE, LAW_BOX].into_iter();
        laws.flat_map(|law| (1..=SMALL).map(move |contacts| small_source(law, contacts))).collect()
    }

    #[test]
    fn the_shader_is_valid_and_goes_to_every_language() {
        for patches in [0.0, 1.0] {
            let constants = naga::back::PipelineConstants::from_iter([(PATCHES.to_owned(), patches)]);
            goes_to_every_language(SOURCE, &constants);
        }
        for source in small() {
            assert!(!source.contains("//{"), "what was not filled in");
            goes_to_every_language(&source, &naga::back::PipelineConstants::default());
        }
    }

    fn goes_to_every_language(source: &str, constants: &naga::back::PipelineConstants) {
        let module = parse(source);
        let info = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty())
            .validate(&module)
            .unwrap_or_else(|e| panic!("{}", e.emit_to_string_with_path(source, SHADER)));
        assert_eq!(module.entry_points.len(), 1);
        assert_eq!(module.entry_points[0].name, SHADER);
        assert_eq!(module.entry_points[0].workgroup_size, [64, 1, 1]);
        let (module, info) = naga::back::pipeline_constants::process_overrides(&module, &info, None, constants)
            .expect("a value for every constant");
        naga::back::spv::write_vec(&module, &info, &naga::back::spv::Options::default(), None).expect("SPIR-V");
        let mut text = String::new();
        let (options, pipeline) = (naga::back::hlsl::Options::default(), naga::back::hlsl::PipelineOptions::default());
        naga::back::hlsl::Writer::new(&mut text, &options, &pipeline).write(&module, &info, None).expect("HLSL");
        let options = naga::back::msl::Options { fake_missing_bindings: true, ..Default::default() };
        let pipeline = naga::back::msl::PipelineOptions::default();
        naga::back::msl::write_string(&module, &info, &options, &pipeline).expect("MSL");
    }

    #[test]
    fn table_shader_and_twin_agree_about_every_binding() {
        let table = Array::ALL.map(|array| (array.name().to_owned(), array.is_written()));
        assert_eq!(storage(&parse(SOURCE)), table);
        for source in small() {
            assert_eq!(storage(&parse(&source)), table);
        }
        assert_eq!(arguments(SHADER), table[1..], "the twin has its tile as it is");
        assert!(table.len() <= STORAGE_BUFFER_LIMIT as usize);
        for (k, array) in Array::ALL.into_iter().enumerate() {
            assert_eq!(array as usize, k);
        }
    }

    #[test]
    fn every_part_of_the_shader_has_a_twin() {
        let mut paths = Vec::new();
        files(&root().join("shaders"), "wgsl", &mut paths);
        // those of the step that stays on the device are made into shaders for a model: see the tests of `resident`; that of small blocks is filled with what is recorded of the twin
        paths.retain(|path| !path.parent().is_some_and(|folder| folder.ends_with("resident")));
        paths.retain(|path| !path.ends_with("small.wgsl"));
        let shaders = root().join("shaders");
        let name =
            |path: &Path| path.strip_prefix(&shaders).expect("a shader").with_extension("").display().to_string();
        let mut names: Vec<_> = paths.iter().map(|path| name(path)).collect();
        let all: Vec<&str> = PARTS.into_iter().chain(PATCH_PARTS.map(|(part, _)| part)).collect();
        let mut parts: Vec<_> = all.iter().map(|part| (*part).to_owned()).collect();
        names.sort();
        parts.sort();
        assert_eq!(names, parts);
        let source: String = all.iter().map(|part| read(&root().join(format!("shaders/{part}.wgsl")))).collect();
        assert!(source == SOURCE, "the shader is not its parts");
        for part in &PARTS[2..] {
            assert!(SOURCE.contains(&format!("\nfn {part}(")), "{part}");
            let twin = read(&root().join(format!("src/solver/{part}.rs")));
            assert!(twin.contains(&format!("pub fn {part}<R: Pack>(")), "{part}");
        }
        for (part, twin) in PATCH_PARTS {
            let (source, twin) =
                (read(&shaders.join(format!("{part}.wgsl"))), read(&root().join(format!("src/{twin}.rs"))));
            let functions = source.lines().filter_map(|line| Some(line.strip_prefix("fn ")?.split_once('(')?.0));
            let functions: Vec<_> = functions.collect();
            assert!(!functions.is_empty(), "{part}");
            for name in functions.into_iter().filter(|name| !name.starts_with("patch_")) {
                assert!(
                    twin.contains(&format!("fn {name}<")) || twin.contains(&format!("fn {name}(")),
                    "{part}: {name}"
                );
            }
        }
    }

    #[test]
    fn what_is_shared_has_one_layout() {
        let header = [
            ("block_count", offset_of!(Header, block_count)),
            ("law", offset_of!(Header, law)),
            ("algorithm", offset_of!(Header, algorithm)),
            ("iterations", offset_of!(Header, iterations)),
            ("check_every", offset_of!(Header, check_every)),
            ("tolerance", offset_of!(Header, tolerance)),
            ("contracts", offset_of!(Header, contracts)),
            ("infinity", offset_of!(Header, infinity)),
            ("first_block", offset_of!(Header, first_block)),
        ];
        let tile = [
            ("contact_count", offset_of!(Tile, contact_count)),
            ("scalar_count", offset_of!(Tile, scalar_count)),
            ("patch_count", offset_of!(Tile, patch_count)),
            ("sweep_count", offset_of!(Tile, sweep_count)),
            ("first_matrix", offset_of!(Tile, first_matrix)),
            ("first_row", offset_of!(Tile, first_row)),
            ("first_friction", offset_of!(Tile, first_friction)),
            ("first_scalar", offset_of!(Tile, first_scalar)),
        ];
        let module = parse(SOURCE);
        for (name, rust, size) in [("Header", &header[..], size_of::<Header>()), ("Tile", &tile[..], size_of::<Tile>())]
        {
            let (_, ty) = module.types.iter().find(|(_, t)| t.name.as_deref() == Some(name)).expect(name);
            let naga::TypeInner::Struct { members, span } = &ty.inner else { panic!("{name} is a struct") };
            let wgsl: Vec<_> =
                members.iter().map(|m| (m.name.as_deref().unwrap_or_default(), m.offset as usize)).collect();
            assert_eq!(wgsl, rust);
            assert_eq!(*span as usize, size);
        }
    }

    #[test]
    fn constants_are_those_of_the_twins() {
        for (name, value) in [
            ("LAW_CONE", LAW_CONE as usize),
            ("ALGORITHM_PGS", ALGORITHM_PGS as usize),
            ("REPORT_LEN", REPORT_LEN),
            ("REPORT_RESIDUAL", REPORT_RESIDUAL),
            ("REPORT_FLOOR", REPORT_FLOOR),
            ("REPORT_SWEEPS", REPORT_SWEEPS),
            ("REPORT_LIVE", REPORT_LIVE),
            ("LANES", F32x16::LANES),
            ("PATCH_ROWS", PATCH_ROWS),
            ("PATCH_LEN", PATCH_LEN),
            ("DISC_STEPS", DISC_STEPS),
            ("SECULAR_STEPS", SECULAR_STEPS),
        ] {
            assert!(SOURCE.contains(&format!("const {name} = {value}u;")), "{name}");
        }
        assert!(SOURCE.contains(&format!("const SWEPT = {SWEPT:.1};")));
        assert_eq!("1.1920929e-7".parse(), Ok(f32::EPSILON));
        assert!(SOURCE.contains("const EPSILON = 1.1920929e-7;"));
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
    fn the_shader_keeps_to_what_every_driver_gets_right() {
        assert_eq!(trap(SOURCE), None);
        for source in small() {
            assert_eq!(trap(&source), None);
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

    /// Iterations of all loops of one run of a function of the shader, inner ones and those of what it calls as often as they run, as the WGSL says; every `if` is
    /// taken, and so is its `else`.
    fn loops(function: &str, size: BlockSize, patch_count: usize, sweep_count: usize) -> usize {
        let code = code(SOURCE);
        let start = code.find(&format!("\nfn {function}(")).expect("a function") + 1;
        let body = &code[start..start + code[start..].find("\n}").expect("its end")];
        let names = code.lines().filter_map(|line| Some(line.strip_prefix("fn ")?.split_once('(')?.0));
        let called: Vec<_> = names.filter(|name| *name != function).collect();
        let (mut count, mut parsed) = (0, 0);
        // How often the body at hand runs, and that of every brace around it.
        let (mut times, mut outer) = (1, Vec::new());
        for line in body.lines().map(str::trim) {
            let before = times;
            if let Some(rest) = line.strip_prefix("for (var ") {
                // for (var i = 0u; i < bound; i++) {, or i < bound && …
                let (name, rest) = rest.split_once(" = 0u; ").expect("a loop from 0");
                let bound =
                    rest.strip_prefix(&format!("{name} < ")).and_then(|r| r.strip_suffix(&format!("; {name}++) {{")));
                times *= match bound.expect("a loop that counts up to its bound").split(" && ").next() {
                    Some("b.sweep_count") => sweep_count,
                    Some("b.contact_count") => size.contact_count,
                    Some("b.scalar_count") => size.scalar_count,
                    Some("b.row_count") => size.row_count(),
                    Some("b.patch_count") => patch_count,
                    Some("b.point_count") => size.contact_count - patch_count,
                    Some("b.bounded_count") => size.scalar_count - PATCH_ROWS * patch_count,
                    Some("DISC_STEPS") => DISC_STEPS,
                    Some("SECULAR_TRIES") => SECULAR_STEPS + 1,
                    other => panic!("{function}: a loop up to {other:?}"),
                };
                (count, parsed) = (count + times, parsed + 1);
            } else if !line.starts_with("fn ") {
                let before_brackets = line.match_indices('(').map(|(at, _)| &line[..at]);
                let words =
                    before_brackets.filter_map(|text| text.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next());
                count += words
                    .filter(|word| called.contains(word))
                    .map(|name| times * loops(name, size, patch_count, sweep_count))
                    .sum::<usize>();
            }
            for brace in line.chars() {
                match brace {
                    '{' => outer.push(before),
                    '}' => times = outer.pop().expect("a brace that was opened"),
                    _ => {}
                }
            }
        }
        let words = body.split(|c: char| !c.is_alphanumeric() && c != '_');
        assert_eq!(parsed, words.filter(|word| *word == "for").count(), "{function}: every loop is counted");
        count
    }

    #[test]
    fn loop_iterations_are_counted_as_the_shader_runs_them() {
        let sizes = [(0, 1, 0), (1, 0, 0), (4, 3, 0), (16, 0, 0), (16, 8, 0), (1, 4, 1), (7, 24, 5), (6, 24, 6)];
        for (contact_count, scalar_count, patches) in sizes {
            let size = BlockSize { contact_count, scalar_count };
            let [pgs, jacobi] = ["pgs", "jacobi"].map(|name| loops(name, size, patches, 0));
            assert!(
                0 < pgs && (patches > 0 || pgs + size.row_count() == jacobi),
                "a sweep is counted as one of jacobi"
            );
            for sweeps in [0, 1, 7] {
                // the text has a look after every sweep, and a sweep of both kinds, of which that of jacobi copies every row
                let counted = loops(SHADER, size, patches, sweeps) + sweeps * size.row_count() - sweeps * jacobi;
                assert_eq!(counted, loop_count(size, patches, sweeps, sweeps), "{size:?} {patches}");
            }
        }
    }

    #[test]
    fn a_dispatch_keeps_to_the_budget_and_uses_it() {
        let block = |contact_count, scalar_count| BlockSize { contact_count, scalar_count };
        let sizes = [(block(1, 0), 0), (block(12, 8), 0), (block(48, 0), 0), (block(96, 4), 0), (block(128, 0), 0)];
        for (size, patches) in sizes.into_iter().chain([(block(1, 4), 1), (block(12, 34), 8), (block(48, 192), 48)]) {
            for check_every in [0, 4, 1000] {
                let settings = SolveSettings { iterations: 100_000, check_every, ..SolveSettings::default() };
                let sweeps = sweeps_in_a_dispatch(size, patches, &settings) as usize;
                let looks = |sweeps: usize| sweeps.min(sweeps / check_every.max(1) as usize + 1);
                let count = |sweeps: usize| loop_count(size, patches, sweeps, looks(sweeps));
                assert!(sweeps > 0 && count(sweeps) <= LOOP_BUDGET && count(sweeps + 1) > LOOP_BUDGET, "{size:?}");
                let few = sweeps_in_a_dispatch(size, patches, &SolveSettings { iterations: 1, ..settings });
                assert_eq!(few, 1);
            }
        }
        // Blocks of up to 128 contacts run on the device, larger ones on the CPU.
        assert_eq!(sweeps_in_a_dispatch(block(192, 0), 0, &SolveSettings::default()), 0);
    }
}
