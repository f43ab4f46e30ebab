//! Conventions that a machine can check: the order of modules, and shaders against their twins. None of these needs a GPU.

use std::fs;
use std::path::{Path, PathBuf};

/// A module may import those before it.
const MODULES: [&str; 21] = [
    "error",
    "lane",
    "machine",
    "spatial",
    "model",
    "kinematics",
    "dynamics",
    "runge_kutta",
    "query",
    "contact",
    "limit",
    "equality",
    "island",
    "lcp",
    "acceleration",
    "solver",
    "gpu",
    "report",
    "step",
    "worlds",
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

/// The names after `crate::` on a line, as in `crate::lane::Real` or `crate::{error::Error, lane::Real}`.
fn imports(line: &str) -> Vec<String> {
    let word = |s: &str| s.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut names = Vec::new();
    for rest in line.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            Some(list) => names.extend(list.split(',').map(word)),
            None => names.push(word(rest)),
        }
    }
    names
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
        for (number, line) in read(&path).lines().enumerate() {
            if line.trim_start().starts_with("//") {
                continue;
            }
            for name in imports(line) {
                if MODULES.iter().position(|m| *m == name).is_some_and(|k| k > own) {
                    wrong.push(format!("{}:{}: `{first}` imports `{name}`", relative.display(), number + 1));
                }
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
        let start = text.find(&format!("pub fn {name}<R: Real>(")).expect("the twin");
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

    /// Metal and lavapipe traps: only counted loops, no barriers, no private arrays, no subgroups.
    #[test]
    fn shaders_keep_to_what_every_driver_gets_right() {
        for stage in &STAGES {
            let code: String =
                stage.source.lines().map(|l| l.split("//").next().unwrap_or("").to_owned() + "\n").collect();
            for word in ["while", "loop", "break", "continue", "workgroupBarrier", "var<private>", "subgroup"] {
                assert!(!code.split(|c: char| !c.is_alphanumeric() && !"<>_".contains(c)).any(|w| w == word), "{word}");
            }
        }
    }

    #[test]
    fn loop_iterations_are_counted_as_the_shader_runs_them() {
        for (contact_count, scalar_count) in [(0, 1), (1, 0), (4, 3), (16, 0), (16, 8)] {
            let size = BlockSize { contact_count, scalar_count };
            let n = size.row_count();
            let mut count = 1;
            for _ in 0..contact_count + scalar_count {
                count += 1;
                for _ in 0..n {
                    count += 1;
                }
            }
            for _ in 0..n {
                count += 1;
            }
            assert_eq!(loop_count_per_sweep(size), count);
        }
        // Blocks of up to 128 contacts run on the device, larger ones on the CPU.
        assert!(loop_count_per_sweep(BlockSize { contact_count: 128, scalar_count: 0 }) <= LOOP_BUDGET);
        assert!(loop_count_per_sweep(BlockSize { contact_count: 192, scalar_count: 0 }) > LOOP_BUDGET);
    }
}
