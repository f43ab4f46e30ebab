//! The worlds on a device, and what the host knows of them.

use super::Quantity;
use super::brought::Brought;
use crate::error::{Error, Result};
use crate::gpu::Device;
use crate::lane::Pack;
use crate::resident::Resident;
use crate::solver::DeviceWork;
use crate::step::{Memory, Plan, Remembered, Worker};
use crate::waiting::now;
use std::sync::{Mutex, PoisonError};

/// The worlds on a device.
pub(super) struct OnDevice<R: Pack> {
    /// None after the device has failed, until the next step opens it anew.
    pub(super) resident: Option<Box<Resident>>,
    /// Name of the device.
    name: String,
    /// Contacts of a world that there is room for; none: as many as at first.
    capacity: Option<usize>,
    /// What was asked of it so far, and of those before it that are no more.
    pub(super) work: DeviceWork,
    /// For the worlds that halt.
    pub(super) workers: Mutex<Vec<Worker<R>>>,
    /// The worlds of which the device has to be told q and v before it steps, shape \[world\].
    pub(super) news: Vec<bool>,
    /// Whether it has to be told the control.
    pub(super) control_is_new: bool,
    /// Whether it has to be told the parameters.
    pub(super) parameters_are_new: bool,
    /// Whether it has to be told the force from outside.
    pub(super) external_is_new: bool,
    /// The worlds whose memory is what the host has, rather than what the device has, shape \[world\].
    pub(super) here: Vec<bool>,
    /// What the device was read to remember, shape `[world]`, since it last stepped.
    pub(super) read: Mutex<Option<Vec<Vec<Remembered>>>>,
    /// Seconds that every shader has taken on the device, by name, since [`OnDevice::clear_times`], while times are measured.
    pub(super) seconds: Mutex<Vec<(String, f64)>>,
    /// The worlds that are to forget their impulses, shape \[world\].
    pub(super) forgets: Vec<bool>,
    /// What calls bring back, and what stays there.
    pub(super) brought: Brought<R>,
}

impl<R: Pack> OnDevice<R> {
    /// On an open device.
    pub fn new(plan: &Plan, device: Device, world_count: usize) -> Result<Self> {
        let resident = Resident::new(plan, device, world_count, None)?;
        Ok(Self {
            name: resident.device_name().to_owned(),
            capacity: None,
            work: DeviceWork::default(),
            resident: Some(Box::new(resident)),
            workers: Mutex::new(Vec::new()),
            news: vec![true; world_count],
            control_is_new: true,
            parameters_are_new: true,
            external_is_new: true,
            here: vec![true; world_count],
            read: Mutex::new(None),
            seconds: Mutex::default(),
            forgets: vec![false; world_count],
            brought: Brought::new(world_count),
        })
    }

    /// Takes what is on the device, which is opened anew where it has failed. Whoever is done with it puts it back; who fails does not.
    pub fn take(&mut self, plan: &Plan) -> Result<Box<Resident>> {
        if let Some(resident) = self.resident.take() {
            return Ok(resident);
        }
        let device = Device::new(&plan.settings.device)?;
        let mut resident = Resident::new(plan, device, self.news.len(), self.capacity)?;
        if let Some(quantities) = &self.brought.quantities {
            resident.bring_back(plan, Some(quantities))?;
        }
        resident.count_from(self.work);
        resident.device_name().clone_into(&mut self.name);
        Ok(Box::new(resident))
    }

    /// Puts back what [`Self::take`] took.
    pub fn put_back(&mut self, resident: Box<Resident>) {
        (self.capacity, self.work) = (Some(resident.capacity()), resident.work());
        self.resident = Some(resident);
    }

    /// All that lies on the device is gone, or is to go: the next step makes it anew, from what the host has. Impulses that nobody has read are forgotten: they are a first guess.
    pub fn lose(&mut self, memory: &mut [Memory<R>]) {
        self.resident = None;
        self.take_memory(memory);
        self.brought.lose();
        self.tell_anew(true);
    }

    /// Lets calls bring back quantities in the place of the state, or the state again.
    pub fn bring_back(&mut self, plan: &Plan, quantities: Option<&[Quantity]>) -> Result<()> {
        self.brought.quantities = None;
        self.brought.fresh.fill(false);
        if let Some(resident) = &mut self.resident {
            resident.bring_back(plan, quantities)?;
        }
        self.brought.quantities = quantities.map(<[Quantity]>::to_vec);
        Ok(())
    }

    /// Whether it has to be told anew what the host gives beside the state.
    pub fn tell_anew(&mut self, anew: bool) {
        (self.control_is_new, self.parameters_are_new, self.external_is_new) = (anew, anew, anew);
    }

    /// The device has failed in a call: the worlds are as the host has them. Returns what the user is told.
    pub fn fail(&mut self, memory: &mut [Memory<R>], error: Error) -> Error {
        let goes_back = self.brought.behind.contains(&true);
        self.lose(memory);
        let are = if goes_back {
            "the worlds go back to the state that the host read last, and to its time (worlds.bring_back leaves later ones on the device)"
        } else {
            "the worlds are as before this call of step"
        };
        match error {
            Error::Device(text) => Error::Device(format!(
                "{text}; {are}, and the next one opens the device anew (or load a snapshot of them into worlds of backend cpu)"
            )),
            other => other,
        }
    }

    pub fn device_name(&self) -> String {
        self.name.clone()
    }

    /// What was asked of it so far.
    pub fn work(&self) -> DeviceWork {
        // what is read later is counted there
        self.resident.as_ref().map_or(self.work, |resident| resident.work())
    }

    /// Seconds that every shader has taken on the device, by name.
    pub fn times(&self) -> Vec<(String, f64)> {
        self.seconds.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// Starts the times anew.
    pub fn clear_times(&mut self) {
        self.seconds.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        self.brought.bytes()
            + self.resident.as_ref().map_or(0, |resident| resident.bytes_per_world() * self.forgets.len())
    }

    /// The host has changed q or v of a world.
    pub fn state_changed(&mut self, world: usize) {
        self.news[world] = true;
        (self.brought.behind[world], self.brought.fresh[world]) = (false, false);
    }

    /// The host has changed a parameter of a world, or of all.
    pub fn parameter_changed(&mut self, world: Option<usize>) {
        self.parameters_are_new = true;
        match world {
            Some(world) => self.brought.fresh[world] = false,
            None => self.brought.fresh.fill(false),
        }
    }

    /// The host wants a world to forget its impulses.
    pub fn forget(&mut self, world: usize) {
        self.forgets[world] = true;
    }

    /// What a world remembers, if that is not what the host has. Of a device that fails, nothing: impulses are a first guess.
    pub fn memory_of(&self, world: usize) -> Option<Vec<Remembered>> {
        if self.forgets[world] {
            return Some(Vec::new());
        }
        if self.here[world] {
            return None;
        }
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.is_none()
            && let Some(resident) = &self.resident
        {
            let mut all = vec![Vec::new(); self.forgets.len()];
            let told = now(resident.read_memory(|world, of| all[world] = of));
            *read = told.is_ok().then_some(all);
        }
        Some(read.as_ref().map_or_else(Vec::new, |all| all[world].clone()))
    }

    /// Makes `memory`, shape `[tile]`, that of the worlds.
    pub fn read_memory(&self, memory: &mut [Memory<R>]) {
        for world in 0..self.forgets.len() {
            if let Some(all) = self.memory_of(world) {
                memory[world / R::LANES].set(world % R::LANES, &all);
            }
        }
    }

    /// Makes `memory`, shape `[tile]`, that of the worlds, which the device has to be told before it steps.
    pub fn take_memory(&mut self, memory: &mut [Memory<R>]) {
        self.read_memory(memory);
        *self.read.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        self.here.fill(true);
        self.news.fill(true);
        self.forgets.fill(false);
    }
}
