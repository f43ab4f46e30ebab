//! Waiting for what is awaited.

use crate::error::Result;

/// What something asynchronous comes to: waited for on this thread, but for a browser, where only what is there already can be had.
///
/// # Errors
/// Its own, and [`Error::Device`](crate::Error::Device) in a browser.
#[cfg(all(feature = "gpu", not(target_family = "wasm")))]
pub(crate) fn now<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    pollster::block_on(work)
}

/// Without a device nothing lets anyone wait.
#[cfg(not(all(feature = "gpu", not(target_family = "wasm"))))]
pub(crate) fn now<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    use std::task::{Context, Poll, Waker};
    match std::pin::pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => Err(crate::Error::Device(
            "a browser lets no program wait for its device: open it with `Device::open`, make worlds with `Worlds::on_device`, and await what `step_async` returns"
                .into(),
        )),
    }
}
