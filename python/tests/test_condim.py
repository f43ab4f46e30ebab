"""Torsional and rolling friction of soft contacts (condim 4 and 6) against MuJoCo: steps from random states, and what contacts are felt to do."""

import re

import numpy as np
import pytest

import delassus

BALLS = """<mujoco><option {option}/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 1" condim="1"/>
    <body pos="0 0 0.099"><freejoint/><geom name="a" size="0.1" {a}/></body>
    <body pos="1 0 0.149"><freejoint/><geom name="b" size="0.15" {b}/></body>
    <body pos="2 0 0.079"><freejoint/><geom name="c" size="0.08" {c}/></body>
  </worldbody>
  <contact>{pairs}</contact>
</mujoco>"""

ONE = """<mujoco><option {option}/>
  <worldbody><geom type="plane" size="5 5 1" {plane}/><body pos="0 0 {height}"><freejoint/><geom {geom}/></body></worldbody>
</mujoco>"""

# A trolley on rails, whose wheel rubs on the ground: worlds of one tree, each in its lane, with limits and dry friction beside the contact.
TROLLEY = """<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body pos="0 0 0.0995"><joint type="slide" axis="0 0 1"/><joint type="slide" axis="1 0 0"/><joint axis="0 0 1" range="-5 5" frictionloss="0.02"/>
      <geom type="box" size="0.1 0.05 0.02" pos="0 0 0.2" contype="0" conaffinity="0"/>
      <body><joint axis="0 1 0"/><geom size="0.1" condim="{condim}" friction="0.7 0.02 0.01"/></body>
      <body pos="0.4 0 0"><joint axis="0 1 0"/><geom type="capsule" fromto="0 -0.03 0 0 0.03 0" size="0.1" condim="4" friction="0.5 0.01 0.01"/></body>
    </body>
  </worldbody>
</mujoco>"""

GRIPPER = """<mujoco><option impratio="3"/>
  <default><geom friction="0.9 0.02 0.003" solref="0.01 1" solimp="0.8 0.95 0.002"/></default>
  <worldbody>
    <body pos="0 0 0.5"><joint type="slide" axis="0 0 1" damping="5"/><joint axis="1 0 0" damping="0.1"/><inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
      <body pos="0 0.0695 0"><joint name="left" type="slide" axis="0 1 0" damping="2"/>
        <geom type="capsule" fromto="-0.01 0 -0.08 0.02 0 0.05" size="0.02" condim="{condim}"/></body>
      <body pos="0 -0.0695 0"><joint name="right" type="slide" axis="0 1 0" damping="2"/>
        <geom type="capsule" fromto="0.01 0 -0.08 -0.02 0 0.05" size="0.02" condim="4"/></body>
    </body>
    <body pos="0 0 0.48"><freejoint/><geom {held} condim="3" mass="0.1"/></body>
  </worldbody>
  <actuator><motor joint="left"/><motor joint="right"/></actuator>
</mujoco>"""

PAIRS = """<pair geom1="floor" geom2="a" condim="6" friction="0.6 0.6 0.03 0.004 0.02" solref="0.03 0.8" solimp="0.7 0.9 0.01"/>
  <pair geom1="b" geom2="floor" condim="4" friction="0.5 0.5 0.02 0.004 0.02"/>"""


def balls(a='condim="6"', b='condim="4"', c='condim="3"', option="", pairs=""):
    return BALLS.format(a=a, b=b, c=c, option=option, pairs=pairs)


def one(geom, height, plane="", option=""):
    return ONE.format(geom=geom, height=height, plane=plane, option=option)


SPIN = [0.02, 0.02, 0.001, 0.05, 0.05, 5]
ROLL = [0.01, 0.01, 0.001, 0.01, 6, 0.01]
SLOW = [1e-3, 1e-3, 1e-3, 0.01, 0.01, 0.01]
# Of every case a model and how fast what is free moves at first: beside what rolls it, about y.
CASES = {
    "a ball spins": (one('size="0.1" condim="4" friction="1 0.02 0.01"', 0.099), SPIN),
    "a ball rolls": (one('size="0.1" condim="6" friction="1 0.02 0.01"', 0.099), ROLL),
    "a ball rests": (one('size="0.1" condim="6" friction="1 0.02 0.01"', 0.099), SLOW),
    "by default": (one('size="0.1" condim="6"', 0.099), ROLL),
    "no torsion, some rolling": (
        one('size="0.1" condim="6" friction="1 0 0.01"', 0.099, plane='friction="1 0 0"'),
        ROLL,
    ),
    "a capsule rolls": (
        one('type="capsule" size="0.1 0.2" euler="90 0 0" condim="6" friction="0.8 0.02 0.02"', 0.099),
        ROLL,
    ),
    "a cylinder rolls": (
        one('type="cylinder" size="0.1 0.2" euler="90 0 0" condim="6" friction="0.8 0.02 0.02"', 0.099),
        ROLL,
    ),
    "a box twists": (one('type="box" size="0.1 0.2 0.05" condim="4" friction="0.6 0.05 0.01"', 0.0495), SPIN),
    "a box rests": (one('type="box" size="0.1 0.2 0.05" condim="6" friction="0.6 0.05 0.01"', 0.0495), SLOW),
    "soft": (
        one(
            'size="0.1" condim="6" friction="1.5 0.03 0.02" solref="0.05 0.6" solimp="0.4 0.8 0.003 0.3 3"',
            0.098,
            option='impratio="5"',
        ),
        ROLL,
    ),
    "a spring": (one('size="0.1" condim="4" friction="1 0.02 0.01" solref="-2000 -30" priority="1"', 0.099), SPIN),
    "mixed": (balls(), ROLL),
    "by priority": (
        balls(
            a='condim="4" priority="1" friction="0.3 0.01 1"', b='condim="6" friction="0.2 0.03 0.02"', c='condim="1"'
        ),
        ROLL,
    ),
    "pairs": (balls(pairs=PAIRS), ROLL),
    "a trolley rolls": (TROLLEY.format(condim=6), None),
    "a trolley turns": (TROLLEY.format(condim=4), None),
    "a gripper holds a ball": (GRIPPER.format(condim=6, held='size="0.05"'), None),
    "a gripper holds a rod": (GRIPPER.format(condim=4, held='type="capsule" size="0.05 0.1" euler="90 80 0"'), None),
}


def starts(mujoco, theirs, speed, count=12):
    """Random states in which most things touch."""
    random = np.random.default_rng(0)
    q, v, u = (np.zeros((count, n)) for n in (theirs.nq, theirs.nv, theirs.nu))
    data = mujoco.MjData(theirs)
    for world in range(count):
        mujoco.mj_resetData(theirs, data)
        if speed is None:
            move, fast = 1e-4 * random.normal(size=theirs.nv), 0.3 * random.normal(size=theirs.nv)
            fast[:1] *= 0.01
        else:
            bodies = theirs.nv // 6
            move = np.tile([0.1, 0.1, 5e-4, 1e-3, 1e-3, 1], bodies) * random.normal(size=theirs.nv)
            fast = np.tile(speed, bodies) * random.normal(size=theirs.nv)
        mujoco.mj_integratePos(theirs, data.qpos, move, 1.0)
        if speed is ROLL:
            roll(mujoco, data.qpos.reshape(-1, 7), fast.reshape(-1, 6))
        q[world], v[world], u[world] = data.qpos, fast, [-8, 8][: theirs.nu] + random.normal(size=theirs.nu)
    return q, v, u


def roll(mujoco, poses, speeds):
    """Adds to the speeds of free bodies what the ground makes of how they turn."""
    for pose, speed in zip(poses, speeds, strict=True):
        turning = np.zeros(3)
        mujoco.mju_rotVecQuat(turning, speed[3:], pose[3:])
        speed[:3] += np.cross(turning, [0, 0, pose[2]])


def stepped(mujoco, theirs, q, v, u, steps):
    """The same states some steps later, and the number of contacts."""
    data, after, touching = mujoco.MjData(theirs), np.zeros_like(v), 0
    for world in range(len(q)):
        mujoco.mj_resetData(theirs, data)
        data.qpos, data.qvel, data.ctrl = q[world], v[world], u[world]
        for _ in range(steps):
            mujoco.mj_step(theirs, data)
        after[world] = data.qvel
        touching += data.ncon
    return after, touching


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
@pytest.mark.parametrize("case", CASES)
def test_steps_are_mujocos(case, integrator):
    mujoco = pytest.importorskip("mujoco")
    text, speed = CASES[case]
    theirs = mujoco.MjModel.from_xml_string(text)
    # as if all slid only: what the friction that turns is about
    plain = mujoco.MjModel.from_xml_string(re.sub('condim="[46]"', 'condim="3"', text))
    for model in (theirs, plain):
        model.opt.iterations, model.opt.tolerance = 500, 0
        model.opt.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    q, v, u = starts(mujoco, theirs, speed)
    worlds = delassus.Worlds(
        delassus.Model(text), len(q), precision="f64", constraints="soft", integrator=integrator.lower()
    )
    worlds.set_state(q, v)
    for steps in (1, 3):
        expected, touching = stepped(mujoco, theirs, q, v, u, steps)
        slid, _ = stepped(mujoco, plain, q, v, u, steps)
        assert touching >= len(q) // 2
        assert np.abs(expected - slid).max() > 1e-5
        worlds.set_state(q, v)
        for _ in range(steps):
            worlds.step(u)
            assert not worlds.reports["failed"].any()
        scale = 1 + np.abs(expected).max()
        np.testing.assert_allclose(worlds.velocities(), expected, atol=1e-9 * scale, rtol=0)


LIFTED = """<mujoco>
  <worldbody>
    <body name="table" pos="0.1 0.2 0.5"><joint type="slide" axis="0 0 1" stiffness="3000"/><joint axis="0 0 1" stiffness="2"/>
      <inertial pos="0 0 0" mass="3" diaginertia="0.05 0.05 0.1"/>
      <body name="top" pos="0.05 0 0.1"><site name="top" euler="10 20 30"/><geom name="top" type="box" size="0.5 0.5 0.05" condim="{condim}" friction="0.7 0.03 0.02"/></body></body>
    <body name="ball" pos="0.2 0.1 0.7495"><freejoint/><geom name="ball" size="0.1" condim="{condim}"/></body>
    <body name="box" pos="-0.2 0.2 0.6995"><freejoint/><geom name="box" type="box" size="0.1 0.1 0.05" condim="4"/></body>
  </worldbody>
  <sensor><force name="force" site="top"/><torque name="torque" site="top"/></sensor>
</mujoco>"""


@pytest.mark.parametrize("condim", [4, 6])
def test_contacts_are_felt_as_mujocos(condim):
    mujoco = pytest.importorskip("mujoco")
    from delassus import quantities as of

    text = LIFTED.format(condim=condim)
    theirs, model = mujoco.MjModel.from_xml_string(text), delassus.Model(text)
    theirs.opt.iterations, theirs.opt.tolerance = 500, 0
    random, data = np.random.default_rng(0), mujoco.MjData(theirs)
    q, v = np.tile(data.qpos, (6, 1)), np.zeros((6, theirs.nv))
    for world in range(6):
        v[world] = [0, 0.1, *ROLL, *SLOW] * random.normal(size=theirs.nv)
        v[world, 2:4] += 0.1 * v[world, [6, 5]] * [1, -1]
    worlds = delassus.Worlds(model, len(q), precision="f64", constraints="soft")
    observer = worlds.observer(
        ball=of.contact(geom="ball"), box=of.contact(geom="box"), sensors=of.sensor("force", "torque")
    )
    for world in range(len(q)):
        worlds.watch(world)
    worlds.set_state(q, v)
    worlds.step()
    found, turned = observer(), 0
    for world in range(6):
        mujoco.mj_resetData(theirs, data)
        data.qpos, data.qvel = q[world], v[world]
        mujoco.mj_forward(theirs, data)
        np.testing.assert_allclose(
            found["sensors"][world], data.sensordata, atol=1e-8 * (1 + np.abs(data.sensordata).max())
        )
        expected = {"ball": np.zeros(6), "box": np.zeros(6)}
        contacts = worlds.contacts(world)
        assert len(contacts) == data.ncon
        for i in range(data.ncon):
            contact, wrench = data.contact[i], np.zeros(6)
            mujoco.mj_contactForce(theirs, data, i, wrench)
            frame = contact.frame.reshape(3, 3)
            force, torque = frame.T @ wrench[:3], frame.T @ wrench[3:]
            name = theirs.geom(contact.geom[1]).name
            sign = 1 if name != "top" else -1
            name = name if name != "top" else theirs.geom(contact.geom[0]).name
            at = data.geom(name).xpos
            expected[name] += sign * np.concatenate([force, torque + np.cross(contact.pos - at, force)])
            turned += np.abs(torque).max() > 1e-3
            # the same contact in what worlds are watched for
            own = contacts[np.argmin(np.linalg.norm(contacts["position"] - contact.pos, axis=1))]
            sign = 1 if theirs.geom(own["geom_b"]).name != "top" else -1
            sign *= 1 if theirs.geom(contact.geom[1]).name != "top" else -1
            for ours, what in ((own["impulse"], force), (own["torque"], torque)):
                # what corners share out among them is known to the tolerance of the step, 1e-10 m/s, over their compliance and Δt
                np.testing.assert_allclose(own["frame"].T @ ours / worlds.dt, sign * what, atol=1e-6)
        for name, wrench in expected.items():
            # moments are about where the body is after the step
            body = {"ball": 2, "box": 9}[name]
            shift = worlds.positions()[world, body : body + 3] - data.geom(name).xpos
            wrench[3:] -= np.cross(shift, wrench[:3])
            np.testing.assert_allclose(found[name][world], wrench, atol=1e-8 * (1 + np.abs(wrench).max()))
    assert turned >= len(q)
