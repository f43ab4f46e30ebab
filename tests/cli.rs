//! The command as a user meets it: what it prints, what it leaves in files, and how it refuses.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder for the files of one test, empty.
fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli").join(test);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn file(test: &str, name: &str, text: &str) -> String {
    let path = folder(test).join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn command(arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_delassus"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments.split_whitespace());
    command
}

/// Runs; `m/` stands for the folder of example models.
fn delassus(arguments: &str) -> Output {
    command(&arguments.replace("m/", "examples/models/")).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Stdout of a run that must go well.
fn good(arguments: &str) -> String {
    let output = delassus(arguments);
    assert!(output.status.success(), "{arguments}: {}", text(&output.stderr));
    text(&output.stdout)
}

/// One JSON value and a line end, and nothing else.
fn json(arguments: &str) -> Value {
    serde_json::from_str(&good(arguments)).unwrap()
}

/// Every line one JSON value.
fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The error line of a run that must end with `code`, and nothing on stdout.
fn refused(arguments: &str, code: i32) -> String {
    let output = delassus(arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments}: {error}");
    assert!(error.starts_with("error: ") && output.stdout.is_empty(), "{arguments}: {error}");
    error
}

#[test]
fn rollout_prints_one_object_for_machines() {
    let o = json("rollout m/ant.xml --worlds 5 --steps 20 --noise 0.01 --control random --backend cpu --json");
    for key in ["model", "backend", "device", "precision"] {
        assert!(o[key].is_string(), "{key}: {o}");
    }
    let numbers = ["dt", "seconds", "world_steps_per_second", "contacts_mean", "rows_mean", "iterations_mean"];
    let counts = ["worlds", "steps", "overflow_worlds", "non_finite_worlds"];
    for key in numbers.into_iter().chain(["solved_share", "fallback_share", "deepest_penetration"]) {
        assert!(o[key].is_f64(), "{key}: {o}");
    }
    for key in counts {
        assert!(o[key].is_u64(), "{key}: {o}");
    }
    let residual = |key: &str| o["residual"][key].as_f64().unwrap();
    assert!(residual("median") <= residual("p99") && residual("p99") <= residual("worst"), "{o}");
    assert_eq!(o["model"], "ant");
    assert_eq!(o["backend"], "cpu");
    assert_eq!(o["precision"], "f32");
    assert_eq!((o["worlds"].as_u64(), o["steps"].as_u64(), o["dt"].as_f64()), (Some(5), Some(20), Some(0.01)));
    assert!(o["notes"].as_array().is_some_and(Vec::is_empty), "{o}");
    assert!(o["halted_share"].is_f64(), "{o}");
    assert_eq!(o.as_object().unwrap().len(), 27, "{o}");
}

#[test]
fn threads_are_those_that_were_asked_for() {
    for count in [1, 3] {
        let o = json(&format!("rollout m/ant.xml --worlds 96 --steps 2 --threads {count} --backend cpu --json"));
        assert!(o["device"].as_str().is_some_and(|d| d.contains(&format!("{count} threads"))), "{o}");
    }
    assert!(refused("rollout m/ant.xml --threads 0", 2).contains("--threads"));
}

#[test]
fn rollout_prints_a_table_for_people() {
    let out = good("rollout m/biped.xml --worlds 3 --steps 5 --keyframe stand --dt 0.002 --precision f64");
    for part in [
        "backend cpu: CPU, ",
        "f64",
        "model biped: ",
        "3 worlds x 5 steps of 0.002 s",
        "all worlds start alike",
        "world-steps/s",
        "residual, worst, m/s",
        "solved",
        "100 %",
        "deepest penetration, m",
        "non-finite worlds",
    ] {
        assert!(out.contains(part), "no {part:?} in {out}");
    }
}

#[test]
fn a_record_holds_what_happened() {
    let path = folder("record").join("out.jsonl");
    let arguments =
        format!("rollout m/boxes.xml --worlds 3 --steps 60 --record {} --record-worlds 0,2", path.display());
    good(&arguments);
    let lines = json_lines(&std::fs::read_to_string(&path).unwrap());
    assert_eq!(lines.len(), 2 * 60);
    for (i, line) in lines.iter().enumerate() {
        assert_eq!(line["world"].as_u64(), Some([0, 2][i % 2]));
        let step = line["step"].as_u64().unwrap();
        assert_eq!(step, i as u64 / 2 + 1);
        assert!((line["time"].as_f64().unwrap() - 0.005 * step as f64).abs() < 1e-12);
        let (q, v) = (line["q"].as_array().unwrap(), line["v"].as_array().unwrap());
        assert_eq!((q.len(), v.len()), (56, 48));
        let contacts = line["contacts"].as_array().unwrap();
        assert_eq!(line["report"]["contact_count"].as_u64(), Some(contacts.len() as u64));
        for contact in contacts {
            assert_eq!(contact["geoms"].as_array().unwrap().len(), 2);
            for key in ["position", "normal", "impulse"] {
                assert_eq!(contact[key].as_array().unwrap().len(), 3, "{key}");
            }
            assert!(contact["gap"].is_f64() && contact["impulse"][0].as_f64().unwrap() >= 0.0);
        }
    }
    assert!(lines.iter().any(|l| !l["contacts"].as_array().unwrap().is_empty()));
    assert_eq!(lines[0]["report"]["status"], "solved");
    // The same start and control: the same motion.
    assert_eq!(lines[118]["q"], lines[119]["q"]);
}

#[test]
fn a_record_is_a_page_where_its_name_says_so() {
    let path = folder("page").join("boxes.html");
    let out =
        good(&format!("rollout m/boxes.xml --worlds 3 --steps 60 --record {} --record-worlds 0,2", path.display()));
    assert!(out.contains("boxes.html"), "{out}");
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    // Nothing is fetched from elsewhere.
    assert!(!page.contains("src=") && !page.contains("http"));
    let scene = page.split_once("type=\"application/json\">").unwrap().1.split_once("</script>").unwrap().0;
    let scene: Value = serde_json::from_str(scene).unwrap();
    assert_eq!((&scene["name"], &scene["worlds"]), (&"boxes".into(), &serde_json::json!([0, 2])));
    // 0.3 s at 30 moments a second, the start included: ten f32, in groups of three bytes.
    assert_eq!(scene["times"].as_str().unwrap().len(), (10 * 4_usize).div_ceil(3) * 4);
    assert!(refused("rollout m/boxes.xml --worlds 1 --record x.rrd", 2).contains("worlds.record"));
    assert!(refused("rollout m/boxes.xml --worlds 1 --record x.jsonl --record-fps 10", 2).contains("FILE.html"));
}

#[test]
fn the_seed_decides_the_rollout() {
    let rollout = |seed: u64, name: &str| {
        let path = folder(name).join("out.jsonl");
        let record = format!("--record {} --record-worlds 1", path.display());
        good(&format!("rollout m/hopper.xml --worlds 2 --steps 9 --control random --noise 0.1 --seed {seed} {record}"));
        std::fs::read_to_string(path).unwrap()
    };
    assert_eq!(rollout(1, "seed-a"), rollout(1, "seed-b"));
    assert_ne!(rollout(1, "seed-a"), rollout(2, "seed-c"));
}

#[test]
fn control_comes_from_a_file_and_is_held() {
    let run = |control: &str, name: &str| {
        let path = folder(name).join("out.jsonl");
        good(&format!("rollout m/pendulum.xml --worlds 1 --steps 4 --control {control} --record {}", path.display()));
        json_lines(&std::fs::read_to_string(path).unwrap())[3]["v"][0].as_f64().unwrap()
    };
    let held = run(&file("held", "c.jsonl", "[2]\n"), "held-out");
    let given = run(&file("given", "c.jsonl", "[2]\n[2]\n[2.0]\n[2]\n"), "given-out");
    assert_eq!(held, given);
    assert!(held > run("zero", "zero-out") + 1e-3);
}

#[test]
fn wrong_files_are_refused_with_a_reason() {
    assert!(refused("rollout nowhere.xml", 1).contains("nowhere.xml"));
    let cut = file("cut", "cut.xml", "<mujoco><worldbody><body>");
    assert!(refused(&format!("rollout {cut}"), 1).contains("cut.xml:1: "));
    assert!(refused(&format!("inspect {cut}"), 1).contains("cut.xml:1: "));
    let cut = file("cut-later", "cut.xml", "<mujoco>\n<worldbody>\n<body name=\"a\">\n<geom");
    let error = refused(&format!("rollout {cut}"), 1);
    assert!(error.contains("cut.xml:4: ") && error.contains("at the end of the file"), "{error}");
    for (name, text) in [
        ("c", "[1]\n[2"),
        (
            "p",
            "{\"kind\":\"lcp\",\"n\":0,\"M\":{\"fmt\":\"dense\",\"rows\":0,\"cols\":0,\"data\":[]},\"q\":[]}\n{\"kind\"",
        ),
    ] {
        let path = file(&format!("cut-{name}"), &format!("{name}.jsonl"), text);
        let command =
            if name == "c" { format!("rollout m/pendulum.xml --control {path}") } else { format!("solve {path}") };
        let error = refused(&command, 1);
        assert!(error.contains(&format!("{name}.jsonl:2")) && !error.contains("line 1"), "{error}");
    }
    let wide = file("wide", "c.jsonl", "[1]\n[1, 2]\n");
    let error = refused(&format!("rollout m/pendulum.xml --control {wide}"), 1);
    assert!(error.contains("c.jsonl:2") && error.contains("2 numbers") && error.contains("1 actuators"), "{error}");
    let words = file("words", "c.jsonl", "left\n");
    assert!(refused(&format!("rollout m/pendulum.xml --control {words}"), 1).contains("c.jsonl:1"));
    assert!(refused("rollout m/pendulum.xml --control nowhere.jsonl", 1).contains("nowhere.jsonl"));
    assert!(refused("rollout m/pendulum.xml --record nowhere/out.jsonl", 1).contains("nowhere/out.jsonl"));
    assert!(refused("solve nowhere.jsonl", 1).contains("nowhere.jsonl"));
    assert!(refused("rollout m/biped.xml --keyframe fly", 1).contains("\"stand\""));
    assert!(refused("rollout m/boxes.xml --keyframe fly", 1).contains("no keyframes"));
}

#[test]
fn what_cannot_run_is_refused_with_a_reason() {
    for command in ["rollout", "verify", "bench"] {
        let error = refused(&format!("{command} m/ant.xml --worlds 1000000000"), 1);
        assert!(error.contains("--worlds: 1000000000 worlds need"), "{error}");
    }
    assert!(refused("rollout m/ant.xml --worlds 18446744073709551615", 1).contains("worlds need"));
    assert!(refused("rollout m/ant.xml --backend gpu --precision f64", 1).contains("backend gpu"));
    assert!(refused("rollout m/ant.xml --backend hybrid --precision f64", 1).contains("hybrid"));
    assert!(refused("solve m/ant.xml --backend gpu", 1).contains("contact problem"));
}

#[test]
fn wrong_usage_is_told_apart() {
    for arguments in [
        "rollout",
        "rollout m/ant.xml --what",
        "rollout m/ant.xml --worlds 0",
        "rollout m/ant.xml --worlds many",
        "rollout m/ant.xml --backend cuda",
        "rollout m/ant.xml --restitution 1.5",
        "rollout m/ant.xml --dt -1",
        "rollout m/ant.xml --dt NaN",
        "rollout m/ant.xml --noise inf",
        "rollout m/ant.xml --tolerance 0",
        "rollout m/ant.xml --iterations 0",
        "solve x.jsonl --iterations 0",
        "bench m/ant.xml --worlds 0",
        "rollout m/ant.xml --record-worlds 1",
        "rollout m/ant.xml --record x.html --record-fps 0",
        "rollout m/ant.xml --worlds 2 --record /dev/null --record-worlds 2",
        "solve x.jsonl --solver magic",
        "fly",
    ] {
        refused(arguments, 2);
    }
    assert!(good("--version").starts_with("delassus "));
    for command in ["", "rollout ", "inspect ", "verify ", "solve "] {
        assert!(good(&format!("{command}--help")).contains("Examples:"));
    }
}

#[test]
fn a_closed_pipe_is_no_accident() {
    let mut child =
        command("inspect examples/models/humanoid.xml").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.as_mut().unwrap();
    drop(child.stdout.take());
    let mut error = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut error).unwrap();
    assert!(child.wait().unwrap().success() && error.is_empty(), "{error}");
}

#[test]
fn inspect_shows_the_model() {
    let out = good("inspect m/ant.xml");
    for part in ["bodies", "front_left_knee", "hinge", "capsule", "actuators", "stand", "geom pairs"] {
        assert!(out.contains(part), "no {part:?} in {out}");
    }
    let o = json("inspect m/ant.xml --json");
    assert_eq!((o["nq"].as_u64(), o["nv"].as_u64(), o["nu"].as_u64()), (Some(15), Some(14), Some(8)));
    assert_eq!(o["bodies"].as_array().unwrap().len(), 10);
    assert!(o["notes"].is_array() && o["pairs"][0]["geoms"].is_array());
}

#[test]
fn inspect_answers_for_states() {
    // A pendulum at rest hanging down, then level and turning.
    let path = file("states", "s.jsonl", "{\"q\": [0], \"v\": [0]}\n\n{\"q\": [1.5707963267948966], \"v\": [2]}\n");
    let lines = json_lines(&good(&format!("inspect m/pendulum.xml --states {path} --json")));
    assert_eq!(lines.len(), 2);
    let [down, level] = [&lines[0], &lines[1]];
    let number = |v: &Value| v.as_f64().unwrap();
    assert!(number(&down["bias_force"][0]).abs() < 1e-12 && number(&down["kinetic_energy"]) == 0.0);
    let mass = number(&level["mass_matrix"][0][0]);
    assert!((number(&level["kinetic_energy"]) - 2.0 * mass).abs() < 1e-12);
    assert!(number(&level["bias_force"][0]).abs() > 1.0);
    assert!(number(&level["potential_energy"]) > number(&down["potential_energy"]));
    for (key, len) in [("body_pos", 3), ("body_quat", 4)] {
        assert_eq!((level[key].as_array().unwrap().len(), level[key][1].as_array().unwrap().len()), (2, len));
    }
    let long = file("states-long", "s.jsonl", "{\"q\": [0, 1], \"v\": [0]}\n");
    let error = refused(&format!("inspect m/pendulum.xml --states {long}"), 1);
    assert!(error.contains("s.jsonl:1") && error.contains("needs 1"), "{error}");
}

#[test]
fn verify_confirms_a_rollout_and_refutes_a_bad_one() {
    let out = good("verify m/ant.xml --keyframe stand --worlds 2 --steps 10 --noise 0.01");
    assert!(out.contains("confirmed by Lemke") && out.contains("worst disagreement, m/s"), "{out}");
    let o = json("verify m/ant.xml --keyframe stand --worlds 2 --steps 10 --noise 0.01 --json");
    assert!(o["blocks"].as_u64().unwrap() > 20 && o["disagreeing"] == 0 && o["not_verifiable"] == 0, "{o}");
    assert!(o["worst_disagreement"].as_f64().unwrap() < 1e-6, "{o}");

    let sloppy = "verify m/ant.xml --keyframe stand --worlds 2 --steps 10 --noise 0.01 --solver pgs --iterations 2 --no-fallback";
    let output = delassus(sloppy);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("disagree by more than") && text(&output.stdout).contains("disagrees by"));
}

#[test]
fn patches_are_solved_and_refused_by_name() {
    // 1 kg on a square face that falls at 1 m/s, slides at 3 m/s and spins at 2 rad/s; each vertex bears a quarter
    let corners = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]];
    let mut matrix = vec![[0.0; 7]; 7];
    for (i, a) in corners.iter().enumerate() {
        for (j, b) in corners.iter().enumerate() {
            // 1/m + (x_i · x_j)/I
            matrix[i][j] = 1.0 + 6.0 * (a[0] * b[0] + a[1] * b[1]);
        }
    }
    for (row, entry) in [(4, 1.0), (5, 1.0), (6, 6.0)] {
        matrix[row][row] = entry;
    }
    let problem = serde_json::json!({
        "format": "delassus-lcp/1", "name": "face", "kind": "patch", "n": 7, "patches": 1, "mu": [0.5], "e": [[1.0, 1.0, 0.4]],
        "points": [corners], "M": {"fmt": "dense", "rows": 7, "cols": 7, "data": matrix.concat()},
        "q": [-1.0, -1.0, -1.0, -1.0, 3.0, 0.0, 2.0],
    });
    let path = file("patches", "p.jsonl", &format!("{problem}\n"));
    let answers = json_lines(&good(&format!("solve {path} --solver auto --solver nsgs --solver lemke --json")));
    for answer in &answers[..2] {
        assert_eq!((answer["status"].as_str(), answer.get("refusal")), (Some("solved"), None), "{answer}");
        assert!(answer["residual"].as_f64().unwrap() <= 1e-7 && answer["floor"].as_f64().unwrap() < 1e-12);
        let z: Vec<f64> = answer["z"].as_array().unwrap().iter().map(|z| z.as_f64().unwrap()).collect();
        let (normal, friction) = (z[..4].iter().sum::<f64>(), z[4].hypot(z[6] / 0.4));
        assert!((normal - 1.0).abs() < 1e-6 && (friction - 0.5).abs() < 1e-6, "{z:?}");
    }
    assert_eq!(answers[2]["status"], "invalid problem");
    assert!(answers[2]["refusal"].as_str().unwrap().contains("auto, newton and nsgs do"), "{}", answers[2]);
    assert!(good(&format!("solve {path} --solver auto --solver lemke")).contains("lemke does not treat patches"));
}

#[test]
fn failed_problems_can_be_solved_again() {
    let path = folder("dump").join("failed.jsonl").display().to_string();
    let rollout = "rollout m/ant.xml --keyframe stand --worlds 2 --steps 5 --precision f64 --solver pgs --iterations 2 --no-fallback";
    assert!(good(&format!("{rollout} --dump-failed {path}")).contains("unsolved problems written"));
    let answers = json_lines(&good(&format!("solve {path} --solver auto --solver lemke --json")));
    assert!(answers.len() > 10);
    for answer in &answers {
        assert!(answer["name"].as_str().unwrap().starts_with("ant/step "));
        assert!(answer["iterations"].is_u64() && answer["time_s"].is_f64() && answer["z"].is_array());
        match answer["solver"].as_str().unwrap() {
            "auto" => assert!(answer["status"] == "solved" && answer["residual_rel"].as_f64().unwrap() <= 1e-8),
            // Round cones have no linear form.
            _ => assert_eq!(answer["status"], "invalid problem"),
        }
    }
    let table = good(&format!("solve {path} --solver two_phase --solver pgs --tolerance 1e-6").replace('_', "-"));
    assert!(table.contains("family") && table.contains("two-phase") && table.contains("ant"), "{table}");
}

/// What no one can use is a failure, however well it was printed.
#[test]
fn nothing_achieved_is_a_failure() {
    let failed = |arguments: &str, wanted: &str| {
        let output = delassus(arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments}: {error}");
        assert!(error.starts_with("error: ") && error.contains(wanted), "{arguments}: {error}");
        assert!(!output.stdout.is_empty(), "{arguments}");
    };
    // Beyond what f32 can hold.
    let heavy = "<mujoco><option gravity=\"0 0 -1e300\"/><worldbody><body><freejoint/><geom size=\"0.1\"/></body></worldbody></mujoco>";
    let heavy = file("not-finite", "heavy.xml", heavy);
    for json in ["", "--json"] {
        failed(&format!("rollout {heavy} --worlds 3 --steps 2 {json}"), "the state of every world");
        failed(&format!("bench {heavy} --worlds 3 --steps 2 --warm-up 1 {json}"), "the state of every world");
        failed(&format!("verify {heavy} --worlds 3 --steps 2 --precision f32 {json}"), "the state of every world");
    }
    // w = -1 whatever z is.
    let problem =
        "{\"kind\":\"lcp\",\"n\":1,\"M\":{\"fmt\":\"dense\",\"rows\":1,\"cols\":1,\"data\":[0]},\"q\":[-1]}\n";
    let problem = file("unsolvable", "p.jsonl", problem);
    for json in ["", "--json"] {
        failed(&format!("solve {problem} {json}"), "none of the 1 contact problems was solved");
    }
    let empty = file("empty", "p.jsonl", "\n\n");
    assert!(refused(&format!("solve {empty}"), 1).contains("p.jsonl: the file holds no contact problem"));
}

/// A loss that changes the motion is told apart from one that does not, in words and for machines; so is a start that cannot be.
#[test]
fn notes_say_whether_the_motion_differs() {
    let model = file(
        "notes",
        "notes.xml",
        r#"<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/>
             <body pos="0 0 0.013"><joint name="j" type="slide" axis="0 0 1" range="0.2 1" damping="1"/>
               <geom name="ball" size="0.1" solref="0.1 1"/></body></worldbody>
           <tendon><spatial armature="1"/></tendon></mujoco>"#,
    );
    assert!(refused(&format!("rollout {model}"), 1).contains("tendons with armature"));
    let rollout = format!("rollout {model} --lenient --worlds 1 --steps 1");
    let out = good(&rollout);
    for part in [
        "the motion differs: ignored: notes.xml:4: <spatial>: spatial tendons with armature",
        "note: at rest, geom \"floor\" and geom \"ball\" overlap by 0.087 m",
        "note: at rest, joint \"j\" is 0.200 m beyond its limit",
        "1 harmless note on the model file (-v shows it)",
    ] {
        assert!(out.contains(part), "no {part:?} in {out}");
    }
    assert!(
        !out.contains("solref")
            && good(&format!("{rollout} -v")).contains("note: notes.xml:3: <geom>: \"solref\" is not used")
    );
    for command in [format!("{rollout} --json"), format!("inspect {model} --lenient --json")] {
        let o = json(&command);
        let notes = o["notes"].as_array().unwrap();
        let about = |word: &str| notes.iter().find(|n| n["text"].as_str().unwrap().contains(word)).unwrap();
        assert_eq!(notes.len(), 4, "{o}");
        assert!(notes[0]["text"].as_str().unwrap().contains("tendons with armature"));
        for (word, changes) in [("tendons", true), ("solref", false), ("overlap", false), ("beyond", false)] {
            assert_eq!(about(word)["changes_motion"], changes, "{word}");
        }
    }
}

#[test]
fn devices_names_the_cpu() {
    // Drivers of which the variable is not set say "error: …", which is none of ours.
    let output = command("devices").env_remove("XDG_RUNTIME_DIR").output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    assert!(good("devices").contains("threads"));
    let o = json("devices --json");
    assert!(o["cpu"]["threads"].as_u64().unwrap() >= 1 && o["gpus"].is_array());
}

#[test]
#[cfg(feature = "gpu")]
fn a_device_is_chosen_by_index_or_name() {
    for o in json("devices --json")["gpus"].as_array().unwrap() {
        let name = o["name"].as_str().unwrap();
        assert!(good("devices").contains(name));
    }
    let error = refused("rollout m/pendulum.xml --worlds 1 --steps 1 --backend gpu --device 99 --json", 1);
    assert!(error.contains("there is no device 99") && error.contains("found: "), "{error}");
}

#[test]
#[cfg(feature = "gpu")]
fn compare_holds_a_device_against_the_cpu() {
    if delassus::gpu::list_devices().is_empty() {
        assert!(std::env::var("DELASSUS_REQUIRE_GPU").map_or(true, |v| v.is_empty() || v == "0"), "no device");
        return;
    }
    let o = json("compare m/hopper.xml --worlds 5 --steps 40 --noise 0.02 --control random --json");
    assert!(o["contacts_mean"].as_f64().unwrap() > 0.1 && o["world_steps"] == 200, "{o}");
    for key in ["wrong", "uncertified", "halted_otherwise"] {
        assert_eq!(o[key], 0, "{key}: {o}");
    }
    assert!(o["posed_otherwise"].as_u64().unwrap() <= 10, "{o}");
    assert!(o["repeats"] == true && o["exact_residual"].as_f64().unwrap() > 0.0, "{o}");
    let stages = o["stages"].as_array().unwrap();
    assert!(stages.len() == 13 && stages.iter().all(|shader| shader["wrong"] == false), "{o}");
    let output = delassus("compare m/pendulum.xml --worlds 1 --steps 3 --impacts sequential");
    let (table, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.code() == Some(1) && error.contains("nothing was compared"), "{error}");
    assert!(table.contains("pendulum was not compared") && table.contains("impacts simultaneous"), "{table}");
}

#[test]
#[cfg(feature = "gpu")]
fn how_fast_a_device_is_stands_beside_what_it_can_do() {
    let problem = r#"{"format": "delassus-lcp/1", "name": "a foot", "kind": "fc3d", "source": "made up", "licence": "none needed", "n": 3, "nc": 1, "d": 3,
        "M": {"fmt": "dense", "rows": 3, "cols": 3, "data": [2, 0.5, 0, 0.5, 1, 0, 0, 0, 1]}, "q": [-1, 0.2, -0.9], "mu": [0.5]}"#;
    let path = file("copies", "p.jsonl", &problem.replace('\n', " "));
    assert!(refused(&format!("solve {path} --copies 2"), 1).contains("--backend gpu"));
    assert!(refused(&format!("solve {path} --backend gpu --copies 0"), 2).contains("copies"));
    if delassus::gpu::list_devices().is_empty() {
        assert!(std::env::var("DELASSUS_REQUIRE_GPU").map_or(true, |v| v.is_empty() || v == "0"), "no device");
        return;
    }
    let lines = json_lines(&good(&format!("solve {path} --backend gpu --device 0 --copies 40 --json")));
    assert!(
        refused(&format!("solve {path} --backend gpu --device 0 --copies 4000000000"), 1).contains("use fewer copies")
    );
    let [answer, speed] = &lines[..] else { panic!("an answer and a speed: {lines:?}") };
    assert_eq!((&answer["status"], &speed["problems"], &speed["solved"]), (&"solved".into(), &40.into(), &40.into()));
    let number = |key: &str| speed[key].as_f64().unwrap();
    assert!(number("sweeps") >= 40.0 && number("seconds") > 0.0 && number("limit") > 1e8, "{speed}");
    // nine multiply-adds a product, and what the law of a contact asks for besides
    assert!(number("products") >= 18.0 * number("sweeps") && number("operations") > number("products"), "{speed}");
    assert!(good(&format!("solve {path} --backend gpu --device 0 --copies 40")).contains("million problems/s"));
    let arguments = "bench m/hopper.xml --backend gpu --device 0 --worlds 8 --steps 2 --warm-up 1";
    let o = json(&format!("{arguments} --json"));
    assert!(o["operations"]["free_motion"].as_f64().unwrap() > 1e3, "{o}");
    assert!(o["operations"].as_object().unwrap().len() == 13 && o["limit"]["gflops"].as_f64().unwrap() > 0.1, "{o}");
}

#[test]
fn bench_prints_speed_beside_the_residual() {
    let arguments = "bench m/hopper.xml m/ant.xml --batches 16,32 --precisions f32,f64 --steps 5 --warm-up 5";
    let lines = json_lines(&good(&format!("{arguments} --json")));
    assert_eq!(lines.len(), 8);
    for line in &lines {
        assert!(line["world_steps_per_second"].as_f64().unwrap() > 0.0, "{line}");
        assert!(line["residual"]["p99"].as_f64().unwrap() < 1e-3 && line["bytes_per_world"].as_u64().unwrap() > 0);
        let stages = line["stages_us"].as_object().unwrap();
        assert!(stages.len() == 7 && stages["free motion"].as_f64().unwrap() > 0.0, "{line}");
    }
    let table = good(arguments);
    assert!(table.contains("thread time by stage") && table.contains("residual m/s"), "{table}");
    // The names that other commands have; those above are of earlier versions.
    let lines =
        json_lines(&good("bench m/hopper.xml --worlds 16 --backend cpu --precision f64 --steps 2 --warm-up 1 --json"));
    assert_eq!((lines.len(), &lines[0]["worlds"], &lines[0]["precision"]), (1, &16.into(), &"f64".into()));
    let help = good("bench --help");
    for name in ["worlds", "backend", "precision"] {
        assert_eq!(help.lines().filter(|line| line.trim().starts_with(&format!("--{name}"))).count(), 1, "{help}");
    }
    let doubled = ["batches", "backends", "precisions"].map(|name| format!("--{name} <"));
    assert!(!doubled.iter().any(|name| help.contains(name.as_str())), "{help}");
}
