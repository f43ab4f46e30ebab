"""Drag of a medium against MuJoCo's accelerations."""

from pathlib import Path

import numpy as np
import pytest
from test_quantities import ARM

import delassus
from delassus.gym.task import asset

# Of the largest acceleration; the step is 1 ms in f64, and velocities are read back to 1e-16.
TOLERANCE = 1e-8


@pytest.mark.parametrize("medium", ['density="1000"', 'viscosity="0.7"', 'density="800" viscosity="3" wind="1 -2 0.5"'])
@pytest.mark.parametrize("name", ["arm", "swimmer"])
def test_accelerations_are_mujocos(name, medium):
    mujoco = pytest.importorskip("mujoco")
    # A servo is implicit in its damping here.
    text = ARM.replace(' kv="2"', "") if name == "arm" else Path(asset("swimmer.xml")).read_text()
    if name == "arm":
        text = text.replace("<option", f'<option timestep="0.001" {medium}')
    else:
        text = text.replace(
            'density="4000" integrator="RK4" timestep="0.01" viscosity="0.1"', f'timestep="0.001" {medium}'
        )
    # Nothing may touch: contacts are another matter.
    text = text.replace("<option", '<option><flag contact="disable"/></option><option', 1)
    theirs, ours = mujoco.MjModel.from_xml_string(text), delassus.Model(text)
    random = np.random.default_rng(0)
    data = mujoco.MjData(theirs)
    worlds = delassus.Worlds(ours, 1, precision="f64")
    dragged = 0.0
    for _ in range(10):
        data.qpos = ours.q0
        mujoco.mj_integratePos(theirs, data.qpos, 0.3 * random.normal(size=ours.nv), 1.0)
        data.qvel, data.ctrl = random.normal(size=ours.nv), random.normal(size=ours.nu)
        mujoco.mj_forward(theirs, data)
        v, expected = data.qvel.copy(), data.qacc.copy()
        worlds.set_state([data.qpos], [v])
        worlds.step([data.ctrl])
        own = (worlds.velocities()[0] - v) / worlds.dt
        np.testing.assert_allclose(own, expected, atol=TOLERANCE * (1 + abs(expected).max()))
        dragged = max(dragged, abs(data.qfrc_fluid).max())
    assert dragged > 0.1, "the medium resists nothing"


def _rd(x: float, y: float, z: float) -> float:
    """Carlson's R_D by duplication."""
    total, share = 0.0, 1.0
    for _ in range(40):
        step = np.sqrt(x * y) + np.sqrt(y * z) + np.sqrt(z * x)
        total += share / (np.sqrt(z) * (z + step))
        share /= 4
        x, y, z = (x + step) / 4, (y + step) / 4, (z + step) / 4
    return 3 * total + share * ((x + y + 3 * z) / 5) ** -1.5


def _added(r: np.ndarray) -> np.ndarray:
    """Added mass and inertia of an ellipsoid in a fluid of unit density."""
    volume, s = 4 / 3 * np.pi * np.prod(r), r**2
    kappa = np.array([2 / 3 * np.prod(r) * _rd(s[i - 2], s[i - 1], s[i]) for i in range(3)])
    inertia = np.zeros(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        below = 2 * (s[j] - s[k]) + (s[j] + s[k]) * (kappa[j] - kappa[k])
        if s[j] != s[k]:
            inertia[i] = volume / 5 * (s[j] - s[k]) ** 2 * (kappa[k] - kappa[j]) / below
    return np.concatenate([volume * kappa / (2 - kappa), inertia])


FLYER = """<mujoco><option timestep="0.001" integrator="INTEGRATOR" MEDIUM/><default><geom fluidshape="ellipsoid"/></default><worldbody>
  <body pos="0 0 1"><freejoint/><geom type="ellipsoid" size=".1 .05 .02" mass=".3"/>
    <geom type="capsule" size=".02 .1" pos="0 .1 0" euler="20 30 40" fluidcoef="1 .3 .8 2 .5"/>
    <body pos=".1 0 0"><joint type="ball"/><geom type="ellipsoid" size=".001 .1 .2" mass=".1" pos=".1 .1 0" euler="10 50 0"/></body>
    <body pos="-.1 0 0"><joint axis="1 2 3"/><geom type="box" size=".05 .06 .07" fluidcoef=".1 .2"/><geom type="cylinder" size=".05 .02" fluidshape="none"/></body>
    <body pos="0 -.2 0"><joint type="slide"/><geom size=".05" fluidshape="none"/></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
@pytest.mark.parametrize("medium", ['density="100"', 'viscosity="0.7"', 'density="80" viscosity="3" wind="1 -2 0.5"'])
def test_ellipsoids_are_mujocos(medium: str, integrator: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    text = FLYER.replace("MEDIUM", medium).replace("INTEGRATOR", integrator)
    there = mujoco.MjModel.from_xml_string(text)
    # MuJoCo's own integrals are good to 3e-4 of a plate as thin as this one, to 1e-6 of others
    there.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    lengths = {2: lambda s: [s[0]] * 3, 3: lambda s: [s[0], s[0], s[0] + s[1]], 5: lambda s: [s[0], s[0], s[1]]}
    for geom in np.flatnonzero(there.geom_fluid[:, 0]):
        half = np.array(lengths.get(there.geom_type[geom], list)(there.geom_size[geom]))
        exact = _added(half)
        assert np.allclose(there.geom_fluid[geom, 6:], exact, 1e-3, 1e-3 * exact.max())
        there.geom_fluid[geom, 6:] = exact
    text = text.replace("<option", '<option><flag contact="disable"/></option><option', 1)
    worlds = delassus.Worlds(delassus.Model(text), 1, precision="f64", constraints="soft", threads=1)
    random = np.random.default_rng(0)
    for _ in range(10):
        data = mujoco.MjData(there)
        mujoco.mj_integratePos(there, data.qpos, random.normal(size=there.nv), 1.0)
        data.qvel[:] = 2 * random.normal(size=there.nv)
        worlds.set_state(data.qpos[None], data.qvel[None])
        before = data.qvel.copy()
        for _ in range(3):
            mujoco.mj_step(there, data)
        worlds.step(substeps=3)
        assert np.abs(worlds.positions()[0] - data.qpos).max() < 1e-11
        assert np.abs(worlds.velocities()[0] - data.qvel).max() < 1e-9
        assert np.abs(data.qvel - before).max() > 0.02
