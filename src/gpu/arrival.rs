//! Numbers on their way back from a device: asked for, arrived, read.

use super::device::Device;
use crate::error::{Error, Result};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// That a buffer is mapped, or cannot be: awaited.
#[derive(Debug, Clone, Default)]
pub(super) struct Arrival(Arc<Mutex<(bool, Option<Waker>)>>);

impl Arrival {
    /// Maps the first `bytes` of a buffer.
    pub fn of(buffer: &wgpu::Buffer, bytes: u64) -> Self {
        let arrival = Self::default();
        let told = arrival.clone();
        // a failure shows when the numbers are read
        buffer.map_async(wgpu::MapMode::Read, ..bytes, move |_| {
            let mut told = told.0.lock().unwrap_or_else(PoisonError::into_inner);
            told.0 = true;
            if let Some(waker) = told.1.take() {
                waker.wake();
            }
        });
        arrival
    }
}

impl Future for Arrival {
    type Output = ();
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        told.1 = Some(context.waker().clone());
        if told.0 { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Submits what comes before, waits for all that was submitted, and reads `bytes` of a buffer from `first` on.
///
/// # Errors
/// [`Error::Device`] where the device failed meanwhile, or does not answer.
pub(super) async fn fetch<T: bytemuck::Pod>(
    device: &Device,
    before: Option<wgpu::CommandBuffer>,
    buffer: &wgpu::Buffer,
    [first, bytes]: [u64; 2],
) -> Result<Vec<T>> {
    let staging = device.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("read back"),
        size: bytes,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(buffer, first, &staging, 0, bytes);
    device.queue.submit(before.into_iter().chain([encoder.finish()]));
    let arrival = Arrival::of(&staging, bytes);
    device.wait()?;
    arrival.await;
    numbers(device, &staging, bytes)
}

/// What has arrived in a buffer.
fn numbers<T: bytemuck::Pod>(device: &Device, arrived: &wgpu::Buffer, bytes: u64) -> Result<Vec<T>> {
    Ok(bytemuck::pod_collect_to_vec(&mapped(device, arrived, bytes)?))
}

/// The same where it lies.
pub(super) fn mapped(device: &Device, arrived: &wgpu::Buffer, bytes: u64) -> Result<wgpu::BufferView> {
    let view = arrived.get_mapped_range(..bytes);
    view.map_err(|e| Error::Device(format!("{}: the answer cannot be read: {e}", device.info().name)))
}

/// Numbers that have arrived, where the device laid them. Goes before more is asked for.
#[derive(Debug)]
pub(crate) struct Arrived {
    /// There until it is dropped.
    view: Option<wgpu::BufferView>,
    buffer: wgpu::Buffer,
}

impl Arrived {
    /// What has arrived in a buffer, and was not read before.
    ///
    /// # Errors
    /// [`Error::Device`] where it has not.
    pub(super) fn new(device: &Device, buffer: &wgpu::Buffer, bytes: u64) -> Result<Self> {
        Ok(Self { view: Some(mapped(device, buffer, bytes)?), buffer: buffer.clone() })
    }
}

impl std::ops::Deref for Arrived {
    type Target = [f32];
    fn deref(&self) -> &[f32] {
        self.view.as_ref().map_or(&[], |view| bytemuck::cast_slice(view))
    }
}

impl Drop for Arrived {
    fn drop(&mut self) {
        self.view = None;
        self.buffer.unmap();
    }
}
