//! The large pieces of work on a factored block, each compiled once a level and number type: Newton comes to each from several places, and a copy at every one would take
//! the compiler long.

use super::factored::Factored;
use super::newton::{Guess, Matrix};
use super::settings::Header;
use super::size::BlockSize;
use super::tiles::OneTile;
use crate::lane::{Scalar, Task};

impl<S: Scalar> Matrix<S> for Factored<S> {
    #[inline(always)]
    fn clear(&mut self, size: BlockSize) {
        Factored::clear(self, size);
    }
    #[inline(always)]
    fn scale(&mut self, size: BlockSize, unit: &mut [S]) {
        Factored::scale(self, size, unit);
    }
    #[inline(always)]
    fn add_product(&mut self, x: &[S], out: &mut [S]) {
        self.level.run(AddProduct { matrix: self, x, out });
    }
    #[inline(always)]
    fn unknowns(&mut self, guess: &Guess<'_, S>) -> &[S] {
        self.level.run(FindUnknowns { matrix: self, guess });
        &self.unknown
    }
    #[inline(always)]
    fn shift(&mut self, rho: S) {
        self.level.run(FactorShifted { matrix: self, rho });
    }
    #[inline(always)]
    fn solve_shifted(&mut self, x: &mut [S]) {
        self.level.run(SolveShifted { matrix: self, x });
    }
    #[inline(always)]
    fn sweep(&mut self, header: &Header, tile: &mut OneTile<'_, S>, velocity: &mut [S]) {
        self.level.run(Sweep { matrix: self, header, tile, velocity });
    }
}

/// [`Matrix::add_product`].
struct AddProduct<'a, S> {
    matrix: &'a mut Factored<S>,
    x: &'a [S],
    out: &'a mut [S],
}

impl<S: Scalar> Task for AddProduct<'_, S> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.matrix.add_product(self.x, self.out);
    }
}

/// [`Matrix::unknowns`].
struct FindUnknowns<'a, 'b, S> {
    matrix: &'a mut Factored<S>,
    guess: &'a Guess<'b, S>,
}

impl<S: Scalar> Task for FindUnknowns<'_, '_, S> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.matrix.find_unknowns(self.guess);
    }
}

/// [`Matrix::shift`].
struct FactorShifted<'a, S> {
    matrix: &'a mut Factored<S>,
    rho: S,
}

impl<S: Scalar> Task for FactorShifted<'_, S> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.matrix.factor_shifted(self.rho);
    }
}

/// [`Matrix::solve_shifted`].
struct SolveShifted<'a, S> {
    matrix: &'a mut Factored<S>,
    x: &'a mut [S],
}

impl<S: Scalar> Task for SolveShifted<'_, S> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.matrix.solve_shifted(self.x);
    }
}

/// [`Matrix::sweep`].
struct Sweep<'a, 'b, S> {
    matrix: &'a mut Factored<S>,
    header: &'a Header,
    tile: &'a mut OneTile<'b, S>,
    velocity: &'a mut [S],
}

impl<S: Scalar> Task for Sweep<'_, '_, S> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.matrix.sweep_all(self.header, self.tile, self.velocity);
    }
}
