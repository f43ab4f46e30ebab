"""Actuators that pull bodies to what they touch: steps with soft constraints beside MuJoCo's, and hard ones."""

import numpy as np
import pytest

import delassus

FLOOR = '<geom name="floor" type="plane" size="5 5 1" margin=".004"/>'
BALLS = f"""<worldbody>{FLOOR}<body name="a" pos="0 0 .098"><freejoint/><geom size=".1" mass="1"/><geom size=".05" pos=".12 0 -.05" gap=".01"/>
    <body name="c" pos="0 .15 0"><joint axis="1 0 0" damping=".1"/><geom size=".06" pos="0 .1 -.035"/></body></body>
  <body name="b" pos=".02 0 .297"><freejoint/><geom size=".1" mass="2"/></body></worldbody>"""
ADHESION = {
    "one": '<adhesion body="a" ctrlrange="0 1" gain="30"/>',
    "two": '<adhesion body="a" ctrlrange="0 1" gain="30"/><motor joint="j"/><adhesion body="b" ctrlrange="0 2" gain="5" forcerange="0 4"/>',
    "of a link": '<adhesion body="c" ctrlrange="0 1" gain="9"/>',
    "of the world": '<general body="world" gainprm="10" dyntype="filter" dynprm=".05"/>',
}


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
@pytest.mark.parametrize("name", ADHESION)
def test_steps_are_mujocos(name: str, integrator: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    actuators = ADHESION[name].replace('<motor joint="j"/>', "")
    text = (
        f'<mujoco><option integrator="{integrator}" timestep=".002"/>{BALLS}<actuator>{actuators}</actuator></mujoco>'
    )
    there, model = mujoco.MjModel.from_xml_string(text), delassus.Model(text)
    worlds = delassus.Worlds(model, 1, precision="f64", constraints="soft", threads=1)
    force = worlds.observer(each=delassus.quantities.ACTUATOR_FORCE)
    rng = np.random.default_rng(1)
    touching = set()
    for _ in range(12):
        data = mujoco.MjData(there)
        mujoco.mj_integratePos(there, data.qpos, rng.uniform(-0.004, 0.004, there.nv), 1.0)
        data.qvel[:] = rng.uniform(-0.1, 0.1, there.nv)
        data.ctrl[:] = rng.uniform(0, 2, there.nu)
        data.act[:] = rng.uniform(0, 1, there.na)
        worlds.set_state(data.qpos[None], data.qvel[None])
        worlds.set_activations(data.act[None])
        worlds.set_control(data.ctrl[None])
        mujoco.mj_forward(there, data)
        assert np.allclose(force()["each"][0], data.actuator_force, 1e-13, 1e-13)
        touching.add(data.ncon)
        mujoco.mj_step(there, data)
        worlds.step()
        assert np.abs(worlds.positions()[0] - data.qpos).max() < 1e-10
        assert np.abs(worlds.velocities()[0] - data.qvel).max() < 1e-8
    assert len(touching) > 1, "some contacts come and go"


def test_a_gap_is_pulled_across() -> None:
    """Beyond the margin there is no contact force, but within the gap there is adhesion."""
    mujoco = pytest.importorskip("mujoco")
    text = """<mujoco><worldbody><geom type="plane" size="5 5 1" gap=".02"/><body name="a" pos="0 0 HEIGHT"><freejoint/><geom size=".1" gap=".03"/></body></worldbody>
      <actuator><adhesion body="a" ctrlrange="0 1" gain="7"/></actuator></mujoco>"""
    for height, pulled in ((".12", True), (".149", True), (".151", False)):
        here = text.replace("HEIGHT", height)
        there, worlds = (
            mujoco.MjModel.from_xml_string(here),
            delassus.Worlds(delassus.Model(here), 1, precision="f64", constraints="soft"),
        )
        data = mujoco.MjData(there)
        data.ctrl[:] = 1
        mujoco.mj_step(there, data)
        worlds.step(np.ones((1, 1)))
        assert np.abs(worlds.velocities()[0] - data.qvel).max() < 1e-14
        mass = there.body_mass[1]
        assert (data.qvel[2] < -0.002 * (9.81 + 6 / mass)) == pulled


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_it_holds_what_hangs(precision: str) -> None:
    """Hard contacts: a box below a ceiling stays there as long as it is pulled up by more than its weight, and falls then."""
    text = """<mujoco><worldbody><geom type="box" size="1 1 .1" pos="0 0 1.1"/>
      <body name="a" pos="0 0 .9"><freejoint/><geom type="box" size=".1 .1 .1" mass="1"/></body></worldbody>
      <actuator><adhesion body="a" ctrlrange="0 30"/></actuator></mujoco>"""
    worlds = delassus.Worlds(delassus.Model(text), 3, precision=precision)
    control = np.array([[20.0], [9.7], [0.0]])
    for _ in range(10):
        worlds.step(control, substeps=50)
    height = worlds.positions()[:, 2]
    assert abs(height[0] - 0.9) < 1e-3 and (height[1:] < 0.5).all()
