//! Lemke's algorithm on the linear form of a problem, within a budget.

use super::lemke;
use super::problem::{Problem, SolveStatus};
use super::settings::SolveSettings;
use super::stewart_trinkle::{StewartTrinkle, StewartTrinkleSettings};
use super::work::{Work, square};
use nalgebra::DVector;

/// The linear form of a problem, paid for; `None` if it has none, or if the form and one path through it, of about as
/// many pivots as unknowns, are beyond the budget.
pub(crate) fn linear_form(problem: &Problem, settings: &StewartTrinkleSettings, work: &Work) -> Option<StewartTrinkle> {
    let (unknowns, building) = StewartTrinkle::size(problem, settings.directions);
    if !work.affords(building + 2 * square(unknowns) * unknowns as u64) {
        return None;
    }
    work.pay(building);
    StewartTrinkle::new(problem, settings).ok()
}

/// Lemke on the linear form of a problem, from one start after another: impulse, pivots and how it ended.
pub(crate) fn lemke_on(
    form: &StewartTrinkle,
    settings: &SolveSettings,
    work: &Work,
) -> (DVector<f64>, usize, SolveStatus) {
    lemke_from(form, settings, work, false)
}

/// [`lemke_on`]; with `once`, from the first start only.
pub(crate) fn lemke_from(
    form: &StewartTrinkle,
    settings: &SolveSettings,
    work: &Work,
    once: bool,
) -> (DVector<f64>, usize, SolveStatus) {
    let pivoting = lemke::LemkeSettings {
        pivots: settings.iterations,
        // the form's residual is not the problem's: aim below it
        tolerance: settings.tolerance,
        ..lemke::LemkeSettings::default()
    };
    let run = if once {
        lemke::lemke_within(&form.matrix, &form.vector, &pivoting, None, work)
    } else {
        lemke::restarts(&form.matrix, &form.vector, &pivoting, work)
    };
    (form.impulse(&run.impulse), run.iterations, run.status)
}
