//! The four scenarios of Xie & Chakraborty, *Rigid body dynamic simulation with line and surface contact*, as pictures.
//!
//! `cargo run --release --example patches [FOLDER]` writes one SVG a scenario (default folder `target/patches`): seen from
//! above, the outline of the body now and then, the path of its centre of mass and that of the equivalent contact point;
//! beside it the height of the centre of mass, the distance of the contact point from below it, and what touches.

use delassus::Error;
use delassus::ecp::{Body, Contact, Ground, Shape, State, Stepper};
use nalgebra::{UnitQuaternion, Vector3, Vector6};
use std::f64::consts::FRAC_PI_2;
use std::fmt::Write;
use std::path::PathBuf;

#[path = "patches/laws.rs"]
mod laws;

/// A scenario of the paper.
struct Scenario {
    name: &'static str,
    title: &'static str,
    stepper: Stepper,
    start: State,
    steps: usize,
    /// Impulse of a step and its moment, from the state at its start and its time.
    applied: fn(&State, f64, f64) -> Vector6<f64>,
}

/// A moment of a run.
struct Moment {
    t: f64,
    state: State,
    contact: Contact,
    /// Active functions of the body at the contact point; 0 without contact.
    active: usize,
}

const G: f64 = 9.8;

fn stepper(shape: Shape, mass: f64, friction: f64, ellipsoid: [f64; 3]) -> Stepper {
    let gravity = Vector3::new(0.0, 0.0, -G);
    Stepper { body: Body::uniform(shape, mass), ground: Ground { friction, ellipsoid }, gravity, dt: 0.01 }
}

/// Whether the step at t is the one in which something happens at `when`.
fn now(t: f64, when: f64, dt: f64) -> bool {
    (t - when).abs() < 0.5 * dt
}

fn scenarios() -> [Scenario; 4] {
    let cube = Shape::Box { half: [0.5; 3] };
    let lying = UnitQuaternion::from_axis_angle(&Vector3::y_axis(), FRAC_PI_2);
    let mut slides = State::at([0.0, 0.0, 0.5]);
    slides.velocity = Vector3::new(4.0, 3.0, 0.0);
    let mut rolls = State::at([0.0, 0.0, 1.0]);
    rolls.orientation = lying;
    rolls.velocity.y = -1.4;
    rolls.angular_velocity.z = 0.2;
    // on a corner: the diagonal of the cube stands, and falls about (1, -1, 0)
    let diagonal = 0.75f64.sqrt();
    let axis = Vector3::new(0.5f64.sqrt(), -(0.5f64.sqrt()), 0.0);
    let mut topples = State::at([0.0, 0.0, diagonal]);
    topples.orientation = UnitQuaternion::from_axis_angle(&nalgebra::Unit::new_normalize(axis), 2.0f64.sqrt().atan());
    topples.angular_velocity = axis;
    topples.velocity = axis.cross(&(Vector3::z() * diagonal));
    [
        Scenario {
            name: "1-cube-slides",
            title: "1: a cube slides and stops",
            stepper: stepper(cube, 1.0, 0.12, [1.0; 3]),
            start: slides,
            steps: 400,
            applied: |_, _, _| Vector6::zeros(),
        },
        Scenario {
            name: "2-cylinder-rolls",
            title: "2: a cylinder rolls and is kicked about the vertical whenever its spin has stopped",
            stepper: stepper(Shape::Cylinder { radius: 1.0, half_length: 2.5 }, 10.0, 0.3, [1.0; 3]),
            start: rolls,
            steps: 500,
            applied: |state, _, _| laws::kick_when_spin_stops(state),
        },
        Scenario {
            name: "3-cube-topples",
            title: "3: a cube on a point, on a line, on a surface",
            stepper: stepper(cube, 1.0, 0.2, [1.0; 3]),
            start: topples,
            steps: 400,
            applied: |_, t, dt| {
                let side = 0.5f64.sqrt();
                match t {
                    t if now(t, 1.0, dt) => Vector6::new(side, -side, 0.0, 0.5, 0.5, 0.0),
                    t if now(t, 1.8, dt) => Vector6::new(10.0, -10.0, 0.0, 0.0, 0.0, 0.0),
                    _ => Vector6::zeros(),
                }
            },
        },
        Scenario {
            name: "4-cylinder-in-hand",
            title: "4: a cylinder is tipped over its rim, rolled, turned, rolled on and stood up",
            stepper: stepper(Shape::Cylinder { radius: 0.1, half_length: 0.15 }, 75.0, 0.8, [1.0, 1.0, 0.1]),
            start: State::at([0.0, 0.0, 0.15]),
            steps: 500,
            applied: |state, t, dt| laws::hand(state, t) * dt,
        },
    ]
}

fn run(scenario: &Scenario) -> delassus::Result<Vec<Moment>> {
    let (stepper, dt) = (&scenario.stepper, scenario.stepper.dt);
    let mut state = scenario.start;
    let mut moments = Vec::new();
    for k in 0..scenario.steps {
        let t = k as f64 * dt;
        let (end, contact) = stepper.implicit(&state, &(scenario.applied)(&state, t, dt))?;
        state = end;
        moments.push(Moment { t: t + dt, state, contact, active: stepper.active_functions(&state, &contact) });
    }
    Ok(moments)
}

/// Corners of the body's outline from above, m.
fn outline(shape: &Shape, state: &State) -> Vec<[f64; 2]> {
    let points: Vec<Vector3<f64>> = match *shape {
        Shape::Box { half: [a, b, c] } => (0..8)
            .map(|k| {
                let sign = |bit: usize| if k >> bit & 1 == 0 { -1.0 } else { 1.0 };
                Vector3::new(sign(0) * a, sign(1) * b, sign(2) * c)
            })
            .collect(),
        Shape::Cylinder { radius, half_length } => (0..64)
            .map(|k| {
                let angle = f64::from(k / 2) * std::f64::consts::PI / 16.0;
                let end = if k % 2 == 0 { -half_length } else { half_length };
                Vector3::new(radius * angle.cos(), radius * angle.sin(), end)
            })
            .collect(),
        Shape::Sphere { radius } => (0..32)
            .map(|k| {
                let angle = f64::from(k) * std::f64::consts::PI / 16.0;
                state.orientation.inverse_transform_vector(&Vector3::new(
                    radius * angle.cos(),
                    radius * angle.sin(),
                    0.0,
                ))
            })
            .collect(),
    };
    let mut flat: Vec<[f64; 2]> = points
        .iter()
        .map(|p| {
            let world = state.position + state.orientation * p;
            [world.x, world.y]
        })
        .collect();
    // convex hull: the lower chain, then the upper one
    flat.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    let turn = |a: [f64; 2], b: [f64; 2], c: [f64; 2]| (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    let chain = |points: &mut dyn Iterator<Item = [f64; 2]>| {
        let mut chain: Vec<[f64; 2]> = Vec::new();
        for point in points {
            while chain.len() >= 2 && turn(chain[chain.len() - 2], chain[chain.len() - 1], point) <= 0.0 {
                chain.pop();
            }
            chain.push(point);
        }
        chain.pop();
        chain
    };
    let mut hull = chain(&mut flat.iter().copied());
    hull.extend(chain(&mut flat.iter().rev().copied()));
    hull
}

/// Width of a panel and distance between two, in the unit of the picture.
const PANEL: f64 = 420.0;
const MARGIN: f64 = 46.0;
const COLOURS: [&str; 4] = ["#888888", "#2c7fb8", "#d95f0e", "#b2182b"];
const KINDS: [&str; 4] = ["nothing", "a face or a side", "an edge, a rim", "a corner"];

/// Takes numbers of a range into a panel.
struct Axes {
    left: f64,
    x: [f64; 2],
    y: [f64; 2],
}

impl Axes {
    fn at(&self, x: f64, y: f64) -> [f64; 2] {
        let place = |v: f64, [low, high]: [f64; 2]| (v - low) / (high - low);
        [self.left + PANEL * place(x, self.x), MARGIN + PANEL * (1.0 - place(y, self.y))]
    }

    fn line(&self, points: impl Iterator<Item = [f64; 2]>, style: &str) -> String {
        let mut text = String::from("<polyline fill='none' points='");
        for [x, y] in points {
            let [x, y] = self.at(x, y);
            write!(text, "{x:.1},{y:.1} ").expect("writing to a string");
        }
        text + "' " + style + "/>\n"
    }

    fn frame(&self, x: &str, y: &str) -> String {
        let (left, bottom) = (self.left, MARGIN + PANEL);
        let mut text =
            format!("<rect x='{left}' y='{MARGIN}' width='{PANEL}' height='{PANEL}' fill='none' stroke='#444'/>\n");
        let label = |x: f64, y: f64, anchor: &str, what: &str| {
            format!("<text x='{x:.0}' y='{y:.0}' text-anchor='{anchor}'>{what}</text>\n")
        };
        text += &label(left, bottom + 15.0, "start", &format!("{:.2}", self.x[0]));
        text += &label(left + PANEL, bottom + 15.0, "end", &format!("{:.2}", self.x[1]));
        text += &label(left + 0.5 * PANEL, bottom + 15.0, "middle", x);
        text += &label(left - 4.0, bottom, "end", &format!("{:.2}", self.y[0]));
        text += &label(left - 4.0, MARGIN + 10.0, "end", &format!("{:.2}", self.y[1]));
        text + &label(left + 4.0, MARGIN + 13.0, "start", y)
    }
}

/// The range of numbers, with some room.
fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let [low, high] = values.fold([f64::INFINITY, f64::NEG_INFINITY], |[a, b], v| [a.min(v), b.max(v)]);
    let room = 0.05 * (high - low).max(1e-3);
    [low - room, high + room]
}

fn picture(scenario: &Scenario, moments: &[Moment]) -> String {
    let shape = &scenario.stepper.body.shape;
    let shown: Vec<Vec<[f64; 2]>> = (0..=8)
        .map(|k| match k * moments.len() / 8 {
            0 => outline(shape, &scenario.start),
            i => outline(shape, &moments[i - 1].state),
        })
        .collect();
    let all = || shown.iter().flatten().copied();
    let (mut x, mut y) = (range(all().map(|p| p[0])), range(all().map(|p| p[1])));
    // one metre is as long along both
    let half = 0.5 * (x[1] - x[0]).max(y[1] - y[0]);
    for range in [&mut x, &mut y] {
        let middle = 0.5 * (range[0] + range[1]);
        *range = [middle - half, middle + half];
    }
    let above = Axes { left: MARGIN, x, y };
    let t = [0.0, moments.last().map_or(1.0, |m| m.t)];
    let aside = |m: &Moment| m.contact.arm.xy().norm();
    let heights = range(moments.iter().flat_map(|m| [m.state.position.z, aside(m), 0.0]));
    let beside = Axes { left: 2.0 * MARGIN + PANEL, x: t, y: heights };
    let (width, height) = (3.0 * MARGIN + 2.0 * PANEL, 2.0 * MARGIN + PANEL + 16.0);
    let mut svg = format!(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' font-family='sans-serif' font-size='11'>\n\
         <rect width='100%' height='100%' fill='white'/>\n<text x='{MARGIN}' y='28' font-size='15'>{}</text>\n",
        scenario.title
    );
    svg += &above.frame("x, m", "y, m, from above");
    for corners in &shown {
        svg += &above.line(corners.iter().chain(corners.first()).copied(), "stroke='#bbbbbb'");
    }
    let centre = moments.iter().map(|m| [m.state.position.x, m.state.position.y]);
    svg += &above.line(centre, "stroke='black' stroke-width='1.5'");
    svg += &beside.frame("t, s", "m: height of the centre of mass (black), contact point from below it");
    svg += &beside.line(moments.iter().map(|m| [m.t, m.state.position.z]), "stroke='black' stroke-width='1.5'");
    // the contact point by what touches
    for m in moments.iter().filter(|m| m.active > 0) {
        let (ecp, colour) = (m.state.position + m.contact.arm, COLOURS[m.active.min(3)]);
        for [x, y] in [above.at(ecp.x, ecp.y), beside.at(m.t, aside(m))] {
            writeln!(svg, "<circle cx='{x:.1}' cy='{y:.1}' r='1.6' fill='{colour}'/>").expect("writing to a string");
        }
    }
    for (k, kind) in KINDS.iter().enumerate().skip(1) {
        let (x, y) = (MARGIN + 130.0 * (k - 1) as f64, 2.0 * MARGIN + PANEL);
        let colour = COLOURS[k];
        writeln!(
            svg,
            "<circle cx='{x}' cy='{}' r='4' fill='{colour}'/><text x='{}' y='{y}'>{kind}</text>",
            y - 4.0,
            x + 8.0
        )
        .expect("writing to a string");
    }
    svg + "</svg>\n"
}

fn main() -> delassus::Result<()> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/patches"), PathBuf::from);
    let failed = |path: &PathBuf| {
        let path = path.clone();
        move |source| Error::File { action: "create", path, source }
    };
    std::fs::create_dir_all(&folder).map_err(failed(&folder))?;
    for scenario in scenarios() {
        let moments = run(&scenario)?;
        let path = folder.join(format!("{}.svg", scenario.name));
        std::fs::write(&path, picture(&scenario, &moments)).map_err(failed(&path))?;
        let mut changes = String::new();
        for pair in moments.windows(2).filter(|pair| pair[0].active != pair[1].active) {
            write!(changes, "; at {:.2} s on {}", pair[1].t, KINDS[pair[1].active.min(3)])
                .expect("writing to a string");
        }
        let Some(end) = moments.last() else { continue };
        let [x, y, z] = [end.state.position.x, end.state.position.y, end.state.position.z];
        let overlap = moments.iter().map(|m| scenario.stepper.penetration(&m.state)).fold(0.0, f64::max);
        println!(
            "{}{changes}; ends at ({x:.6}, {y:.6}, {z:.6}), deepest overlap {overlap:.0e} m: {}",
            scenario.title,
            path.display()
        );
    }
    Ok(())
}
