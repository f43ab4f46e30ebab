"""Height fields: the heights that MuJoCo has, other heights, and what rests on them."""

import pickle
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

import delassus

BALL = '<body name="ball" pos="0.1 0.05 0.4"><freejoint/><geom name="ball" size="0.05"/></body>'


def land(field: str, pose: str = "", body: str = BALL) -> str:
    return f"""<mujoco><asset><hfield name="land" size="1 0.8 0.3 0.1" {field}/></asset>
    <worldbody><geom name="land" type="hfield" hfield="land" {pose}/>{body}</worldbody></mujoco>"""


def png(path: Path, pixels: np.ndarray, color: int, depth: int) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows, columns = pixels.shape[:2]
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    header = struct.pack(">IIBBBBB", columns, rows, depth, color, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + parts)


def test_heights_are_those_of_mujoco(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(0)
    grey = rng.integers(0, 256, (5, 7), np.uint8)
    png(tmp_path / "grey.png", grey, 0, 8)
    png(tmp_path / "colour.png", np.stack([grey, grey // 2, 255 - grey], -1), 2, 8)
    png(tmp_path / "fine.png", (grey.astype(np.uint32) * 257 // 2).astype(">u2"), 0, 16)
    own = struct.pack("ii", 5, 7) + rng.normal(size=(5, 7)).astype(np.float32).tobytes()
    (tmp_path / "own.bin").write_bytes(own)
    inline = " ".join(map(str, rng.normal(size=35)))
    for field in (
        'file="grey.png"',
        'file="colour.png"',
        'file="fine.png"',
        'file="own.bin"',
        'file="grey.png" nrow="3" ncol="3"',
        f'nrow="5" ncol="7" elevation="{inline}"',
        'nrow="5" ncol="7"',
    ):
        path = tmp_path / "land.xml"
        path.write_text(land(field))
        theirs, ours = mujoco.MjModel.from_xml_path(str(path)), delassus.Model(path)
        wanted = theirs.hfield_data.reshape(5, 7) * theirs.hfield_size[0, 2]
        np.testing.assert_allclose(ours.heights("land"), wanted, atol=1e-7, err_msg=field)


def test_a_ray_meets_the_same_triangles(tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    heights = np.random.default_rng(1).random((5, 7))
    inline = " ".join(map(str, heights[::-1].ravel()))
    text = land(f'nrow="5" ncol="7" elevation="{inline}"', 'pos="0.2 0.1 -0.3" euler="5 -10 30"')
    theirs, ours = mujoco.MjModel.from_xml_string(text), delassus.Model(text)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    corners, triangles = ours.geom_mesh(0)
    corners = corners @ data.geom_xmat[0].reshape(3, 3).T + data.geom_xpos[0]
    inside = 0
    for a, b, c in corners[triangles]:
        # down on the middle of each triangle
        middle = (a + b + c) / 3
        distance = mujoco.mj_ray(
            theirs, data, middle + np.array([0, 0, 2.0]), np.array([0, 0, -1.0]), None, 1, 1, np.zeros(1, np.int32)
        )
        inside += abs(distance - 2.0) < 1e-6
    assert inside == len(triangles)


def test_other_heights_are_given_and_kept() -> None:
    text = land('nrow="9" ncol="9"')
    x = np.linspace(-1, 1, 9)
    bowl = (0.4 * x**2 + (0.3 * x**2)[:, None]).astype(np.float32)
    model = delassus.Model(text, heights={"land": bowl})
    np.testing.assert_allclose(model.heights("land"), bowl)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.heights("land"), model.heights("land"))
    assert again.fingerprint == model.fingerprint != delassus.Model(text).fingerprint
    for heights, message in (
        ({"sea": bowl}, 'no geom of the model has a height field called "sea"'),
        ({"land": bowl[:3]}, r'"land" have shape \[3, 9\], needs \[9, 9\]'),
        ({"land": bowl * np.nan}, 'NaN is no height of the height field "land"'),
        ({"land": "steep"}, 'those of "land" must be numbers'),
    ):
        with pytest.raises(ValueError, match=message):
            delassus.Model(text, heights=heights)
    with pytest.raises(ValueError, match='no geom of the model has a height field called "sea"'):
        model.heights("sea")


def test_files_that_are_wrong_are_refused_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and no more")
    (tmp_path / "short.bin").write_bytes(struct.pack("iif", 3, 3, 1.0))
    path = tmp_path / "land.xml"
    for field, message in (
        ('file="broken.png"', "broken.png"),
        ('file="short.bin"', "MuJoCo's own format"),
        ('file="none.png"', "cannot read .*none.png"),
        ('nrow="3" ncol="3" elevation="1 2 3"', "has 3 numbers, needs 9"),
        ('nrow="1" ncol="3"', "at least two rows and two columns"),
        ("", "at least two rows and two columns"),
        ('nrow="1000000" ncol="1000000"', "more than"),
    ):
        path.write_text(land(field))
        with pytest.raises(delassus.Error, match=message):
            delassus.Model(path)
    moving = '<body><freejoint/><geom size="0.1"/><geom type="hfield" hfield="land"/></body>'
    path.write_text(land('nrow="3" ncol="3"', body=moving))
    with pytest.raises(delassus.Error, match="must not move"):
        delassus.Model(path)
    with pytest.raises(delassus.Error, match=r"height fields are found on the CPU only|no GPU support"):
        delassus.Worlds(delassus.Model(land('nrow="3" ncol="3"')), 4, backend="gpu")


SHAPES = ("sphere", "capsule", "ellipsoid", "cylinder", "box")


@pytest.mark.parametrize("shape", SHAPES)
def test_what_falls_on_rough_land_comes_to_rest_on_it(shape: str) -> None:
    """Boxes come to rest, and of all no corner of the land is deep within a shape, nor any shape below the land."""
    body = f'<body><freejoint/><geom name="it" type="{shape}" size="0.09 0.06 0.04"/></body>'
    rough = 0.08 * np.random.default_rng(2).random((21, 21))
    model = delassus.Model(land('nrow="21" ncol="21"', body=body), heights={"land": rough})
    worlds = delassus.Worlds(model, 32, dt=0.002)
    q = np.zeros((32, 7))
    q[:, :2] = np.random.default_rng(3).uniform(-0.4, 0.4, (32, 2))
    q[:, 2], q[:, 3:] = 0.3, np.random.default_rng(4).normal(size=(32, 4))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    worlds.set_state(q, np.zeros((32, 6)))
    deepest = 0.0
    for _ in range(100):
        worlds.step(substeps=5)
        assert (worlds.reports["status"] == 0).all()
        deepest = max(deepest, float(worlds.reports["penetration"].max()))
    on_land = np.abs(worlds.positions()[:, :2]).max(axis=1) < 0.7
    assert on_land.sum() > 16
    # a step at 2 m/s is 4 mm; a peak at the rim of a cylinder is met late
    assert deepest < (0.02 if shape == "cylinder" else 0.006)
    assert worlds.positions()[on_land, 2].min() > 0.03
    if shape == "box":
        assert np.median(np.abs(worlds.velocities()).max(axis=1)) < 1e-3


def test_a_robot_walks_on_level_land_as_on_a_plane(ant: delassus.Model) -> None:
    text = Path(ant.source).read_text()
    floor = next(line for line in text.splitlines() if 'type="plane"' in line)
    level = floor.replace('type="plane"', 'type="hfield" hfield="land"')
    asset = '<asset><hfield name="land" nrow="41" ncol="41" size="10 10 1 1"/></asset>'
    on_land = delassus.Model(text.replace(floor, level).replace("<worldbody>", f"{asset}<worldbody>", 1))
    moved = []
    for model in (ant, on_land):
        worlds = delassus.Worlds(model, 16, precision="f64")
        worlds.set_start(None, 0.05)
        worlds.reset(seed=1)
        for k in range(50):
            worlds.draw_control(k)
            worlds.step()
        assert (worlds.reports["status"] == 0).all()
        moved.append(worlds.positions().copy())
    np.testing.assert_allclose(moved[1], moved[0], atol=1e-6)
