"""A few worlds over time: to be looked at, plotted and kept."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from delassus import _core
from delassus.records import CONTACT, REPORT

# pathlib and html are imported where they are needed: they take as long as all else of the package.
if TYPE_CHECKING:
    from pathlib import Path

    from delassus.worlds import Worlds

Array = NDArray[Any]
ENDINGS = (".html", ".rrd")


class Recording:
    """Chosen worlds at chosen moments; made by ``worlds.record(...)``, and added to by every ``worlds.step(...)`` until it is closed.

    Used in a ``with`` statement, it ends with it, whatever happens there, and is written to its file. Arrays have one row a moment and recorded world,
    float64, and are made when they are asked for.

    Attributes:
        model: the model.
        worlds: indices of the recorded worlds.
        path: the file that it is written to when it is closed, if any.
        dt: step Δt of the worlds, s.
        tolerance: residual at which a contact problem counts as solved, m/s.
    """

    def __init__(
        self, worlds: Worlds, path: str | PathLike[str] | None, chosen: Sequence[int], fps: float | None
    ) -> None:
        indices = np.asarray(chosen)
        if indices.ndim != 1 or (indices.size and not np.issubdtype(indices.dtype, np.integer)) or (indices < 0).any():
            raise ValueError(f"worlds: must be a list of indices, not {chosen!r}")
        from pathlib import Path

        self.path = None if path is None else Path(path)
        if self.path is not None:
            _check(self.path)
        self.model = worlds.model
        self.worlds = [int(i) for i in indices]
        self.dt = worlds.dt
        settings = worlds.settings
        self.tolerance = settings.tolerance or (1e-5 if settings.precision == "f32" else 1e-10)
        self._core = _core.Recording(worlds._core, self.worlds, None if fps is None else float(fps))
        self._source: Worlds | None = worlds
        worlds._recordings.append(self)

    def __repr__(self) -> str:
        return f"Recording({len(self)} moments of worlds {self.worlds} of {self.model!r})"

    def __len__(self) -> int:
        return len(self._core.times())

    def __enter__(self) -> Recording:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # what went wrong first is what is told
        with nullcontext() if error is None else suppress(_core.Error):
            self.close()

    def close(self) -> None:
        """Ends the recording, and writes it to its file if it has one; closed twice is closed.

        Raises:
            Error: the worlds are being stepped (``step_async``): the file is written, and ``close`` has to be called again after ``wait``.
        """
        source = self._source
        if source is None:
            return
        try:
            if self.path is not None:
                self.save(self.path)
        finally:
            if not source.closed:
                self._core.end(source._core)
            source._recordings.remove(self)
            self._source = None

    def save(self, path: str | PathLike[str]) -> None:
        """Writes what is recorded up to now: ``.html``, one page that needs nothing but a browser; ``.rrd``, for the viewer of rerun.

        Raises:
            ValueError: the name ends in something else.
            OSError: the file cannot be written.
            ImportError: rerun is not installed (``pip install 'delassus[rerun]'``).
        """
        from pathlib import Path

        path = Path(path)
        _check(path)
        if path.suffix.lower() == ".html":
            path.write_text(self.page(), encoding="utf-8")
        else:
            from delassus import rerun

            rerun.save(self, path)

    def page(self) -> str:
        """The HTML page."""
        return self._core.page()

    def _repr_html_(self) -> str:
        """In a notebook: the page."""
        import html

        return f'<iframe srcdoc="{html.escape(self.page())}" style="width: 100%; height: 480px; border: 0"></iframe>'

    @property
    def time(self) -> NDArray[np.float64]:
        """Time of every moment since the start of the recording, s, shape [moment]; a reset does not turn it back."""
        return self._core.times()

    @property
    def positions(self) -> NDArray[np.float64]:
        """Positions q, m and rad, shape [moment, world, nq]."""
        return self._rows(self._core.positions(), self.model.nq)

    @property
    def velocities(self) -> NDArray[np.float64]:
        """Velocities v, m/s and rad/s, shape [moment, world, nv]."""
        return self._rows(self._core.velocities(), self.model.nv)

    @property
    def poses(self) -> NDArray[np.float64]:
        """Position (m) and orientation (w x y z) of every geom, shape [moment, world, geom, 7]."""
        return self._rows(self._core.poses(), len(self.model.geom_names), 7)

    @property
    def energy(self) -> NDArray[np.float64]:
        """Kinetic energy, of gravity (zero at height zero), of springs, J, under each world's own gravity and masses, shape [moment, world, 3]."""
        return self._rows(self._core.energy(), 3)

    @property
    def reports(self) -> Array:
        """The certificate of the call of ``step`` before every moment, of dtype ``REPORT``, shape [moment, world]."""
        return self._rows(self._core.reports().view(REPORT))

    @property
    def contacts(self) -> list[list[Array]]:
        """Contacts of the last substep before every moment, ``contacts[moment][world]``: an array of dtype ``CONTACT``."""
        contacts, counts = self._contacts()
        parts, count = np.split(contacts, np.cumsum(counts)[:-1]), len(self.worlds)
        return [parts[i : i + count] for i in range(0, len(parts), count)]

    def contact_force(self, geom: str | int | None = None) -> NDArray[np.float64]:
        """Sum of the normal forces of the contacts of a geom, or of all contacts, in the last substep before every moment, N, shape [moment, world].

        Raises:
            ValueError: the model has no such geom.
        """
        contacts, counts = self._contacts()
        row = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
        normal = contacts["impulse"][:, 0] / self.dt
        if geom is not None:
            index = self.model.geom(geom) if isinstance(geom, str) else int(geom)
            if not 0 <= index < len(self.model.geom_names):
                raise ValueError(f"geom: there is no geom {geom}, only {len(self.model.geom_names)}")
            normal = normal * ((contacts["geom_a"] == index) | (contacts["geom_b"] == index))
        return self._rows(np.bincount(row, normal, len(counts)))

    def _contacts(self) -> tuple[Array, NDArray[np.uint64]]:
        """All contacts one after the other, and how many every moment and world has."""
        contacts, counts = self._core.contacts()
        return contacts.view(CONTACT), counts

    def _rows(self, array: Array, *shape: int) -> Array:
        return array.reshape(-1, len(self.worlds), *shape)

    def _see(self) -> None:
        """After a call of ``step``."""
        if self._source is not None:
            self._core.see(self._source._core)


def _check(path: Path) -> None:
    """What would fail at the end fails at the start."""
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"path: {str(path)!r} must end in {' or '.join(ENDINGS)}")
    if path.suffix.lower() == ".rrd":
        from delassus import rerun  # noqa: F401
    with path.open("ab"):
        pass
