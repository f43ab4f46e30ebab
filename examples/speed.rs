//! temp
use delassus::*;
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let m = Model::from_mjcf_file(&path).unwrap();
    let n: usize = std::env::args().nth(2).map_or(4096, |x| x.parse().unwrap());
    let steps: usize = std::env::args().nth(3).map_or(200, |x| x.parse().unwrap());
    let mut s = Settings::default();
    if std::env::args().any(|a| a=="f64") { s.precision = Precision::F64; }
    if std::env::args().any(|a| a=="nofb") { s.fallback = false; }
    let mut w = Worlds::new(&m, n, s).unwrap();
    println!("{w:?} nq {} nv {} nu {} pairs {}", m.nq(), m.nv(), m.nu(), m.pairs.len());
    let mut seed = 12345u64;
    let t = std::time::Instant::now();
    let (mut contacts, mut rows, mut it, mut worst, mut uns, mut fb, mut nf, mut pen) = (0usize,0usize,0u64,0.0f64,0usize,0usize,0usize,0.0f64);
    let zero = std::env::args().any(|a| a=="zero");
    for k in 0..steps {
        if k%5==0 && !zero { for (i,c) in w.control_mut().iter_mut().enumerate() { seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let r = m.actuators[i % m.nu().max(1)].control_range.unwrap_or([-1.0,1.0]); *c = r[0] + (r[1]-r[0])*((seed>>11) as f64/(1u64<<53) as f64); } }
        for r in w.step(1).unwrap() { contacts+=r.contact_count; rows+=r.row_count; it+=r.iterations as u64; if r.residual.is_finite() {worst=worst.max(r.residual);} uns+=usize::from(!r.solved()); fb+=usize::from(r.fallback); nf+=usize::from(r.failed()); pen=pen.max(r.penetration); }
    }
    let dt = t.elapsed().as_secs_f64(); let ws=(n*steps) as f64;
    println!("{:.0} world-steps/s  contacts {:.2} rows {:.2} it {:.2} worst {worst:e} unsolved {:.4} fallback {:.4} nonfinite {nf} pen {pen:e}", ws/dt, contacts as f64/ws, rows as f64/ws, it as f64/ws, uns as f64/ws, fb as f64/ws);
}
