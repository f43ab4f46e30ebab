"""What the tests share: a model of the repository, and a ball that falls on a floor."""

from pathlib import Path

import pytest

import delassus

MODELS = Path(__file__).resolve().parents[2] / "examples" / "models"

BALL = """<mujoco model="ball">
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="ball" pos="0 0 0.5"><freejoint/><geom name="ball" size="0.1" mass="2"/></body>
  </worldbody>
</mujoco>"""


@pytest.fixture(scope="session")
def ant() -> delassus.Model:
    return delassus.Model(MODELS / "ant.xml")


@pytest.fixture(scope="session")
def ball() -> delassus.Model:
    return delassus.Model(BALL)
