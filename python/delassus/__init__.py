"""Hard-contact, reproducible, self-certifying batched rollouts of articulated rigid bodies.

>>> import delassus
>>> model = delassus.Model("ant.xml")
>>> worlds = delassus.Worlds(model, 4096)
>>> reports = worlds.step(control, substeps=5)  # control: [world, nu]
>>> q, v = worlds.positions(), worlds.velocities()

``delassus.gym`` has environments for reinforcement learning; ``python -m delassus`` is the command.
"""

from delassus._core import Error, Model, __version__
from delassus.recording import Recording
from delassus.records import CONTACT, REPORT, Status
from delassus.settings import Settings
from delassus.worlds import Observer, Worlds

__all__ = [
    "CONTACT",
    "REPORT",
    "Error",
    "Model",
    "Observer",
    "Recording",
    "Settings",
    "Status",
    "Worlds",
    "__version__",
]
