"""Actuators with a state of their own, and thrust at sites: steps with soft constraints beside MuJoCo's."""

import numpy as np
import pytest

import delassus

BODIES = """<worldbody><geom type="plane" size="5 5 1"/><site name="w" pos=".2 .1 .4" euler="10 20 30"/><body pos="0 0 .6"><freejoint/><geom size=".1" mass="1"/>
  <site name="s" pos=".1 .02 .03" euler="20 40 10"/><site name="t" pos="-.1 .02 .03"/>
  <body pos=".2 0 0"><joint name="j" axis="0 1 0" range="-60 50" damping=".1"/><geom size=".05" pos=".1 0 0"/><site name="u" pos=".1 0 .1" euler="5 6 7"/>
    <body pos=".2 0 0"><joint name="k" axis="0 0 1" type="slide" range="-1 1" limited="false"/><geom size=".05" pos=".1 0 0"/></body></body>
  <body pos="-.2 0 0"><joint name="b" type="ball"/><geom size=".05" pos="-.1 0 0"/></body></body></worldbody>
  <tendon><fixed name="f"><joint joint="j" coef="1"/><joint joint="k" coef="-2"/></fixed>
    <spatial name="p"><site site="t"/><site site="s"/><site site="u"/></spatial></tendon>"""

ACTUATORS = {
    "integrator": '<general joint="j" dyntype="integrator" gainprm="3" biasprm="0 -3 -.2" biastype="affine" ctrlrange="-1 1"/>',
    "integrator with bounds": '<general joint="j" dyntype="integrator" gainprm="3" actrange="-.02 .03" ctrlrange="-1 1"/>',
    "filter": '<general joint="j" dyntype="filter" dynprm=".03" gainprm="3"/>',
    "exact filter": '<general joint="j" dyntype="filterexact" dynprm=".03" gainprm="3" ctrlrange="-.5 .5"/>',
    "early": '<general joint="j" dyntype="filter" dynprm=".03" gainprm="3" actearly="true"/>',
    "early, exact": '<general joint="j" dyntype="filterexact" dynprm=".03" gainprm="3" actearly="true"/>',
    "position": '<position joint="k" kp="20" kv="2" timeconst=".05"/>',
    "position with a damping ratio": '<position joint="k" kp="20" dampratio="1" timeconst=".05"/>',
    "intvelocity": '<intvelocity joint="j" kp="5" kv=".3" actrange="-.5 1"/>',
    "intvelocity within the joint's range": '<intvelocity joint="j" kp="5" inheritrange="1"/>',
    "cylinder": '<cylinder joint="k" timeconst=".1" area="4" bias="-.2 -3 -.1"/>',
    "cylinder with a diameter": '<cylinder joint="k" timeconst=".1" diameter="2"/>',
    "of a tendon": '<general tendon="f" dyntype="filter" dynprm=".1" gainprm="3" gear="1.5"/>',
    "of a ball": '<general joint="b" dyntype="filter" dynprm=".1" gainprm="3" gear=".1 .2 .3"/>',
    "at sites": '<motor site="s" gear="1 2 3 .1 .2 .3" ctrlrange="-2 2"/><general site="u" gear="0 0 .5 0 0 -.1" dyntype="filter" dynprm=".02"/>',
    "at a site with a bound": '<motor site="t" gear="0 0 30 0 0 1" forcerange="-.3 .3"/>',
    "in the parent": '<motor jointinparent="j"/>',
    "several": """<motor joint="j"/><general joint="k" dyntype="filter" dynprm=".03"/><position joint="j" kp="1"/>
      <intvelocity joint="k" kp="3" actrange="-1 1"/><motor site="s" gear="0 0 1"/>""",
    "by default": '<position joint="k" kp="20"/>',
    "muscle": '<muscle joint="j" lengthrange="-.6 .7" gear=".3"/>',
    "muscle of a peak force": '<muscle joint="k" lengthrange="-.6 .7" force="50" ctrlrange="0 1"/>',
    "muscle of other curves": """<muscle joint="j" lengthrange="-.6 .7" scale="30" timeconst=".02 .05" tausmooth=".2" range=".6 1.2"
      lmin=".4" lmax="1.8" vmax="2" fpmax="1.1" fvmax="1.4"/>""",
    "muscle on a tendon": '<muscle tendon="p" lengthrange=".1 .9"/><motor joint="j"/><muscle joint="k" lengthrange="-1 1" force="30"/>',
    "general muscle": """<general tendon="p" lengthrange=".1 .9" gaintype="muscle" biastype="muscle" dyntype="muscle" dynprm=".01 .04"
      gainprm=".75 1.05 -1 400 .5 1.6 1.5 1.3 1.2" biasprm=".75 1.05 -1 400 .5 1.6 1.5 1.3 1.2"/>""",
    "a servo between sites": '<position site="u" refsite="s" gear="0 2 1 0 0 0" kp="20" kv="2"/>',
    "a servo of a turn between sites": '<position site="u" refsite="t" gear="0 0 0 .3 .4 1" kp="5" kv=".2"/>',
    "the shorter way around": """<position site="u" refsite="w" gear="0 0 0 0 0 1" kp="5" ctrlrange="-20 20"/>
      <position joint="b" gear="0 .6 .8" kp="4" kv=".1" timeconst=".1"/>""",
    "between sites, of all": """<general site="w" refsite="u" gear="1 2 3 .3 .4 1" gainprm="2 .1 .2" gaintype="affine" biastype="affine" biasprm=".5 -3 -.4"/>
      <motor site="t" refsite="s" gear="0 0 1"/><intvelocity joint="b" gear="0 0 1" kp="2" actrange="-9 9"/>""",
    "damping ratio between sites": """<position site="u" refsite="s" gear=".6 .8 0 0 0 0" kp="30" dampratio="1"/>
      <position joint="b" gear="0 .6 .8" kp="4" dampratio=".7"/>""",
    "damping ratio along a path": '<position tendon="p" kp="30" dampratio="1"/>',
}


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
@pytest.mark.parametrize("name", ACTUATORS)
def test_steps_are_mujocos(name: str, integrator: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    defaults = '<default><position timeconst=".02"/></default>' if name == "by default" else ""
    options = f'<option integrator="{integrator}" timestep="0.004"/>'
    text = f"<mujoco>{options}{defaults}{BODIES}<actuator>{ACTUATORS[name]}</actuator></mujoco>"
    there, model = mujoco.MjModel.from_xml_string(text), delassus.Model(text)
    assert (model.na, model.nu) == (there.na, there.nu)
    assert model.activation_actuator == [i for i in range(there.nu) if there.actuator_actadr[i] >= 0]
    worlds = delassus.Worlds(model, 1, precision="f64", constraints="soft", threads=1)
    forces = worlds.observer(each=delassus.quantities.ACTUATOR_FORCE, dofs=delassus.quantities.JOINT_ACTUATOR_FORCE)
    rng = np.random.default_rng(1)
    for _ in range(10):
        data = mujoco.MjData(there)
        data.qpos[7:9] += rng.uniform(-0.5, 0.5, 2)
        for start in (3, 9):
            turn = rng.normal(size=4)
            data.qpos[start : start + 4] = turn / np.linalg.norm(turn)
        data.qvel[:] = rng.uniform(-1, 1, there.nv)
        data.act[:] = rng.uniform(-0.6, 0.6, there.na)
        data.ctrl[:] = rng.uniform(-1.5, 1.5, there.nu)
        worlds.set_state(data.qpos[None], data.qvel[None])
        worlds.set_activations(data.act[None])
        worlds.set_control(data.ctrl[None])
        mujoco.mj_forward(there, data)
        told = forces()
        assert np.allclose(told["each"][0], data.actuator_force, 1e-13, 1e-13)
        assert np.allclose(told["dofs"][0], data.qfrc_actuator, 1e-12, 1e-12)
        for _ in range(3):
            mujoco.mj_step(there, data)
        worlds.step(substeps=3)
        assert np.abs(worlds.positions()[0] - data.qpos).max() < 1e-10
        assert np.abs(worlds.velocities()[0] - data.qvel).max() < 1e-9
        assert np.abs(worlds.activations()[0] - data.act).max(initial=0) < 1e-14


def test_activations_of_some_worlds() -> None:
    text = f"<mujoco>{BODIES}<actuator>{ACTUATORS['several']}</actuator><keyframe><key name='k' act='.1 .2'/></keyframe></mujoco>"
    worlds = delassus.Worlds(delassus.Model(text), 3)
    assert worlds.activations().shape == (3, 2) and not worlds.activations().any()
    worlds.set_activations([[1, 2]], worlds=[1])
    assert worlds.activations().tolist() == [[0, 0], [1, 2], [0, 0]]
    before = worlds.save()
    worlds.step(np.ones((3, 5)))
    worlds.load(before)
    assert worlds.activations().tolist() == [[0, 0], [1, 2], [0, 0]]
    worlds.set_start("k")
    worlds.reset(worlds=[2])
    assert np.allclose(worlds.activations(), [[0, 0], [1, 2], [0.1, 0.2]])
    assert np.allclose(worlds.model.keyframe("k")["activation"], [0.1, 0.2])
    with pytest.raises(ValueError, match="activations"):
        worlds.set_activations([[1, 2, 3]] * 3)
    with pytest.raises(ValueError, match="finite"):
        worlds.set_activations([[np.nan, 2]] * 3)
