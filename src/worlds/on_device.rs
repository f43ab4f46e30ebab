//! The worlds on a device, and what the host knows of them.

use crate::error::{Error, Result};
use crate::gpu::{Device, DeviceChoice};
use crate::lane::Pack;
use crate::resident::Resident;
use crate::step::{Memory, Plan, Remembered, Worker};
use std::sync::{Mutex, PoisonError};

/// The worlds on a device.
pub(super) struct OnDevice<R: Pack> {
    /// None only while it is made anew.
    pub(super) resident: Option<Box<Resident>>,
    /// For the worlds that halt.
    pub(super) workers: Mutex<Vec<Worker<R>>>,
    /// Whether the device has to be told q, v and memory before it steps.
    pub(super) state_is_new: bool,
    /// Whether it has to be told the parameters.
    pub(super) parameters_are_new: bool,
    /// Whether the memory of the worlds is that of the device, rather than what the host has.
    pub(super) memory_is_there: bool,
    /// What the device was read to remember, shape `[world]`, since it last stepped.
    pub(super) read: Mutex<Option<Vec<Vec<Remembered>>>>,
    /// Seconds that every shader has taken on the device, by name, since [`OnDevice::clear_times`], while times are measured.
    pub(super) seconds: Mutex<Vec<(String, f64)>>,
    /// The worlds that are to forget their impulses, shape \[world\].
    pub(super) forgets: Vec<bool>,
}

impl<R: Pack> OnDevice<R> {
    /// Opens a device, software too, for whoever asks for it by name.
    pub fn new(plan: &Plan, world_count: usize, notes: &mut Vec<String>) -> Result<Self> {
        if let Some(obstacle) = crate::resident::obstacle(plan) {
            return Err(Error::Unsupported(format!("backend gpu: {obstacle}")));
        }
        let device = Device::new(&DeviceChoice::Any)?;
        notes.extend(device.info().warning());
        let resident = Resident::new(plan, device, world_count)?;
        Ok(Self {
            resident: Some(Box::new(resident)),
            workers: Mutex::new(Vec::new()),
            state_is_new: true,
            parameters_are_new: true,
            memory_is_there: false,
            read: Mutex::new(None),
            seconds: Mutex::default(),
            forgets: vec![false; world_count],
        })
    }

    pub fn resident(&self) -> Result<&Resident> {
        self.resident.as_deref().ok_or_else(|| Error::Device("the device failed before; make the worlds anew".into()))
    }

    pub fn device_name(&self) -> String {
        self.resident.as_ref().map_or_else(|| "none".to_owned(), |resident| resident.device_name().to_owned())
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
        self.resident.as_ref().map_or(0, |resident| resident.bytes_per_world() * self.forgets.len())
    }

    /// The host has changed q or v of a world.
    pub fn state_changed(&mut self) {
        self.state_is_new = true;
    }

    /// The host has changed a parameter of a world.
    pub fn parameter_changed(&mut self) {
        self.parameters_are_new = true;
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
        if !self.memory_is_there {
            return None;
        }
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.is_none() {
            let mut all = vec![Vec::new(); self.forgets.len()];
            let told = self.resident().and_then(|resident| resident.read_memory(|world, of| all[world] = of));
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

    /// Makes `memory`, shape `[tile]`, that of some worlds, which the device is told anew before it steps.
    pub fn read_memory_of(&mut self, worlds: &[usize], memory: &mut [Memory<R>]) -> Result<()> {
        let mut forgets = std::mem::take(&mut self.forgets);
        let read = self.resident().and_then(|resident| {
            resident.read_memory_of(worlds, |world, of| {
                let of = if std::mem::take(&mut forgets[world]) { Vec::new() } else { of };
                memory[world / R::LANES].set(world % R::LANES, &of);
            })
        });
        self.forgets = forgets;
        read
    }

    /// Makes `memory`, shape `[tile]`, that of the worlds, which the device has to be told before it steps.
    pub fn take_memory(&mut self, memory: &mut [Memory<R>]) {
        self.read_memory(memory);
        self.memory_is_there = false;
        self.state_is_new = true;
        self.forgets.fill(false);
    }
}
