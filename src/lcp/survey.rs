//! Which solver solves which problems: the table solver × family of the documentation.

use super::file::Record;
use super::problem::SolveStatus;
use super::residual::relative_residual;
use super::settings::{SolveSettings, Solver};
use super::solve::solve;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

/// How one solver fared on one family of problems.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Problems that ended `Solved`.
    pub solved: usize,
    /// Problems with a solution that were not solved.
    pub failed: usize,
    /// Problems without a solution that were not called `Solved`.
    pub refused: usize,
    /// Problems that the solver does not treat.
    pub unsupported: usize,
    /// Seconds, all problems together.
    pub seconds: f64,
}

/// The table: a [`Tally`] for each family (in alphabetic order) and solver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Survey {
    /// The columns.
    pub solvers: Vec<Solver>,
    /// Family to one tally a solver.
    pub families: BTreeMap<String, Vec<Tally>>,
}

impl Survey {
    /// An empty table with these columns.
    pub fn new(solvers: &[Solver]) -> Self {
        Self { solvers: solvers.to_vec(), families: BTreeMap::new() }
    }

    /// Solves one problem with every solver, to a relative residual of `tolerance`, and counts.
    ///
    /// Returns the status and the relative residual of each solver that treats the problem.
    pub fn add(
        &mut self,
        family: &str,
        record: &Record,
        tolerance: f64,
        iterations: usize,
    ) -> Vec<(Solver, SolveStatus, f64)> {
        let problem = &record.problem;
        let size = problem.bias.amax();
        let absolute = tolerance * if size > 0.0 { size } else { 1.0 };
        let settings = SolveSettings { tolerance: absolute, iterations, ..SolveSettings::default() };
        let tallies =
            self.families.entry(family.to_string()).or_insert_with(|| vec![Tally::default(); self.solvers.len()]);
        let mut results = Vec::new();
        for (tally, &solver) in tallies.iter_mut().zip(&self.solvers) {
            if !solver.supports(problem) {
                tally.unsupported += 1;
                continue;
            }
            let start = Instant::now();
            let solution = solve(problem, solver, &settings, None);
            tally.seconds += start.elapsed().as_secs_f64();
            match (solution.status == SolveStatus::Solved, record.solvable) {
                (true, _) => tally.solved += 1,
                (false, true) => tally.failed += 1,
                (false, false) => tally.refused += 1,
            }
            results.push((solver, solution.status, relative_residual(problem, &solution.impulse)));
        }
        results
    }
}

/// Markdown: `solved/treated` for each family and solver, and in brackets the unsolvable ones that were told.
impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "| family |")?;
        for solver in &self.solvers {
            write!(f, " {solver} |")?;
        }
        writeln!(f, "\n|---|{}", "---|".repeat(self.solvers.len()))?;
        for (family, tallies) in &self.families {
            write!(f, "| {family} |")?;
            for t in tallies {
                match (t.solved + t.failed, t.refused) {
                    (0, 0) => write!(f, " - |")?,
                    (all, 0) => write!(f, " {}/{all} |", t.solved)?,
                    (all, told) => write!(f, " {}/{all} (+{told} told) |", t.solved)?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lcp::file::read_text;

    #[test]
    fn counts_what_happened() {
        let text = r#"{"kind":"lcp","name":"f/a","n":1,"M":{"fmt":"dense","rows":1,"cols":1,"data":[1]},"q":[-1]}
{"kind":"lcp","name":"f/b","n":1,"M":{"fmt":"dense","rows":1,"cols":1,"data":[-1]},"q":[-1],"solvable":false}"#;
        let mut survey = Survey::new(&[Solver::Lemke, Solver::Pgs]);
        for record in read_text(text, "t").unwrap() {
            survey.add("f", &record, 1e-8, 100);
        }
        let lemke = survey.families["f"][0];
        assert_eq!((lemke.solved, lemke.failed, lemke.refused), (1, 0, 1));
        assert!(survey.to_string().contains("| f | 1/1 (+1 told) |"), "{survey}");
    }
}
