//! The twin of `shaders/resident/elimination.wgsl`, whose invocations share a system: what each does from barrier to barrier is told here lane by lane, and lanes run in any order.
//!
//! Bits must not depend on that order, and no lane may touch what another one writes before the next barrier; who reads what nobody has written is found too.

use super::newton_templates::with_columns;
use super::shaders::ELIMINATION;
use super::tests::samples;
use super::tile::newton_lanes;
use super::twin_newton::eliminated;
use crate::gpu::{Chain, Device, Dispatch, Kernel};
use crate::waiting::now;
use std::cell::RefCell;

/// Memory of a workgroup, and who touched what since the last barrier.
struct Memory {
    numbers: Vec<Option<f32>>,
    writer: Vec<Option<usize>>,
    readers: Vec<Vec<usize>>,
    lane: usize,
    races: usize,
}

impl Memory {
    fn new(numbers: &[f32], len: usize) -> Self {
        let mut all: Vec<Option<f32>> = numbers.iter().copied().map(Some).collect();
        all.resize(len, None);
        Self { numbers: all, writer: vec![None; len], readers: vec![Vec::new(); len], lane: 0, races: 0 }
    }
    fn get(&mut self, at: usize) -> f32 {
        self.races += usize::from(self.writer[at].is_some_and(|lane| lane != self.lane));
        self.readers[at].push(self.lane);
        self.numbers[at].expect("written before it is read")
    }
    fn set(&mut self, at: usize, x: f32) {
        let others = self.writer[at].iter().chain(&self.readers[at]).any(|lane| *lane != self.lane);
        self.races += usize::from(others);
        (self.numbers[at], self.writer[at]) = (Some(x), Some(self.lane));
    }
    fn barrier(&mut self) {
        self.writer.fill(None);
        self.readers.iter_mut().for_each(Vec::clear);
    }
}

/// What a lane does in one of so many phases, which barriers divide.
type Phase<'a> = &'a dyn Fn(usize, usize, &mut Memory);

/// An order of the lanes.
fn shuffled(count: usize, random: &mut u32) -> Vec<usize> {
    let mut lanes: Vec<usize> = (0..count).collect();
    for k in (1..count).rev() {
        *random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        lanes.swap(k, (*random >> 8) as usize % (k + 1));
    }
    lanes
}

/// Runs all phases, every one in another order of the lanes.
fn run([phases, lanes]: [usize; 2], phase: Phase<'_>, random: &mut u32, memory: &mut Memory) {
    for k in 0..phases {
        for lane in shuffled(lanes, random) {
            memory.lane = lane;
            phase(k, lane, memory);
        }
        memory.barrier();
    }
}

/// The same as if the shader had no barriers: every lane as fast as it can.
fn run_without_barriers([phases, lanes]: [usize; 2], phase: Phase<'_>, random: &mut u32, memory: &mut Memory) {
    for lane in shuffled(lanes, random) {
        memory.lane = lane;
        (0..phases).for_each(|k| phase(k, lane, memory));
    }
}

/// Where the answer lies, behind the two columns that are told.
fn answer(nv: usize) -> usize {
    2 * nv
}

/// Phases and lanes.
fn size_of_eliminate(nv: usize) -> [usize; 2] {
    [nv + 1, newton_lanes(nv)]
}

/// What a lane does from one barrier to the next: it clears its column by the one that was told last, and tells its own if it is the next. `columns`: of every lane.
fn eliminate(nv: usize, phase: usize, lane: usize, columns: &mut [Vec<f32>], memory: &mut Memory) {
    let column = &mut columns[lane];
    let at = |k: usize| nv * (k % 2);
    if let Some(k) = phase.checked_sub(1) {
        let factor = column[0] / memory.get(at(k));
        for d in 1..nv {
            column[d - 1] = (-memory.get(at(k) + d)).mul_add(factor, column[d]);
        }
        column[nv - 1] = factor;
    }
    if phase < nv && lane == phase {
        (0..nv).for_each(|d| memory.set(at(phase) + d, column[d]));
    }
    if phase == nv && lane == nv {
        (0..nv).for_each(|d| memory.set(answer(nv) + d, column[d]));
    }
}

/// The columns of a system of shape \[nv\]\[nv + 1\], each a lane's.
fn columns(nv: usize, numbers: &[f32]) -> RefCell<Vec<Vec<f32>>> {
    let number = |d: usize, lane: usize| if lane <= nv { numbers[(nv + 1) * d + lane] } else { 0.0 };
    RefCell::new((0..newton_lanes(nv)).map(|lane| (0..nv).map(|d| number(d, lane)).collect()).collect())
}

/// 1 + Y M Yᵀ with M positive semidefinite and not symmetric, and a right-hand side, shape \[nv\]\[nv + 1\].
fn system(nv: usize, random: &mut u32) -> Vec<f32> {
    let y = samples(random, nv * nv);
    let m = samples(random, nv);
    let mut all = vec![0.0; nv * (nv + 1)];
    for i in 0..nv {
        for j in 0..nv {
            let sum: f32 =
                (0..nv).map(|k| y[nv * i + k] * (m[k].abs() * y[nv * j + k] + 0.3 * y[nv * j + (k + 1) % nv])).sum();
            all[(nv + 1) * i + j] = sum + if i == j { 2.0 } else { 0.0 };
        }
    }
    (0..nv).zip(samples(random, nv)).for_each(|(i, x)| all[(nv + 1) * i + nv] = x);
    all
}

/// The answer, lanes in any order, and how often one touched what another was at.
fn solved(nv: usize, numbers: &[f32], random: &mut u32) -> (Vec<f32>, usize) {
    let (mut memory, columns) = (Memory::new(&[], answer(nv) + nv), columns(nv, numbers));
    let phase = |k: usize, lane: usize, memory: &mut Memory| eliminate(nv, k, lane, &mut columns.borrow_mut(), memory);
    run(size_of_eliminate(nv), &phase, random, &mut memory);
    (memory.numbers[answer(nv)..].iter().map(|x| x.expect("an answer")).collect(), memory.races)
}

const SIZES: [usize; 7] = [1, 2, 7, 14, 27, 48, 63];

#[test]
fn a_system_is_solved_to_the_same_bits_in_whatever_order_the_lanes_run() {
    let mut random = 3u32;
    for nv in SIZES {
        let numbers = system(nv, &mut random);
        let (x, races) = solved(nv, &numbers, &mut random);
        assert_eq!(races, 0, "nv {nv}");
        assert_eq!(x, eliminated(nv, numbers.clone()), "nv {nv}: one after another");
        for _ in 0..5 {
            assert_eq!(x, solved(nv, &numbers, &mut random).0, "nv {nv}");
        }
        for i in 0..nv {
            let row: Vec<f64> = numbers[(nv + 1) * i..(nv + 1) * (i + 1)].iter().map(|x| f64::from(*x)).collect();
            let left = row[nv] - (0..nv).map(|j| row[j] * f64::from(x[j])).sum::<f64>();
            assert!(left.abs() < 2e-3, "nv {nv}, row {i}: {left:e}");
        }
        // without barriers lanes take what others have not done yet
        if nv > 1 {
            let (mut memory, columns) = (Memory::new(&[0.0; 128], answer(nv) + nv), columns(nv, &numbers));
            let phase =
                |k: usize, lane: usize, memory: &mut Memory| eliminate(nv, k, lane, &mut columns.borrow_mut(), memory);
            run_without_barriers(size_of_eliminate(nv), &phase, &mut random, &mut memory);
            assert!(memory.races > 0, "nv {nv}");
        }
    }
}

/// Drivers may round a division or a sum of products otherwise.
const SAME: f32 = 1e-4;

#[test]
fn the_shader_solves_a_system_as_its_twin_does() {
    let Some(device) = Device::for_tests() else { return };
    let mut random = 9u32;
    for nv in SIZES {
        let (len, lanes) = (nv * (nv + 1), newton_lanes(nv));
        let elimination = with_columns(ELIMINATION, nv);
        let column = (0..nv).map(|d| format!("column{d} = numbers[COLUMNS * {d}u + min(lane, NV)];\n"));
        let column = column.collect::<Vec<_>>().concat();
        let source = format!(
            "@group(0) @binding(0) var<uniform> header: vec4<u32>;
            @group(0) @binding(1) var<storage, read_write> numbers: array<f32>;
            const NV = {nv}u;\nconst LANES = {lanes}u;\n{elimination}
            @compute @workgroup_size(LANES) fn solve(@builtin(local_invocation_index) lane: u32) {{
                {column}
                eliminate(lane);
                storageBarrier();
                if (lane < NV) {{ numbers[lane] = answer[lane]; }}
            }}"
        );
        let kernel = Kernel { name: "solve", source: &source };
        let mut chain = Chain::new(device.clone(), &[kernel], &[true]).expect("a shader");
        assert!(chain.add_set(&[&[0; 16]], &[4 * len.max(nv) as u64], 4).expect("buffers"));
        let numbers = system(nv, &mut random);
        chain.write(0, 1, 0, &numbers);
        chain.run(0, &[Dispatch { kernel: 0, header: 0, workgroups: [1, 1] }]);
        let told = now(chain.read(0, 1, 0..nv)).expect("an answer");
        let (x, _) = solved(nv, &numbers, &mut random);
        let largest = x.iter().fold(0.0f32, |m, x| m.max(x.abs()));
        for (a, b) in told.iter().zip(&x) {
            assert!((a - b).abs() <= SAME * largest, "nv {nv}: {a:e} and {b:e}");
        }
    }
}
