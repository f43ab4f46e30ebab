//! A first program: 256 quadrupeds on position servos, pushed, certified and put back on their feet.
//!
//! `cargo run --release --example batch`

use delassus::{Mask, Model, Settings, Worlds};

fn main() -> delassus::Result<()> {
    let model = Model::from_mjcf_file(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/models/quadruped.xml"))?;
    let mut worlds = Worlds::new(&model, 256, Settings::default())?;
    let keyframe = model.keyframe("stand");
    worlds.set_start(delassus::worlds::Start { keyframe, position_noise: 0.02, velocity_noise: 0.5 })?;
    worlds.reset(Mask::All, 1)?;
    println!("{} worlds of {} on {}", worlds.world_count(), model.name, worlds.device());

    for second in 1..=3 {
        let substeps = (1.0 / worlds.dt()).round() as u32;
        let reports = worlds.step(substeps)?.to_vec();
        let worst = reports.iter().map(|r| r.residual).fold(0.0, f64::max);
        let deepest = reports.iter().map(|r| r.penetration).fold(0.0, f64::max);
        let solved = reports.iter().filter(|r| r.solved()).count();
        println!(
            "{second} s: {solved} of {} worlds solved, worst residual {worst:.1e} m/s, deepest overlap {deepest:.1e} m",
            reports.len()
        );
        // Whoever came out badly starts anew; nobody else notices.
        let failed: Vec<bool> = reports.iter().map(delassus::WorldReport::failed).collect();
        worlds.reset(Mask::Only(&failed), second)?;
    }
    let heights: Vec<f64> = worlds.positions().chunks(model.nq()).map(|q| q[2]).collect();
    let mean = heights.iter().sum::<f64>() / heights.len() as f64;
    println!("mean height of the trunk: {mean:.3} m");
    Ok(())
}
