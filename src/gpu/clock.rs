//! The device's own clock: how long submissions take there.

/// Seconds that the measured passes took so far, and what they are read from.
#[derive(Debug)]
pub(super) struct Clock {
    queries: wgpu::QuerySet,
    /// Of the last pass, as many as [`TICKS`].
    pub ticks: wgpu::Buffer,
    /// Seconds so far.
    pub seconds: f64,
}

/// Ticks of a pass: at its beginning and at its end.
const TICKS: u32 = 2;
pub(super) const TICK_BYTES: u64 = TICKS as u64 * size_of::<u64>() as u64;

impl Clock {
    /// The clock of a device; none where it has none.
    pub fn of(device: &wgpu::Device) -> Option<Self> {
        if !device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return None;
        }
        let queries = device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("clock"),
            ty: wgpu::QueryType::Timestamp,
            count: TICKS,
        });
        let ticks = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("clock"),
            size: TICK_BYTES,
            usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        Some(Self { queries, ticks, seconds: 0.0 })
    }

    /// What a pass has to write down.
    pub fn writes(&self) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        }
    }

    /// Records that the ticks of the pass before go where they are read.
    pub fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.resolve_query_set(&self.queries, 0..TICKS, &self.ticks, 0);
    }

    /// Adds what a pass took, of which these are the ticks.
    pub fn add(&mut self, queue: &wgpu::Queue, ticks: &[u64]) {
        let second = 1e-9 * f64::from(queue.get_timestamp_period());
        if let [begin, end] = ticks {
            self.seconds += end.saturating_sub(*begin) as f64 * second;
        }
    }
}
