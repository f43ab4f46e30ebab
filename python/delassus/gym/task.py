"""What a robot is to do: a model, and functions over batched arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

import delassus
from delassus.gym.noise import Noise
from delassus.quantities import POSITIONS, VELOCITIES, Quantity

Array = NDArray[Any]


class State:
    """What a task sees of all worlds: ``s.q`` [world, nq], ``s.v`` [world, nv], its quantities by name, and ``s.before``, the same before the step.

    Attributes:
        dt: time between two states, s.
        before: the state before the step; of a world that has just started, its start.
        stepped: whether a world came here by a step of its episode, shape [world]; not where it has just started.
    """

    def __init__(
        self, values: dict[str, Array], dt: float, before: State | None = None, stepped: Array | None = None
    ) -> None:
        self._values = values
        self._told = tuple(values)
        self.stepped = np.full(len(values["q"]), before is not None) if stepped is None else stepped
        self.dt = dt
        self._before = before
        self._patched: State | None = None

    @property
    def before(self) -> State:
        """The state before the step."""
        if self._before is None:
            return self
        if self._patched is None:
            self._patched = State(_Patched(self._before, self), self.dt)
        return self._patched

    def without_past(self) -> State:
        """The same without what was before, which else would keep all that ever was."""
        return State({name: self._values[name] for name in self._told}, self.dt)

    def once(self, name: str, find: Callable[[], Array]) -> Array:
        """The quantity ``name``, found when it is first asked for: for what more than one function of a task needs."""
        if name not in self._values:
            self._values[name] = find()
        return self._values[name]

    def __getattr__(self, name: str) -> Array:
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(f"the task has no quantity {name!r}; it has {', '.join(self._told)}") from None


class _Patched(dict[str, Array]):
    """Values of a state before a step, found as they are asked for: worlds that have just started have what they have after it."""

    def __init__(self, before: State, after: State) -> None:
        super().__init__()
        # Not the state itself, which holds this: in a circle, arrays of many steps would wait for the garbage collector.
        self._before, self._after, self._started = before, after._values, ~after.stepped

    def __missing__(self, name: str) -> Array:
        if name not in self._before._told:
            raise KeyError(name)
        value = self._before._values[name]
        if self._started.any():
            value = value.copy()
            value[self._started] = self._after[name][self._started]
        self[name] = value
        return value


RESERVED = ("q", "v", "dt", "before", "stepped", "once")
"""What a state has already."""


class Task:
    """A task: subclass it, and give what differs.

    All arrays are batched, one row a world. Every method may be called for some of the worlds only.
    """

    model: str | Path
    """MJCF file, its text, or the name of one of gymnasium's files."""
    frame_skip: ClassVar[int] = 5
    """Steps of the model between two actions."""
    max_episode_steps: ClassVar[int | None] = 1000
    """Steps after which an episode is truncated; None: never."""
    position_noise: float = 0.0
    """Start positions are changed by up to ± this, m and rad, uniformly."""
    velocity_noise: float = 0.0
    """Start velocities are changed by up to ± this, or by a normal number times this, m/s and rad/s."""
    normal_velocity: ClassVar[bool] = False
    """Whether start velocities are normal instead of uniform."""

    def load(self) -> delassus.Model:
        """Reads the model."""
        return delassus.Model(asset(self.model))

    def prepare(self, worlds: delassus.Worlds) -> None:
        """Called once, before anything else: room for what the task itself keeps of every world."""

    def action_space(self, model: delassus.Model) -> Box:
        """What a policy may do. Default: the ranges of the controls."""
        low, high = model.control_range.T.astype(np.float32)
        return Box(low, high, dtype=np.float32)

    def control(self, action: Array) -> Array:
        """The control of an action, shapes [world, nu]. Default: the same."""
        return action

    def quantities(self, model: delassus.Model) -> dict[str, Quantity]:
        """What the state holds beside ``q`` and ``v``, by name."""
        return {}

    def start(self, model: delassus.Model, noise: Noise) -> tuple[Array, Array]:
        """Positions and velocities of worlds that start, shapes [row, nq] and [row, nv]; as many as ``noise`` has rows."""
        q = model.q0 + noise.uniform(-self.position_noise, self.position_noise, model.nq)
        if self.normal_velocity:
            return q, self.velocity_noise * noise.normal(model.nv)
        return q, noise.uniform(-self.velocity_noise, self.velocity_noise, model.nv)

    def begin(self, worlds: delassus.Worlds, rows: Array, noise: Noise) -> None:
        """Called when worlds start, after their state is set: the place to draw their parameters and commands. ``rows``: their indices, [row]."""

    def forget(self, rows: Array) -> None:
        """Called before worlds start with a new seed: what the task keeps of them from start to start begins anew, so that all that comes depends on the seed
        only. ``rows``: their indices, [row]."""

    def observe(self, s: State) -> Array:
        """What a policy sees, shape [world, n]."""
        return np.concatenate([s.q, s.v], axis=1)

    def reward(self, s: State, action: Array) -> dict[str, Array]:
        """Parts of the reward, by name, each of shape [world]; the reward is their sum. Actions: shape [world, nu]. Worlds that are not ``s.stepped`` get
        none."""
        raise NotImplementedError

    def terminated(self, s: State) -> Array:
        """Whether an episode ends in this state, shape [world]."""
        return np.zeros(len(s.q), bool)

    def info(self, s: State) -> dict[str, Array]:
        """Further numbers for ``info``, by name, each of shape [world], or [world, n]."""
        return {}

    def step_info(self, s: State) -> dict[str, Array]:
        """The same of a step: what asks for the state before it, such as a mean velocity. Worlds that are not ``s.stepped`` have none."""
        return {}

    def all_quantities(self, model: delassus.Model) -> dict[str, Quantity]:
        """``q``, ``v`` and the task's own."""
        own = self.quantities(model)
        if taken := [name for name in RESERVED if name in own]:
            raise ValueError(f"quantities: {taken[0]!r} is a name that a state has already; give another")
        return {"q": POSITIONS, "v": VELOCITIES, **own}


def asset(model: str | Path) -> str:
    """Path of a model: a file of gymnasium's if it is the bare name of one, else as it is."""
    text = str(model)
    theirs = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / text
    bare = isinstance(model, str) and "<" not in text and Path(text).name == text
    return str(theirs) if bare and theirs.is_file() else text
