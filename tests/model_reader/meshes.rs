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
