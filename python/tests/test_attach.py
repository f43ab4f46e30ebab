"""Models that attach parts of others, beside MuJoCo's."""

from pathlib import Path

import numpy as np
import pytest

import delassus

ARM = """<mujoco model="arm"><compiler angle="radian" eulerseq="zyx" boundmass="0.5" inertiagrouprange="0 1" meshdir="meshes"/>
  <default><geom density="500" friction=".3"/><joint damping=".7"/><motor gear="3"/><pair friction="2"/><tendon stiffness="5"/><equality solref=".05 1"/>
    <default class="k"><geom density="200"/><default class="k2"><joint armature=".1"/></default></default></default>
  <asset><mesh file="tri.obj"/></asset>
  <worldbody><geom name="floor" type="plane" size="1 1 1"/><site name="ws"/>
    <frame name="f" pos="0 0 .3"><body name="a" pos="0 0 1" euler="0.3 0 0.2"><freejoint name="free"/><geom name="g" size=".1"/><geom size=".05" group="3" pos="1 1 1"/>
      <body name="b" childclass="k" pos=".5 0 0"><joint name="j" range="-1 1" class="k2"/><geom name="gb" size=".1"/><geom type="mesh" mesh="tri"/><site name="s" euler=".1 .2 .3"/></body>
      <body name="light"><joint name="l2"/><geom size=".01" pos=".1 0 0"/></body></body></frame>
    <body name="other" pos="0 0 .09"><joint name="oj" type="slide" axis="0 0 1"/><geom name="og" size=".1"/></body></worldbody>
  <tendon><fixed name="t"><joint joint="j" coef="1"/></fixed><fixed name="t2"><joint joint="j" coef="1"/><joint joint="oj" coef="2"/></fixed></tendon>
  <actuator><motor name="mo" joint="oj"/><motor name="mj" joint="j"/><position name="pt" tendon="t" kp="3"/><motor name="sm" site="s" gear="1"/>
    <general name="ft" joint="j" dyntype="filter" dynprm=".1"/></actuator>
  <contact><exclude body1="a" body2="b"/><exclude body1="world" body2="light"/><pair geom1="gb" geom2="floor"/><pair geom1="gb" geom2="g" name="gp"/></contact>
  <equality><weld body1="b" body2="other" active="false"/><joint joint1="j" joint2="l2"/><connect body1="b" anchor="0 0 0" active="false"/></equality>
  <sensor><jointpos name="sj" joint="j"/><jointpos name="so" joint="oj"/></sensor>
  <keyframe><key name="k0" qpos="0 0 2 1 0 0 0 .5 .6 .1" ctrl="1 2 3 4 5" act=".2"/></keyframe></mujoco>"""

HAND = """<mujoco model="hand"><asset><model file="arm.xml"/></asset><default><geom friction=".4"/></default>
  <worldbody><body name="h" pos="0 1 1"><joint name="hj"/><geom size=".1"/><attach model="arm" body="b" prefix="g-"/></body></worldbody></mujoco>"""

OWN = '<body name="own" pos="3 0 0"><joint name="j" axis="0 1 0"/><geom name="g" size=".1" pos=".1 0 0"/></body>'
ATTACHED = {
    "a body, twice": f"""<attach model="arm" body="a" prefix="x-"/>{OWN}<frame pos="5 0 0" euler="0 0 40"><attach model="arm" body="a" prefix="y-"/></frame>""",
    "all": f'{OWN}<frame pos="0 2 0" euler="0 0 90"><attach model="arm" prefix="w-"/></frame>',
    "a frame": f'<attach model="arm" frame="f" prefix="w-"/>{OWN}',
    "a body in a body": f'{OWN[:-7]}<frame euler="0 90 0"><attach model="arm" body="b" prefix="w-"/></frame></body>',
    "replicas": f'{OWN}<replicate count="3" sep="_" offset="0 3 0"><attach model="arm" body="a" prefix="w-"/></replicate>',
    "what attaches": f'<attach model="hand" body="h" prefix="h-"/>{OWN}',
}


@pytest.mark.parametrize("name", ATTACHED)
def test_what_is_attached_is_mujocos(name: str, tmp_path: Path) -> None:
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "parts" / "meshes").mkdir(parents=True)
    points = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "parts" / "meshes" / "tri.obj").write_text(points)
    (tmp_path / "parts" / "arm.xml").write_text(ARM)
    (tmp_path / "parts" / "hand.xml").write_text(HAND)
    asset = '<asset><model name="arm" file="parts/arm.xml"/><model file="parts/hand.xml"/></asset>'
    text = f"""<mujoco><default><joint damping=".2"/></default>{asset}<worldbody>{ATTACHED[name]}</worldbody>
      <actuator><motor joint="j" gear=".5"/></actuator></mujoco>"""
    (tmp_path / "main.xml").write_text(text)
    there = mujoco.MjModel.from_xml_path(str(tmp_path / "main.xml"))
    model = delassus.Model(tmp_path / "main.xml")
    assert (model.nq, model.nv, model.nu, model.na) == (there.nq, there.nv, there.nu, there.na)
    of = mujoco.mjtObj
    for kind, names in {of.mjOBJ_BODY: model.body_names, of.mjOBJ_JOINT: model.joint_names}.items():
        count = {of.mjOBJ_BODY: there.nbody, of.mjOBJ_JOINT: there.njnt}[kind]
        assert names == [mujoco.mj_id2name(there, kind, i) or "" for i in range(count)]
    assert model.actuator_names == [mujoco.mj_id2name(there, of.mjOBJ_ACTUATOR, i) or "" for i in range(there.nu)]
    worlds = delassus.Worlds(model, 1, precision="f64", constraints="soft", threads=1)
    rng = np.random.default_rng(1)
    for _ in range(5):
        data = mujoco.MjData(there)
        mujoco.mj_integratePos(there, data.qpos, rng.uniform(-0.1, 0.1, there.nv), 1.0)
        data.qvel[:] = rng.uniform(-1, 1, there.nv)
        data.act[:] = rng.uniform(-0.6, 0.6, there.na)
        data.ctrl[:] = rng.uniform(-1.5, 1.5, there.nu)
        worlds.set_state(data.qpos[None], data.qvel[None])
        worlds.set_activations(data.act[None])
        worlds.set_control(data.ctrl[None])
        mujoco.mj_step(there, data)
        worlds.step()
        scale = max(1.0, np.abs(data.qvel).max())
        assert np.abs(worlds.positions()[0] - data.qpos).max() < 1e-9
        assert np.abs(worlds.velocities()[0] - data.qvel).max() < 1e-8 * scale
        assert np.abs(worlds.activations()[0] - data.act).max(initial=0) < 1e-14
    # states of whole models come along
    keys = [mujoco.mj_id2name(there, of.mjOBJ_KEY, i) for i in range(there.nkey)]
    for i, key in enumerate(keys if name == "all" else []):
        found = model.keyframe(key)
        assert np.allclose(found["q"], there.key_qpos[i], 1e-14, 1e-14)
        assert np.allclose(found["control"], there.key_ctrl[i]) and np.allclose(found["activation"], there.key_act[i])
