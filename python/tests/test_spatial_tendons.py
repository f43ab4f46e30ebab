"""Tendons along a path: lengths, velocities and a step with soft constraints beside MuJoCo's."""

import numpy as np
import pytest

import delassus

BODIES = """<worldbody><geom type="plane" size="5 5 1" pos="0 0 -3"/><site name="w" pos=".1 .05 1.3"/><site name="w2" pos="-.2 .1 1.2"/>
  <body pos="0 0 1"><joint name="a" axis="0 1 0" springref="20"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" contype="0"/>
    <site name="s1" pos=".15 0 .05"/><site name="s2" pos=".25 0 .08"/><site name="side" pos=".3 0 .1"/><site name="in" pos=".3 0.01 .02"/>
    <geom name="ball" type="sphere" size=".06" pos=".3 0 0" contype="0"/>
    <geom name="drum" type="cylinder" size=".05 .1" pos=".3 0 0" euler="90 10 0" contype="0" mass=".1"/>
    <body pos=".3 0 0"><joint axis="0.1 1 0"/><joint axis="0 0 1"/><geom type="capsule" size=".03" fromto="0 0 0 .3 0 0" contype="0"/>
      <site name="s3" pos=".1 0.02 .05"/><site name="s4" pos=".2 0 -.05"/>
      <body pos=".3 0 0"><joint type="slide" axis="1 0 0" springref=".05"/><geom size=".05" contype="0"/><site name="s5" pos="0 .02 0"/></body></body></body>
  <body pos="0 .5 .6"><freejoint/><geom size=".08" contype="0"/><site name="f" pos=".05 0 .02"/></body></worldbody>"""

PATHS = {
    "straight": '<site site="w"/><site site="s1"/><site site="s3"/><site site="s5"/>',
    "of two trees": '<site site="f"/><site site="s4"/>',
    "pulleys": """<site site="w"/><site site="s3"/><pulley divisor="2"/><site site="s3"/><site site="f"/>
      <pulley divisor="3"/><site site="w2"/><site site="s5"/>""",
    "around a ball": '<site site="s2"/><geom geom="ball"/><site site="s3"/>',
    "past a site": '<site site="s1"/><geom geom="ball" sidesite="side"/><site site="s4"/>',
    "through a ball": '<site site="s2"/><geom geom="ball" sidesite="in"/><site site="s3"/>',
    "around a drum": '<site site="w"/><site site="s2"/><geom geom="drum"/><site site="s3"/><site site="s5"/>',
    "past a site around a drum": '<site site="s1"/><geom geom="drum" sidesite="side"/><site site="s4"/>',
    "through a drum": '<site site="s2"/><geom geom="drum" sidesite="in"/><site site="s4"/>',
    "mostly past": '<site site="f"/><geom geom="ball"/><site site="w"/>',
}

ACTS = {
    "spring": ('stiffness="30" damping=".4"', ""),
    "slack": ('stiffness="30" springlength=".1 .3"', ""),
    "limit": ('range="0 .45" margin=".02"', ""),
    "friction": ('frictionloss=".3"', ""),
    "actuators": ("", '<motor tendon="t" gear="2"/><position tendon="t" kp="20" kv="1"/>'),
}


@pytest.mark.parametrize("acts", ACTS)
@pytest.mark.parametrize("path", PATHS)
def test_a_step_is_mujocos(path: str, acts: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    attributes, actuators = ACTS[acts]
    tendon = f'<tendon><spatial name="t" {attributes}>{PATHS[path]}</spatial></tendon>'
    text = f'<mujoco><option timestep="0.002"/>{BODIES}{tendon}<actuator>{actuators}</actuator></mujoco>'
    there, model = mujoco.MjModel.from_xml_string(text), delassus.Model(text)
    worlds = delassus.Worlds(model, 1, precision="f64", constraints="soft", threads=1)
    told = worlds.observer(length=delassus.quantities.TENDON_LENGTH, rate=delassus.quantities.TENDON_VELOCITY)
    # inside of what is round MuJoCo stops a search short of the end
    close = 1e-6 if "through" in path else 1e-9
    rng = np.random.default_rng(1)
    for _ in range(20):
        data = mujoco.MjData(there)
        data.qpos[:4] += rng.uniform(-1, 1, 4) * [1, 1, 1, 0.1]
        data.qpos[4:7] += rng.uniform(-0.3, 0.3, 3)
        turn = rng.normal(size=4)
        data.qpos[7:11] = turn / np.linalg.norm(turn)
        data.qvel[:] = rng.uniform(-1, 1, there.nv)
        data.ctrl[:] = rng.uniform(-1, 1, there.nu)
        worlds.set_state(data.qpos[None], data.qvel[None])
        worlds.set_control(data.ctrl[None])
        mujoco.mj_forward(there, data)
        found = told()
        assert abs(found["length"][0, 0] - data.ten_length[0]) < 1e-12
        assert abs(found["rate"][0, 0] - data.ten_velocity[0]) < close
        mujoco.mj_step(there, data)
        worlds.step()
        assert np.abs(worlds.velocities()[0] - data.qvel).max() < close
