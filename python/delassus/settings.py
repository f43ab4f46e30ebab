"""Everything about a step that is not the model's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Settings:
    """How worlds are stepped. What is not given is as below; None means what each line says.

    ``dataclasses.replace(settings, dt=0.002)`` changes one of them.
    """

    precision: Literal["f32", "f64"] = "f32"
    """Number type of state and stages."""
    backend: Literal["auto", "cpu", "hybrid", "gpu"] = "auto"
    """Where the stages run; auto takes the best for the machine, hybrid solves contacts on a GPU, gpu steps there."""
    device: int | str | None = None
    """Device of hybrid and gpu: its index in ``delassus devices``, or part of its name. None: the best."""
    threads: int | None = None
    """Threads that step the worlds. None: ``RAYON_NUM_THREADS``, or one a processor. Changes no bit of any world."""
    dt: float | None = None
    """Step Δt, s. None: the model's."""
    integrator: Literal["euler", "rk4"] | None = None
    """How free motion is followed: first or fourth order. None: the model's."""
    constraints: Literal["hard", "soft"] = "hard"
    """Whether contacts, limits, equalities and dry friction give way; soft: as in MuJoCo, by the model's solref and solimp."""
    friction: Literal["cone", "box", "patch"] = "cone"
    """Friction law; patch keeps faces, edges and discs together, with torsion."""
    solver: Literal["auto", "pgs", "jacobi"] = "auto"
    """Iteration that solves contacts; auto: Gauss-Seidel while it contracts, then Newton."""
    tolerance: float | None = None
    """Residual at which a contact problem counts as solved, m/s. None: 1e-5 in f32, 1e-10 in f64."""
    iterations: int = 200
    """Most sweeps a contact problem."""
    check_every: int = 4
    """Sweeps between two looks at the residual."""
    fallback: bool = True
    """Whether a problem that missed its tolerance is handed to the exact solver."""
    exact_work: int = 30_000_000
    """Most multiply-adds that the exact solver may spend on one world in one step."""
    speed_limit: float = 1e4
    """Speed beyond which a world counts as exploded, m/s or rad/s."""
    restitution: float = 0.0
    """Newton's coefficient of restitution where the model gives none, 0 to 1."""
    impacts: Literal["simultaneous", "sequential"] = "simultaneous"
    """Whether impacts that meet in one step are one problem, or come one after another."""
    restitution_threshold: float = 0.02
    """Approach speed below which nothing bounces, m/s."""
    stabilization: float = 0.4
    """Share β of an overlap that is pushed out in one step, 0 to 1."""
    push_speed: float = 2.0
    """Largest push-out speed, m/s (rad/s for limits)."""
    contact_speed: float = 1.0
    """Speed by which impulses may close a gap, m/s: contacts that it closes within Δt are looked at, and posed where they may act."""
    compliance: float = 0.0
    """Compliance of contacts, (m/s)/(N·s); 0 is hard contact."""
    contact_capacity: int | None = None
    """Most contacts a world. None: no limit."""
