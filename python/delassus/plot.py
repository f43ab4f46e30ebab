"""Recordings as curves over time (matplotlib): ``plot.overview(recording).savefig("ant.png")``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from delassus.recording import Recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def overview(recording: Recording) -> Figure:
    """Energy, contact force and residual, one above the other."""
    figure: Figure
    figure, axes = _pyplot().subplots(3, 1, sharex=True, figsize=(8, 9), layout="constrained")
    energy(recording, ax=axes[0])
    contact_force(recording, ax=axes[1])
    residual(recording, ax=axes[2])
    for ax in axes:
        ax.label_outer()
    return figure


def energy(recording: Recording, world: int | None = None, ax: Axes | None = None) -> Axes:
    """Energy over time, J; of the first recorded world, or of ``world``, also its parts: kinetic, of gravity, of springs.

    Args:
        recording: what is drawn.
        world: index of a recorded world.
        ax: where; None: a figure of its own.
    """
    ax, i = _axes(ax), 0 if world is None else _place(recording, world)
    time, parts = recording.time, recording.energy
    shown = range(parts.shape[1]) if world is None else [i]
    for w in shown:
        ax.plot(time, parts[:, w].sum(axis=-1), label=f"total, world {recording.worlds[w]}")
    if len(shown) == 1:
        for k, name in enumerate(("kinetic", "gravity", "springs")):
            if parts[:, i, k].any():
                ax.plot(time, parts[:, i, k], "--", label=name)
    return _finish(ax, "energy, J")


def contact_force(recording: Recording, geom: str | int | None = None, ax: Axes | None = None) -> Axes:
    """Sum of normal contact forces over time, N, of every recorded world: of all contacts, or of those of a geom."""
    ax, force = _axes(ax), recording.contact_force(geom)
    for w, world in enumerate(recording.worlds):
        ax.plot(recording.time, force[:, w], label=f"world {world}")
    return _finish(ax, "normal force, N" if geom is None else f"normal force on {geom}, N")


def residual(recording: Recording, ax: Axes | None = None) -> Axes:
    """Residual of every recorded world over time, m/s, on a logarithmic scale, beside its rounding floor and the tolerance; exact zeros are left out."""
    ax, reports = _axes(ax), recording.reports
    for w, world in enumerate(recording.worlds):
        for style, name in (("-", "residual"), (":", "floor")):
            values = reports[name][:, w]
            ax.plot(
                recording.time,
                np.where(values > 0, values, np.nan),
                style,
                color=f"C{w}",
                label=f"{name}, world {world}",
            )
    ax.axhline(recording.tolerance, color="0.4", linewidth=1, label="tolerance")
    ax.set_yscale("log")
    return _finish(ax, "residual, m/s")


def _place(recording: Recording, world: int) -> int:
    if world not in recording.worlds:
        raise ValueError(f"world: {world} is not recorded, only {recording.worlds}")
    return recording.worlds.index(world)


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    own: Axes = _pyplot().subplots(layout="constrained")[1]
    return own


def _finish(ax: Axes, label: str) -> Axes:
    ax.set_xlabel("time, s")
    ax.set_ylabel(label)
    ax.legend(fontsize="small")
    ax.grid(alpha=0.3)
    return ax


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install matplotlib") from error
    return pyplot
