//! What worlds on a device bring back from a call of `step` in the place of their state, and the state that stays there until somebody asks.

use super::Quantity;
use crate::error::{Error, Result};
use crate::lane::{Pack, Scalar};
use crate::model::Model;
use crate::resident::{Answer, Resident};
use crate::waiting::now;
use std::sync::OnceLock;

/// q and v of all worlds, shapes `[tile][nq][lane]` and `[tile][nv][lane]`.
pub(super) type StateOf<R> = [Vec<R>; 2];

/// What a call brings back, and what stays.
pub(super) struct Brought<R> {
    /// None: the state.
    pub quantities: Option<Vec<Quantity>>,
    /// The worlds whose q and v on the device are newer than the host's, shape \[world\].
    pub behind: Vec<bool>,
    /// q and v, once somebody has asked for them since the last call, or why nobody can have them.
    late: OnceLock<std::result::Result<StateOf<R>, String>>,
    /// The worlds whose q and v the call at hand had to read before it began.
    pub fetched: Vec<usize>,
    /// The quantities as the last call left them, shape `[number][world]`.
    numbers: Vec<f32>,
    /// The worlds that these are still of, shape \[world\].
    pub fresh: Vec<bool>,
}

/// Where asked quantities are among those that were brought.
pub(super) struct Told<'a> {
    numbers: &'a [f32],
    /// Where each number of a row is, shape \[size\].
    places: Vec<usize>,
    /// The worlds that they are of, shape \[world\].
    fresh: &'a [bool],
}

impl Told<'_> {
    /// Whether the worlds of a range are told.
    pub fn all_of(&self, mut worlds: std::ops::Range<usize>) -> bool {
        worlds.all(|world| self.fresh[world])
    }
    /// The numbers of a world, if it is told.
    pub fn of(&self, world: usize) -> Option<impl Iterator<Item = f32> + '_> {
        let count = self.fresh.len();
        self.fresh[world].then(|| self.places.iter().map(move |place| self.numbers[place * count + world]))
    }
}

impl<R: Pack> Brought<R> {
    /// Of worlds whose state is brought back.
    pub fn new(world_count: usize) -> Self {
        Self {
            quantities: None,
            behind: vec![false; world_count],
            late: OnceLock::new(),
            fetched: Vec::new(),
            numbers: Vec::new(),
            fresh: vec![false; world_count],
        }
    }

    pub fn bytes(&self) -> usize {
        size_of::<f32>() * self.numbers.len() + 2 * self.behind.len()
    }

    /// Whether the host's q and v of every world are older than the world, and nobody has read newer ones; empty where none are.
    pub fn behind(&self) -> &[bool] {
        let read = matches!(self.late.get(), Some(Ok(_)));
        if read || !self.behind.contains(&true) { &[] } else { &self.behind }
    }

    /// q and v of all worlds, read once; none where those of the host are of now.
    pub fn state(&self, resident: Option<&Resident>, here: [&[R]; 2]) -> Result<Option<&StateOf<R>>> {
        if !self.behind.contains(&true) {
            return Ok(None);
        }
        let read = || {
            let Some(resident) = resident else { return Err("the device was lost".to_owned()) };
            let mut state = here.map(<[R]>::to_vec);
            let lens = here.map(|x| x.len() / self.behind.len().div_ceil(R::LANES));
            let done = now(resident.read_state(|world, k, x| {
                if self.behind[world] {
                    put(&mut state, lens, world, k, x);
                }
            }));
            // the variant's own words come again where it is told
            done.map(|()| state).map_err(|error| match error {
                Error::Device(text) => text,
                other => other.to_string(),
            })
        };
        match self.late.get_or_init(read) {
            Ok(state) => Ok(Some(state)),
            Err(text) => Err(Error::Device(format!(
                "{text}; what the host had not read is lost, and the next call of step takes the worlds back to the state that it read last"
            ))),
        }
    }

    /// What was read, to be the host's from now on.
    ///
    /// # Errors
    /// [`Error::Device`] where it could not be read.
    pub fn take_late(&mut self) -> Result<Option<StateOf<R>>> {
        match self.late.take() {
            None => Ok(None),
            Some(Ok(state)) => {
                self.behind.fill(false);
                Ok(Some(state))
            }
            Some(Err(text)) => {
                // until the worlds go back
                let error = Error::Device(text.clone());
                self.late = OnceLock::from(Err(text));
                Err(error)
            }
        }
    }

    /// The device has done something, or is no more.
    pub fn forget_late(&mut self) {
        self.late.take();
    }

    /// The device is lost: the host's state is all that there is.
    pub fn lose(&mut self) {
        self.late.take();
        self.behind.fill(false);
        self.fresh.fill(false);
    }

    /// Takes the quantities that the device leaves, of all worlds but those that halted.
    pub fn take_numbers(&mut self, answers: &[Answer], halted: &[(u32, usize)]) {
        let Some(first) = answers.first().filter(|answer| !answer.has_state) else {
            return self.fresh.fill(false);
        };
        let (all, stride) = first.observed();
        let (len, count) = (all.len() / stride.max(1), self.behind.len());
        self.numbers.resize(len * count, 0.0);
        for answer in answers {
            let (columns, stride) = answer.observed();
            for (k, column) in columns.chunks_exact(stride).enumerate() {
                let own = k * count + answer.worlds.start..k * count + answer.worlds.end;
                self.numbers[own].copy_from_slice(&column[..answer.worlds.len()]);
            }
        }
        self.fresh.fill(true);
        for (_, world) in halted {
            self.fresh[*world] = false;
        }
    }

    /// Where the numbers of `quantities` are, if all were brought, of now as far as `control_is_new` says, and nothing has to be read for the others.
    pub fn told(&self, model: &Model, quantities: &[Quantity], control_is_new: bool) -> Option<Told<'_>> {
        let brought = self.quantities.as_ref()?;
        let told = self.fresh.iter().zip(&self.behind).all(|(fresh, behind)| *fresh || !behind);
        if !told || !self.fresh.contains(&true) {
            return None;
        }
        let mut places = Vec::new();
        for quantity in quantities {
            if control_is_new && quantity.is_of_actuators() {
                return None;
            }
            let before = brought.iter().position(|other| other == quantity)?;
            let first: usize = brought[..before].iter().map(|other| other.len(model)).sum();
            places.extend(first..first + quantity.len(model));
        }
        Some(Told { numbers: &self.numbers, places, fresh: &self.fresh })
    }
}

/// Component `k` of q and then v of a world; `lens`: nq and nv.
pub(super) fn put<R: Pack>(state: &mut StateOf<R>, [nq, nv]: [usize; 2], world: usize, k: usize, x: f32) {
    let (tile, x) = (world / R::LANES, R::Scalar::from_f64(f64::from(x)));
    let pack = if k < nq { &mut state[0][tile * nq + k] } else { &mut state[1][tile * nv + k - nq] };
    pack.set(world % R::LANES, x);
}
