"""Loops that a connect or a weld closes, beside MuJoCo."""

import numpy as np
import pytest

import delassus

FINGER = """<mujoco><option timestep="0.002"><flag contact="disable"/></option>
  <default><joint axis="{axis}" damping="0.01" armature="0.001"/><geom type="capsule" size="0.004"/></default>
  <worldbody><body pos="0 0 1" euler="20 -35 70">{base}<geom type="sphere" size="0.05"/>
    <body name="driver"><joint name="d"/><geom fromto="0 0 0 0 0.03 0.03"/>
      <body name="coupler" pos="0 0.03 0.03"><joint name="c"/><geom fromto="0 0 0 0.01 0.03 0.0"/></body></body>
    <body name="follower" pos="0 0.06 0"><joint name="f"/><geom fromto="0 0 0 0 0 0.03"/></body>
  </body></worldbody>
  <equality><{tie}/></equality>
</mujoco>"""
TIES = {
    "connect": 'connect body1="follower" body2="coupler" anchor="0 0 0.03" solref="0.01 1"',
    "weld": 'weld body1="coupler" body2="follower" solref="0.1 1" solimp="0.5 0.9 0.5"',
}


@pytest.mark.parametrize("base", ["", "<freejoint/>"])
@pytest.mark.parametrize("axis", ["1 0 0", "0.8 0.36 -0.48"])
@pytest.mark.parametrize("tie", TIES)
def test_soft_loops_in_a_plane_are_mujocos(tie, axis, base):
    mujoco = pytest.importorskip("mujoco")
    text = FINGER.format(tie=TIES[tie], axis=axis, base=base)
    theirs, model = mujoco.MjModel.from_xml_string(text), delassus.Model(text)
    theirs.opt.iterations, theirs.opt.tolerance = 200, 0
    data, random = mujoco.MjData(theirs), np.random.default_rng(0)
    q, expected = np.zeros((16, model.nq)), np.zeros((16, model.nv))
    for world in range(16):
        mujoco.mj_resetData(theirs, data)
        # of a weld, rows are the same where little is turned
        data.qpos[-3:] += (0.1 if tie == "connect" else 1e-4) * random.normal(size=3)
        q[world] = data.qpos
        mujoco.mj_step(theirs, data)
        expected[world] = data.qvel
    worlds = delassus.Worlds(model, 16, precision="f64", constraints="soft")
    worlds.set_state(q, np.zeros((16, model.nv)))
    report = worlds.step()
    assert (report["row_count"] == (3 if tie == "connect" else 6)).all()
    assert np.abs(worlds.velocities() - expected).max() < 1e-8 * (1 + np.abs(expected).max())
    # hard rows are those along the plane
    worlds = delassus.Worlds(model, 16)
    worlds.set_state(q, np.zeros((16, model.nv)))
    report = worlds.step()
    assert (report["row_count"] == (2 if tie == "connect" else 3)).all() and report["solved"].all()
