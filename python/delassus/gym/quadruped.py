"""A task of our own: a quadruped on position servos follows a commanded velocity, whatever its mass, its floor and who pushes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

import delassus
from delassus import quantities as of
from delassus.gym.noise import Noise
from delassus.gym.task import State, Task

Array = NDArray[Any]


@dataclass(kw_only=True)
class Quadruped(Task):
    """Follow a commanded velocity over a flat floor.

    The command is forward and sideways velocity (m/s) and yaw rate (rad/s), drawn at every start, and grows with what is achieved: a world that has come far
    in an episode gets up to ``top_speed`` of it in time, one that has not begins with little. Every start also draws friction, masses and gains, and a push.

    An action of −1 … 1 moves the target of every servo by up to ``reach`` from the stance.
    """

    model = Path(__file__).parent / "quadruped.xml"
    frame_skip = 5

    reach: float = 0.5
    """Way of a servo's target from the stance, rad."""
    top_speed: tuple[float, float, float] = (1.0, 0.4, 1.0)
    """Largest command: forward, sideways (m/s), yaw (rad/s)."""
    tracking: float = 0.25
    """Error of the velocity at which the reward for it has fallen to 1/e, m/s and rad/s."""
    push: float = 0.3
    """Largest speed that the push at the start gives to the trunk, m/s."""
    friction: tuple[float, float] = (0.5, 1.1)
    """Range of the sliding friction coefficient."""
    spread: float = 0.1
    """Masses and gains are changed by up to this share."""

    def load(self) -> delassus.Model:
        model = super().load()
        self._stance = model.keyframe("stand")["control"]
        return model

    def prepare(self, worlds: delassus.Worlds) -> None:
        self._command = np.zeros((worlds.count, 3), np.float32)
        self._level, self._achieved, self._steps = np.zeros((3, worlds.count))
        self.forget(np.arange(worlds.count))

    def forget(self, rows: Array) -> None:
        self._level[rows] = 0.1
        self._achieved[rows] = self._steps[rows] = 0

    def action_space(self, model: delassus.Model) -> Box:
        return Box(-1, 1, (model.nu,), np.float32)

    def control(self, action: Array) -> Array:
        target: Array = self._stance + self.reach * np.clip(action, -1, 1)
        return target

    def quantities(self, model: delassus.Model) -> dict[str, of.Quantity]:
        return {
            "down": of.projected_gravity("trunk"),
            "velocity": of.linear_velocity("trunk", local=True),
            "turning": of.angular_velocity("trunk", local=True),
            "force": of.ACTUATOR_FORCE,
        }

    def start(self, model: delassus.Model, noise: Noise) -> tuple[Array, Array]:
        q = np.tile(model.keyframe("stand")["q"], (len(noise), 1))
        q[:, 7:] += noise.uniform(-0.1, 0.1, model.nq - 7)
        v = noise.uniform(-0.1, 0.1, model.nv)
        v[:, :2] += noise.uniform(-self.push, self.push, 2)
        return q, v

    def begin(self, worlds: delassus.Worlds, rows: Array, noise: Noise) -> None:
        # Those that followed four fifths of the time get more to do, those that did not follow half of it get less.
        mean = self._achieved[rows] / np.maximum(self._steps[rows], 1)
        step = 0.1 * ((mean > 0.8).astype(float) - (mean < 0.5)) * (self._steps[rows] > 0)
        self._level[rows] = np.clip(self._level[rows] + step, 0.1, 1)
        self._achieved[rows] = self._steps[rows] = 0
        self._command[rows] = noise.uniform(-1, 1, 3) * self.top_speed * self._level[rows, None]
        model, spread = worlds.model, self.spread
        worlds.set_parameter(
            "friction", np.repeat(noise.uniform(*self.friction, 1), len(model.geom_names), axis=1), rows
        )
        worlds.set_parameter("mass_scale", 1 + noise.uniform(-spread, spread, len(model.body_names)), rows)
        worlds.set_parameter("gain_scale", 1 + noise.uniform(-spread, spread, model.nu), rows)

    def observe(self, s: State) -> Array:
        joints = np.concatenate([s.q[:, 7:] - self._stance.astype(s.q.dtype), 0.1 * s.v[:, 6:]], axis=1)
        return np.concatenate([s.velocity, s.turning, s.down, self._command, joints], axis=1)

    def reward(self, s: State, action: Array) -> dict[str, Array]:
        command = self._command
        along = np.square(s.velocity[:, :2] - command[:, :2]).sum(axis=1)
        following = np.exp(-along / self.tracking**2)
        self._achieved += np.where(s.stepped, following, 0)
        self._steps += s.stepped
        return {
            "reward_velocity": following,
            "reward_yaw": 0.5 * np.exp(-np.square(s.turning[:, 2] - command[:, 2]) / self.tracking**2),
            "reward_bounce": -0.5 * np.square(s.velocity[:, 2]),
            "reward_tilt": -1.0 * np.square(s.down[:, :2]).sum(axis=1),
            "reward_force": -2e-4 * np.square(s.force).sum(axis=1),
        }

    def terminated(self, s: State) -> Array:
        # It lies on its side, or on its belly.
        return (s.down[:, 2] > -0.5) | (s.q[:, 2] < 0.15)

    def info(self, s: State) -> dict[str, Array]:
        return {"level": self._level.copy()}
