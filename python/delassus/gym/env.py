"""Gymnasium's ``VectorEnv`` over worlds."""

from __future__ import annotations

import inspect
from copy import copy
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode
from gymnasium.vector import VectorEnv as Base
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

import delassus
from delassus.gym.noise import Noise
from delassus.gym.task import State, Task
from delassus.gym.tasks import TASKS

Array = NDArray[Any]


@dataclass(frozen=True)
class Disturbance:
    """What a policy meets in training so that it holds up where it was not trained, in a simulator with other contacts for one."""

    kick: float = 0.2
    """Standard deviation of what a kick adds to every velocity, m/s and rad/s."""
    chance: float = 0.05
    """Probability of a kick in a step."""
    compliance: float = 0.1
    """Contacts give way: every start draws a compliance of up to this, m/s per N·s; not where constraints are soft already."""


class VectorEnv(Base[Array, Array, Array]):
    """Many worlds of one task. Observations are float32, shape [world, n]; rewards float64, shape [world].

    A world that comes out of a step so badly that it cannot go on (``reports["failed"]``: not finite, exploded, unsolved ten steps in a row) is
    terminated with reward 0 and an observation of zeros; ``info["failed"]`` says so.

    Args:
        task: what is to be done.
        num_envs: number of worlds.
        max_episode_steps: steps after which an episode is truncated; None: the task's; -1: never.
        autoreset_mode: when a world starts anew after its episode has ended: with the next step, in the same one, or when it is told to
            (``reset(options={"reset_mask": mask})``); see https://farama.org/Vector-Autoreset-Mode.
        disturbance: what is done to the worlds beside the task; None: nothing.
        settings: how worlds are stepped.
        frame_skip: steps between two actions; None: the task's. A finer step takes more of them: ``dt=0.005, frame_skip=10`` for the Ant.
        **changes: fields of the settings, as in ``integrator="euler"``.
    """

    def __init__(
        self,
        task: Task,
        num_envs: int = 1,
        *,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        disturbance: Disturbance | None = None,
        frame_skip: int | None = None,
        settings: delassus.Settings | None = None,
        **changes: Any,
    ) -> None:
        if not isinstance(task, Task):
            raise ValueError(f"task: {task!r} is no Task; give an instance, or a name to delassus.gym.make")
        # What a task keeps of its worlds is theirs alone, whatever else the same task is given to.
        self.task = copy(task)
        self.num_envs = num_envs
        self.max_episode_steps = _limit(task.max_episode_steps if max_episode_steps is None else max_episode_steps)
        """Steps after which an episode is truncated; None: never."""
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.disturbance = disturbance
        self.model = self.task.load()
        self.worlds = delassus.Worlds(self.model, num_envs, settings, **changes)
        self.frame_skip = self.task.frame_skip if frame_skip is None else frame_skip
        """Steps between two actions."""
        if not isinstance(self.frame_skip, int | np.integer) or self.frame_skip < 1:
            raise ValueError(f"frame_skip: {self.frame_skip!r} must be an integer, at least 1")
        self.dt = self.worlds.dt * self.frame_skip
        """Time between two actions, s."""
        self.metadata = {"autoreset_mode": self.autoreset_mode, "render_modes": [], "render_fps": round(1 / self.dt)}

        self.task.prepare(self.worlds)
        self.single_action_space = self.task.action_space(self.model)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._observer = self.worlds.observer(**self.task.all_quantities(self.model))
        self._state = State(self._observer(), self.dt)
        size = self._observe().shape[1]
        self.single_observation_space = Box(-np.inf, np.inf, (size,), np.float32)
        self.observation_space = batch_space(self.single_observation_space, num_envs)

        self._seeds = np.zeros(num_envs, np.uint32)
        self._starts = np.zeros(num_envs, np.uint32)
        self.elapsed = np.zeros(num_envs, np.int64)
        """Steps of every world since its start, shape [world]."""
        self._ended = np.ones(num_envs, bool)
        self._seeded = np.zeros(num_envs, bool)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Starts all worlds, or those of ``options["reset_mask"]``, anew.

        Args:
            seed: world i gets ``seed + i``, or ``seed[i]``; None, also in a list: a world goes on with the seed that it has, at first a random one.
            options: ``reset_mask``: bools, shape [world].
        """
        mask = _reset_mask(options, self.num_envs)
        self._seed(seed, mask)
        self._start(mask)
        self._state = State(self._observer(), self.dt)
        return self._observe(), self._masked("info", self.task.info(self._state), mask)

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        """Steps all worlds; actions: shape [world, nu], in the order and units of the model's controls."""
        if self._ended.any():
            if self._starts.min() == 0:
                raise ValueError("call reset before the first step")
            if self.autoreset_mode == AutoresetMode.DISABLED:
                worlds = np.flatnonzero(self._ended)
                raise ValueError(
                    f"worlds {worlds[:8].tolist()} have ended: start them anew with options={{'reset_mask': mask}}"
                )
        actions = np.asarray(actions)
        if actions.dtype.char not in "fd" and np.can_cast(actions.dtype, np.float64, "same_kind"):
            actions = actions.astype(np.float64)
        started = self._ended
        if self.disturbance is not None:
            self._kick(self.disturbance)
        report = self.worlds.step(self.task.control(actions), substeps=self.frame_skip)
        failed = report["failed"] & ~started
        if started.any():
            self._start(started)
        self._state = State(self._observer(), self.dt, self._state.without_past(), ~started)
        self.elapsed += ~started

        terms = self._checked("reward", self.task.reward(self._state, actions), scalar=True)
        on = ~(started | failed)
        reward = np.where(on, np.asarray(sum(terms.values()), np.float64), 0.0)
        terminated = (self._terminated() & ~started) | failed
        limit = self.max_episode_steps
        truncated = self.elapsed >= limit if limit is not None else np.zeros(self.num_envs, bool)
        observation = self._observe(failed)
        info = self._masked("reward", terms, on) | self._masked("step_info", self.task.step_info(self._state), ~started)
        info |= self._masked("info", self.task.info(self._state), np.ones(self.num_envs, bool))
        if failed.any():
            info.update(self._masked("failed", {"failed": failed}, failed))

        self._ended = terminated | truncated
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._ended.any():
            observation, info = self._same_step(observation, info)
        return observation, reward, terminated, truncated, info

    def close_extras(self, **kwargs: Any) -> None:
        """Frees the worlds."""
        self.worlds.close()

    def _same_step(self, final: Array, info: dict[str, Any]) -> tuple[Array, dict[str, Any]]:
        """Starts what has ended, and keeps its last observation and info in gymnasium's layout."""
        ended = self._ended
        last = np.full(self.num_envs, None, dtype=object)
        for world in np.flatnonzero(ended):
            last[world] = final[world]
        final_info = {name: x & ended if name.startswith("_") else x for name, x in info.items()}
        info = {name: x & ~ended if name.startswith("_") else x for name, x in info.items()}
        self._start(ended)
        before, stepped = self._state._before, self._state.stepped & ~ended
        self._state = State(self._observer(), self.dt, before, stepped)
        for name, x in self._checked("info", self.task.info(self._state)).items():
            new = ended.reshape(-1, *(1,) * (x.ndim - 1))
            info[name], info[f"_{name}"] = np.where(new, x, info[name]), info[f"_{name}"] | ended
        info.update({"final_obs": last, "_final_obs": ended, "final_info": final_info, "_final_info": ended})
        return self._observe(), info

    def _seed(self, seed: int | list[int | None] | None, mask: Array) -> None:
        seeds, given = self._seeds.copy(), np.zeros(self.num_envs, bool)
        if isinstance(seed, int | np.integer):
            # Any integer will do; those that differ in the lowest 32 bits differ.
            seeds[:] = (int(seed) + np.arange(self.num_envs, dtype=object)) % 2**32
            given[:] = True
        elif seed is not None:
            if len(seed) != self.num_envs:
                raise ValueError(f"seed: has {len(seed)} entries for {self.num_envs} worlds")
            for world, own in enumerate(seed):
                if own is None:
                    continue
                if not isinstance(own, int | np.integer):
                    raise ValueError(f"seed: that of world {world} is {own!r}, not an integer")
                seeds[world], given[world] = int(own) % 2**32, True
        first = ~self._seeded & ~given & mask
        seeds[first] = np.random.default_rng().integers(2**32, size=first.sum(), dtype=np.uint32)
        new = (given | first) & mask
        self._seeds[new] = seeds[new]
        self._starts[new] = 0
        self._seeded |= new
        if new.any():
            self.task.forget(np.flatnonzero(new))

    def _start(self, mask: Array) -> None:
        """Starts worlds anew."""
        worlds = np.flatnonzero(mask)
        noise = Noise(self._seeds[worlds], self._starts[worlds])
        q, v = self.task.start(self.model, noise)
        self.worlds.reset(worlds)
        self.worlds.set_state(q, v, worlds)
        self.task.begin(self.worlds, worlds, noise)
        if self.disturbance is not None and self.worlds.settings.constraints == "hard":
            self.worlds.set_parameter("compliance", noise.uniform(0, self.disturbance.compliance, 1), worlds)
        self._starts[worlds] += 1
        self.elapsed[worlds] = 0
        self._ended = self._ended & ~mask

    def _kick(self, disturbance: Disturbance) -> None:
        """Changes the velocities of some of the worlds that are under way."""
        noise = Noise(self._seeds, self._starts, self.elapsed)
        struck = (noise.uniform(0, 1, 1)[:, 0] < disturbance.chance) & ~self._ended
        change = disturbance.kick * noise.normal(self.model.nv)[struck]
        if struck.any():
            self.worlds.set_state(self._state.q[struck], self._state.v[struck] + change, np.flatnonzero(struck))

    def _checked(self, what: str, values: dict[str, Array], scalar: bool = False) -> dict[str, Array]:
        """What a task returns, if it is of all worlds: one number each where it is ``scalar``."""
        checked = {name: np.asarray(x) for name, x in values.items()}
        for name, x in checked.items():
            if x.shape[:1] != (self.num_envs,) or (scalar and x.ndim != 1):
                needs = f"({self.num_envs},)" if scalar else f"({self.num_envs}, …)"
                raise ValueError(f"{what}: {name!r} has shape {x.shape}, needs {needs}: one row a world")
        return checked

    def _masked(self, what: str, values: dict[str, Array], mask: Array) -> dict[str, Any]:
        """As gymnasium's infos: every entry ``name`` with ``_name``, which worlds it is of. Copies: what a caller does to them changes nothing here."""
        info: dict[str, Any] = {}
        for name, value in self._checked(what, values).items():
            info[name], info[f"_{name}"] = value.copy(), mask.copy()
        return info

    def _terminated(self) -> Array:
        terminated = np.asarray(self.task.terminated(self._state))
        if terminated.dtype != np.bool_ or terminated.shape != (self.num_envs,):
            found = f"{terminated.dtype} of shape {terminated.shape}"
            raise ValueError(f"terminated: is {found}, needs bools of shape ({self.num_envs},): one a world")
        return terminated

    def _observe(self, failed: Array | None = None) -> Array:
        observation = np.asarray(self.task.observe(self._state), np.float32)
        if observation.ndim != 2 or len(observation) != self.num_envs:
            raise ValueError(f"observe: has shape {observation.shape}, needs ({self.num_envs}, n): one row a world")
        if observation.base is not None or any(observation is x for x in self._state._values.values()):
            # a part of the state is no caller's
            observation = observation.copy()
        if failed is not None and failed.any():
            observation = np.where(failed[:, None], np.float32(0), observation)
        return observation


def make(task: str, num_envs: int = 1, **kwargs: Any) -> VectorEnv:
    """The environment of a task by name, see ``TASKS``; what ``gymnasium.make_vec("delassus/Ant-v5", num_envs=4096)`` calls.

    Arguments that are fields of the task's own constructor (``Ant(healthy_reward=0.5)``) go there, the others to :class:`VectorEnv`.
    """
    if task not in TASKS:
        raise ValueError(f"task: {task!r} is none of {', '.join(TASKS)}")
    own = {name: kwargs.pop(name) for name in TASKS[task].__dataclass_fields__ if name in kwargs}
    known = [*inspect.signature(VectorEnv).parameters, *(field.name for field in fields(delassus.Settings))]
    if unknown := [name for name in kwargs if name not in known]:
        options = ", ".join([*TASKS[task].__dataclass_fields__, *(name for name in known[2:] if name != "changes")])
        raise ValueError(f"{task} has no option {unknown[0]!r}; it has {options}")
    return VectorEnv(TASKS[task](**own), num_envs, **kwargs)


def _limit(steps: int | None) -> int | None:
    """Steps after which an episode is truncated, checked; None: never."""
    if steps is None or steps == -1:
        return None
    if not isinstance(steps, int | np.integer) or steps < 1:
        raise ValueError(f"max_episode_steps: {steps!r} must be a positive integer, -1 (never), or None (the task's)")
    return int(steps)


def _reset_mask(options: dict[str, Any] | None, count: int) -> Array:
    mask = (options or {}).get("reset_mask")
    if mask is None:
        return np.ones(count, bool)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (count,):
        raise ValueError(f"options['reset_mask']: must be an array of {count} bools")
    if not mask.any():
        raise ValueError("options['reset_mask']: at least one must be true")
    return mask
