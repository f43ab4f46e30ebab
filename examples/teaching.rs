//! A block that falls onto a floor and one that slides to rest, one small LCP a step, drawn as text.
//!
//! `cargo run --example teaching`. The problems are those of `delassus::lcp::teaching`.

use delassus::lcp::teaching::{Block, after_falling, after_sliding, both_ways, both_ways_in_wrong_order, falling};
use delassus::lcp::{SolveSettings, Solver, solve};

const GRAVITY: f64 = 9.81;
const DT: f64 = 0.02;

fn main() {
    let settings = SolveSettings { tolerance: 1e-9, ..SolveSettings::default() };

    println!("falling from 1 m: gap (o) and contact force");
    let mut block = Block { position: 1.0, velocity: 0.0 };
    for _ in 0..28 {
        let problem = falling(block, GRAVITY, DT);
        let solution = solve(&problem, Solver::Lemke, &settings, None);
        let force = problem.velocity(&solution.impulse)[0];
        block = after_falling(block, solution.impulse[0], DT);
        draw(block.position, 1.0, &format!("{force:7.2} N"));
    }

    println!("\nsliding at 2 m/s with friction 0.5, then pushed back with 8 N: place (o) and velocity");
    let mut block = Block { position: 0.0, velocity: 2.0 };
    for step in 0..40 {
        let push = if step < 25 { 0.0 } else { -8.0 };
        let solution = solve(&both_ways(block, push, 0.5, GRAVITY, DT), Solver::Lemke, &settings, None);
        block = after_sliding(block, &solution.impulse, DT);
        draw(block.position, 0.5, &format!("{:7.2} m/s", block.velocity));
    }

    let sliding = Block { position: 0.0, velocity: 2.0 };
    let wrong = both_ways_in_wrong_order(sliding, 0.0, 0.5, GRAVITY, DT);
    let solution = solve(&wrong, Solver::Lemke, &settings, None);
    println!("\nthe same with its two rows in the other order: {}", solution.status);
}

/// One line: a mark at `value` of `full`, and a note.
fn draw(value: f64, full: f64, note: &str) {
    let column = (60.0 * (value / full).clamp(0.0, 1.0)) as usize;
    println!("|{}o{} {note}", " ".repeat(column), " ".repeat(60 - column));
}
