//! What quantities see of a tile of worlds.

use super::past::{PastSeen, Whose};
use crate::equality::EqualityPlan;
use crate::lane::{Pack, Scalar};
use crate::quantity::Now;
use crate::report::WorldReport;
use crate::spatial::Vec3;
use crate::step::Memory;

/// All that quantities need of a tile of worlds.
pub(super) struct Seen<'a, R: Pack> {
    pub now: Now<'a, R>,
    pub memory: &'a Memory<R>,
    pub equalities: &'a EqualityPlan,
    /// What the worlds have kept of the last call of `step`; none if nobody asked.
    pub past: Option<PastSeen<'a, R>>,
    /// Shape \[world\].
    pub reports: &'a [WorldReport],
}

/// Moment about `p` (N·m) and force (N) of contacts, mean over the time that they are of.
#[inline(always)]
pub(super) fn felt<R: Pack>(seen: &Seen<'_, R>, whose: Whose, p: Vec3<R>) -> (Vec3<R>, Vec3<R>) {
    let Some(past) = &seen.past else { return (Vec3::zero(), Vec3::zero()) };
    let mut rate = R::zero();
    for (lane, report) in seen.reports.iter().enumerate() {
        let substeps =
            if matches!(whose, Whose::LastOf(_) | Whose::LastEvaluationOf(_)) { 1 } else { report.steps.max(1) };
        rate.set(lane, R::Scalar::from_f64(1.0 / (seen.now.dt * f64::from(substeps))));
    }
    let (moment, impulse) = past.felt(seen.now.model, whose, p);
    (moment.scale(rate), impulse.scale(rate))
}
