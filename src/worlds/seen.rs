//! What quantities see of a tile of worlds.

use super::past::{Felt, PastSeen};
use crate::equality::EqualityPlan;
use crate::lane::{Pack, Scalar};
use crate::quantity::Now;
use crate::report::WorldReport;
use crate::spatial::{Vec3, vec3};
use crate::step::Memory;
use nalgebra::Vector3;

/// All that quantities need of a tile of worlds.
pub(super) struct Seen<'a, R: Pack> {
    pub now: Now<'a, R>,
    /// Step Δt, s.
    pub dt: f64,
    pub memory: &'a Memory<R>,
    pub equalities: &'a EqualityPlan,
    /// What the worlds have kept of the last call of `step`; none if nobody asked.
    pub past: Option<PastSeen<'a, R>>,
    /// Shape \[world\].
    pub reports: &'a [WorldReport],
}

/// Moment about `p` (N·m) and force (N) of contacts, mean over the time that they are of.
#[inline(always)]
pub(super) fn felt<R: Pack>(seen: &Seen<'_, R>, whose: Felt, p: Vec3<R>) -> (Vec3<R>, Vec3<R>) {
    let (mut moment, mut force) = (Vec3::zero(), Vec3::zero());
    let Some(past) = &seen.past else { return (moment, force) };
    for (world, report) in seen.reports.iter().enumerate() {
        let substeps = if matches!(whose, Felt::LastOf(_)) { 1 } else { report.steps.max(1) };
        let duration = seen.dt * f64::from(substeps);
        let sum = past.felt(seen.now.model, world, whose);
        // τ_p = τ_0 − p × f, in f64: far from the origin both are large
        let at = p.get(world);
        let at = Vector3::new(at.x.to_f64(), at.y.to_f64(), at.z.to_f64());
        let f = Vector3::new(sum[3], sum[4], sum[5]) / duration;
        let tau = Vector3::new(sum[0], sum[1], sum[2]) / duration - at.cross(&f);
        moment.set(world, scalars(&tau));
        force.set(world, scalars(&f));
    }
    (moment, force)
}

fn scalars<S: Scalar>(v: &Vector3<f64>) -> Vec3<S> {
    vec3(S::from_f64(v.x), S::from_f64(v.y), S::from_f64(v.z))
}
