"""Gymnasium's MuJoCo tasks of version 5: observations, rewards and terminations as there (https://gymnasium.farama.org/environments/mujoco/).

Options are gymnasium's, by the same names, but for ``main_body`` of the Ant. Copy one to begin a task of your own. Differences, which stem from what steps the
worlds: contact forces are those of hard contacts (MuJoCo's overlap and give; with ``constraints="soft"`` these are MuJoCo's), and what is computed from poses
(centre of mass, ``cinert``, ``cvel``, fingertips, moments of contact forces) is of the state after the last substep, where MuJoCo's is of the state before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import delassus
from delassus import quantities as of
from delassus.gym.noise import Noise
from delassus.gym.quadruped import Quadruped
from delassus.gym.task import State, Task

Array = NDArray[Any]


def square_sum(x: Array) -> Array:
    """Σ x², shape [world]."""
    sums: Array = np.einsum("wi,wi->w", x, x, dtype=np.float64)
    return sums


def velocity(s: State, axis: int) -> Array:
    """Mean velocity of the coordinate ``axis`` in a step, m/s, shape [world]."""
    return s.once(f"velocity_{axis}", lambda: (s.q[:, axis] - s.before.q[:, axis]) / s.dt)


@dataclass(kw_only=True)
class FromFile(Task):
    """A task whose file may be another."""

    xml_file: str | None = None
    """File that is read in the place of gymnasium's."""

    def __post_init__(self) -> None:
        self.model = self.xml_file or self.model


@dataclass(kw_only=True)
class Noisy(FromFile):
    """A task whose starts differ by as much as ``reset_noise_scale`` says, unless a class of one's own says ``position_noise`` or ``velocity_noise``."""

    reset_noise_scale: float = 0.1
    """Start positions are changed by up to ± this, m and rad; start velocities too, or by a normal number times this."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.reset_noise_scale >= 0:
            raise ValueError(f"reset_noise_scale: {self.reset_noise_scale!r} must not be negative")
        for name in ("position_noise", "velocity_noise"):
            if next(base for base in type(self).__mro__ if name in vars(base)) is Task:
                setattr(self, name, self.reset_noise_scale)


@dataclass(kw_only=True)
class Runner(Noisy):
    """A task in which where a robot is along the ground is no part of what it sees."""

    places: ClassVar[int] = 1
    """How many first positions tell where it is."""

    exclude_current_positions_from_observation: bool = True

    def seen(self, s: State) -> Array:
        """Positions that are seen, shape [world, n]."""
        return s.q[:, self.places :] if self.exclude_current_positions_from_observation else s.q


@dataclass(kw_only=True)
class Mortal(Runner):
    """A runner whose episode ends when it is not healthy."""

    terminate_when_unhealthy: bool = True

    def healthy(self, s: State) -> Array:
        """Whether it is, shape [world]."""
        raise NotImplementedError

    def terminated(self, s: State) -> Array:
        return ~s.once("healthy", lambda: self.healthy(s)) & self.terminate_when_unhealthy


@dataclass(kw_only=True)
class HalfCheetah(Runner):
    """A planar cheetah runs forward."""

    model = "half_cheetah.xml"
    normal_velocity = True

    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 0.1

    def observe(self, s: State) -> Array:
        return np.concatenate([self.seen(s), s.v], axis=1)

    def reward(self, s: State, action: Array) -> dict[str, Array]:
        return {
            "reward_forward": self.forward_reward_weight * velocity(s, 0),
            "reward_ctrl": -self.ctrl_cost_weight * square_sum(action),
        }

    def info(self, s: State) -> dict[str, Array]:
        return {"x_position": s.q[:, 0]}

    def step_info(self, s: State) -> dict[str, Array]:
        return {"x_velocity": velocity(s, 0)}


@dataclass(kw_only=True)
class Swimmer(Runner):
    """Three links swim forward."""

    model = "swimmer.xml"
    frame_skip = 4
    places = 2

    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 1e-4

    def observe(self, s: State) -> Array:
        return np.concatenate([self.seen(s), s.v], axis=1)

    def reward(self, s: State, action: Array) -> dict[str, Array]:
        return {
            "reward_forward": self.forward_reward_weight * velocity(s, 0),
            "reward_ctrl": -self.ctrl_cost_weight * square_sum(action),
        }

    def info(self, s: State) -> dict[str, Array]:
        x, y = s.q[:, 0], s.q[:, 1]
        return {"x_position": x, "y_position": y, "distance_from_origin": np.hypot(x, y)}

    def step_info(self, s: State) -> dict[str, Array]:
        return {"x_velocity": velocity(s, 0), "y_velocity": velocity(s, 1)}


@dataclass(kw_only=True)
class Hopper(Mortal):
    """One leg hops forward."""

    model = "hopper.xml"
    frame_skip = 4

    reset_noise_scale: float = 5e-3
    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 1e-3
    healthy_reward: float = 1.0
    healthy_state_range: tuple[float, float] = (-100.0, 100.0)
    healthy_z_range: tuple[float, float] = (0.7, np.inf)
    healthy_angle_range: tuple[float, float] = (-0.2, 0.2)

    def load(self) -> delassus.Model:
        model = super().load()
        self._start_height = model.q0[1]
        return model

    def healthy(self, s: State) -> Array:
        state = np.concatenate([s.q[:, 2:], s.v], axis=1)
        return (
            between(s.q[:, 1], self.healthy_z_range)
            & between(s.q[:, 2], self.healthy_angle_range)
            & between(state, self.healthy_state_range).all(axis=1)
        )

    def observe(self, s: State) -> Array:
        return np.concatenate([self.seen(s), np.clip(s.v, -10, 10)], axis=1)

    def reward(self, s: State, action: Array) -> dict[str, Array]:
        return {
            "reward_forward": self.forward_reward_weight * velocity(s, 0),
            "reward_ctrl": -self.ctrl_cost_weight * square_sum(action),
            "reward_survive": self.healthy_reward * s.once("healthy", lambda: self.healthy(s)),
        }

    def info(self, s: State) -> dict[str, Array]:
        return {"x_position": s.q[:, 0], "z_distance_from_origin": s.q[:, 1] - self._start_height}

    def step_info(self, s: State) -> dict[str, Array]:
        return {"x_velocity": velocity(s, 0)}


@dataclass(kw_only=True)
class Walker2d(Hopper):
    """Two legs walk forward."""

    model = "walker2d_v5.xml"

    healthy_z_range: tuple[float, float] = (0.8, 2.0)
    healthy_angle_range: tuple[float, float] = (-1.0, 1.0)

    def healthy(self, s: State) -> Array:
        return between(s.q[:, 1], self.healthy_z_range) & between(s.q[:, 2], self.healthy_angle_range)


@dataclass(kw_only=True)
class Ant(Mortal):
    """Four legs run forward."""

    model = "ant.xml"
    normal_velocity = True
    places = 2

    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 0.5
    contact_cost_weight: float = 5e-4
    healthy_reward: float = 1.0
    healthy_z_range: tuple[float, float] = (0.2, 1.0)
    contact_force_range: tuple[float, float] = (-1.0, 1.0)
    include_cfrc_ext_in_observation: bool = True

    def quantities(self, model: delassus.Model) -> dict[str, of.Quantity]:
        return {"contact": of.central_contact(*bodies(model))}

    def healthy(self, s: State) -> Array:
        finite = np.isfinite(s.q).all(axis=1) & np.isfinite(s.v).all(axis=1)
        low, high = self.healthy_z_range
        return finite & (low <= s.q[:, 2]) & (s.q[:, 2] <= high)

    def clipped(self, s: State) -> Array:
        return s.once("clipped", lambda: np.clip(s.contact, *self.contact_force_range))

    def observe(self, s: State) -> Array:
        felt = [self.clipped(s)] if self.include_cfrc_ext_in_observation else []
        return np.concatenate([self.seen(s), s.v, *felt], axis=1)

    def reward(self, s: State, action: Array) -> dict[str, Array]:
        return {
            "reward_forward": self.forward_reward_weight * velocity(s, 0),
            "reward_ctrl": -self.ctrl_cost_weight * square_sum(action),
            "reward_contact": -self.contact_cost_weight * square_sum(self.clipped(s)),
            "reward_survive": self.healthy_reward * s.once("healthy", lambda: self.healthy(s)),
        }

    def info(self, s: State) -> dict[str, Array]:
        x, y = s.q[:, 0], s.q[:, 1]
        return {"x_position": x, "y_position": y, "distance_from_origin": np.hypot(x, y)}

    def step_info(self, s: State) -> dict[str, Array]:
        return {"x_velocity": velocity(s, 0), "y_velocity": velocity(s, 1)}


@dataclass(kw_only=True)
class Person(Runner):
    """What the tasks of humanoids have in common."""

    places = 2

    reset_noise_scale: float = 0.01
    include_cinert_in_observation: bool = True
    include_cvel_in_observation: bool = True
    include_qfrc_actuator_in_observation: bool = True
    include_cfrc_ext_in_observation: bool = True

    def quantities(self, model: delassus.Model) -> dict[str, of.Quantity]:
        return {
            "com": of.subtree_com("world"),
            "inertia": of.central_inertia(*bodies(model)),
            "velocity": of.central_velocity(*bodies(model)),
            "actuator": of.JOINT_ACTUATOR_FORCE,
            "contact": of.central_contact(*bodies(model)),
            "tendon": of.TENDON_LENGTH,
            "tendon_rate": of.TENDON_VELOCITY,
        }

    def observe(self, s: State) -> Array:
        parts = [
            (self.include_cinert_in_observation, s.inertia),
            (self.include_cvel_in_observation, s.velocity),
            (self.include_qfrc_actuator_in_observation, s.actuator[:, 6:]),
            (self.include_cfrc_ext_in_observation, s.contact),
        ]
        return np.concatenate([self.seen(s), s.v, *(part for included, part in parts if included)], axis=1)

    def tendons(self, s: State) -> dict[str, Array]:
        return {"tendon_length": s.tendon, "tendon_velocity": s.tendon_rate}


def contact_cost(s: State, weight: float, limits: tuple[float, float]) -> Array:
    """What contact forces cost, shape [world]."""
    return np.clip(weight * square_sum(s.contact), *limits)


@dataclass(kw_only=True)
class Humanoid(Person, Mortal):
    """A humanoid walks forward."""

    model = "humanoid.xml"

    forward_reward_weight: float = 1.25
    ctrl_cost_weight: float = 0.1
    contact_cost_weight: float = 5e-7
    contact_cost_range: tuple[float, float] = (-np.inf, 10.0)
    healthy_reward: float = 5.0
    healthy_z_range: tuple[float, float] = (1.0, 2.0)

    def healthy(self, s: State) -> Array:
        return between(s.q[:, 2], self.healthy_z_range)

    def reward(self, s: State, action: Array) -> dict[str, Array]:
        return {
            "reward_forward": self.forward_reward_weight * self.com_velocity(s)[:, 0],
            "reward_ctrl": -self.ctrl_cost_weight * square_sum(action),
            "reward_contact": -contact_cost(s, self.contact_cost_weight, self.contact_cost_range),
            "reward_survive": self.healthy_reward * s.once("healthy", lambda: self.healthy(s)),
        }

    def info(self, s: State) -> dict[str, Array]:
        x, y = s.q[:, 0], s.q[:, 1]
        place = {"x_position": x, "y_position": y, "distance_from_origin": np.hypot(x, y)}
        return place | self.tendons(s)

    def com_velocity(self, s: State) -> Array:
        return s.once("com_velocity", lambda: (s.com - s.before.com) / s.dt)

    def step_info(self, s: State) -> dict[str, Array]:
        x, y = self.com_velocity(s)[:, :2].T
        return {"x_velocity": x, "y_velocity": y}


@dataclass(kw_only=True)
class HumanoidStandup(Person):
    """A humanoid that lies on its back stands up."""

    model = "humanoidstandup.xml"

    uph_cost_weight: float = 1.0
    ctrl_cost_weight: float = 0.1
    impact_cost_weight: float = 5e-7
    impact_cost_range: tuple[float, float] = (-np.inf, 10.0)

    def load(self) -> delassus.Model:
        model = super().load()
        self._timestep, self._start_height = model.timestep, model.q0[2]
        return model

    def reward(self, s: State, action: Array) -> dict[str, Array]:
        return {
            "reward_linup": self.uph_cost_weight * s.q[:, 2] / self._timestep,
            "reward_quadctrl": -self.ctrl_cost_weight * square_sum(action),
            "reward_impact": -contact_cost(s, self.impact_cost_weight, self.impact_cost_range),
            "reward_survive": np.ones(len(s.q)),
        }

    def info(self, s: State) -> dict[str, Array]:
        x, y, z = s.q[:, :3].T
        place = {"x_position": x, "y_position": y, "z_distance_from_origin": z - self._start_height}
        return place | self.tendons(s)


@dataclass(kw_only=True)
class InvertedPendulum(Noisy):
    """A cart balances a pole."""

    model = "inverted_pendulum.xml"
    frame_skip = 2

    reset_noise_scale: float = 0.01

    def reward(self, s: State, action: Array) -> dict[str, Array]:
        return {"reward_survive": (~self.terminated(s)).astype(np.float64)}

    def terminated(self, s: State) -> Array:
        finite = np.isfinite(s.q).all(axis=1) & np.isfinite(s.v).all(axis=1)
        return ~finite | (abs(s.q[:, 1]) > 0.2)


@dataclass(kw_only=True)
class InvertedDoublePendulum(Noisy):
    """A cart balances two poles, one on the other."""

    model = "inverted_double_pendulum.xml"
    normal_velocity = True

    healthy_reward: float = 10.0

    def quantities(self, model: delassus.Model) -> dict[str, of.Quantity]:
        return {"tip": of.position(site=0), "limit": of.LIMIT_FORCE}

    def observe(self, s: State) -> Array:
        angles = s.q[:, 1:]
        v, force = np.clip(s.v, -10, 10), np.clip(s.limit[:, :1], -10, 10)
        return np.concatenate([s.q[:, :1], np.sin(angles), np.cos(angles), v, force], axis=1)

    def reward(self, s: State, action: Array) -> dict[str, Array]:
        x, y = s.tip[:, 0], s.tip[:, 2]
        return {
            "reward_survive": self.healthy_reward * ~self.terminated(s),
            "distance_penalty": -(0.01 * x**2 + (y - 2) ** 2),
            "velocity_penalty": -(1e-3 * s.v[:, 1] ** 2 + 5e-3 * s.v[:, 2] ** 2),
        }

    def terminated(self, s: State) -> Array:
        return s.tip[:, 2] <= 1


@dataclass(kw_only=True)
class Reacher(FromFile):
    """An arm of two links reaches for a point."""

    model = "reacher.xml"
    frame_skip = 2
    max_episode_steps = 50

    reward_dist_weight: float = 1.0
    reward_control_weight: float = 1.0

    def quantities(self, model: delassus.Model) -> dict[str, of.Quantity]:
        return {"finger": of.position("fingertip"), "target": of.position("target")}

    def start(self, model: delassus.Model, noise: Noise) -> tuple[Array, Array]:
        q = model.q0 + noise.uniform(-0.1, 0.1, model.nq)
        # uniform in a disc of 0.2 m
        radius, angle = 0.2 * np.sqrt(noise.uniform(0, 1, 1)), noise.uniform(0, 2 * np.pi, 1)
        q[:, -2:] = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
        v = noise.uniform(-0.005, 0.005, model.nv)
        v[:, -2:] = 0
        return q, v

    def observe(self, s: State) -> Array:
        arm, way = s.q[:, :2], s.finger - s.target
        return np.concatenate([np.cos(arm), np.sin(arm), s.q[:, 2:], s.v[:, :2], way[:, :2]], axis=1)

    def reward(self, s: State, action: Array) -> dict[str, Array]:
        return {
            "reward_dist": -self.reward_dist_weight * np.sqrt(square_sum(s.finger - s.target)),
            "reward_ctrl": -self.reward_control_weight * square_sum(action),
        }


@dataclass(kw_only=True)
class Pusher(FromFile):
    """An arm pushes a cylinder to a place."""

    model = "pusher_v5.xml"
    max_episode_steps = 100

    reward_near_weight: float = 0.5
    reward_dist_weight: float = 1.0
    reward_control_weight: float = 0.1

    def quantities(self, model: delassus.Model) -> dict[str, of.Quantity]:
        return {"tips": of.position("tips_arm"), "object": of.position("object"), "goal": of.position("goal")}

    def start(self, model: delassus.Model, noise: Noise) -> tuple[Array, Array]:
        q = np.tile(model.q0, (len(noise), 1))
        # Uniform in a rectangle, but for what is too near to the goal: the first of 32 that is not, as many for every world, so that none depends on the
        # others. In 4e-14 of all starts none is.
        x, y = noise.uniform(-0.3, 0, 32), noise.uniform(-0.2, 0.2, 32)
        rows, first = np.arange(len(noise)), np.argmax(np.hypot(x, y) > 0.17, axis=1)
        q[:, -4], q[:, -3], q[:, -2:] = x[rows, first], y[rows, first], 0
        v = noise.uniform(-0.005, 0.005, model.nv)
        v[:, -4:] = 0
        return q, v

    def observe(self, s: State) -> Array:
        return np.concatenate([s.q[:, :7], s.v[:, :7], s.tips, s.object, s.goal], axis=1)

    def reward(self, s: State, action: Array) -> dict[str, Array]:
        return {
            "reward_dist": -self.reward_dist_weight * np.sqrt(square_sum(s.object - s.goal)),
            "reward_ctrl": -self.reward_control_weight * square_sum(action),
            "reward_near": -self.reward_near_weight * np.sqrt(square_sum(s.object - s.tips)),
        }


def between(x: Array, limits: tuple[float, float]) -> Array:
    """Whether x lies between the limits, and on neither."""
    return (limits[0] < x) & (x < limits[1])


def bodies(model: delassus.Model) -> list[int]:
    """All bodies but the world."""
    return list(range(1, len(model.body_names)))


GYMNASIUMS: dict[str, type[Any]] = {
    task.__name__: task
    for task in [
        *(Ant, HalfCheetah, Hopper, Walker2d, Humanoid, HumanoidStandup, Swimmer),
        *(InvertedPendulum, InvertedDoublePendulum, Reacher, Pusher),
    ]
}
"""Gymnasium's tasks by name."""

TASKS: dict[str, type[Any]] = {**GYMNASIUMS, "Quadruped": Quadruped}
"""Every task by name: ``gymnasium.make_vec(f"delassus/{name}-v5")``."""
