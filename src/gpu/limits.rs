//! What a device can do at most, measured: the limits beside which a bench puts its figures.

use super::chain::{Chain, Dispatch, Kernel};
use super::device::Device;
use crate::error::{Error, Result};
use crate::machine::Limits;
use crate::waiting::now;
use std::time::Instant;

/// Vectors of four that an invocation multiplies and adds, none of which waits for another.
const SUMS: usize = 8;
/// Times that it does.
const ROUNDS: usize = 1024;
/// Vectors of four that an invocation copies.
const COPIED: u32 = 4;
/// Invocations of a workgroup.
const WORKGROUP: usize = 64;
/// Workgroups of a dispatch at most.
const MOST_WORKGROUPS: u32 = 1 << 15;
/// A dispatch that takes so long is measured, s.
const LONG: f64 = 2e-3;
/// Bytes of an array that no cache holds.
const LARGE: u64 = 256 << 20;
/// Times that a limit is measured; the best counts.
const TRIES: usize = 5;

/// Names of the shaders that measure.
const KERNELS: [&str; 2] = ["multiply_adds", "copy"];

impl Device {
    /// Measures what it can do: fused multiply-adds in f32 from registers, and bytes copied from memory to memory by a shader. By its own clock where it has one. Takes a moment and half a gigabyte of its
    /// memory, or less where it binds less.
    ///
    /// # Errors
    /// [`Error::Device`] where the device fails, or has not got the memory.
    pub fn measured_limits(&self) -> Result<Limits> {
        let sources = [multiply_adds(), copy()];
        let kernels = [0, 1].map(|k| Kernel { name: KERNELS[k], source: &sources[k] });
        let mut chain = Chain::new(self.clone(), &kernels, &[true, true])?;
        let bytes = LARGE.min(self.limits.binding_bytes);
        let invocations = (bytes / (4 * size_of::<f32>()) as u64) as u32;
        let workgroups = (invocations / WORKGROUP as u32).min(MOST_WORKGROUPS);
        // what no compiler knows: a constant of the sums
        let header: Vec<u8> = [workgroups, 0, 0, 0].iter().flat_map(|x: &u32| x.to_ne_bytes()).collect();
        if !chain.add_set(&[&header], &[bytes, bytes], 4)? {
            return Err(Error::Device(format!("{} has no memory to measure its limits with", self.info().name)));
        }
        let mut groups = 64;
        let mut seconds = seconds_of(&mut chain, 0, groups)?;
        while seconds < LONG && groups < MOST_WORKGROUPS {
            groups = (4 * groups).min(MOST_WORKGROUPS);
            seconds = seconds_of(&mut chain, 0, groups)?;
        }
        let operations = 2.0 * (4 * SUMS * ROUNDS * WORKGROUP) as f64 * f64::from(groups);
        let moved = 2.0 * (4 * size_of::<f32>() * WORKGROUP) as f64 * COPIED as f64 * f64::from(workgroups / COPIED);
        let best = |kernel: usize, groups: u32, work: f64, chain: &mut Chain| {
            (0..TRIES).try_fold(0.0, |best: f64, _| Ok::<_, Error>(best.max(work / seconds_of(chain, kernel, groups)?)))
        };
        Ok(Limits {
            operations: best(0, groups, operations, &mut chain)?,
            bytes: best(1, workgroups / COPIED, moved, &mut chain)?,
        })
    }
}

/// Seconds that so many workgroups of a kernel take.
fn seconds_of(chain: &mut Chain, kernel: usize, workgroups: u32) -> Result<f64> {
    let dispatch = Dispatch { kernel, header: 0, workgroups: [workgroups, 1] };
    let start = Instant::now();
    let told = now(chain.run_timed(0, &[dispatch]))?;
    if told.is_empty() {
        // no clock there: how long the host waits
        now(chain.read(0, 1, 0..1))?;
    }
    Ok(told.first().copied().unwrap_or_else(|| start.elapsed().as_secs_f64()).max(1e-9))
}

/// What both shaders begin with.
fn head() -> String {
    format!(
        "@group(0) @binding(0) var<uniform> header: vec4<u32>;
@group(0) @binding(1) var<storage, read_write> copied: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> numbers: array<vec4<f32>>;
const ROUNDS = {ROUNDS}u;
const COPIED = {COPIED}u;
const WORKGROUP = {WORKGROUP}u;
"
    )
}

fn multiply_adds() -> String {
    let each = |line: &dyn Fn(usize) -> String| (0..SUMS).map(line).collect::<Vec<_>>().concat();
    let begin = each(&|k| format!("    var x{k} = a * {k}.0;\n"));
    let go_on = each(&|k| format!("        x{k} = fma(x{k}, a, c);\n"));
    let sum = each(&|k| format!(" + x{k}"));
    format!(
        "{}
@compute @workgroup_size(WORKGROUP)
fn multiply_adds(@builtin(global_invocation_id) id: vec3<u32>) {{
    let a = vec4<f32>(f32(id.x % 7u) * 0.1);
    let c = vec4<f32>(f32(header.x) * 1e-6);
{begin}    for (var k = 0u; k < ROUNDS; k++) {{
{go_on}    }}
    copied[id.x % WORKGROUP] = a{sum};
}}
",
        head()
    )
}

fn copy() -> String {
    format!(
        "{}
@compute @workgroup_size(WORKGROUP)
fn copy(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) group: vec3<u32>) {{
    for (var k = 0u; k < COPIED; k++) {{
        let at = (COPIED * group.x + k) * WORKGROUP + lane;
        copied[at] = numbers[at];
    }}
}}
",
        head()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_of_this_world() {
        let Some(device) = Device::for_tests() else { return };
        let limits = device.measured_limits().expect("limits");
        println!("{limits:?}");
        assert!(limits.operations > 1e8 && limits.operations < 1e16, "{limits:?}");
        assert!(limits.bytes > 1e7 && limits.bytes < 1e14, "{limits:?}");
    }
}
