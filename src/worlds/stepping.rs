//! Stepping the worlds: at once, or begun now and waited for later.

use super::control::Acting;
use super::{BlockRecord, WorldReport, Worlds};
use crate::error::Result;
use crate::waiting::now;
use std::pin::Pin;

/// One call of `step`.
pub(super) struct Call<'a> {
    pub substeps: u32,
    /// Control that acts.
    pub control: Acting<'a>,
    /// Whether that may have changed since the last call.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "only a device keeps what it was sent"))]
    pub control_is_new: bool,
    /// Generalized force from outside, shape `[world][nv]`.
    pub external: &'a [f64],
    /// Whether that may have changed since the last call.
    #[cfg_attr(not(feature = "gpu"), expect(dead_code, reason = "only a device keeps what it was sent"))]
    pub external_is_new: bool,
    /// Who is shown every block of every substep.
    pub see: Option<&'a (dyn Fn(&BlockRecord<'_>) + Sync)>,
}

/// Worlds that are being stepped, see [`Worlds::step_async`]. They cannot be used before it is waited for, or dropped, which waits too; an error of a call that was dropped is told by the
/// next one.
#[derive(Debug)]
#[must_use = "what was begun is waited for at once if it is dropped"]
pub struct Stepping<'w> {
    /// None once it was waited for.
    worlds: Option<&'w mut Worlds>,
}

impl<'w> Stepping<'w> {
    /// Waits for the worlds, and returns a report a world, the worst of the substeps.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the device failed: the worlds are as before the call (see [`Worlds::bring_back`] for when they are not), and the next one opens the device anew.
    pub fn wait(self) -> Result<&'w [WorldReport]> {
        now(self.into_future())
    }
}

impl<'w> IntoFuture for Stepping<'w> {
    type Output = Result<&'w [WorldReport]>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'w>>;

    /// As [`Stepping::wait`], for who may not stop a thread: in a browser the device answers between two turns of its loop. Elsewhere its first poll waits.
    fn into_future(mut self) -> Self::IntoFuture {
        // there until here: only this and the drop take it, and both have it to themselves
        let worlds = self.worlds.take();
        Box::pin(async move {
            let Some(worlds) = worlds else { return Ok(&[][..]) };
            worlds.finish_call(None).await?;
            Ok(worlds.engine.reports())
        })
    }
}

impl Drop for Stepping<'_> {
    fn drop(&mut self) {
        if let Some(worlds) = self.worlds.take() {
            worlds.unseen = now(worlds.finish_call(None)).err();
        }
    }
}

impl Worlds {
    /// Steps every world `substeps` times by Δt and returns a report a world, the worst of the substeps.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if a device failed. On the backend `gpu` the worlds are then as before the call (see [`Worlds::bring_back`] for when they are not), and the next one opens the device anew. A world that came out badly
    /// is not an error: its report says so.
    pub fn step(&mut self, substeps: u32) -> Result<&[WorldReport]> {
        self.step_inspected(substeps, None)
    }

    /// Begins what [`Worlds::step`] does, and returns while a device is at it ([`super::Backend::Gpu`]): the caller does something else, and then [waits](Stepping::wait).
    /// Where the CPU takes part in every step, as on the other backends, it is done when this returns. What happens to the worlds is the same to the bit.
    ///
    /// ```
    /// # use delassus::{Model, Settings, Worlds};
    /// # fn main() -> delassus::Result<()> {
    /// # let text = r#"<mujoco><worldbody><body><joint type="hinge"/><geom size="0.1"/></body></worldbody></mujoco>"#;
    /// let mut worlds = Worlds::new(&Model::from_mjcf_str(text)?, 64, Settings::default())?;
    /// let stepping = worlds.step_async(5)?;
    /// // learn from the last observations
    /// let reports = stepping.wait()?;
    /// # assert!(reports.iter().all(|r| r.solved()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Worlds::step`].
    pub fn step_async(&mut self, substeps: u32) -> Result<Stepping<'_>> {
        self.begin_call(substeps, None)?;
        Ok(Stepping { worlds: Some(self) })
    }

    /// As [`Worlds::step`], and shows every block of every substep to `see`, as posed and answered.
    ///
    /// # Errors
    /// As [`Worlds::step`].
    pub fn step_inspected(
        &mut self,
        substeps: u32,
        see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>,
    ) -> Result<&[WorldReport]> {
        self.begin_call(substeps, see)?;
        now(self.finish_call(see))?;
        Ok(self.engine.reports())
    }

    fn begin_call(&mut self, substeps: u32, see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>) -> Result<()> {
        // of a call that was neither waited for nor dropped
        now(self.finish_call(None))?;
        if let Some(error) = self.unseen.take() {
            return Err(error);
        }
        self.keep_time();
        let control_is_new = std::mem::take(&mut self.control.is_new) || self.delay.is_some();
        let external_is_new = std::mem::take(&mut self.external_is_new);
        let control = match &mut self.delay {
            Some(delay) => Acting::Given(delay.pass(self.control.last_given(), self.model.nu())),
            None => self.control.acting(),
        };
        let external = &self.external;
        let begun = self.engine.begin(&Call { substeps, control, control_is_new, external, external_is_new, see });
        self.under_way = Some(substeps);
        if begun.is_err() {
            self.came_to_nothing();
        }
        begun
    }

    async fn finish_call(&mut self, see: Option<&(dyn Fn(&BlockRecord<'_>) + Sync)>) -> Result<()> {
        let Some(substeps) = self.under_way else { return Ok(()) };
        let control = match &self.delay {
            Some(delay) => Acting::Given(&delay.acting),
            None => self.control.acting(),
        };
        let (control_is_new, external_is_new) = (false, false);
        let call = Call { substeps, control, control_is_new, external: &self.external, external_is_new, see };
        let finished = match self.engine.finish(&call) {
            Some(waiting) => waiting.await,
            None => Ok(()),
        };
        if finished.is_err() {
            self.came_to_nothing();
            return finished;
        }
        self.under_way = None;
        let dt = self.dt();
        for time in &mut self.time {
            *time += dt * f64::from(substeps);
        }
        Ok(())
    }

    /// Ends a call that nobody has waited for.
    pub(super) fn finish_now(&mut self) -> Result<()> {
        now(self.finish_call(None))
    }

    /// Keeps the time of the state that would be left if a device failed now.
    pub(super) fn keep_time(&mut self) {
        #[cfg(feature = "gpu")]
        let behind = self.engine.behind();
        #[cfg(not(feature = "gpu"))]
        let behind: &[bool] = &[];
        if behind.is_empty() {
            self.time_read.copy_from_slice(&self.time);
            return;
        }
        for ((kept, time), behind) in self.time_read.iter_mut().zip(&self.time).zip(behind) {
            if !behind {
                *kept = *time;
            }
        }
    }

    /// A call that failed: control that is late waits for the next, and time is that of the state that is left.
    fn came_to_nothing(&mut self) {
        self.under_way = None;
        #[cfg(feature = "gpu")]
        for &world in self.engine.fetched() {
            self.time_read[world] = self.time[world];
        }
        self.time.clone_from(&self.time_read);
        if let Some(delay) = &mut self.delay {
            delay.take_back();
        }
    }
}
