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
