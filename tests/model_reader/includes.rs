//! Files that include others.

use super::*;

#[test]
fn includes_are_spliced_where_they_stand() {
    let folder = std::env::temp_dir().join(format!("delassus-include-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    write("arm.xml", &file(r#"<body name="arm"><joint/><geom size="0.1"/></body>"#));
    write("top.xml", r#"<mujocoinclude><option timestep="0.03"/></mujocoinclude>"#);
    write(
        "main.xml",
        r#"<mujoco><include file="top.xml"/><worldbody><body name="b"><freejoint/><geom size="0.2"/>
           <include file="arm.xml"/></body></worldbody></mujoco>"#,
    );
    let model = Model::from_mjcf_file(folder.join("main.xml")).unwrap();
    assert_eq!(model.timestep, 0.03);
    assert_eq!(model.bodies[model.body("arm").unwrap()].parent, model.body("b").unwrap());

    write("loop.xml", "<mujoco>\n<include file=\"loop.xml\"/></mujoco>");
    let message = Model::from_mjcf_file(folder.join("loop.xml")).unwrap_err().to_string();
    assert!(message.starts_with("loop.xml:2: <include>") && message.contains("twice"), "{message}");
    write("missing.xml", "<mujoco>\n\n<include file=\"nowhere.xml\"/></mujoco>");
    let message = Model::from_mjcf_file(folder.join("missing.xml")).unwrap_err().to_string();
    assert!(message.starts_with("missing.xml:3: <include>") && message.contains("nowhere.xml"), "{message}");
    write("inner.xml", "<mujoco>\n<worldbody><geom colour=\"1\"/></worldbody></mujoco>");
    write("outer.xml", "<mujoco><include file=\"inner.xml\"/></mujoco>");
    let message = Model::from_mjcf_file(folder.join("outer.xml")).unwrap_err().to_string();
    assert!(message.starts_with("inner.xml:2: <geom>") && message.contains("colour"), "{message}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Where MuJoCo 4.0.0 looks: as seen from the folder of the main file, and then from that of the file that names it; of meshes below the compiler's folder.
#[test]
fn what_a_file_names_may_lie_beside_it() {
    let folder = std::env::temp_dir().join(format!("delassus-nested-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("parts/hands/meshes")).unwrap();
    std::fs::create_dir_all(folder.join("meshes/parts/hands")).unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
    let obj = |size: usize| format!("v 0 0 0\nv {size} 0 0\nv 0 6 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    let main =
        |compiler: &str| write("main.xml", &format!(r#"<mujoco>{compiler}<include file="parts/arm.xml"/></mujoco>"#));
    write("parts/arm.xml", r#"<mujocoinclude><include file="hands/hand.xml"/></mujocoinclude>"#);
    write(
        "parts/hands/hand.xml",
        r#"<mujocoinclude><include file="body.xml"/><asset><mesh name="m" file="m.obj"/></asset></mujocoinclude>"#,
    );
    let body = r#"<mujocoinclude><worldbody><body><freejoint/><geom type="mesh" mesh="m" density="1"/></body></worldbody></mujocoinclude>"#;
    write("parts/hands/body.xml", body);
    let mass = || Model::from_mjcf_file(folder.join("main.xml")).map(|model| model.bodies[1].mass.round());
    main("");
    write("parts/hands/m.obj", &obj(1));
    assert_eq!(mass().unwrap(), 1.0);
    write("m.obj", &obj(2));
    assert_eq!(mass().unwrap(), 2.0);
    main(r#"<compiler meshdir="meshes"/>"#);
    let message = mass().unwrap_err().to_string();
    assert!(message.contains("hand.xml:1: <mesh>") && message.contains("m.obj"), "{message}");
    write("meshes/parts/hands/m.obj", &obj(3));
    assert_eq!(mass().unwrap(), 3.0);
    // the folder of the main file comes first
    write("body.xml", &body.replace("density=\"1\"", "density=\"2\""));
    assert_eq!(mass().unwrap(), 6.0);
    std::fs::remove_dir_all(folder).unwrap();
}
