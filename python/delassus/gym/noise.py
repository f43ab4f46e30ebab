"""Random numbers by counting: those of a world depend on its seed and on how often it has started, and on nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Noise:
    """Random numbers for some worlds that start anew, each from its own stream.

    Every number is a hash of (seed of the world, its start, a counter), in 32-bit integers only, so that a GPU can make the same ones:
    pcg4d of Jarzynski and Olano, Hash Functions for GPU Rendering, 2020.

    Args:
        seeds: seed of every world, shape [row].
        starts: how often every world has started before, shape [row].
        steps: steps of every world since its start, shape [row], each of which has a stream of its own too; None: that of the start.
    """

    def __init__(self, seeds: Array, starts: Array, steps: Array | None = None) -> None:
        self._seeds = np.asarray(seeds).astype(np.uint32)
        self._starts = np.asarray(starts).astype(np.uint32)
        key = np.uint32(0x64656C61)
        self._key = (
            np.full(len(self), key) if steps is None else key + np.uint32(1) + np.asarray(steps).astype(np.uint32)
        )
        self._drawn = 0

    def __len__(self) -> int:
        return len(self._seeds)

    def uniform(self, low: float, high: float, size: int) -> Array:
        """Uniform in [low, high), shape [row, size]."""
        drawn: Array = low + (high - low) * self._unit(size)
        return drawn

    def normal(self, size: int) -> Array:
        """Standard normal, shape [row, size], by Box and Muller."""
        u = self._unit(2 * size)
        radius = np.sqrt(-2 * np.log1p(-u[:, :size]))
        drawn: Array = radius * np.cos(2 * np.pi * u[:, size:])
        return drawn

    def _unit(self, size: int) -> Array:
        """Uniform in [0, 1), a multiple of 2⁻³², shape [row, size]."""
        blocks = -(-size // 4)
        counter = np.arange(self._drawn, self._drawn + blocks, dtype=np.uint32)
        self._drawn += blocks
        shape = (len(self), blocks)
        x, y, z, w = _pcg4d(
            np.broadcast_to(self._seeds[:, None], shape),
            np.broadcast_to(self._starts[:, None], shape),
            np.broadcast_to(counter, shape),
            np.broadcast_to(self._key[:, None], shape),
        )
        words: Array = np.stack([x, y, z, w], axis=-1).reshape(len(self), -1)
        return words[:, :size] * 2.0**-32


def _pcg4d(x: Array, y: Array, z: Array, w: Array) -> tuple[Array, Array, Array, Array]:
    a, b = np.uint32(1664525), np.uint32(1013904223)
    x, y, z, w = x * a + b, y * a + b, z * a + b, w * a + b
    x, y, z, w = _mix(x, y, z, w)
    s = np.uint32(16)
    return _mix(x ^ (x >> s), y ^ (y >> s), z ^ (z >> s), w ^ (w >> s))


def _mix(x: Array, y: Array, z: Array, w: Array) -> tuple[Array, Array, Array, Array]:
    x = x + y * w
    y = y + z * x
    z = z + x * y
    w = w + y * z
    return x, y, z, w
