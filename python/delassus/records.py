"""Structured arrays: the certificate of a world, and the contacts of one."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np


class Status(IntEnum):
    """How a world came out of its last step, from best to worst: ``reports["status"]``."""

    SOLVED = 0
    """Every contact problem met its goal."""
    ITERATION_LIMIT = 1
    """One missed its goal; the residual says by how much."""
    EXPLODED = 2
    """A velocity passed ``Settings.speed_limit``."""
    NOT_FINITE = 3
    """The state is infinite or not a number; only a reset or a new state brings the world back."""


# The layout is that of `Report` in python/src/record.rs.
REPORT: np.dtype[Any] = np.dtype(
    {
        "names": [
            *("residual", "floor", "penetration", "push_denied"),
            *("status", "steps", "unsolved_steps", "unsolved_in_a_row", "iterations", "sweeps", "newton_steps"),
            *("impact_passes", "contact_count", "row_count", "capacity_needed"),
            *("impacts_left", "overflow", "fallback", "redone", "halted", "solved", "failed"),
        ],
        "formats": ["f8"] * 4 + ["u4"] * 11 + ["?"] * 7,
        "offsets": [8 * i for i in range(4)] + [32 + 4 * i for i in range(11)] + [76 + i for i in range(7)],
        "itemsize": 88,
    }
)
"""The certificate of a world for one call of ``step``; over several substeps the worst of each, unless a field says otherwise.

=====================  ====================================================================================
residual               largest natural-map residual of its contact problems, m/s (rad/s)
floor                  rounding error of that residual, m/s
penetration            deepest overlap of surfaces with their margins, m
push_denied            push-out that overlaps were denied because not all can be pushed out at once, m/s
status                 see :class:`Status`
steps, unsolved_steps  substeps, and how many of them were not solved
unsolved_in_a_row      substeps up to now that were not solved one after the other, earlier calls included
iterations             sweeps and Newton steps of the hardest problem; ``sweeps``, ``newton_steps``: each
impact_passes          passes of impacts one after another; ``impacts_left``: whether they reached their limit
contact_count          contacts of the last substep; ``row_count``: its constraint rows
capacity_needed        contact capacity that would have held every contact; ``overflow``: whether some were left out
fallback, redone       whether the exact solver was called in, and whether a substep was done again in f64
halted                 whether the device left a substep to the CPU (backend gpu)
solved                 whether every problem of every substep met its goal and no contact was left out
failed                 whether the world needs a reset
=====================  ====================================================================================
"""

# The layout is that of `Contact` in python/src/record.rs.
CONTACT: np.dtype[Any] = np.dtype(
    [
        ("geom_a", "u8"),
        ("geom_b", "u8"),
        ("position", "f8", 3),
        ("frame", "f8", (3, 3)),
        ("gap", "f8"),
        ("impulse", "f8", 3),
        ("torque", "f8", 3),
    ]
)
"""A contact: its geoms, position (m), normal from the first geom to the second and two tangents (rows of ``frame``, world axes), gap before
the step (m, negative: overlap), impulse on the second geom along the axes of the frame (N·s), and impulse of the torque about them at the
contact point (N·m·s): of torsional and rolling friction of soft contacts with condim 4 and 6, else 0."""
