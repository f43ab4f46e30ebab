"""Gravity compensation against MuJoCo's accelerations."""

import numpy as np
import pytest
from test_quantities import ARM

import delassus


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_accelerations_are_mujocos(integrator):
    mujoco = pytest.importorskip("mujoco")
    # A servo is implicit in its damping here, and nothing may touch.
    text = ARM.replace(' kv="2"', "").replace("<option", '<option><flag contact="disable"/></option><option', 1)
    for name, share in {"post": 0.4, "upper": 1, "lower": 0.3, "block": -2}.items():
        text = text.replace(f'<body name="{name}"', f'<body name="{name}" gravcomp="{share}"')
    theirs, ours = mujoco.MjModel.from_xml_string(text), delassus.Model(text)
    random, data, compensated = np.random.default_rng(0), mujoco.MjData(theirs), 0.0
    worlds = delassus.Worlds(ours, 1, precision="f64", dt=1e-8, integrator=integrator)
    for _ in range(10):
        data.qpos = ours.q0
        mujoco.mj_integratePos(theirs, data.qpos, 0.3 * random.normal(size=ours.nv), 1.0)
        data.qvel, data.ctrl = random.normal(size=ours.nv), random.normal(size=ours.nu)
        mujoco.mj_forward(theirs, data)
        worlds.set_state([data.qpos], [data.qvel])
        worlds.step([data.ctrl])
        own = (worlds.velocities()[0] - data.qvel) / worlds.dt
        # what a step changes of the acceleration, and rounding of velocities over it: 1e-8 each
        np.testing.assert_allclose(own, data.qacc, atol=1e-6 * (1 + abs(data.qacc).max()))
        compensated = max(compensated, abs(data.qfrc_gravcomp).max())
    assert compensated > 1
