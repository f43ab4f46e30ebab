"""What can be read of every world at once: ``worlds.observer(torso=position("torso"), foot=contact(geom="foot"))``.

SI units and world axes, unless a line says otherwise. Everything is of the state as it is now, but forces of contacts and limits, accelerations, and forces
between bodies, which are those of the last call of ``step`` (0 for worlds that have started anew since, or whose state was set or loaded).

Frames are named by ``position("torso")``, a body; or by ``body=``, ``com=`` (axes of a body at its centre of mass), ``geom=`` or ``site=``; by name or index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from delassus._core import Model

Part = str | int
FrameKind = Literal["body", "com", "geom", "site"]


@dataclass(frozen=True)
class Quantity:
    """Something that can be read; made by the functions of this module."""

    kind: str
    frame: FrameKind = "body"
    parts: tuple[Part, ...] = (0,)
    local: bool = False
    others: tuple[Part, ...] = ()

    def resolve(self, model: Model) -> list[tuple[str, str, int, bool, int]]:
        """As the core takes it, one entry a part."""
        find = {"body": model.body, "com": model.body, "geom": model.geom, "site": model.site}[self.frame]
        if self.kind == "sensor":
            find = model.sensor

        def index(part: Part) -> int:
            if isinstance(part, str):
                return find(part)
            if isinstance(part, bool) or not isinstance(part, int | np.integer) or not 0 <= part < 2**31:
                raise ValueError(f"{self.kind}: {part!r} is neither a name nor an index")
            return int(part)

        others = self.others or (0,) * len(self.parts)
        return [
            (self.kind, self.frame, index(part), self.local, index(other))
            for part, other in zip(self.parts, others, strict=True)
        ]


POSITIONS = Quantity("positions")
"""All positions q, [nq]."""
VELOCITIES = Quantity("velocities")
"""All velocities v, [nv]."""
ACTUATOR_FORCE = Quantity("actuator_force")
"""Force of every actuator before its gear, N or N·m, [nu]."""
JOINT_ACTUATOR_FORCE = Quantity("joint_actuator_force")
"""Force of the actuators on every degree of freedom (MuJoCo's ``qfrc_actuator``), N or N·m, [nv]."""
TENDON_LENGTH = Quantity("tendon_length")
"""Length of every tendon, of one joint rad or m, [tendon]."""
TENDON_VELOCITY = Quantity("tendon_velocity")
"""How fast they grow, of one joint rad/s or m/s, [tendon]."""
LIMIT_FORCE = Quantity("limit_force")
"""Force of limits (hinges, slides and tendons) and dry friction on every degree of freedom in the last substep, N or N·m, [nv]."""


def position(
    body: Part | None = None, *, com: Part | None = None, geom: Part | None = None, site: Part | None = None
) -> Quantity:
    """Origin of a frame, m, [3]."""
    return _of_frame("position", body, com, geom, site)


def orientation(
    body: Part | None = None, *, com: Part | None = None, geom: Part | None = None, site: Part | None = None
) -> Quantity:
    """Orientation of a frame, w x y z, [4]."""
    return _of_frame("orientation", body, com, geom, site)


def linear_velocity(
    body: Part | None = None,
    *,
    com: Part | None = None,
    geom: Part | None = None,
    site: Part | None = None,
    local: bool = False,
) -> Quantity:
    """Velocity of the origin of a frame, m/s, [3]; local: in the axes of the frame."""
    return _of_frame("linear_velocity", body, com, geom, site, local)


def angular_velocity(
    body: Part | None = None,
    *,
    com: Part | None = None,
    geom: Part | None = None,
    site: Part | None = None,
    local: bool = False,
) -> Quantity:
    """Angular velocity of a frame, rad/s, [3]; local: in the axes of the frame (what a gyro measures)."""
    return _of_frame("angular_velocity", body, com, geom, site, local)


def projected_gravity(
    body: Part | None = None, *, com: Part | None = None, geom: Part | None = None, site: Part | None = None
) -> Quantity:
    """Direction of gravity in the axes of a frame, a unit vector, [3]."""
    return _of_frame("projected_gravity", body, com, geom, site)


def contact(
    body: Part | None = None, *, com: Part | None = None, geom: Part | None = None, site: Part | None = None
) -> Quantity:
    """Contact force on a geom, or on the body of another frame, mean over the substeps of the last call: force (N), moment about the origin (N·m), [6]."""
    return _of_frame("contact", body, com, geom, site)


def contact_between(*pairs: tuple[Part, Part], bodies: bool = False) -> Quantity:
    """Contact force on the first of two geoms (or bodies) from the second, mean over the substeps of the last call: force (N), moment about the origin of
    the first (N·m); read as an array of shape [world, pair, 6]."""
    firsts, seconds = tuple(a for a, _ in pairs), tuple(b for _, b in pairs)
    return Quantity("contact_between", "body" if bodies else "geom", firsts, others=seconds)


def sensor(*names: Part) -> Quantity:
    """What sensors of the model read, as in MuJoCo, as many numbers as each has: of joints, actuators, frames and centres of mass, gyro, velocimeter,
    rangefinder.

    Accelerometer, force, torque, touch, and accelerations of frames are of the last substep: the acceleration is the change of velocity over Δt, a force
    the impulse over Δt, both at the state at which the substep began (where MuJoCo's sensors stand after a step). What hits the ground within a substep
    reads its whole impulse: larger, the smaller Δt is.
    """
    return Quantity("sensor", parts=names)


def subtree_com(*bodies: Part) -> Quantity:
    """Centre of mass of a body and all that hangs from it, m, [3] each; of "world": of everything."""
    return Quantity("subtree_com", parts=_world(bodies))


def subtree_velocity(*bodies: Part) -> Quantity:
    """Velocity of that centre of mass, m/s, [3] each."""
    return Quantity("subtree_velocity", parts=_world(bodies))


def central_inertia(*bodies: Part) -> Quantity:
    """Inertia about the centre of mass of the tree, as MuJoCo's ``cinert``, [10] each."""
    return Quantity("central_inertia", parts=_world(bodies))


def central_velocity(*bodies: Part) -> Quantity:
    """Angular and linear velocity at the centre of mass of the tree, as MuJoCo's ``cvel``, [6] each."""
    return Quantity("central_velocity", parts=_world(bodies))


def central_contact(*bodies: Part) -> Quantity:
    """Moment and force of contacts in the last substep about the centre of mass of the tree, as MuJoCo's ``cfrc_ext``, [6] each.

    Where constraints are soft and the integrator is Runge-Kutta, those of its last evaluation.
    """
    return Quantity("central_contact", parts=_world(bodies))


def _of_frame(
    kind: str, body: Part | None, com: Part | None, geom: Part | None, site: Part | None, local: bool = False
) -> Quantity:
    frames: list[tuple[FrameKind, Part | None]] = [("body", body), ("com", com), ("geom", geom), ("site", site)]
    given = [(frame, part) for frame, part in frames if part is not None]
    if len(given) != 1:
        raise ValueError(f"{kind}: give one of body, com, geom and site, not {len(given)}")
    frame, part = given[0]
    return Quantity(kind, frame, (part if part != "world" or frame not in ("body", "com") else 0,), local)


def _world(bodies: tuple[Part, ...]) -> tuple[Part, ...]:
    """The world is the first body, whatever its name."""
    return tuple(0 if body == "world" else body for body in bodies)
