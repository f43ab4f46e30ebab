"use strict";
// Draws geoms of some worlds with WebGL 2: what recordings are looked at with, and worlds that are being stepped. SI units, z up, quaternions w x y z.
// Whoever takes it has a canvas #view, a text #facts, the inputs #world, #forces and #follow, and a place #groups.
const element = (id) => document.getElementById(id);
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const floats = (text) => new Float32Array(bytes(text).buffer);
const integers = (text) => new Uint32Array(bytes(text).buffer);

/** Draws `what.scene`, as `page.rs` writes it, at moments of `what.poses` (of what moves, f32, shape `[moment][world][moving][7]`), with the forces of `what.contacts` (position and
 * force, from `what.contactStarts` on). `what.redraw` is called when the camera has moved. */
function viewer(what) {
  const { geoms, worlds, weight } = what.scene, fixed = floats(what.scene.fixed);
  const movingCount = geoms.filter((g) => g.moves).length;

  // ---- Vectors, as arrays of three.
  const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
  const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
  const sub = (a, b) => add(a, scaled(b, -1));
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const norm = (a) => Math.hypot(...a);
  const unit = (a) => scaled(a, 1 / (norm(a) || 1));
  /** a turned by a unit quaternion: a + 2 w (r × a) + 2 r × (r × a). */
  function turned([w, ...r], a) {
    const t = scaled(cross(r, a), 2);
    return add(a, add(scaled(t, w), cross(r, t)));
  }
  /** The shortest turn of z towards a unit vector d: (1 + z·d, z × d), normalised. */
  function towards(d) {
    const q = 1 + d[2] > 1e-6 ? [1 + d[2], -d[1], d[0], 0] : [0, 1, 0, 0], length = Math.hypot(...q);
    return q.map((x) => x / length);
  }

  /** Position and orientation of a geom. */
  function poseOf(geom, moment, world) {
    const [array, i] = geom.moves ? [what.poses, (moment * worlds.length + world) * movingCount + geom.place] : [fixed, geom.place];
    return { position: [...array.subarray(7 * i, 7 * i + 3)], turn: [...array.subarray(7 * i + 3, 7 * i + 7)] };
  }

  /** Centre of what moves in some worlds; of everything if nothing does. */
  function centreOf(moment, shown) {
    let sum = [0, 0, 0], count = 0;
    for (const world of shown) {
      for (const geom of geoms.filter((g) => (g.moves || movingCount === 0) && g.shape !== "plane")) {
        const p = add(poseOf(geom, moment, world).position, offsetOf(world));
        if (p.every(Number.isFinite)) { sum = add(sum, p); count += 1; }
      }
    }
    return scaled(sum, 1 / Math.max(count, 1));
  }

  // ---- Size of the scene, and where worlds stand beside each other.
  let apart = 0;
  /** A few stand in a row, many in a square. */
  const columns = worlds.length > 8 ? Math.ceil(Math.sqrt(worlds.length)) : worlds.length, rows = Math.ceil(worlds.length / columns);
  /** Where a world is drawn, from where it is. */
  const offsetOf = (world) => add(scaled(aside, apart * ((world % columns) - (columns - 1) / 2)),
    scaled(ahead, apart * (Math.floor(world / columns) - (rows - 1) / 2)));
  const floor = geoms.find((g) => g.shape === "plane");
  const land = geoms.find((g) => g.shape === "hfield");
  const floorPose = floor && poseOf(floor, 0, 0);
  const up = floor ? turned(floorPose.turn, [0, 0, 1]) : [0, 0, 1];
  const aside = unit(Math.abs(up[1]) < 0.9 ? sub([0, 1, 0], scaled(up, up[1])) : [1, 0, 0]);
  const ahead = cross(aside, up);
  const start = centreOf(0, [0]);
  const size = Math.max(1e-3, ...geoms.filter((g) => g.moves || movingCount === 0).map((g) => {
    const reach = g.radius + norm(sub(poseOf(g, 0, 0).position, start));
    return g.shape !== "plane" && Number.isFinite(reach) ? reach : 0;
  }));
  /** Side of a square of the floor, m: 1, 2 or 5 times a power of ten. */
  const decade = 10 ** Math.floor(Math.log10(size / 2));
  const cell = decade * [5, 2, 1].find((x) => x * decade <= size / 2);

  // ---- WebGL.
  const canvas = element("view");
  // What is drawn stays, so that the picture can be saved.
  const gl = canvas.getContext("webgl2", { alpha: false, antialias: true, stencil: true, preserveDrawingBuffer: true });
  if (!gl) {
    element("facts").textContent = "This browser has no WebGL 2, which this is drawn with.";
    throw new Error("no WebGL 2");
  }

  const vertexShader = `#version 300 es
    in vec4 place;        // a corner, and in w which end of the shape it belongs to
    in vec3 normal;
    uniform vec3 size;
    uniform float half_length;
    uniform vec3 position;
    uniform vec4 turn;    // w x y z
    uniform mat4 camera;
    uniform vec4 ground;  // normal and height
    uniform vec3 light;
    uniform bool shadow;
    out vec3 world;
    out vec3 world_normal;
    out vec2 local;
    vec3 turned(vec3 a) {
      vec3 t = 2.0 * cross(turn.yzw, a);
      return a + turn.x * t + cross(turn.yzw, t);
    }
    void main() {
      vec3 corner = place.xyz * size + vec3(0.0, 0.0, place.w * half_length);
      world = turned(corner) + position;
      world_normal = turned(normal / size);
      local = corner.xy;
      // Along the light onto the ground.
      if (shadow) world -= light * ((dot(ground.xyz, world) - ground.w) / dot(ground.xyz, light));
      gl_Position = camera * vec4(world, 1.0);
    }`;
  const fragmentShader = `#version 300 es
    precision highp float;
    in vec3 world;
    in vec3 world_normal;
    in vec2 local;
    uniform vec4 color;
    uniform vec3 light;
    uniform vec3 eye;
    uniform float cell;   // side of a square, 0 where there are none
    uniform vec2 haze;    // distances at which it begins and ends
    out vec4 pixel;
    const vec3 SKY = vec3(0.875, 0.902, 0.933);
    void main() {
      vec3 n = normalize(world_normal);
      float lit = 0.66 + 0.1 * n.z + 0.3 * max(dot(n, light), 0.0);
      vec3 shade = color.rgb;
      if (cell > 0.0) {
        float wave = sin(3.14159265 * local.x / cell) * sin(3.14159265 * local.y / cell), width = max(fwidth(wave), 1e-4);
        // Squares as small as pixels are grey.
        float sharp = 1.0 - smoothstep(0.2, 0.8, max(fwidth(local.x), fwidth(local.y)) / cell);
        shade *= 1.0 - 0.1 * mix(0.5, smoothstep(-width, width, wave), sharp);
      }
      pixel = vec4(mix(shade * lit, SKY, smoothstep(haze.x, haze.y, distance(world, eye))), color.a);
    }`;

  function program() {
    const made = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertexShader], [gl.FRAGMENT_SHADER, fragmentShader]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(made, shader);
    }
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
    return made;
  }
  const drawing = program();
  gl.useProgram(drawing);
  const uniform = Object.fromEntries(
    ["size", "half_length", "position", "turn", "camera", "ground", "light", "shadow", "color", "eye", "cell", "haze"]
      .map((name) => [name, gl.getUniformLocation(drawing, name)]));

  // ---- Shapes: corners as x y z, end, normal; triangles counter-clockwise seen from outside.
  function upload(corners, triangles) {
    const vao = gl.createVertexArray();
    gl.bindVertexArray(vao);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(corners.flat()), gl.STATIC_DRAW);
    for (const [name, count, first] of [["place", 4, 0], ["normal", 3, 16]]) {
      const at = gl.getAttribLocation(drawing, name);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, count, gl.FLOAT, false, 28, first);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint32Array(triangles.flat()), gl.STATIC_DRAW);
    return { vao, count: 3 * triangles.length };
  }

  const SIDES = 32;
  /** Rings of corners, one above the other, joined by triangles. `rings`: radius, height, end, and the normal's radius and height. */
  function turnedShape(rings) {
    const corners = [], triangles = [];
    rings.forEach(([radius, height, end, out, above], i) => {
      for (let j = 0; j <= SIDES; j++) {
        const [c, s] = [Math.cos((2 * Math.PI * j) / SIDES), Math.sin((2 * Math.PI * j) / SIDES)];
        corners.push([radius * c, radius * s, height, end, out * c, out * s, above]);
        if (i === 0 || j === SIDES) continue;
        const a = (i - 1) * (SIDES + 1) + j, b = a + SIDES + 1;
        triangles.push([a, a + 1, b + 1], [a, b + 1, b]);
      }
    });
    return upload(corners, triangles);
  }
  function roundRings() {
    const rings = [];
    for (let i = -SIDES / 4; i <= SIDES / 4; i++) {
      const [c, s] = [Math.cos((2 * Math.PI * i) / SIDES), Math.sin((2 * Math.PI * i) / SIDES)];
      // The equator twice: a capsule has its cylinder there.
      for (const end of i === 0 ? [-1, 1] : [Math.sign(i)]) rings.push([c, s, end, c, s]);
    }
    return rings;
  }
  function box() {
    const corners = [], triangles = [];
    for (const axis of [0, 1, 2]) {
      for (const sign of [-1, 1]) {
        const first = corners.length;
        for (const [a, b] of [[-1, -1], [1, -1], [1, 1], [-1, 1]]) {
          const p = [0, 0, 0], n = [0, 0, 0];
          [p[axis], p[(axis + 1) % 3], p[(axis + 2) % 3], n[axis]] = [sign, a, b, sign];
          corners.push([...p, 0, ...n]);
        }
        const [i, k] = sign > 0 ? [1, 3] : [3, 1];
        triangles.push([first, first + i, first + 2], [first, first + 2, first + k]);
      }
    }
    return upload(corners, triangles);
  }
  function hull(mesh) {
    const v = floats(mesh.vertices), t = integers(mesh.triangles), corners = [], triangles = [];
    for (let i = 0; i < t.length; i += 3) {
      const abc = [0, 1, 2].map((k) => [...v.subarray(3 * t[i + k], 3 * t[i + k] + 3)]);
      const n = unit(cross(sub(abc[1], abc[0]), sub(abc[2], abc[0])));
      triangles.push([0, 1, 2].map((k) => corners.length + k));
      abc.forEach((p) => corners.push([...p, 0, ...n]));
    }
    return upload(corners, triangles);
  }
  const round = turnedShape(roundRings());
  const shapes = {
    sphere: round, ellipsoid: round, capsule: round, box: box(),
    cylinder: turnedShape([[0, 0, -1, 0, -1], [1, 0, -1, 0, -1], [1, 0, -1, 1, 0], [1, 0, 1, 1, 0], [1, 0, 1, 0, 1], [0, 0, 1, 0, 1]]),
    cone: turnedShape([[0, 0, 0, 0, -1], [1, 0, 0, 0, -1], [1, 0, 0, 1, 0.5], [0, 1, 0, 1, 0.5]]),
    plane: upload([[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([x, y]) => [x, y, 0, 0, 0, 0, 1]), [[0, 1, 2], [0, 2, 3]]),
  };
  const meshes = what.scene.meshes.map(hull);
  /** Scale of the unit shape, and half the length between its ends. */
  const extents = {
    sphere: ([r]) => [[r, r, r], 0], capsule: ([r, h]) => [[r, r, r], h], ellipsoid: (s) => [s, 0], box: (s) => [s, 0],
    cylinder: ([r, h]) => [[r, r, 1], h], mesh: () => [[1, 1, 1], 0], hfield: () => [[1, 1, 1], 0],
  };

  const LIGHT = unit([0.35, -0.45, 1]), PALETTE = [[0.29, 0.51, 0.77], [0.9, 0.6, 0.3], [0.42, 0.69, 0.45], [0.8, 0.42, 0.42],
    [0.6, 0.5, 0.75], [0.35, 0.68, 0.72], [0.78, 0.68, 0.32], [0.72, 0.5, 0.6]];
  const colorOf = (geom) => [...(geom.moves ? PALETTE[(geom.body - 1) % PALETTE.length] : [0.72, 0.74, 0.77]), 1];
  const ARROW = [0.86, 0.12, 0.16, 1];

  function draw(shape, extent, halfLength, pose, color) {
    gl.uniform3fv(uniform.size, extent);
    gl.uniform1f(uniform.half_length, halfLength);
    gl.uniform3fv(uniform.position, pose.position);
    gl.uniform4fv(uniform.turn, pose.turn);
    gl.uniform4fv(uniform.color, color);
    gl.bindVertexArray(shape.vao);
    gl.drawElements(gl.TRIANGLES, shape.count, gl.UNSIGNED_INT, 0);
  }

  // ---- Camera: around `target`, which is the centre of what moves plus `shift`, or stays where that was.
  const view = { yaw: -2.2, pitch: 0.35, zoom: 1, distance: 0, shift: [0, 0, 0], target: start };
  const FIELD = Math.tan(Math.PI / 8);
  function axesOf() {
    const back = [Math.cos(view.pitch) * Math.cos(view.yaw), Math.cos(view.pitch) * Math.sin(view.yaw), Math.sin(view.pitch)];
    const right = unit(cross([0, 0, 1], back));
    return { back, right, above: cross(back, right) };
  }
  function cameraMatrix(eye, { back, right, above }, aspect) {
    // Perspective times the view, column by column.
    const [near, far] = [view.distance / 100, view.distance * 10 + 100 * size], depth = (far + near) / (near - far);
    const rows = [[...scaled(right, 1 / (FIELD * aspect)), -dot(right, eye) / (FIELD * aspect)],
      [...scaled(above, 1 / FIELD), -dot(above, eye) / FIELD],
      [...scaled(back, depth), -dot(back, eye) * depth + (2 * far * near) / (near - far)],
      [...scaled(back, -1), dot(back, eye)]];
    return new Float32Array([0, 1, 2, 3].flatMap((column) => rows.map((row) => row[column])));
  }

  // ---- One picture.
  const groups = [...new Set(geoms.map((g) => g.group))].sort((a, b) => a - b);
  // As in MuJoCo's viewer, where groups from 3 on are hidden; all are shown if nothing else would be.
  const shownGroups = new Set(groups.some((g) => g < 3) ? groups.filter((g) => g < 3) : groups);

  function picture(moment) {
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((x) => Math.max(1, Math.round(x * devicePixelRatio)));
    if (canvas.width !== width || canvas.height !== height) [canvas.width, canvas.height] = [width, height];
    const chosen = element("world").value, all = chosen === "all";
    const shown = all ? worlds.map((_, i) => i) : [Number(chosen)];
    // On land every world stands where it is.
    apart = all && !land ? 2.5 * size : 0;
    view.distance = ((3 + 1.5 * Math.min(shown.length, columns) * (rows > 1 ? 1.5 : 1)) * size) / view.zoom;
    if (element("follow").checked) view.target = centreOf(moment, shown);
    const axes = axesOf(), eye = add(add(view.target, view.shift), scaled(axes.back, view.distance));
    const reach = view.distance + 10 * size;

    gl.viewport(0, 0, width, height);
    gl.clearColor(0.875, 0.902, 0.933, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.CULL_FACE);
    gl.uniformMatrix4fv(uniform.camera, false, cameraMatrix(eye, axes, width / height));
    gl.uniform3fv(uniform.eye, eye);
    gl.uniform3fv(uniform.light, LIGHT);
    gl.uniform2f(uniform.haze, reach, 6 * reach);
    gl.uniform4f(uniform.ground, ...up, floor ? dot(up, floorPose.position) : 0);
    gl.uniform1i(uniform.shadow, 0);

    // Planes have no end: a square around the camera's target, moved by whole squares of the floor.
    gl.uniform1f(uniform.cell, cell);
    for (const geom of geoms.filter((g) => g.shape === "plane" && shownGroups.has(g.group))) {
      const pose = poseOf(geom, moment, 0), far = sub(view.target, pose.position);
      for (const axis of [[1, 0, 0], [0, 1, 0]].map((a) => turned(pose.turn, a))) {
        pose.position = add(pose.position, scaled(axis, 2 * cell * Math.round(dot(far, axis) / (2 * cell))));
      }
      draw(shapes.plane, [8 * reach, 8 * reach, 1], 0, pose, [0.8, 0.83, 0.86, 1]);
    }
    gl.uniform1f(uniform.cell, 0);

    const solids = [], arrows = [];
    for (const world of shown) {
      for (const geom of geoms.filter((g) => g.shape !== "plane" && shownGroups.has(g.group))) {
        if (geom.shape === "hfield" && world !== shown[0]) continue;
        const pose = poseOf(geom, moment, world);
        pose.position = add(pose.position, offsetOf(world));
        if (![...pose.position, ...pose.turn].every(Number.isFinite)) continue;
        solids.push([meshes[geom.mesh] ?? shapes[geom.shape], ...extents[geom.shape](geom.size), pose, colorOf(geom)]);
      }
      arrows.push(...arrowsOf(moment * worlds.length + world, offsetOf(world)));
    }
    for (const solid of solids) draw(...solid);
    if (floor && dot(up, LIGHT) > 0 && dot(up, eye) > dot(up, floorPose.position)) shadows(solids);
    // Forces are seen through everything, since they point into what they push.
    gl.clear(gl.DEPTH_BUFFER_BIT);
    for (const arrow of arrows) draw(...arrow);
  }

  /** An arrow for every contact; `forces` is its length for the weight of all that moves, in sizes of the scene. */
  function arrowsOf(row, offset) {
    const parts = [];
    const scale = (Number(element("forces").value) * size) / weight;
    for (let c = what.contactStarts[row]; c < what.contactStarts[row + 1]; c++) {
      const force = [...what.contacts.subarray(6 * c + 3, 6 * c + 6)];
      // What an impact throws would leave the picture.
      const length = Math.min(norm(force) * scale, 3 * size);
      if (!(length > 0.01 * size)) continue;
      const direction = unit(force), head = Math.min(0.12 * size, 0.5 * length), shaft = (length - head) / 2;
      const from = add([...what.contacts.subarray(6 * c, 6 * c + 3)], offset), turn = towards(direction);
      const at = (x) => ({ position: add(from, scaled(direction, x)), turn });
      parts.push([shapes.cylinder, [0.015 * size, 0.015 * size, 1], shaft, at(shaft), ARROW]);
      parts.push([shapes.cone, [0.045 * size, 0.045 * size, head], 0, at(2 * shaft), ARROW]);
    }
    return parts;
  }

  /** Darkens every point of the first plane once. */
  function shadows(solids) {
    gl.uniform1i(uniform.shadow, 1);
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 1);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(-1, -2);
    gl.disable(gl.CULL_FACE);
    gl.depthMask(false);
    for (const [shape, extent, halfLength, pose] of solids) draw(shape, extent, halfLength, pose, [0.1, 0.13, 0.18, 0.22]);
    gl.depthMask(true);
    for (const state of [gl.STENCIL_TEST, gl.BLEND, gl.POLYGON_OFFSET_FILL]) gl.disable(state);
    gl.uniform1i(uniform.shadow, 0);
  }

  // ---- The hand on the camera.
  canvas.oncontextmenu = (event) => { if (event.shiftKey || dragged) event.preventDefault(); };
  let dragged = false;
  canvas.onpointerdown = (event) => { canvas.setPointerCapture(event.pointerId); dragged = false; };
  canvas.onpointermove = (event) => {
    if (!event.buttons) return;
    dragged = true;
    const [dx, dy] = [event.movementX, event.movementY];
    if (event.shiftKey || event.buttons !== 1) {
      // As far as the point under the pointer at the distance of the target.
      const { right, above } = axesOf(), metre = (2 * FIELD * view.distance) / canvas.clientHeight;
      view.shift = add(view.shift, add(scaled(right, -dx * metre), scaled(above, dy * metre)));
    } else {
      view.yaw -= 0.007 * dx;
      view.pitch = Math.min(Math.max(view.pitch + 0.007 * dy, -1.5), 1.5);
    }
    what.redraw();
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    view.zoom = Math.min(Math.max(view.zoom * Math.exp(-0.001 * event.deltaY), 0.02), 30);
    what.redraw();
  }, { passive: false });
  addEventListener("resize", what.redraw);
  if (groups.length > 1) {
    for (const group of groups) {
      const label = document.createElement("label"), tick = document.createElement("input");
      [tick.type, tick.checked] = ["checkbox", shownGroups.has(group)];
      tick.oninput = () => { shownGroups[tick.checked ? "add" : "delete"](group); what.redraw(); };
      label.append(tick, `group ${group}`);
      element("groups").append(label);
    }
  }
  return { picture };
}
