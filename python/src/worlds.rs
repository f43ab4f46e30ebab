//! `delassus._core.Worlds`: what `delassus.Worlds` (`delassus/worlds.py`) calls. Arguments have been checked there; what they hold is checked here.

use crate::array::{Array, ArrayMut, Error, exception};
use crate::model::Model;
use crate::quantities::Quantities;
use crate::record::{Contact, Report};
use crate::settings::{Settings, named};
use delassus::worlds::{Law, Numbers, Parameter, Precision, Quantity, Spread, Start};
use delassus::{Mask, Snapshot};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread::JoinHandle;

/// Worlds, until they are closed.
#[pyclass(frozen, module = "delassus._core")]
pub struct Worlds {
    worlds: Mutex<Held>,
}

/// Worlds, and what came of stepping them.
type Stepped = (Box<delassus::Worlds>, delassus::Result<()>);

/// Where worlds are.
enum Held {
    Here(Box<delassus::Worlds>),
    /// A thread of this process has them while it steps them.
    Away(u32, JoinHandle<Option<Stepped>>),
    Closed,
}

/// Which worlds: a mask, or a list of indices.
#[derive(FromPyObject)]
pub enum Chosen<'py> {
    #[pyo3(transparent)]
    Mask(PyReadonlyArray1<'py, bool>),
    #[pyo3(transparent)]
    List(PyReadonlyArray1<'py, i64>),
}

fn parameter_called(name: &str) -> PyResult<Parameter> {
    named("parameter", name, &Parameter::ALL.map(|parameter| (parameter.name(), parameter)))
}

/// Does `work` with the worlds that an optional mask or list means.
fn with_mask<T>(chosen: Option<Chosen<'_>>, work: impl FnOnce(Mask<'_>) -> delassus::Result<T>) -> PyResult<T> {
    let contiguous = |_| PyValueError::new_err("worlds: must be in C order without gaps");
    let done = match chosen {
        None => work(Mask::All),
        Some(Chosen::Mask(mask)) => work(Mask::Only(mask.as_slice().map_err(contiguous)?)),
        Some(Chosen::List(list)) => {
            let index = |i: &i64| {
                usize::try_from(*i).map_err(|_| PyValueError::new_err(format!("worlds: {i} is no index of a world")))
            };
            let list = list.as_slice().map_err(contiguous)?.iter().map(index).collect::<PyResult<Vec<usize>>>()?;
            work(Mask::List(&list))
        }
    };
    done.map_err(exception)
}

/// The first number that is not finite, or would not be in the precision of the worlds, is a mistake.
fn check_finite(argument: &str, numbers: Numbers<'_>, columns: usize, worlds: &delassus::Worlds) -> PyResult<()> {
    let wrong = match numbers {
        Numbers::F32(x) => x.iter().position(|x| !x.is_finite()),
        Numbers::F64(x) => x.iter().position(|x| !x.is_finite()).or_else(|| beyond(x, worlds)),
    };
    let Some(i) = wrong else { return Ok(()) };
    let (row, column, value) = (i / columns, i % columns, numbers.get(i));
    let why = if value.is_finite() { "which float32 cannot hold; use precision \"f64\"" } else { "all must be finite" };
    Err(PyValueError::new_err(format!("{argument}: row {row}, column {column} is {value:e}, {why}")))
}

/// The first finite number that would be infinite in the precision of the worlds.
fn beyond(numbers: &[f64], worlds: &delassus::Worlds) -> Option<usize> {
    let single = worlds.settings().precision == Precision::F32;
    numbers.iter().position(|x| single && x.is_finite() && !(*x as f32).is_finite())
}

impl Worlds {
    /// Does `work` with the worlds; they are another thread's while that one steps them.
    pub fn with<T>(&self, work: impl FnOnce(&mut delassus::Worlds) -> PyResult<T>) -> PyResult<T> {
        match &mut *self.held()? {
            Held::Here(worlds) => work(worlds),
            Held::Away(..) => Err(Error::new_err("these worlds are being stepped: call wait() first")),
            Held::Closed => Err(PyValueError::new_err("these worlds are closed; make new ones")),
        }
    }

    fn held(&self) -> PyResult<MutexGuard<'_, Held>> {
        match self.worlds.try_lock() {
            Ok(held) => Ok(held),
            // What a panic left is state of worlds whose reports say how it is.
            Err(TryLockError::Poisoned(held)) => Ok(held.into_inner()),
            Err(TryLockError::WouldBlock) => Err(in_use()),
        }
    }
}

fn in_use() -> PyErr {
    Error::new_err("another thread is using these worlds; give each thread worlds of its own")
}

/// Writes the reports of the last call of `step` to `out`, as bytes.
fn write_reports(worlds: &delassus::Worlds, out: &mut [u8]) {
    for (row, report) in out.chunks_exact_mut(size_of::<Report>()).zip(worlds.reports()) {
        row.copy_from_slice(bytemuck::bytes_of(&Report::from(report)));
    }
}

#[pymethods]
impl Worlds {
    #[new]
    fn new(py: Python<'_>, model: &Model, count: usize, settings: Settings) -> PyResult<Self> {
        let settings = settings.checked()?;
        let worlds = py.detach(|| delassus::Worlds::new(&model.model, count, settings)).map_err(exception)?;
        Ok(Self { worlds: Mutex::new(Held::Here(Box::new(worlds))) })
    }

    fn close(&self) -> PyResult<()> {
        // Closed twice is closed; a thread that has them ends its step, and frees them.
        *self.held()? = Held::Closed;
        Ok(())
    }

    fn dt(&self) -> PyResult<f64> {
        self.with(|w| Ok(w.dt()))
    }
    fn device(&self) -> PyResult<String> {
        self.with(|w| Ok(w.device()))
    }
    fn notes(&self) -> PyResult<Vec<(String, bool)>> {
        self.with(|w| {
            let start = w.start_notes().into_iter().map(|n| (n.text, n.changes_motion));
            Ok(start.chain(w.notes().into_iter().map(|text| (text, false))).collect())
        })
    }
    fn memory(&self) -> PyResult<usize> {
        self.with(|w| Ok(w.bytes()))
    }

    fn set_control(&self, control: Array<'_>) -> PyResult<()> {
        let control = control.numbers("control")?;
        self.with(|w| {
            check_finite("control", control, w.model().nu().max(1), w)?;
            w.set_control(control).map_err(exception)
        })
    }
    fn draw_control(&self, seed: u64) -> PyResult<()> {
        self.with(|w| {
            w.draw_control(seed);
            Ok(())
        })
    }
    fn control<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.with(|w| Ok(PyArray1::from_slice(py, &w.control())))
    }
    #[pyo3(signature = (calls, chosen))]
    fn set_control_delay(&self, calls: Vec<u32>, chosen: Option<Chosen<'_>>) -> PyResult<()> {
        self.with(|w| with_mask(chosen, |mask| w.set_control_delay(mask, &calls)))
    }
    fn control_delay<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u32>>> {
        self.with(|w| Ok(PyArray1::from_vec(py, w.control_delay())))
    }
    fn set_external_force(&self, force: Array<'_>) -> PyResult<()> {
        let force = force.numbers("force")?;
        self.with(|w| {
            check_finite("force", force, w.model().nv(), w)?;
            let own = w.external_force_mut();
            if force.len() != own.len() {
                return Err(PyValueError::new_err(format!("force: has {} numbers, needs {}", force.len(), own.len())));
            }
            own.iter_mut().enumerate().for_each(|(i, x)| *x = force.get(i));
            Ok(())
        })
    }

    /// Steps, and writes the reports.
    fn step(&self, py: Python<'_>, substeps: u32, reports: &Bound<'_, PyArray1<u8>>) -> PyResult<()> {
        let mut reports = reports.try_readwrite().map_err(|_| in_use())?;
        let out = reports.as_slice_mut().map_err(|_| PyValueError::new_err("out: must be without gaps"))?;
        self.with(|w| {
            let step = || {
                w.step(substeps)?;
                write_reports(w, out);
                Ok(())
            };
            py.detach(step).map_err(exception)
        })
    }

    /// Steps in a thread of its own, until `wait`.
    fn step_async(&self, substeps: u32) -> PyResult<()> {
        self.with(|_| Ok(()))?;
        let mut held = self.held()?;
        let Held::Here(worlds) = std::mem::replace(&mut *held, Held::Closed) else { return Ok(()) };
        // given only to a thread that has started: what one that does not start was given would be gone
        let (give, given) = std::sync::mpsc::channel::<Box<delassus::Worlds>>();
        let step = move || {
            let mut worlds = given.recv().ok()?;
            let stepped = worlds.step(substeps).map(|_| ());
            Some((worlds, stepped))
        };
        match std::thread::Builder::new().name("delassus-step".into()).spawn(step) {
            Ok(thread) => {
                *held = match give.send(worlds) {
                    Ok(()) => Held::Away(std::process::id(), thread),
                    Err(back) => Held::Here(back.0),
                };
                Ok(())
            }
            Err(error) => {
                *held = Held::Here(worlds);
                Err(Error::new_err(format!("the system starts no thread: {error}; use step()")))
            }
        }
    }

    /// Waits for what `step_async` began, and writes the reports.
    fn wait(&self, py: Python<'_>, reports: &Bound<'_, PyArray1<u8>>) -> PyResult<()> {
        let mut reports = reports.try_readwrite().map_err(|_| in_use())?;
        let out = reports.as_slice_mut().map_err(|_| PyValueError::new_err("out: must be without gaps"))?;
        let mut held = self.held()?;
        match std::mem::replace(&mut *held, Held::Closed) {
            Held::Away(process, thread) if process == std::process::id() => {
                let Ok(Some((worlds, stepped))) = py.detach(|| thread.join()) else {
                    return Err(Error::new_err("the thread that stepped these worlds broke off; make new ones"));
                };
                write_reports(&worlds, out);
                *held = Held::Here(worlds);
                stepped.map_err(exception)
            }
            Held::Away(_, thread) => {
                // a fork copies no threads: this one is the parent's
                std::mem::forget(thread);
                Err(Error::new_err("this process was forked while these worlds were being stepped; make new ones"))
            }
            other => {
                *held = other;
                Err(Error::new_err("there is nothing to wait for: call step_async() first"))
            }
        }
    }

    fn positions(&self, mut out: ArrayMut<'_>) -> PyResult<()> {
        let out = out.numbers()?;
        self.with(|w| w.positions_into(out).map_err(exception))
    }
    fn velocities(&self, mut out: ArrayMut<'_>) -> PyResult<()> {
        let out = out.numbers()?;
        self.with(|w| w.velocities_into(out).map_err(exception))
    }
    fn activations(&self, mut out: ArrayMut<'_>) -> PyResult<()> {
        let out = out.numbers()?;
        self.with(|w| w.activations_into(out).map_err(exception))
    }
    #[pyo3(signature = (activations, chosen))]
    fn set_activations(&self, activations: Array<'_>, chosen: Option<Chosen<'_>>) -> PyResult<()> {
        let activations = activations.numbers("activations")?;
        self.with(|w| {
            check_finite("activations", activations, w.model().na(), w)?;
            with_mask(chosen, |mask| w.set_activations(mask, activations))
        })
    }
    /// Lets the worlds feel what these quantities need; what others need stays.
    fn feel(&self, quantities: &Quantities) -> PyResult<()> {
        let pair = |quantity: &Quantity| match quantity {
            Quantity::ContactBetween(a, b) => Some([*a, *b]),
            _ => None,
        };
        let pairs: Vec<_> = quantities.list.iter().filter_map(pair).collect();
        self.with(|w| if quantities.is_felt { w.feel_contacts_between(&pairs).map_err(exception) } else { Ok(()) })
    }
    fn observe(&self, py: Python<'_>, quantities: &Quantities, mut out: ArrayMut<'_>) -> PyResult<()> {
        let out = out.numbers()?;
        self.with(|w| py.detach(|| w.observe_into(&quantities.list, out)).map_err(exception))
    }
    /// Lets a step on a device bring back these quantities in the place of the state; none: the state.
    #[pyo3(signature = (quantities))]
    fn bring_back(&self, py: Python<'_>, quantities: Option<&Quantities>) -> PyResult<()> {
        let list = quantities.map(|quantities| &quantities.list[..]);
        self.with(|w| py.detach(|| w.bring_back(list)).map_err(exception))
    }
    fn time(&self, mut out: PyReadwriteArray1<'_, f64>) -> PyResult<()> {
        let out = out.as_slice_mut().map_err(|_| PyValueError::new_err("out: must be without gaps"))?;
        self.with(|w| {
            if out.len() != w.world_count() {
                return Err(PyValueError::new_err(format!("out: needs {} numbers", w.world_count())));
            }
            out.copy_from_slice(w.time());
            Ok(())
        })
    }

    #[pyo3(signature = (q, v, chosen))]
    fn set_state(&self, q: Array<'_>, v: Array<'_>, chosen: Option<Chosen<'_>>) -> PyResult<()> {
        let (q, v) = (q.numbers("q")?, v.numbers("v")?);
        self.with(|w| {
            check_finite("q", q, w.model().nq(), w)?;
            check_finite("v", v, w.model().nv(), w)?;
            with_mask(chosen, |mask| w.set_state(mask, q, v))
        })
    }
    #[pyo3(signature = (keyframe, position_noise, velocity_noise))]
    fn set_start(&self, keyframe: Option<&str>, position_noise: f64, velocity_noise: f64) -> PyResult<()> {
        self.with(|w| {
            let find = |name: &str| {
                let no = || PyValueError::new_err(format!("keyframe: the model has none called \"{name}\""));
                w.model().keyframe(name).ok_or_else(no)
            };
            let keyframe = keyframe.map(find).transpose()?;
            w.set_start(Start { keyframe, position_noise, velocity_noise }).map_err(exception)
        })
    }
    fn set_spread(&self, gaussian: bool, position: Vec<[f64; 2]>, velocity: Vec<[f64; 2]>) -> PyResult<()> {
        let law = if gaussian { Law::Gaussian } else { Law::Uniform };
        self.with(|w| w.set_spread(Spread { law, position, velocity }).map_err(exception))
    }
    #[pyo3(signature = (keyframes, seeds, chosen))]
    fn reset_each(&self, keyframes: Vec<Option<usize>>, seeds: Vec<u64>, chosen: Option<Chosen<'_>>) -> PyResult<()> {
        self.with(|w| with_mask(chosen, |mask| w.reset_each(mask, &keyframes, &seeds)))
    }
    #[pyo3(signature = (seed, chosen))]
    fn reset(&self, seed: u64, chosen: Option<Chosen<'_>>) -> PyResult<()> {
        self.with(|w| with_mask(chosen, |mask| w.reset(mask, seed)))
    }

    fn parameter<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let parameter = parameter_called(name)?;
        self.with(|w| Ok(PyArray1::from_vec(py, w.parameter(parameter))))
    }
    #[pyo3(signature = (name, values, chosen))]
    fn set_parameter(&self, name: &str, values: Array<'_>, chosen: Option<Chosen<'_>>) -> PyResult<()> {
        let (parameter, values) = (parameter_called(name)?, values.numbers("values")?);
        self.with(|w| {
            // what is not finite is the crate's to refuse
            if let Numbers::F64(x) = values
                && let Some(i) = beyond(x, w)
            {
                let message = format!("{name}: {:e} is more than float32 can hold; use precision \"f64\"", x[i]);
                return Err(PyValueError::new_err(message));
            }
            with_mask(chosen, |mask| w.set_parameter(parameter, mask, values))
        })
    }

    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(|w| py.detach(|| w.save().to_bytes()).map_err(exception))?;
        Ok(PyBytes::new(py, &bytes))
    }
    fn load(&self, py: Python<'_>, snapshot: &[u8]) -> PyResult<()> {
        self.with(|w| py.detach(|| w.load(&Snapshot::from_bytes(snapshot)?)).map_err(exception))
    }

    fn watch(&self, world: usize, on: bool) -> PyResult<()> {
        self.with(|w| w.watch(world, on).map_err(exception))
    }
    /// The contacts of a world as bytes; none if it is not watched.
    fn contacts<'py>(&self, py: Python<'py>, world: usize) -> PyResult<Option<Bound<'py, PyArray1<u8>>>> {
        self.with(|w| {
            let Some(found) = w.contacts(world) else { return Ok(None) };
            let rows: Vec<Contact> = found.iter().map(Contact::from).collect();
            Ok(Some(PyArray1::from_slice(py, bytemuck::cast_slice(&rows))))
        })
    }
}
