//! The large pieces of Newton on points, each compiled once a level and number type: Newton comes to each from several places, and a copy at every one would take
//! the compiler long.

use super::newton::{Form, Guess, Matrix};
use super::settings::Header;
use super::tiles::OneTile;
use crate::lane::{Compiled, Pack, Task};

impl<R: Pack, W: Form<R>> Matrix<R> for W {
    #[inline(always)]
    fn product(&mut self, x: &[R], out: &mut [R]) {
        self.level().run(AddProduct { matrix: self, x, out });
    }
    #[inline(always)]
    fn unknowns(&mut self, guess: &Guess<'_, R>) -> &[R] {
        self.level().run(FindUnknowns { matrix: self, guess });
        self.found()
    }
    #[inline(always)]
    fn shift(&mut self, rho: R) {
        self.level().run(FactorShifted { matrix: self, rho });
    }
    #[inline(always)]
    fn shifted(&mut self, x: &mut [R]) {
        self.level().run(SolveShifted { matrix: self, x });
    }
    #[inline(always)]
    fn sweep(&mut self, header: &Header, tile: &mut OneTile<'_, R>, velocity: &mut [R]) {
        self.level().run(Sweep { matrix: self, header, tile, velocity });
    }
}

/// [`Matrix::product`].
struct AddProduct<'a, R, W> {
    matrix: &'a mut W,
    x: &'a [R],
    out: &'a mut [R],
}

impl<R: Pack, W: Form<R>> Task for AddProduct<'_, R, W> {
    const COMPILED: Compiled = R::PIECES;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.matrix.add_product(self.x, self.out);
    }
}

/// [`Matrix::unknowns`].
struct FindUnknowns<'a, 'b, R: Pack, W> {
    matrix: &'a mut W,
    guess: &'a Guess<'b, R>,
}

impl<R: Pack, W: Form<R>> Task for FindUnknowns<'_, '_, R, W> {
    const COMPILED: Compiled = R::PIECES;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.matrix.find_unknowns(self.guess);
    }
}

/// [`Matrix::shift`].
struct FactorShifted<'a, R, W> {
    matrix: &'a mut W,
    rho: R,
}

impl<R: Pack, W: Form<R>> Task for FactorShifted<'_, R, W> {
    const COMPILED: Compiled = R::PIECES;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.matrix.factor_shifted(self.rho);
    }
}

/// [`Matrix::shifted`].
struct SolveShifted<'a, R, W> {
    matrix: &'a mut W,
    x: &'a mut [R],
}

impl<R: Pack, W: Form<R>> Task for SolveShifted<'_, R, W> {
    const COMPILED: Compiled = R::PIECES;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.matrix.solve_shifted(self.x);
    }
}

/// [`Matrix::sweep`].
struct Sweep<'a, 'b, R, W> {
    matrix: &'a mut W,
    header: &'a Header,
    tile: &'a mut OneTile<'b, R>,
    velocity: &'a mut [R],
}

impl<R: Pack, W: Form<R>> Task for Sweep<'_, '_, R, W> {
    const COMPILED: Compiled = R::PIECES;
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.matrix.sweep_all(self.header, self.tile, self.velocity);
    }
}
