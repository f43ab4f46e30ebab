//! Quantities of all worlds: what is asked for, what is brought back, and from where it is told.

#[cfg(feature = "gpu")]
use super::backends::Solver;
use super::core::Core;
use super::fields::parameters_of;
use super::observe::{Evaluate, Observer};
use super::seen::Seen;
use super::{Backend, Frame, NumbersMut, Quantity, Worlds};
use crate::error::{Error, Result};
use crate::lane::{Pack, Scalar};
use crate::quantity::Now;
#[cfg(feature = "gpu")]
use crate::step::Memory;
use rayon::prelude::*;
use std::sync::PoisonError;

impl Worlds {
    /// Writes `quantities` of every world to `out`, one after the other, shape `[world][Σ len]`, see [`Quantity::len`].
    ///
    /// # Errors
    /// [`Error::Argument`] if `out` has another length, the model has not what a quantity is about, or contacts are asked for that are not felt
    /// ([`Worlds::feel_contacts`]); [`Error::Device`] where the state stayed on a device that was lost ([`Worlds::bring_back`]).
    pub fn observe_into<'a>(&self, quantities: &[Quantity], out: impl Into<NumbersMut<'a>>) -> Result<()> {
        quantities.iter().try_for_each(|quantity| quantity.check(&self.model))?;
        if let Some(quantity) = quantities.iter().find(|quantity| !self.engine.feels(**quantity)) {
            let message = match quantity {
                Quantity::ContactBetween(..) => {
                    "contacts of this pair are not felt: call feel_contacts_between(pairs) before the step"
                }
                Quantity::Sensor(_) => "a sensor looks back at the step: call feel_contacts(true) before it",
                _ => "contacts are not felt: call feel_contacts(true) before the step",
            };
            return Err(Error::argument("quantity", message));
        }
        let (out, size) = (out.into(), quantities.iter().map(|q| q.len(&self.model)).sum::<usize>());
        out.check(self.world_count * size)?;
        if size == 0 {
            return Ok(());
        }
        let is_new = self.control.is_new || self.delay.is_some();
        if quantities.iter().any(|quantity| quantity.is_of_actuators()) {
            self.engine.observe(quantities, &self.acting_control(), is_new, out)
        } else {
            self.engine.observe(quantities, self.control.last_given(), is_new, out)
        }
    }
    /// Whether worlds keep what those need who look back at a step: what contacts do to every geom, for [`Quantity::Contact`] and
    /// [`Quantity::CentralContact`], and the state before the last substep, for sensors of which [`crate::model::Reading::looks_back`] is true. Of
    /// models with touch sensors every world is then watched ([`Worlds::watch`]).
    pub fn feel_contacts(&mut self, on: bool) {
        self.engine.feel(on);
    }
    /// Lets worlds feel contacts, and add up those of each of these pairs besides, for [`Quantity::ContactBetween`]; pairs that were given before stay.
    ///
    /// # Errors
    /// [`Error::Argument`] if the model has not what a pair is of.
    pub fn feel_contacts_between(&mut self, pairs: &[[Frame; 2]]) -> Result<()> {
        pairs.iter().try_for_each(|[a, b]| Quantity::ContactBetween(*a, *b).check(&self.model))?;
        self.engine.feel_between(pairs);
        Ok(())
    }
    /// Lets a call of [`Worlds::step`] on a device ([`Backend::Gpu`]) bring back reports and these quantities only, which it evaluates there after the last substep; none: reports and state, as at first.
    /// [`Worlds::observe_into`] of any of them is then answered from what was brought, as long as nothing that they depend on has changed; of worlds that were reset since, or that the CPU stepped, from
    /// the host's state. q and v stay on the device until somebody asks for them ([`Worlds::positions`], [`Worlds::save`], other quantities), and are then read once. On other backends it
    /// changes nothing. Either way the numbers are those of `observe_into`, to the rounding of f32.
    ///
    /// What it costs: where the device fails, its worlds go back to the state that the host read last, time included (by default to that before the call), and the call is an [`Error::Device`] that says so.
    /// Until that call, [`Worlds::positions_into`] and `observe_into` are errors, and what cannot be one ([`Worlds::positions`], [`Worlds::state`], [`Worlds::save`]) has numbers that are NaN.
    /// Read the state now and then to bound what is lost.
    ///
    /// # Errors
    /// [`Error::Argument`] if the model has not what a quantity is about, [`Error::Unsupported`] for quantities of contacts, limit forces or the past ([`Quantity::is_of_state`]), and in a browser, which
    /// could not wait for the state; [`Error::Device`] where the device has no room for them: the state is brought back then.
    pub fn bring_back(&mut self, quantities: Option<&[Quantity]>) -> Result<()> {
        for quantity in quantities.unwrap_or_default() {
            quantity.check(&self.model)?;
            if !quantity.is_of_state(&self.model) {
                return Err(Error::Unsupported(format!(
                    "{quantity:?} is not told by the state: it cannot be brought back, but observed, which reads what it needs"
                )));
            }
        }
        if cfg!(target_family = "wasm") && quantities.is_some() && self.backend() == Backend::Gpu {
            return Err(Error::Unsupported(
                "a browser cannot wait for the state later: it is brought back there".into(),
            ));
        }
        self.finish_now()?;
        #[cfg(feature = "gpu")]
        self.engine.bring_back(quantities)?;
        Ok(())
    }
}

impl<R: Pack> Core<R> {
    /// q and v of all worlds as they are now, shapes `[tile][nq][lane]` and `[tile][nv][lane]`; what stays on a device is read.
    ///
    /// # Errors
    /// [`Error::Device`] where a device has been lost with it.
    #[cfg_attr(not(feature = "gpu"), expect(clippy::unnecessary_wraps, reason = "only a device is lost"))]
    pub(super) fn state(&self) -> Result<[&[R]; 2]> {
        #[cfg(feature = "gpu")]
        if let Solver::Gpu(on) = &self.solver
            && let Some([q, v]) = on.brought.state(on.resident.as_deref(), [&self.q, &self.v])?
        {
            return Ok([q, v]);
        }
        Ok([&self.q, &self.v])
    }

    /// Makes the state of all worlds that of the host.
    #[cfg(feature = "gpu")]
    pub(super) fn take_all(&mut self, on: &mut super::on_device::OnDevice<R>) -> Result<()> {
        on.brought.state(on.resident.as_deref(), [&self.q, &self.v])?;
        self.take_late(on)
    }

    /// Writes quantities to `out`, shape `[world][size]`; `control`: shape `[world][nu]`.
    pub(super) fn observe_as<T: Send>(
        &self,
        quantities: &[Quantity],
        control: &[f64],
        control_is_new: bool,
        out: &mut [T],
        number: impl Fn(R::Scalar) -> T + Sync,
    ) -> Result<()> {
        let model = &*self.plan.model;
        let (nq, nv, nu, nd) = (model.nq(), model.nv(), model.nu(), model.drive_len());
        let size = out.len() / self.world_count;
        let memory = &self.memory;
        #[cfg(feature = "gpu")]
        let remembered = |quantity: &Quantity| *quantity == Quantity::LimitForce || quantity.looks_back(model);
        #[cfg(feature = "gpu")]
        let there = if quantities.iter().any(remembered) { self.memory_there() } else { None };
        #[cfg(feature = "gpu")]
        let memory = there.as_ref().unwrap_or(memory);
        #[cfg(feature = "gpu")]
        let told = match &self.solver {
            Solver::Gpu(on) => on.brought.told(model, quantities, control_is_new),
            _ => None,
        };
        #[cfg(feature = "gpu")]
        let [q, v] = if told.is_some() { [&self.q[..], &self.v[..]] } else { self.state()? };
        #[cfg(not(feature = "gpu"))]
        let ([q, v], _) = (self.state()?, control_is_new);
        let tiles = self.tile_count.div_ceil(self.threads.count()).min(self.plan.most_tiles());
        let chunks = out.par_chunks_mut((tiles * R::LANES * size).max(1)).enumerate();
        self.threads.each(chunks, |(c, out)| {
            let pooled = self.observers.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut observer = pooled.unwrap_or_else(|| Observer::new(model));
            let mut drive = std::mem::take(&mut observer.drive);
            drive.resize(nd, R::zero());
            for (i, rows) in out.chunks_mut(R::LANES * size).enumerate() {
                let tile = c * tiles + i;
                let worlds = tile * R::LANES..((tile + 1) * R::LANES).min(self.world_count);
                #[cfg(feature = "gpu")]
                if let Some(told) = &told {
                    for (row, world) in rows.chunks_exact_mut(size).zip(worlds.clone()) {
                        let own = told.of(world).into_iter().flatten();
                        row.iter_mut().zip(own).for_each(|(to, x)| *to = number(R::Scalar::from_f64(f64::from(x))));
                    }
                    if told.all_of(worlds.clone()) {
                        continue;
                    }
                }
                #[cfg(feature = "gpu")]
                let is_told = |lane: usize| told.as_ref().is_some_and(|told| told.of(worlds.start + lane).is_some());
                #[cfg(not(feature = "gpu"))]
                let is_told = |_: usize| false;
                for (i, x) in control[worlds.start * nu..worlds.end * nu].iter().enumerate() {
                    drive[i % nu].set(i / nu, R::Scalar::from_f64(*x));
                }
                drive[nu..].copy_from_slice(&self.drive[tile * nd + nu..(tile + 1) * nd]);
                let seen = Seen {
                    now: Now {
                        model,
                        q: &q[tile * nq..(tile + 1) * nq],
                        v: &v[tile * nv..(tile + 1) * nv],
                        parameters: parameters_of(&self.fields, tile),
                        drive: &drive,
                        dt: self.plan.dt,
                    },
                    memory: &memory[tile],
                    equalities: &self.plan.equalities,
                    past: self.past.seen(tile, &self.watched[worlds.clone()]),
                    reports: &self.reports[worlds.clone()],
                };
                self.plan.level.run(Evaluate { quantities, seen: &seen, observer: &mut observer });
                for (lane, row) in rows.chunks_exact_mut(size).enumerate().filter(|(lane, _)| !is_told(*lane)) {
                    row.iter_mut().zip(&observer.evaluation.row).for_each(|(x, pack)| *x = number(pack.get(lane)));
                }
            }
            observer.drive = drive;
            self.observers.lock().unwrap_or_else(PoisonError::into_inner).push(observer);
        })
    }

    /// What the worlds remember, shape `[tile]`, if that is not what stands here but on a device.
    #[cfg(feature = "gpu")]
    fn memory_there(&self) -> Option<Vec<Memory<R>>> {
        let Solver::Gpu(on) = &self.solver else { return None };
        let mut memory = self.memory.clone();
        on.read_memory(&mut memory);
        Some(memory)
    }
}
