"""What a file means: one step with soft constraints beside MuJoCo's, from the same state, of models of a few lines."""

import numpy as np
import pytest

import delassus

PLANE = '<geom type="plane" size="5 5 1"/>'
HINGE = (
    '<worldbody><body pos="0 0 1"><joint name="j" range="-20 40"/><geom size="0.1" pos="0.1 0 0"/></body></worldbody>'
)


def slide(geom: str, joint: str = "", height: float = 0.099) -> str:
    return f'<worldbody>{PLANE}<body pos="0 0 {height}"><joint type="slide" {joint}/>{geom}</body></worldbody>'


def servo(defaults: str, actuator: str, options: str = "") -> str:
    return f"{options}<default>{defaults}</default>{HINGE}<actuator>{actuator}</actuator>"


MODELS = {
    "inertial in a frame": """<worldbody><body><freejoint/><frame pos="1 0 0" euler="20 30 0"><frame pos="0.1 0.2 0.3" euler="0 10 50">
      <inertial pos="0.5 0.1 0" mass="1" fullinertia="1 1.2 1.5 0.1 0.2 0.05"/></frame></frame></body></worldbody>""",
    "actuatorfrcrange of a ball": """<worldbody><body pos="0 0 1"><joint type="ball" name="j" actuatorfrcrange="-0.2 0.2"/><geom size="0.1"/></body></worldbody>
      <actuator><motor joint="j" gear="1 2 3"/></actuator>""",
    "what slides alone": slide('<geom size="0.1"/>'),
    "off its centre": slide('<geom size="0.1" pos="0 0 0.05"/>', height=0.049),
    "turned": slide('<geom type="capsule" fromto="-0.1 0 0 0.1 0 0" size="0.1"/>'),
    "on what is fixed": f'<worldbody>{PLANE}<body><body pos="0 0 0.099"><joint type="slide"/><geom size="0.1"/></body></body></worldbody>',
    "armature and a limit": slide('<geom size="0.1"/>', 'armature="4" range="-1 -0.01"', 1.0),
    "armature and a time constant": slide('<geom size="0.2"/>', 'springdamper="0.2 1" armature="4" springref="1"', 1.0),
    "nothing passive": """<option><flag spring="disable" damper="disable"/></option>
      <worldbody><body gravcomp="1"><joint axis="0 1 0"/><geom size="0.1" pos="0.3 0 0"/></body></worldbody>""",
    "groups beyond 5": '<worldbody><body><joint axis="0 1 0"/><geom size="0.1" pos="0.1 0 0"/><geom size="0.1" group="6" pos="0.2 0 0"/></body></worldbody>',
    "another shortcut in a nested class": servo(
        '<position kp="7"/><default class="a"><motor gear="2"/></default>', '<position class="a" joint="j"/>'
    ),
    "and another": servo(
        '<position kp="7"/><default class="a"><velocity kv="2"/></default>', '<position class="a" joint="j"/>'
    ),
    "two classes up": servo(
        '<position kp="7" kv="3"/><default class="a"><default class="b"><velocity kv="2"/></default></default>',
        '<position class="b" joint="j"/>',
    ),
    "general in between": servo(
        '<position kp="7"/><default class="a"><general gainprm="4"/></default>', '<velocity class="a" joint="j"/>'
    ),
    "the same in one class": servo('<position kp="7"/><motor gear="2"/>', '<position joint="j"/>'),
    "a range in the place of an inherited one": servo(
        '<position kp="3" inheritrange="1"/>', '<position joint="j" ctrlrange="-1 1"/>'
    ),
    "an inherited range": servo('<position kp="3" ctrlrange="-1 1"/>', '<position joint="j" inheritrange="1"/>'),
    "no limit whatever is inherited": servo("", '<position joint="j" kp="3" ctrllimited="false" inheritrange="1"/>'),
    "a damper without autolimits": servo(
        "", '<damper joint="j" kv="2" ctrlrange="0 1"/>', '<compiler autolimits="false"/>'
    ).replace('range="-20 40"', ""),
    "actuation off": servo("", '<motor joint="j" forcerange="-4 -1"/>', '<option><flag actuation="disable"/></option>'),
    "bounds without actuators": '<worldbody><body><joint actuatorfrcrange="1 2"/><geom size="0.1"/></body></worldbody>',
}


@pytest.mark.parametrize("name", MODELS)
def test_one_step_is_mujocos(name: str) -> None:
    mujoco = pytest.importorskip("mujoco")
    text = f"<mujoco>{MODELS[name]}</mujoco>"
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    worlds = delassus.Worlds(delassus.Model(text), 1, precision="f64", constraints="soft", threads=1)
    for k in range(3):
        data.qvel = np.linspace(-1.0, 0.5, model.nv) * (1 + k)
        data.ctrl = np.full(model.nu, 0.5 + k)
        worlds.set_state([data.qpos], [data.qvel])
        worlds.set_control([data.ctrl])
        mujoco.mj_step(model, data)
        worlds.step()
        np.testing.assert_allclose(worlds.velocities()[0], data.qvel, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(worlds.positions()[0], data.qpos, rtol=1e-9, atol=1e-9)


def test_what_implicitfast_makes_implicit_and_is_not_here_is_noted() -> None:
    text = f'<mujoco><option integrator="implicitfast"/>{HINGE}<tendon><fixed name="t" damping="1"><joint joint="j" coef="2"/></fixed></tendon></mujoco>'
    assert any("damping along tendons is explicit" in note and differs for note, differs in delassus.Model(text).notes)
    plain = text.replace('damping="1"', "")
    assert not delassus.Model(plain).notes
