"""Recordings as files of rerun (https://rerun.io): ``worlds.record("ant.rrd")``, then ``rerun ant.rrd``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

try:
    import rerun as rr
except ImportError as error:
    raise ImportError("a file of rerun needs its package: pip install 'delassus[rerun]'") from error

if TYPE_CHECKING:
    from delassus._core import Model
    from delassus.recording import Recording

# Colours by body, as on the page.
PALETTE = np.array(
    [(74, 130, 196), (230, 153, 77), (107, 176, 115), (204, 107, 107), (153, 128, 191), (89, 173, 184)], np.uint8
)
FIXED = np.array((184, 189, 196), np.uint8)
ARROW = (219, 31, 41)
FLOOR = 20.0
"""Half the side of the square that stands for a plane, m."""


def save(recording: Recording, path: Path) -> None:
    """Writes a recording; every quantity is sent as one column.

    ``world_0/NAME`` are the geoms, ``world_0/contact_force`` arrows of one metre for the weight of all that moves; ``world_0/residual`` (m/s),
    ``energy`` (J) and ``normal_force`` (N) are scalars over ``time``.
    """
    model, times = recording.model, recording.time
    stream = rr.RecordingStream(f"delassus_{model.name or 'model'}")
    stream.save(path)
    stream.log("/", rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    index = [rr.TimeColumn("time", duration=times)]

    def send(entity: str, columns: Any) -> None:
        stream.send_columns(entity, index, columns)

    poses, energy, normal_force = recording.poses, recording.energy, recording.contact_force()
    residual, contacts = recording.reports["residual"], recording.contacts
    weight = float(model.body_mass[1:].sum() * np.linalg.norm(model.gravity)) or 1.0
    for w, world in enumerate(recording.worlds):
        root = f"world_{world}"
        for g, (name, body) in enumerate(zip(model.geom_names, model.geom_body, strict=True)):
            entity = f"{root}/{rr.escape_entity_path_part(name or f'geom_{g}')}"
            color = FIXED if body == 0 else PALETTE[(body - 1) % len(PALETTE)]
            stream.log(entity, _shape(model, g, color), static=True)
            position, turn = poses[:, w, g, :3], poses[:, w, g, [4, 5, 6, 3]]
            send(entity, rr.Transform3D.columns(translation=position, quaternion=turn))
        own = [moment[w] for moment in contacts]
        found = np.concatenate(own)
        # f = Σ axis · λ / Δt
        force = np.einsum("cij,ci->cj", found["frame"], found["impulse"]) / recording.dt
        arrows = rr.Arrows3D.columns(origins=found["position"], vectors=force / weight)
        send(f"{root}/contact_force", arrows.partition([len(c) for c in own]))
        stream.log(f"{root}/contact_force", rr.Arrows3D.from_fields(colors=ARROW), static=True)
        for name, values in (
            ("residual", residual[:, w]),
            ("energy", energy[:, w].sum(axis=-1)),
            ("normal_force", normal_force[:, w]),
        ):
            send(f"{root}/{name}", rr.Scalars.columns(scalars=values))
    stream.flush()
    stream.disconnect()


def _shape(model: Model, geom: int, color: Any) -> Any:
    """A geom in its own frame."""
    shape, size = model.geom_shape[geom], model.geom_size[geom]
    solid: dict[str, Any] = {"colors": [color], "fill_mode": "solid"}
    if shape == "sphere":
        return rr.Ellipsoids3D(half_sizes=[[size[0]] * 3], **solid)
    if shape == "ellipsoid":
        return rr.Ellipsoids3D(half_sizes=[size], **solid)
    if shape == "box":
        return rr.Boxes3D(half_sizes=[size], **solid)
    if shape == "cylinder":
        return rr.Cylinders3D(lengths=[2 * size[1]], radii=[size[0]], **solid)
    if shape == "capsule":
        # Its origin is the centre of the lower cap.
        return rr.Capsules3D(lengths=[2 * size[1]], radii=[size[0]], translations=[[0, 0, -size[1]]], **solid)
    if shape in ("mesh", "hfield"):
        corners, triangles = model.geom_mesh(geom)
    else:
        corners = FLOOR * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
        triangles = np.array([[0, 1, 2], [0, 2, 3]], np.uint32)
    a, b, c = (corners[triangles[:, i]] for i in range(3))
    normal = np.cross(b - a, c - a)
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
    return rr.Mesh3D(
        vertex_positions=corners[triangles].reshape(-1, 3),
        vertex_normals=normal.repeat(3, axis=0),
        triangle_indices=np.arange(triangles.size).reshape(-1, 3),
        albedo_factor=color,
    )
