//! Meshes: inline and from files.

use super::*;

#[test]
fn a_mesh_is_its_hull_where_the_file_says() {
    // A box of 2 x 4 x 6 about (1, 2, 3), given off the origin, with one point inside.
    let model = read(&file(
        r#"<asset><mesh name="box" vertex="0 0 0  2 0 0  0 4 0  2 4 0  0 0 6  2 0 6  0 4 6  2 4 6  1 1 1" scale="0.1 0.1 0.1"/></asset>
           <worldbody><body><freejoint/><geom type="mesh" mesh="box" pos="5 0 0" euler="0 0 90" density="1000"/></body></worldbody>"#,
    ));
    let geom = &model.geoms[0];
    let Shape::Hull(hull) = &geom.shape else { panic!() };
    assert_eq!(hull.vertices.len(), 8);
    let centre = Vector3::new(5.0 - 0.2, 0.1, 0.3);
    assert!((geom.position - centre).norm() < 1e-9, "{:?}", geom.position);
    for vertex in &hull.vertices {
        let placed = geom.position + geom.orientation * vertex - centre;
        assert!((placed.abs() - Vector3::new(0.2, 0.1, 0.3)).norm() < 1e-9, "{placed:?}");
    }
    let body = &model.bodies[1];
    assert!((body.mass - 48.0).abs() < 1e-9 && (body.com - centre).norm() < 1e-9);
    assert!((body.inertia[(0, 0)] - 48.0 / 3.0 * (0.01 + 0.09)).abs() < 1e-9, "{}", body.inertia);
}

#[test]
fn mesh_files_are_read() {
    let folder = std::env::temp_dir().join(format!("delassus-mesh-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("meshes")).unwrap();
    let corners = ["0 0 0", "1 0 0", "0 1 0", "0 0 1"];
    let faces = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
    let points = corners.iter().map(|c| format!("v {c}"));
    let triangles = faces.iter().map(|f| format!("f {} {} {}", f[0] + 1, f[1] + 1, f[2] + 1));
    let obj = points.chain(triangles).collect::<Vec<_>>().join("\n");
    let facet = |f: &[usize; 3]| {
        let [a, b, c] = f.map(|i| corners[i]);
        format!("facet normal 0 0 0\nouter loop\nvertex {a}\nvertex {b}\nvertex {c}\nendloop\nendfacet\n")
    };
    let stl = format!("solid t\n{}endsolid t\n", faces.iter().map(facet).collect::<String>());
    std::fs::write(folder.join("meshes/corner.obj"), obj).unwrap();
    std::fs::write(folder.join("meshes/tetra.stl"), stl).unwrap();
    std::fs::write(folder.join("meshes/bad.stl"), "not a mesh").unwrap();
    let coordinates = |i: usize| corners[i].split(' ').map(|x| x.parse::<f32>().unwrap());
    // a binary file whose header begins as a text file does
    let mut binary = b"solid of some program".to_vec();
    binary.resize(80, b' ');
    binary.extend(4u32.to_le_bytes());
    for face in &faces {
        let numbers = [0.0; 3].into_iter().chain(face.iter().flat_map(|&i| coordinates(i)));
        binary.extend(numbers.flat_map(f32::to_le_bytes));
        binary.extend([0; 2]);
    }
    std::fs::write(folder.join("meshes/binary.stl"), binary).unwrap();
    // MuJoCo's own format, with a normal and a texture coordinate
    let mut own: Vec<u8> = [4u32, 1, 1, 4].into_iter().flat_map(u32::to_le_bytes).collect();
    own.extend((0..4).flat_map(coordinates).chain([0.0; 5]).flat_map(f32::to_le_bytes));
    own.extend(faces.iter().flatten().flat_map(|&i| (i as u32).to_le_bytes()));
    std::fs::write(folder.join("meshes/own.msh"), &own).unwrap();
    own[3] = 255;
    std::fs::write(folder.join("meshes/long.msh"), &own).unwrap();
    std::fs::write(folder.join("meshes/short.msh"), &own[..6]).unwrap();
    (own[3], own[16 + 68]) = (0, 4);
    std::fs::write(folder.join("meshes/wrong.msh"), &own).unwrap();
    let main = |mesh: &str, name: &str| {
        let text = format!(
            r#"<mujoco><compiler meshdir="meshes"/><asset><mesh file="{mesh}"/></asset>
               <worldbody><body><freejoint/><geom type="mesh" mesh="{name}"/></body></worldbody></mujoco>"#
        );
        std::fs::write(folder.join("main.xml"), text).unwrap();
        Model::from_mjcf_file(folder.join("main.xml"))
    };
    for (mesh, name) in [("corner.obj", "corner"), ("tetra.stl", "tetra"), ("binary.stl", "binary"), ("own.msh", "own")]
    {
        let model = main(mesh, name).unwrap();
        assert!((model.bodies[1].mass - 1000.0 / 6.0).abs() < 1e-6, "{mesh}");
        assert!((model.bodies[1].com - Vector3::repeat(0.25)).norm() < 1e-9, "{mesh}");
        assert!(model.notes.is_empty(), "{:?}", model.notes);
    }
    for (mesh, name) in [
        ("bad.stl", "bad"),
        ("none.obj", "none"),
        ("cube.dae", "cube"),
        ("long.msh", "long"),
        ("short.msh", "short"),
        ("wrong.msh", "wrong"),
    ] {
        let message = main(mesh, name).unwrap_err().to_string();
        assert!(message.contains("main.xml:1: <mesh>") && message.contains(mesh), "{message}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// The numbers are those of MuJoCo 4.0.0: `body_mass`, `body_ipos`, `body_inertia`, to fifteen digits; 1e-12 is rounding of sums in another order.
#[test]
fn the_mass_of_a_shell_is_on_its_surface() {
    for faces in ["0 2 1  0 1 3  0 3 2  1 2 3", ""] {
        let model = read(&file(&format!(
            r#"<asset><mesh name="a" inertia="shell" vertex="0 0 0  1 0 0  0 1 0  0 0 2" face="{faces}"/></asset>
               <worldbody><body><freejoint/><geom type="mesh" mesh="a" density="3"/></body></worldbody>"#
        )));
        let body = &model.bodies[1];
        assert!((body.mass - 12.0).abs() < 1e-12, "{}", body.mass);
        assert!((body.com - Vector3::new(0.25, 0.25, 0.583333333333333)).norm() < 1e-12, "{}", body.com);
        let mut moments = body.inertia.symmetric_eigenvalues();
        moments.as_mut_slice().sort_by(f64::total_cmp);
        let wanted = Vector3::new(1.308308531965712, 3.416666666666664, 4.108358134700951);
        assert!((moments - wanted).norm() < 1e-12, "{moments}");
    }
}

/// What lies in a plane, however it stands, is made a little thick; on a line it has no hull.
#[test]
fn a_flat_mesh_is_a_thin_one() {
    let with = |points: &str| {
        Model::from_mjcf_str(&file(&format!(
            r#"<asset><mesh name="m" vertex="{points}" inertia="shell"/></asset>
               <worldbody><body><freejoint/><geom type="mesh" mesh="m" mass="3"/></body></worldbody>"#
        )))
    };
    // a square of 1 m, at 45° to the ground
    let model = with("0 0 0  1 0 0  0 0.70710678 0.70710678  1 0.70710678 0.70710678").unwrap();
    let Shape::Hull(hull) = &model.geoms[0].shape else { panic!() };
    let normal = model.geoms[0].orientation * Vector3::new(0.0, -0.5f64.sqrt(), 0.5f64.sqrt());
    let heights: Vec<f64> = hull.vertices.iter().map(|p| (model.geoms[0].orientation * p).dot(&normal).abs()).collect();
    assert!(heights.iter().all(|h| *h < 1e-3 && *h > 1e-6), "{heights:?}");
    assert!(model.notes.iter().any(|note| note.text.contains("m thick") && !note.changes_motion));
    // a plate: m/12 about either side, m/6 across it
    let moments = model.bodies[1].inertia.symmetric_eigenvalues();
    let (low, high) = (moments.min(), moments.max());
    assert!((low - 0.25).abs() < 1e-3 && (high - 0.5).abs() < 1e-3, "{moments}");
    let message = with("0 0 0  1 1 1  2 2 2  3 3 3").unwrap_err().to_string();
    assert!(message.contains("no volume"), "{message}");
}

/// Mass properties of a concave mesh as MuJoCo 4.0.0 has them (its corners are f32): by default all tetrahedra count as positive, so that a notch counts in part; exactly; of the hull; and with a triangle left out.
#[test]
fn the_inside_of_a_mesh_is_what_the_file_asks_for() {
    // an L of 4 l, 1000 kg/m³
    let points =
        "0 0 0  .3 0 0  .3 .1 0  .1 .1 0  .1 .2 0  0 .2 0  0 0 .1  .3 0 .1  .3 .1 .1  .1 .1 .1  .1 .2 .1  0 .2 .1";
    let faces = "2 1 0  3 2 0  4 3 0  5 4 0  6 7 8  6 8 9  6 9 10  6 10 11  0 1 7  0 7 6  1 2 8  1 8 7  2 3 9  2 9 8  3 4 10  3 10 9  4 5 11  4 11 10  5 0 6  5 6 11";
    let with = |faces: &str, kind: &str| {
        read(&file(&format!(
            r#"<asset><mesh name="m" vertex="{points}" face="{faces}" {kind}/></asset>
               <worldbody><body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody>"#
        )))
    };
    let overcounted =
        (4.161_340_825, [0.124_201_087, 0.077_519_667, 0.05], [0.042_340_54, 0.036_972_695, 0.012_195_853]);
    let exact = (4.0, [0.125, 0.075, 0.05], [0.041_666_667, 0.036_666_667, 0.011_666_667]);
    let hull = (5.0, [0.133_333_333, 0.086_666_667, 0.05], [0.048_555_556, 0.040_306_437, 0.016_582_452]);
    let open =
        (3.872_850_829, [0.120_381_364, 0.079_201_283, 0.052_605_033], [0.040_143_899, 0.034_687_262, 0.011_401_07]);
    for (faces, kind, (mass, com, moments)) in [
        (faces, "", overcounted),
        (faces, r#"inertia="legacy""#, overcounted),
        (faces, r#"inertia="exact""#, exact),
        (faces, r#"inertia="convex""#, hull),
        (&faces[7..], "", open),
    ] {
        let model = with(faces, kind);
        let body = &model.bodies[1];
        let mut found: Vec<f64> = body.inertia.symmetric_eigenvalues().iter().copied().collect();
        found.sort_by(|a, b| b.total_cmp(a));
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6 * b;
        assert!(
            near(body.mass, mass) && (0..3).all(|i| near(body.com[i], com[i]) && near(found[i], moments[i])),
            "{kind}: {body:?}, {found:?}"
        );
        assert!(model.notes.is_empty(), "{:?}", model.notes);
    }
}

/// Heights count from the least of them, rows of a file begin at the far side; others may be set.
#[test]
fn a_height_field_has_the_heights_of_the_file_or_others() {
    let land = |field: &str| {
        file(&format!(
            r#"<asset><hfield name="land" {field}/></asset>
               <worldbody><geom type="hfield" hfield="land" pos="0 0 1"/><body pos="0 0 2"><freejoint/><geom size=".1"/></body></worldbody>"#
        ))
    };
    let mut model = read(&land(r#"nrow="2" ncol="3" size="3 2 .5 .1" elevation="5 5 9  1 3 1""#));
    let field = model.height_field("land").unwrap();
    assert_eq!((field.rows, field.columns, field.half, field.base), (2, 3, [3.0, 2.0], 0.1));
    assert_eq!(field.heights, [0.0, 0.125, 0.0, 0.25, 0.25, 0.5]);
    assert_eq!(field.point(1, 2), Vector3::new(3.0, 2.0, 0.5));
    assert_eq!(field.triangles().collect::<Vec<_>>(), [[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]]);
    let before = model.fingerprint();
    model.set_heights("land", &[0.0, 1.0, 2.0, 3.0, 4.0, -1.0]).unwrap();
    assert_eq!(model.height_field("land").unwrap().heights[5], -1.0);
    assert!(model.fingerprint() != before && model.validate().is_ok());
    for (name, heights, message) in [
        ("sea", &[0.0; 6][..], "no geom of the model has a height field called \"sea\""),
        ("land", &[0.0; 5], "has 5 numbers, the height field \"land\" needs 2 rows × 3 columns"),
        ("land", &[f64::NAN; 6], "NaN is no height"),
    ] {
        let error = model.set_heights(name, heights).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    for (field, message) in [
        (r#"nrow="2" ncol="3""#, "needs four positive numbers in \"size\""),
        (r#"nrow="2" ncol="3" size="1 1 0 1""#, "needs four positive numbers in \"size\""),
        (r#"nrow="2" ncol="3" size="1 1 1 1" elevation="1 2""#, "has 2 numbers, needs 6"),
        (r#"size="1 1 1 1""#, "at least two rows and two columns"),
        (r#"size="1 1 1 1" file="nowhere.png""#, "nowhere.png"),
    ] {
        let error = Model::from_mjcf_str(&land(field)).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

/// Volume, centroid and moments of one body, of density 1, as MuJoCo 4.0.0 has them; its corners are f32.
fn assert_content(model: &Model, mass: f64, com: [f64; 3], moments: [f64; 3], what: &str) {
    let body = &model.bodies[1];
    let mut found: Vec<f64> = body.inertia.symmetric_eigenvalues().iter().copied().collect();
    found.sort_by(|a, b| b.total_cmp(a));
    let near = |a: f64, b: f64| (a - b).abs() < 1e-6 * b;
    let same = near(body.mass, mass) && (0..3).all(|i| near(body.com[i], com[i]) && near(found[i], moments[i]));
    assert!(same, "{what}: {} {} {found:?}", body.mass, body.com);
}

/// Polygons are cut as MuJoCo cuts them, be it right (quads along the shorter diagonal) or not (a comb loses some of its ends); of several groups the first has the mass, and all points the hull.
#[test]
fn an_obj_file_is_cut_into_triangles_as_in_mujoco() {
    let folder = std::env::temp_dir().join(format!("delassus-obj-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let comb = [[0, 0], [5, 0], [5, 3], [4, 3], [4, 1], [3, 1], [3, 3], [2, 3], [2, 1], [1, 1], [1, 3], [0, 3]];
    let point = |p: &[i32; 2], z: usize| format!("v {} {} {z}\n", p[0], p[1]);
    let mut text: String = [0, 1].iter().flat_map(|&z| comb.iter().map(move |p| point(p, z))).collect();
    text += "f 12 11 10 9 8 7 6 5 4 3 2 1\nf 13 14 15 16 17 18 19 20 21 22 23 24\n";
    text.extend(
        (0..12).map(|k| [k, (k + 1) % 12].map(|k| k + 1)).map(|[i, j]| format!("f {i} {j} {} {}\n", j + 12, i + 12)),
    );
    let box_at = |x: f64, last: &str, first: usize| {
        let points: Vec<String> = ["0 0 0", "1 0 0", "1 1 0", "0 1 0", "0 0 1", "1 0 1", "1 1 1", last]
            .iter()
            .map(|p| p.split_once(' ').unwrap())
            .map(|(px, rest)| format!("v {} {rest} 0.5 0.5 0.5", px.parse::<f64>().unwrap() + x))
            .collect();
        let faces = [[1, 4, 3, 2], [5, 6, 7, 8], [1, 2, 6, 5], [2, 3, 7, 6], [3, 4, 8, 7], [4, 1, 5, 8]];
        let faces = faces.map(|f| "f".to_owned() + &f.map(|k| format!(" {}/1/1", k + first)).concat());
        format!("{}\n{}\n", points.join("\n"), faces.join("\n"))
    };
    let two =
        format!("\u{feff}# two boxes\no a\n{}usemtl x\no b\n{}", box_at(0.0, "0 1 1", 0), box_at(5.0, "0 1 1", 8));
    let corner = box_at(0.0, "0.25 1.25 1.5", 0).replace("f 1/1/1 4/1/1", "f -8 -5");
    std::fs::write(folder.join("comb.obj"), text).unwrap();
    std::fs::write(folder.join("corner.obj"), corner.replace('\n', "\r\n")).unwrap();
    std::fs::write(folder.join("two.obj"), two).unwrap();
    let main = |mesh: &str, kind: &str| {
        let text = file(&format!(
            r#"<asset><mesh name="m" file="{mesh}.obj" {kind}/></asset><worldbody><body><freejoint/><geom type="mesh" mesh="m" density="1"/></body></worldbody>"#
        ));
        std::fs::write(folder.join("main.xml"), text).unwrap();
        Model::from_mjcf_file(folder.join("main.xml"))
    };
    let (shell, convex) = (r#"inertia="shell""#, r#"inertia="convex""#);
    for (mesh, kind, mass, com, moments) in [
        (
            "comb",
            "",
            15.007_060_778,
            [2.482_843_137, 1.459_033_393, 0.518_557_496],
            [42.302_357_859, 33.181_768_680, 11.227_238_604],
        ),
        (
            "comb",
            shell,
            42.5,
            [2.431_372_549, 1.435_294_118, 0.541_176_471],
            [159.902_298_095, 122.919_862_519, 50.027_512_589],
        ),
        ("comb", convex, 15.0, [2.5, 1.5, 0.5], [42.5, 32.5, 12.5]),
        (
            "corner",
            "",
            1.083_333_333,
            [0.495_192_308, 0.533_653_846, 0.548_076_923],
            [0.216_645_999, 0.211_868_990, 0.170_222_991],
        ),
        (
            "corner",
            shell,
            6.654_570_042,
            [0.490_917_467, 0.550_864_623, 0.575_984_998],
            [2.236_717_846, 2.183_819_370, 1.722_778_173],
        ),
        ("two", "", 1.0, [0.5; 3], [1.0 / 6.0; 3]),
        ("two", shell, 6.0, [0.5; 3], [5.0 / 3.0; 3]),
        ("two", convex, 6.0, [3.0, 0.5, 0.5], [18.5, 18.5, 1.0]),
    ] {
        assert_content(&main(mesh, kind).unwrap(), mass, com, moments, &format!("{mesh} {kind}"));
    }
    for (text, message) in [
        ("v 0 0\n", "line 1: a point needs three numbers"),
        ("v 0 0 0\nf 1 x 1\n", "line 2: a face needs"),
        ("v 0 0 0\nf 0 1 1\n", "line 2: a face needs"),
        ("v 0 0 0\nf 1 2 1\n", "a face names a point that does not exist"),
    ] {
        std::fs::write(folder.join("wrong.obj"), text).unwrap();
        let error = main("wrong", "").unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Sizes, places and masses as MuJoCo 4.0.0 has them: by the box of the inertia of an L, and by the box around it.
#[test]
fn primitives_are_fitted_to_a_mesh() {
    let points = "0 0 0  .5 0 0  .5 .25 0  .125 .25 0  .125 .375 0  0 .375 0  0 0 .25  .5 0 .25  .5 .25 .25  .125 .25 .25  .125 .375 .25  0 .375 .25";
    let faces = "2 1 0  3 2 0  4 3 0  5 4 0  6 7 8  6 8 9  6 9 10  6 10 11  0 1 7  0 7 6  1 2 8  1 8 7  2 3 9  2 9 8  3 4 10  3 10 9  4 5 11  4 11 10  5 0 6  5 6 11";
    let with = |compiler: &str, geom: &str| {
        read(&file(&format!(
            r#"<compiler {compiler}/><asset><mesh name="m" vertex="{points}" face="{faces}"/></asset>
               <worldbody><body><freejoint/><geom mesh="m" {geom}/></body></worldbody>"#
        )))
    };
    let inertia = [0.224_722_685_675, 0.152_989_543_412, 0.125];
    let around = [0.236_160_106_912, 0.138_475_135_765, 0.125];
    for (compiler, kind, size, place, mass) in [
        ("", "sphere", [0.177_969_554_577, 0.0, 0.0], inertia, 23.611_618_075),
        ("", "capsule", [0.137_524_139_177, 0.190_098_315_788, 0.0], inertia, 33.484_942_750),
        ("", "cylinder", [0.137_524_139_177, 0.258_860_385_376, 0.0], inertia, 30.761_204_163),
        ("", "ellipsoid", [0.123_597_189_199, 0.151_451_089_156, 0.258_860_385_376], inertia, 20.297_156_386),
        ("", "box", [0.123_597_189_199, 0.151_451_089_156, 0.258_860_385_376], inertia, 38.764_713_234),
        ("fitaabb", "sphere", [0.437_306_251_208, 0.0, 0.0], around, 350.304_459_387),
        ("fitaabb", "capsule", [0.296_141_597_312, 0.141_164_653_896, 0.0], around, 186.576_045_752),
        ("fitaabb", "cylinder", [0.296_141_597_312, 0.437_306_251_208, 0.0], around, 240.970_779_740),
        ("fitaabb", "ellipsoid", [0.1875, 0.296_141_597_312, 0.437_306_251_208], around, 101.712_652_802),
        ("fitaabb", "box", [0.1875, 0.296_141_597_312, 0.437_306_251_208], around, 194.256_857_620),
    ] {
        let scale = if compiler.is_empty() { 1.0 } else { 1.5 };
        let compiler = compiler.replace("fitaabb", r#"fitaabb="true""#);
        let model = with(&compiler, &format!(r#"type="{kind}" fitscale="{scale}""#));
        let geom = &model.geoms[0];
        // corners are f32 there
        let near = |a: f64, b: f64| (a - b).abs() < 1e-7 * b.max(1.0);
        let found = geom.shape.size();
        assert!(
            (0..3).all(|k| near(found[k], size[k]) && near(geom.position[k], place[k])),
            "{kind}: {found:?} {}",
            geom.position
        );
        assert!(near(model.bodies[1].mass, mass), "{kind}: {}", model.bodies[1].mass);
    }
}

/// Masses and moments are those of MuJoCo 4.0.0; without mass there is nothing to spread.
#[test]
fn the_mass_of_a_primitive_may_be_on_its_surface() {
    let with = |geom: &str| {
        read(&file(&format!(
            r#"<worldbody><body><freejoint/><geom {geom} shellinertia="true"/><geom size="1" density="1" group="5"/></body></worldbody><compiler inertiagrouprange="0 4"/>"#
        )))
    };
    for (geom, mass, moments) in [
        (r#"size=".3""#, 1.130_973_355_292, [0.067_858_401_318; 3]),
        (
            r#"type="capsule" size=".3 .5""#,
            3.015_928_947_446,
            [0.762_150_377_761, 0.762_150_377_761, 0.237_504_404_611],
        ),
        (
            r#"type="cylinder" size=".3 .5""#,
            2.450_442_269_800,
            [0.395_997_753_985, 0.395_997_753_985, 0.195_092_903_788],
        ),
        (
            r#"type="ellipsoid" size=".3 .5 .7""#,
            3.084_614_015_197,
            [0.675_488_224_559, 0.540_286_381_423, 0.355_730_714_058],
        ),
        (r#"type="box" size=".3 .5 .7""#, 5.68, [2.073_066_666_667, 1.658_133_333_333, 1.091_733_333_333]),
    ] {
        let model = with(&format!(r#"{geom} density="1""#));
        let body = &model.bodies[1];
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * b;
        assert!(near(body.mass, mass), "{geom}: {}", body.mass);
        assert!((0..3).all(|k| near(body.inertia[(k, k)], moments[k])), "{geom}: {}", body.inertia);
        let twice = with(&format!(r#"{geom} mass="2""#));
        assert!(near(twice.bodies[1].inertia[(0, 0)], moments[0] * 2.0 / mass), "{geom}");
    }
}

/// Regular polygons, which a hull in space is not found of, and any other, however they are turned.
#[test]
fn every_flat_mesh_is_a_plate() {
    for count in [3, 4, 6, 8, 16, 58] {
        for radius in [1.0, 0.5, 0.0372] {
            let turn = UnitQuaternion::from_euler_angles(count as f64, 0.3 * radius, 0.1);
            let corner = |k: usize| {
                let angle = std::f64::consts::TAU * (k as f64 + 0.3) / count as f64;
                let p = turn * Vector3::new(radius * angle.cos(), radius * angle.sin(), 0.00275);
                format!("{:.8} {:.8} {:.8} ", p.x, p.y, p.z)
            };
            let points: String = (0..count).map(corner).collect();
            let model = read(&file(&format!(
                r#"<asset><mesh name="m" vertex="{points} {}" inertia="shell"/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody>"#,
                corner(0)
            )));
            let Shape::Hull(hull) = &model.geoms[0].shape else { panic!() };
            assert_eq!(hull.vertices.len(), 2 * count);
            let (volume, ..) = delassus::model::solid_inertia(&model.geoms[0].shape).unwrap();
            let area = 0.5 * count as f64 * radius * radius * (std::f64::consts::TAU / count as f64).sin();
            let thickness = volume / area / radius;
            assert!((1e-4..1e-2).contains(&thickness), "{count}: {thickness}");
        }
    }
}
