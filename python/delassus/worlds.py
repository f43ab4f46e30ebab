"""Thousands of independent worlds of one model, stepped together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from types import TracebackType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from delassus import _core
from delassus.quantities import Quantity
from delassus.recording import Recording
from delassus.records import CONTACT, REPORT
from delassus.settings import Settings

Array = NDArray[Any]
ParameterName = Literal[
    "gravity",
    "mass_scale",
    "com",
    "friction",
    "restitution",
    "compliance",
    "geom_size",
    "armature",
    "damping",
    "stiffness",
    "gain_scale",
    "velocity_gain_scale",
    "control_range",
    "force_range",
    "push",
    "mocap_pose",
]


class Worlds:
    """``count`` worlds of ``model``, at its rest position.

    Arrays are world-major: ``[world, nq]``, ``[world, nv]``, ``[world, nu]``. What is read comes in the precision of the worlds (float32 for "f32");
    with ``out=`` it is written to an array of either float type in C order instead. What is written may be of any float or integer type.
    Which worlds a method concerns (``worlds=``) is a mask, shape [world], or a list of indices; with a list, arrays have a row for each of them.

    What happens in one world changes no bit of another, and a world's result depends neither on the number of worlds nor on its place, nor on
    the number of threads. Threads of Python run on while worlds step; worlds that are being stepped cannot be used by another thread. A process
    that was forked may go on using its copy of them.

    Args:
        model: the model.
        count: number of worlds.
        settings: how they are stepped.
        **changes: fields of the settings, as in ``Worlds(model, 4096, precision="f64")``.

    Raises:
        ValueError: a setting is wrong, or there are more worlds than memory holds.
        Error: the model has no joint, or a device is missing.
    """

    def __init__(self, model: _core.Model, count: int, settings: Settings | None = None, **changes: Any) -> None:
        if not isinstance(model, _core.Model):
            raise ValueError(f"model: {model!r} must be a delassus.Model, as of delassus.Model({model!r})")
        settings = Settings() if settings is None else settings
        if not isinstance(settings, Settings):
            raise ValueError(
                f"settings: {settings!r} must be delassus.Settings; fields may follow by name, as in dt=0.01"
            )
        if changes:
            unknown = sorted(set(changes) - set(settings.__dataclass_fields__))
            if unknown:
                raise ValueError(f"settings: there is no {', '.join(unknown)}")
            settings = replace(settings, **changes)
        if not isinstance(count, int | np.integer) or count < 1:
            raise ValueError(f"count: {count!r} must be a positive integer")
        self.model = model
        self.settings = settings
        self.count = int(count)
        self._dtype = np.dtype(np.float32 if settings.precision == "f32" else np.float64)
        try:
            self._core = _core.Worlds(model, self.count, settings)
        except (TypeError, OverflowError) as error:
            raise ValueError(f"settings: {_reason(error)}") from error
        self._reports = np.zeros(self.count, REPORT)
        self._report_bytes = self._reports.view(np.uint8)
        self._recordings: list[Recording] = []
        self.closed = False
        """Whether ``close`` was called."""

    def __repr__(self) -> str:
        return f"Worlds({self.count} of {self.model!r})"

    def __len__(self) -> int:
        return self.count

    def __enter__(self) -> Worlds:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Frees the memory of the worlds; using them afterwards is a ValueError."""
        self._core.close()
        self.closed = True

    @property
    def dtype(self) -> np.dtype[Any]:
        """Number type of the worlds."""
        return self._dtype

    @property
    def dt(self) -> float:
        """Step Δt in force, s."""
        return self._core.dt()

    @property
    def device(self) -> str:
        """What the stages run on, for people."""
        return self._core.device()

    @property
    def notes(self) -> list[tuple[str, bool]]:
        """What there is to know about the start and the backend: (sentence, whether the motion differs for it)."""
        return self._core.notes()

    @property
    def memory(self) -> int:
        """Memory that the worlds hold, bytes."""
        return self._core.memory()

    def step(self, control: ArrayLike | None = None, substeps: int = 1, out: Array | None = None) -> Array:
        """Steps every world ``substeps`` times by Δt.

        Args:
            control: shape [world, nu], kept until changed; None: as it was.
            substeps: number of steps.
            out: array of dtype ``REPORT``, shape [world], for the reports.

        Returns:
            The certificates, a structured array of dtype ``REPORT``, shape [world]; without ``out`` the same array at every call.
        """
        reports = self._report_array(out)
        # a view takes as long as reading the state
        view = self._report_bytes if out is None else reports.view(np.uint8)
        self._core.step(self._given(control, substeps), view)
        return self._stepped(reports)

    def step_async(self, control: ArrayLike | None = None, substeps: int = 1) -> None:
        """Begins what ``step`` does, and returns: a thread steps the worlds, or gives them to the device, while Python does something else. ``wait`` ends it.

        Until then everything else that is asked of the worlds is an Error. What happens to the worlds is the same to the bit.

        Args:
            control: shape [world, nu], kept until changed; None: as it was.
            substeps: number of steps.
        """
        self._core.step_async(self._given(control, substeps))

    def wait(self, out: Array | None = None) -> Array:
        """Waits for what ``step_async`` began, and returns the certificates, as ``step`` does.

        Args:
            out: array of dtype ``REPORT``, shape [world], for the reports.

        Raises:
            Error: nothing was begun; or the device failed: the worlds are then as before, and the next step opens the device anew.
        """
        reports = self._report_array(out)
        self._core.wait(reports.view(np.uint8))
        return self._stepped(reports)

    def _given(self, control: ArrayLike | None, substeps: int) -> int:
        """Takes what a call of ``step`` is given."""
        if not isinstance(substeps, int | np.integer) or not 1 <= substeps < 2**32:
            raise ValueError(f"substeps: {substeps!r} must be a positive integer")
        if control is not None:
            self.set_control(control)
        return int(substeps)

    def _report_array(self, out: Array | None) -> Array:
        """The array that reports are written to."""
        if out is None:
            return self._reports
        if not isinstance(out, np.ndarray) or out.dtype != REPORT or out.shape != (self.count,):
            raise ValueError(f"out: must be an array of dtype REPORT and shape ({self.count},)")
        return _writable(out)

    def _stepped(self, reports: Array) -> Array:
        for recording in self._recordings:
            recording._see()
        return reports

    @property
    def reports(self) -> Array:
        """The certificates of the last call of ``step`` or ``wait`` without ``out``, shape [world]."""
        return self._reports

    def set_control(self, control: ArrayLike) -> None:
        """Replaces the control of all worlds, shape [world, nu]; kept until changed."""
        self._core.set_control(self._rows("control", control, self.count, self.model.nu))

    def draw_control(self, seed: int) -> None:
        """Draws the control of all worlds, uniform in the range of every actuator, or in [−1, 1] where it has none; kept until changed.

        A world's numbers depend on the seed and on its index only, and are the same on every backend and in either precision. The backend gpu draws them on
        the device: nothing of them is sent, unless control is late.

        Args:
            seed: integer from 0 to 2⁶⁴ − 1; another one for another draw.
        """
        self._core.draw_control(_seed(seed))

    def control(self) -> Array:
        """The control of all worlds, as it was given or drawn, float64, shape [world, nu]."""
        return self._core.control().reshape(self.count, self.model.nu)

    def set_control_delay(self, calls: ArrayLike, worlds: ArrayLike | None = None) -> None:
        """Lets control act late, as it does on a robot.

        What is on its way is forgotten; the control that acts now acts until the new delay is over. A world that starts anew goes on as if the control of
        its start had always been given.

        Args:
            calls: how many calls of ``step`` the control of the chosen worlds is late, a number or shape [row], at most 256; 0: it acts at once.
            worlds: mask, or list of indices; rows are worlds, or entries of the list.
        """
        chosen, rows = self._chosen(worlds)
        late = np.asarray(calls)
        if late.dtype.kind not in "iu" or late.shape not in ((), (rows,)) or (late < 0).any() or (late > 256).any():
            raise ValueError(f"calls: must be integers from 0 to 256, one or {rows}")
        self._core.set_control_delay(np.broadcast_to(late, (rows,)).tolist(), chosen)

    def control_delay(self) -> NDArray[np.uint32]:
        """How many calls of ``step`` the control of every world is late, shape [world]."""
        return self._core.control_delay()

    def set_external_force(self, force: ArrayLike) -> None:
        """Replaces the generalized force from outside, N or N·m, shape [world, nv]; kept until changed."""
        self._core.set_external_force(self._rows("force", force, self.count, self.model.nv))

    def positions(self, out: Array | None = None) -> Array:
        """Positions q, m and rad, shape [world, nq]."""
        out = self._out(out, self.model.nq)
        self._core.positions(out)
        return out

    def velocities(self, out: Array | None = None) -> Array:
        """Velocities v, m/s and rad/s, shape [world, nv]."""
        out = self._out(out, self.model.nv)
        self._core.velocities(out)
        return out

    def activations(self, out: Array | None = None) -> Array:
        """Activations of the actuators that have one (``dyntype``, ``timeconst``, ``intvelocity``), shape [world, na]."""
        out = self._out(out, self.model.na)
        self._core.activations(out)
        return out

    def set_activations(self, activations: ArrayLike, worlds: ArrayLike | None = None) -> None:
        """Replaces the activations of the chosen worlds; ``reset`` makes them those of the keyframe, or 0, and ``set_state`` leaves them.

        Args:
            activations: shape [row, na].
            worlds: mask, or list of indices; rows are worlds, or entries of the list.
        """
        chosen, rows = self._chosen(worlds)
        self._core.set_activations(self._rows("activations", activations, rows, self.model.na), chosen)

    def time(self) -> NDArray[np.float64]:
        """Time of every world since its start, s, shape [world]."""
        out = np.empty(self.count)
        self._core.time(out)
        return out

    def observer(self, **quantities: Quantity) -> Observer:
        """Something that reads these quantities of all worlds at once, see ``delassus.quantities``.

        If contacts are among them, or sensors of the last substep, the worlds feel contacts from now on, which costs up to a twentieth of a step (5 %
        for the ant with Euler); on the backend gpu they are then stepped by the CPU.
        """
        return Observer(self, quantities)

    def bring_back(self, observer: Observer | None) -> None:
        """Lets a step on the backend gpu bring back reports and what this observer reads only; None: reports and state, as at first.

        The quantities are evaluated on the device, and the observer, or another of some of them, reads nothing more for it. Positions and velocities stay
        there until somebody asks. On other backends it changes nothing. Where the device fails, worlds go back to the state that was read last, and to
        its time, and the step raises ``delassus.Error``; read positions now and then to bound what is lost.

        Args:
            observer: of these worlds; contacts, limit forces and sensors of the last substep cannot be among what it reads.
        """
        if observer is not None and not isinstance(observer, Observer):
            raise ValueError(f"observer: {observer!r} is none; make one with worlds.observer(...), or give None")
        self._core.bring_back(None if observer is None else observer._core)

    def set_state(self, q: ArrayLike, v: ArrayLike, worlds: ArrayLike | None = None) -> None:
        """Replaces positions and velocities of the chosen worlds, and forgets their warm start; activations stay.

        Args:
            q: shape [row, nq]; quaternions are normalised when they are used.
            v: shape [row, nv].
            worlds: mask, or list of indices; rows are worlds, or entries of the list.
        """
        chosen, rows = self._chosen(worlds)
        self._core.set_state(self._rows("q", q, rows, self.model.nq), self._rows("v", v, rows, self.model.nv), chosen)

    def set_start(self, keyframe: str | None = None, position_noise: float = 0.0, velocity_noise: float = 0.0) -> None:
        """Sets how ``reset`` starts worlds.

        Args:
            keyframe: name of the keyframe to start from; None: the rest position, at rest.
            position_noise: every degree of freedom is displaced by up to ± this, m or rad, uniformly. That of a world is ``delassus.gym.Noise(world, seed)``.
            velocity_noise: every velocity is changed by up to ± this, m/s or rad/s.
        """
        self._core.set_start(keyframe, float(position_noise), float(velocity_noise))

    def set_spread(
        self, position: ArrayLike = 0.0, velocity: ArrayLike = 0.0, law: Literal["uniform", "gaussian"] = "uniform"
    ) -> None:
        """Sets how far starts differ, degree of freedom by degree of freedom, in the place of the noise of ``set_start``.

        Args:
            position: displacement of every degree of freedom, m or rad: lower and upper bound, or mean and standard deviation, shape [nv, 2]; or how far
                to both sides, or the standard deviation, a number or shape [nv].
            velocity: the same of every velocity, m/s or rad/s.
            law: ``"uniform"`` or ``"gaussian"``.
        """
        if law not in ("uniform", "gaussian"):
            raise ValueError(f'law: {law!r} must be "uniform" or "gaussian"')
        pairs = []
        for name, given in (("position", position), ("velocity", velocity)):
            x = np.asarray(given, np.float64)
            if x.ndim < 2:
                x = np.stack([-x if law == "uniform" else 0 * x, x], axis=-1)
            if x.shape not in ((2,), (self.model.nv, 2)):
                raise ValueError(f"{name}: must be a number, or of shape ({self.model.nv},) or ({self.model.nv}, 2)")
            pairs.append(np.broadcast_to(x, (self.model.nv, 2)).tolist())
        self._core.set_spread(law == "gaussian", *pairs)

    def reset_each(
        self, seeds: ArrayLike, keyframes: Sequence[str | None] | None = None, worlds: ArrayLike | None = None
    ) -> None:
        """Starts the chosen worlds anew, each with its own seed and from its own keyframe.

        Args:
            seeds: integers from 0 to 2⁶⁴ − 1, shape [row]; the noise of a world depends on its seed only, not on its index. That of seed + 2³² start is
                ``delassus.gym.Noise(seed, start)``.
            keyframes: names, shape [row], None for the rest position; without them all start from there.
            worlds: mask, or list of indices; rows are worlds, or entries of the list.
        """
        chosen, rows = self._chosen(worlds)
        # Not as an array: numpy makes floating-point numbers of integers that differ in size.
        given = seeds.tolist() if isinstance(seeds, np.ndarray) else seeds
        entries = list(given) if isinstance(given, Sequence) else [given]
        own = [int(seed) for seed in entries if isinstance(seed, int | np.integer) and 0 <= seed < 2**64]
        if len(own) != len(entries) or len(own) != rows:
            raise ValueError(f"seeds: must be {rows} integers from 0 to 2⁶⁴ − 1")
        known = self.model.keyframe_names
        names = [None] * rows if keyframes is None else list(keyframes)
        for name in names:
            if name is not None and name not in known:
                raise ValueError(f'keyframes: the model has none called "{name}"')
        self._core.reset_each([None if name is None else known.index(name) for name in names], own, chosen)

    def reset(self, worlds: ArrayLike | None = None, seed: int = 0) -> None:
        """Starts the chosen worlds anew; time, control, outside force, pushes, poses of mocap bodies and warm start are cleared. Noise depends on seed and
        index only."""
        self._core.reset(_seed(seed), self._chosen(worlds)[0])

    def parameter(self, name: ParameterName) -> NDArray[np.float64]:
        """The values of a parameter, shape [world, k]:

        ===================  ==============================================================  ========
        gravity              gravity, m/s²                                                   k = 3
        mass_scale           factor on mass and inertia of every body                        bodies
        com                  centre of mass of every body in its frame, m                    3 bodies
        friction             sliding friction coefficient of every geom                      geoms
        restitution          Newton's coefficient where the model gives none                 1
        compliance           compliance of contacts, m/s per N·s                             1
        geom_size            size of every geom as in MJCF, m, filled up with zeros          3 geoms
        armature             inertia of the rotor of every joint, kg or kg·m²                joints
        damping              damping of every joint, N·s/m or N·m·s/rad                      joints
        stiffness            stiffness of the spring of every joint that has one             joints
        gain_scale           factor on gain and bias of every actuator                       nu
        velocity_gain_scale  further factor on what of them goes with velocity: kv           nu
        control_range        bounds of the control of every actuator that has some           2 nu
        force_range          bounds of the force of every actuator that has some, N or N·m   2 nu
        push                 force (N) at the centre of mass of every body and moment (N·m)  6 bodies
        mocap_pose           position (m) and quaternion (w x y z) of every mocap body       7 mocap bodies
        ===================  ==============================================================  ========

        A push is MuJoCo's ``xfrc_applied``, a pose its ``mocap_pos`` and ``mocap_quat``, in the order of ``model.mocap_names``: world axes, kept until
        changed or until the world starts anew. What touches a mocap body feels a surface at rest. What a joint or an actuator does not have in the model
        is 0 and stays 0. On the backend gpu, worlds of which others than gravity, masses, friction and ``gain_scale`` differ from the model are stepped
        by the CPU.

        Where ``geom_size`` differs, contacts follow, mass and inertia do not (``mass_scale`` is theirs), and recordings draw the model's sizes. Planes and
        meshes have 0 0 0 in every world; with friction "patch" all worlds have the model's sizes.
        """
        return self._core.parameter(name).reshape(self.count, -1)

    def set_parameter(self, name: ParameterName, values: ArrayLike, worlds: ArrayLike | None = None) -> None:
        """Sets a parameter of the chosen worlds, shape [row, k], see ``parameter``."""
        chosen, rows = self._chosen(worlds)
        self._core.set_parameter(name, self._rows("values", values, rows, None), chosen)

    def save(self) -> bytes:
        """Everything that steps of the worlds depend on, parameters included. Not in it: how ``reset`` starts worlds (``set_start``, ``set_spread``), and what
        was felt in the last call of ``step``."""
        return self._core.save()

    def load(self, snapshot: bytes) -> None:
        """Takes the worlds back to a snapshot: the same steps, to the bit, with the same settings. One of another model or number of worlds is a ValueError.

        Quantities of the last call of ``step``, as of contacts, are 0 until the next.
        """
        if not isinstance(snapshot, bytes | bytearray | memoryview):
            raise ValueError(f"snapshot: must be what save() returned, bytes, not {type(snapshot).__name__}")
        self._core.load(bytes(snapshot))

    def watch(self, world: int, on: bool = True) -> None:
        """Keeps (or no longer keeps) the contacts of a world after every step, for ``contacts``. A recorded world is watched until its recording is closed."""
        index = self._index(world)
        if not on and any(index in recording.worlds for recording in self._recordings):
            raise ValueError(f"world {index} is being recorded, and so watched: close the recording first")
        self._core.watch(index, on)

    def contacts(self, world: int) -> Array:
        """The contacts of the last substep of a watched world: a structured array of dtype ``CONTACT``."""
        found = self._core.contacts(self._index(world))
        if found is None:
            raise ValueError(f"world {world} is not watched: call watch({world}) before the step")
        return found.view(CONTACT)

    def record(
        self, path: str | PathLike[str] | None = None, *, worlds: Sequence[int] = (0,), fps: float | None = 30.0
    ) -> Recording:
        """Records a few worlds from now on, to be looked at::

            with worlds.record("ant.html", worlds=[0, 1]) as recording:
                for _ in range(300):
                    worlds.step(policy(look()), substeps=5)

        A moment is kept after a call of ``step`` (not between its substeps) when one is due. Recorded worlds are watched; on the backend gpu
        they are stepped by the CPU.

        Args:
            path: where it is written when it is closed: ``.html``, a page for any browser, or ``.rrd``, for the viewer of rerun; None: nowhere.
            worlds: indices of the worlds; a few, since all of their moments are kept in memory.
            fps: moments a second of simulated time at most; None: one after every call of ``step``.

        Raises:
            ValueError: there is no such world, or the name ends in something else.
            OSError: the file cannot be written.
            ImportError: rerun is not installed (``pip install 'delassus[rerun]'``).
        """
        return Recording(self, path, worlds, fps)

    def _index(self, world: int) -> int:
        if not isinstance(world, int | np.integer) or not 0 <= world < self.count:
            raise ValueError(f"world: {world!r} must be an index from 0 to {self.count - 1}")
        return int(world)

    def _chosen(self, worlds: ArrayLike | None) -> tuple[Array | None, int]:
        """A mask or a list as the core takes it, and the number of rows that go with it."""
        if worlds is None:
            return None, self.count
        chosen = np.asarray(worlds)
        if chosen.ndim == 1 and chosen.dtype == np.bool_:
            if len(chosen) != self.count:
                raise ValueError(f"worlds: the mask has {len(chosen)} entries for {self.count} worlds")
            return np.ascontiguousarray(chosen), self.count
        if chosen.ndim == 1 and (np.issubdtype(chosen.dtype, np.integer) or chosen.size == 0):
            return np.ascontiguousarray(chosen, np.int64), len(chosen)
        raise ValueError(
            f"worlds: must be a mask of {self.count} bools or a list of indices, not {chosen.dtype} of shape {chosen.shape}"
        )

    def _rows(self, name: str, values: ArrayLike, rows: int, columns: int | None) -> Array:
        """An array of this shape as the core takes it."""
        array = values if isinstance(values, np.ndarray) else np.asarray(values)
        if array.dtype != np.float32 and array.dtype != np.float64:
            if array.dtype.kind not in "fiu":
                raise ValueError(f"{name}: must hold numbers, not {array.dtype}")
            array = array.astype(np.float64)
        wanted = (rows, array.shape[-1] if columns is None and array.ndim else columns)
        if array.shape != wanted:
            raise ValueError(f"{name}: has shape {array.shape}, needs ({rows}, {'k' if columns is None else columns})")
        return array if array.flags.carray else np.require(array, requirements=["C", "ALIGNED"])

    def _out(self, out: Array | None, columns: int) -> Array:
        """The array that is written to."""
        if out is None:
            return np.empty((self.count, columns), self._dtype)
        if not isinstance(out, np.ndarray) or out.dtype not in (np.float32, np.float64):
            raise ValueError(
                f"out: must be an array of float32 or float64, not {getattr(out, 'dtype', type(out).__name__)}"
            )
        if out.shape != (self.count, columns):
            raise ValueError(f"out: has shape {out.shape}, needs ({self.count}, {columns})")
        return _writable(out)


class Observer:
    """Reads quantities of all worlds: ``observer()`` gives a dict of arrays, parts of one array of shape [world, size], each of shape [world, numbers].

    Attributes:
        size: numbers a world.
        columns: where each quantity stands, by name.
    """

    def __init__(self, worlds: Worlds, quantities: dict[str, Quantity]) -> None:
        self._worlds = worlds
        model, start, resolved = worlds.model, 0, []
        self.columns: dict[str, slice] = {}
        for name, quantity in quantities.items():
            parts = quantity.resolve(model)
            length = _core.Quantities(model, parts).size
            self.columns[name] = slice(start, start + length)
            start += length
            resolved += parts
        self._core = _core.Quantities(model, resolved)
        self.size = start
        self._pairs = {name for name, quantity in quantities.items() if quantity.kind == "contact_between"}
        worlds._core.feel(self._core)

    def __call__(self, out: Array | None = None) -> dict[str, Array]:
        """Reads; ``out``: array of shape [world, size] to write to."""
        array = self._worlds._out(out, self.size)
        self._worlds._core.observe(self._core, array)
        found = {name: array[:, columns] for name, columns in self.columns.items()}
        for name in self._pairs:
            found[name] = found[name].reshape(len(array), -1, 6)
        return found


def _seed(seed: int) -> int:
    """A seed, checked."""
    if not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise ValueError(f"seed: {seed!r} must be an integer from 0 to 2⁶⁴ − 1")
    return int(seed)


def _writable(out: Array) -> Array:
    if not out.flags.c_contiguous or not out.flags.writeable or not out.flags.aligned:
        raise ValueError("out: must be writable, aligned, and in C order without gaps")
    return out


def _reason(error: BaseException) -> str:
    """What a conversion says, in one line, with the field that it failed at."""
    causes: Sequence[str] = [str(e) for e in (error, error.__cause__) if e is not None]
    return ": ".join(causes)
