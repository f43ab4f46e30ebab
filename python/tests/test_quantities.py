"""Quantities of all worlds against MuJoCo, at random states."""

import numpy as np
import pytest

import delassus
from conftest import MODELS
from delassus import quantities as of

# The worlds are in f64 on both sides; MuJoCo rounds constants of the file on the way.
TOLERANCE = 1e-9

ARM = """<mujoco><option gravity="1 -2 -9"/>
  <default><geom density="500"/></default>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="post" pos="0 0 1" quat="0.6 0.8 0 0"><geom size="0.05"/>
      <body name="upper" pos="0.1 0 0.2" quat="0.8 0 0.6 0">
        <joint name="a" axis="1 2 3" armature="0.1"/><joint name="s" type="slide" axis="0 1 1"/>
        <geom name="bone" type="capsule" fromto="0 0 0 0.3 0.1 0" size="0.04"/>
        <site name="grip" pos="0.2 0.1 0" quat="0.5 0.5 0.5 -0.5"/>
        <body name="lower" pos="0.3 0.1 0"><joint type="ball"/><geom type="box" size="0.1 0.05 0.02" pos="0.1 0 0" euler="10 20 30"/>
        </body>
      </body>
    </body>
    <body name="block" pos="1 1 1"><freejoint/><geom name="block" type="box" size="0.1 0.2 0.3" pos="0.02 0 0"/>
      <site name="corner" pos="0.1 0.2 0.3"/></body>
  </worldbody>
  <tendon><fixed name="t"><joint joint="a" coef="0.5"/><joint joint="s" coef="-2"/></fixed></tendon>
  <actuator>
    <motor joint="a" gear="3" ctrlrange="-0.5 0.5"/><position joint="s" kp="20" kv="2" forcerange="-3 3"/>
    <position tendon="t" kp="7" kv="0.3" gear="2"/>
  </actuator>
</mujoco>"""


@pytest.fixture(params=["arm", "ant", "humanoid"])
def both(request):
    """A model on both sides, and four random states of it."""
    mujoco = pytest.importorskip("mujoco")
    text = ARM if request.param == "arm" else (MODELS / f"{request.param}.xml").read_text()
    theirs, ours = mujoco.MjModel.from_xml_string(text), delassus.Model(text)
    random = np.random.default_rng(0)
    q = np.zeros((4, ours.nq))
    for world in range(4):
        data = mujoco.MjData(theirs)
        mujoco.mj_integratePos(theirs, data.qpos, random.normal(size=ours.nv), 1.0)
        q[world] = data.qpos
    return mujoco, theirs, ours, q, random.normal(size=(4, ours.nv)), random.normal(size=(4, ours.nu))


def test_they_are_mujocos(both):
    mujoco, theirs, model, q, v, control = both
    bodies, sites, geoms = range(theirs.nbody), range(theirs.nsite), range(theirs.ngeom)
    worlds = delassus.Worlds(model, 4, precision="f64")
    worlds.set_state(q, v)
    worlds.set_control(control)
    kinds = {mujoco.mjtObj.mjOBJ_XBODY: "body", mujoco.mjtObj.mjOBJ_GEOM: "geom", mujoco.mjtObj.mjOBJ_SITE: "site"}
    counts = {"body": bodies, "geom": geoms, "site": sites}
    wanted = {
        "q": of.POSITIONS,
        "v": of.VELOCITIES,
        "subtree_com": of.subtree_com(*bodies),
        "subtree_velocity": of.subtree_velocity(*bodies),
        "inertia": of.central_inertia(*bodies),
        "velocity": of.central_velocity(*bodies),
        "actuator": of.ACTUATOR_FORCE,
        "joint_actuator": of.JOINT_ACTUATOR_FORCE,
        "tendon": of.TENDON_LENGTH,
        "tendon_rate": of.TENDON_VELOCITY,
    }
    for kind, indices in counts.items():
        for i in indices:
            wanted[f"{kind}{i}p"] = of.position(**{kind: i})
            wanted[f"{kind}{i}o"] = of.orientation(**{kind: i})
            for local in (False, True):
                wanted[f"{kind}{i}l{local}"] = of.linear_velocity(**{kind: i}, local=local)
                wanted[f"{kind}{i}a{local}"] = of.angular_velocity(**{kind: i}, local=local)
            wanted[f"{kind}{i}g"] = of.projected_gravity(**{kind: i})
    for i in bodies:
        wanted[f"com{i}p"] = of.position(com=i)
    observer = worlds.observer(**wanted)
    seen = observer()
    assert sum(x.shape[1] for x in seen.values()) == observer.size
    for world in range(4):
        data = mujoco.MjData(theirs)
        data.qpos, data.qvel, data.ctrl = q[world], v[world], control[world]
        mujoco.mj_forward(theirs, data)
        mujoco.mj_subtreeVel(theirs, data)
        frames = {
            "body": (data.xpos, data.xmat),
            "geom": (data.geom_xpos, data.geom_xmat),
            "site": (data.site_xpos, data.site_xmat),
        }
        expected = {
            "q": data.qpos,
            "v": data.qvel,
            "subtree_com": data.subtree_com,
            "subtree_velocity": data.subtree_linvel,
            "actuator": data.actuator_force,
            "joint_actuator": data.qfrc_actuator,
            "tendon": data.ten_length,
            "tendon_rate": data.ten_velocity,
        }
        moving = [b for b in bodies if b > 0]
        expected["inertia"], expected["velocity"] = data.cinert[moving], data.cvel
        gravity = theirs.opt.gravity / np.linalg.norm(theirs.opt.gravity)
        for object_kind, kind in kinds.items():
            positions, matrices = frames[kind]
            for i in counts[kind]:
                expected[f"{kind}{i}p"] = positions[i]
                for local in (False, True):
                    six = np.zeros(6)
                    mujoco.mj_objectVelocity(theirs, data, object_kind, i, six, local)
                    expected[f"{kind}{i}a{local}"], expected[f"{kind}{i}l{local}"] = six[:3], six[3:]
                expected[f"{kind}{i}g"] = matrices[i].reshape(3, 3).T @ gravity
                matrix = np.zeros(9)
                mujoco.mju_quat2Mat(matrix, seen[f"{kind}{i}o"][world].astype(float))
                np.testing.assert_allclose(matrix, matrices[i], atol=TOLERANCE, err_msg=f"{kind} {i}")
        for i in bodies:
            expected[f"com{i}p"] = data.xipos[i]
        for name, value in expected.items():
            own = seen[name][world]
            if name == "inertia":
                own = own[10:]
            value = np.ravel(value)
            np.testing.assert_allclose(own, value, atol=TOLERANCE * (1 + abs(value).max(initial=0)), err_msg=name)


SENSED = (
    ARM.replace('<joint type="ball"/>', '<joint name="b" type="ball"/>')
    .replace(
        "</mujoco>",
        """<sensor>
  <jointpos name="0" joint="a"/><jointvel name="1" joint="s"/><ballquat name="2" joint="b"/><ballangvel name="3" joint="b"/>
  <actuatorpos name="4" actuator="m"/><actuatorvel name="5" actuator="m"/><actuatorfrc name="6" actuator="m"/>
  <jointactuatorfrc name="7" joint="a"/><gyro name="8" site="grip"/><velocimeter name="9" site="corner"/>
  <subtreecom name="10" body="upper"/><subtreelinvel name="11" body="upper"/>
  <framepos name="12" objtype="xbody" objname="lower"/><framequat name="13" objtype="site" objname="corner"/>
  <framexaxis name="14" objtype="geom" objname="bone"/><frameyaxis name="15" objtype="xbody" objname="lower"/>
  <framezaxis name="16" objtype="site" objname="grip" reftype="xbody" refname="block"/>
  <framelinvel name="17" objtype="body" objname="lower"/><frameangvel name="18" objtype="geom" objname="block"/>
  <framepos name="19" objtype="body" objname="lower" reftype="site" refname="corner"/>
  <framequat name="20" objtype="xbody" objname="lower" reftype="geom" refname="block"/>
  <framelinvel name="21" objtype="site" objname="grip" reftype="site" refname="corner"/>
  <frameangvel name="22" objtype="xbody" objname="lower" reftype="xbody" refname="block"/>
  <jointvel name="23" joint="a" cutoff="0.1"/><gyro name="24" site="corner" cutoff="0.2"/>
  <magnetometer name="not evaluated" site="grip"/>
</sensor></mujoco>""",
    )
    .replace('<motor joint="a"', '<motor name="m" joint="a"')
)


def test_sensors_are_mujocos():
    mujoco = pytest.importorskip("mujoco")
    theirs, model = mujoco.MjModel.from_xml_string(SENSED), delassus.Model(SENSED)
    names = [str(i) for i in range(25)]
    worlds = delassus.Worlds(model, 1, precision="f64")
    observer = worlds.observer(s=of.sensor(*names))
    random = np.random.default_rng(1)
    data = mujoco.MjData(theirs)
    for _ in range(5):
        data.qpos = model.q0
        mujoco.mj_integratePos(theirs, data.qpos, random.normal(size=model.nv), 1.0)
        data.qvel, data.ctrl = random.normal(size=model.nv), random.normal(size=model.nu)
        worlds.set_state([data.qpos], [data.qvel])
        worlds.set_control([data.ctrl])
        mujoco.mj_forward(theirs, data)
        np.testing.assert_allclose(observer()["s"][0], data.sensordata[: observer.size], atol=TOLERANCE * 10)
    with pytest.raises(delassus.Error, match="magnetometer is not evaluated"):
        worlds.observer(s=of.sensor("not evaluated"))


# In free motion without damping, where a step of Euler has exactly MuJoCo's accelerations; two bodies tied to each other in the last case.
LOADED = (
    ARM.replace('kv="2"', "")
    .replace("<geom density", '<geom contype="0" density')
    .replace(
        "</mujoco>",
        """<sensor>
  <accelerometer name="0" site="grip"/><accelerometer name="1" site="corner"/><accelerometer name="2" site="base"/>
  <force name="3" site="grip"/><torque name="4" site="grip"/><force name="5" site="corner"/><torque name="6" site="corner"/>
  <force name="7" site="base"/><torque name="8" site="base"/><force name="9" site="wrist"/><torque name="10" site="wrist"/>
  <framelinacc name="11" objtype="site" objname="grip"/><frameangacc name="12" objtype="site" objname="corner"/>
  <framelinacc name="13" objtype="body" objname="block"/><frameangacc name="14" objtype="body" objname="lower"/>
  <framelinacc name="15" objtype="xbody" objname="lower"/><framelinacc name="16" objtype="geom" objname="bone"/>
  <touch name="17" site="grip"/>
</sensor></mujoco>""",
    )
    .replace('<geom size="0.05"/>', '<geom size="0.05"/><site name="base" pos="0.1 0.2 0.3" euler="40 50 60"/>')
    .replace('<joint type="ball"/>', '<joint type="ball"/><site name="wrist" pos="0.1 0 0" euler="10 70 20"/>')
)


@pytest.mark.parametrize("tie", ["", "connect", "weld"])
def test_sensors_of_a_step_are_mujocos(tie):
    mujoco = pytest.importorskip("mujoco")
    # MuJoCo's equalities give way by 1 − d of what would happen without them, and of what light parts could do: turns must be made stiffer.
    stiff = 'solimp="0.9999 0.9999 0.001"' + (' torquescale="30"' if tie == "weld" else "")
    tied = f'<equality><{tie} body1="lower" body2="block" anchor="0.2 0.1 0.1" {stiff}/></equality>'
    text = LOADED.replace("<sensor>", f"{tied}<sensor>") if tie else LOADED
    theirs, model = mujoco.MjModel.from_xml_string(text), delassus.Model(text)
    worlds = delassus.Worlds(model, 2, precision="f64", integrator="euler")
    observer = worlds.observer(s=of.sensor(*[str(i) for i in range(18)]))
    random = np.random.default_rng(2)
    data = mujoco.MjData(theirs)
    for _ in range(5):
        data.qpos = model.q0
        if not tie:
            mujoco.mj_integratePos(theirs, data.qpos, random.normal(size=model.nv), 1.0)
            data.qvel = random.normal(size=model.nv)
        data.ctrl = random.normal(size=model.nu)
        worlds.set_state([data.qpos] * 2, [data.qvel] * 2)
        assert not observer()["s"].any()
        worlds.set_control([data.ctrl] * 2)
        worlds.step()
        mujoco.mj_forward(theirs, data)
        found, expected = observer()["s"][1], data.sensordata
        np.testing.assert_allclose(found, expected, atol=(1e-3 if tie else 1e-9) * (1 + abs(expected).max()))


def test_parameters_of_a_world_are_those_of_mujoco():
    """Masses, centres of mass, armature, springs and pushes of one world, by what its sensors read of one step."""
    mujoco = pytest.importorskip("mujoco")
    text = LOADED.replace('armature="0.1"', 'armature="0.1" stiffness="3" springref="20"')
    theirs, model = mujoco.MjModel.from_xml_string(text), delassus.Model(text)
    worlds = delassus.Worlds(model, 3, precision="f64", integrator="euler")
    observer = worlds.observer(s=of.sensor(*[str(i) for i in range(18)]))
    random = np.random.default_rng(3)
    data = mujoco.MjData(theirs)
    for _ in range(5):
        scale = random.uniform(0.5, 2, theirs.nbody)
        com = theirs.body_ipos + random.uniform(-0.1, 0.1, (theirs.nbody, 3))
        push = random.normal(size=(theirs.nbody, 6))
        worlds.set_parameter("mass_scale", scale[None], [1])
        worlds.set_parameter("com", com.reshape(1, -1), [1])
        worlds.set_parameter("armature", [[0.3, 0, 0, 0]], [1])
        worlds.set_parameter("stiffness", [[5, 0, 0, 0]], [1])
        worlds.set_parameter("push", push.reshape(1, -1), [1])
        other = mujoco.MjModel.from_xml_string(text)
        other.body_mass *= scale
        other.body_inertia *= scale[:, None]
        other.body_ipos[:] = com
        other.dof_armature[0], other.jnt_stiffness[0] = 0.3, 5
        mujoco.mj_setConst(other, mujoco.MjData(other))
        data = mujoco.MjData(other)
        mujoco.mj_integratePos(theirs, data.qpos, random.normal(size=model.nv), 1.0)
        data.qvel, data.ctrl = random.normal(size=model.nv), random.normal(size=model.nu)
        data.xfrc_applied = push
        worlds.set_state([data.qpos] * 3, [data.qvel] * 3)
        worlds.set_control([data.ctrl] * 3)
        worlds.step()
        mujoco.mj_forward(other, data)
        found, expected = observer()["s"], data.sensordata
        np.testing.assert_allclose(found[1], expected, atol=1e-9 * (1 + abs(expected).max()))
        np.testing.assert_array_equal(found[0], found[2])
        assert abs(found[0] - expected).max() > 0.1
    with pytest.raises(ValueError, match="is none of"):
        worlds.set_parameter("colour", [[1.0]], [1])
    with pytest.raises(ValueError, match="it has no spring"):
        worlds.set_parameter("stiffness", [[0, 1, 0, 0]], [1])


def test_contacts_of_pairs():
    text = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/><geom name="wall" type="box" pos="-0.3 0 0.3" size="0.1 1 0.3"/>
      <body name="ball" pos="0 0 0.2"><freejoint/><geom name="ball" size="0.2" mass="2"/></body>
      <body name="rider" pos="0 0 0.5"><freejoint/><geom name="rider" size="0.1" mass="1"/></body></worldbody></mujoco>"""
    worlds = delassus.Worlds(delassus.Model(text), 3, precision="f64")
    observer = worlds.observer(
        q=of.POSITIONS,
        geoms=of.contact_between(("ball", "floor"), ("ball", "rider"), ("rider", "ball"), ("rider", "floor")),
        bodies=of.contact_between(("ball", "world"), ("ball", 2), bodies=True),
    )
    assert not observer()["geoms"].any()
    worlds.step(substeps=5)
    seen, g = observer(), 9.81
    assert seen["q"].shape == (3, 14) and seen["geoms"].shape == (3, 4, 6) and seen["bodies"].shape == (3, 2, 6)
    np.testing.assert_allclose(seen["geoms"][2, :, 2], [3 * g, -g, g, 0], atol=1e-6)
    np.testing.assert_allclose(seen["bodies"][2, :, 2], [3 * g, -g], atol=1e-6)
    with pytest.raises(ValueError, match="no geom called"):
        worlds.observer(x=of.contact_between(("ball", "roof")))
    with pytest.raises(ValueError, match="geom 9"):
        worlds.observer(x=of.contact_between(("ball", 9)))


def test_contact_forces_carry_what_lies_there():
    text = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/>
      <body name="slab" pos="0.3 0 0.1"><freejoint/>
        <geom name="left" type="capsule" size="0.1" fromto="-0.2 -0.5 0 0.2 -0.5 0" mass="1"/>
        <geom name="right" type="capsule" size="0.1" fromto="-0.2 0.5 0 0.2 0.5 0" mass="3"/></body></worldbody></mujoco>"""
    model = delassus.Model(text)
    worlds = delassus.Worlds(model, 3, precision="f64")
    observer = worlds.observer(
        floor=of.contact(geom="floor"),
        left=of.contact(geom="left"),
        right=of.contact(geom="right"),
        slab=of.contact("slab"),
        about_com=of.contact(com="slab"),
        central=of.central_contact("slab"),
    )
    assert not observer()["slab"].any()
    worlds.step(substeps=200)
    worlds.step(substeps=7)
    force = {name: x[2] for name, x in observer().items()}
    g = 9.81
    # Friction may press one foot against the other.
    np.testing.assert_allclose(force["left"][2], g, atol=1e-6)
    np.testing.assert_allclose(force["right"][2], 3 * g, atol=1e-6)
    np.testing.assert_allclose(force["left"][:2], -force["right"][:2], atol=1e-6)
    np.testing.assert_allclose(force["floor"][:3], [0, 0, -4 * g], atol=1e-6)
    np.testing.assert_allclose(force["slab"][:3], [0, 0, 4 * g], atol=1e-6)
    # About its origin, of which the centre of mass lies 0.25 m aside, the floor's force has the moment of the weight.
    np.testing.assert_allclose(force["slab"][3:], [0.25 * 4 * g, 0, 0], atol=1e-6)
    np.testing.assert_allclose(force["about_com"][3:], 0, atol=1e-6)
    np.testing.assert_allclose(force["central"], [0, 0, 0, 0, 0, 4 * g], atol=1e-6)
    worlds.reset([2])
    assert not observer()["slab"][2].any() and observer()["slab"][1].any()
    # An impact is in the mean of the substeps, not only in the last one: mass times speed, over the time of the call.
    v = np.zeros((3, 6))
    v[:, 2] = -1
    worlds.reset()
    worlds.set_state(worlds.positions() + np.array([0, 0, 0.05, 0, 0, 0, 0]), v)
    worlds.step(substeps=50)
    duration = 50 * worlds.dt
    speed = worlds.velocities()[0, 2] + 1
    np.testing.assert_allclose(observer()["slab"][0, 2] * duration, 4 * (speed + g * duration), rtol=1e-6)


def test_masses_of_a_world_enter():
    model = delassus.Model(ARM)
    worlds = delassus.Worlds(model, 2, precision="f64")
    scale = np.ones((1, len(model.body_names)))
    scale[0, model.body("block")] = 1e6
    worlds.set_parameter("mass_scale", scale, [1])
    com = worlds.observer(com=of.subtree_com("world"), block=of.position(com="block"))()
    assert np.linalg.norm(com["com"][0] - com["block"][0]) > 0.05
    np.testing.assert_allclose(com["com"][1], com["block"][1], atol=1e-5)


def test_what_is_brought_back_is_what_is_observed(ant):
    backends = ["cpu"]
    try:
        delassus.Worlds(ant, 1, backend="gpu")
        backends.append("gpu")
    except delassus.Error:
        pass  # no driver on this machine
    for backend in backends:
        looks = []
        for lazily in (False, True):
            worlds = delassus.Worlds(ant, 3, backend=backend)
            torso = worlds.observer(position=of.position(1), velocities=of.VELOCITIES)
            if lazily:
                worlds.bring_back(torso)
            worlds.step(np.full((3, ant.nu), 0.3), substeps=10)
            looks.append((torso(), worlds.positions()))
            worlds.bring_back(None)
        for a, b in zip(looks[0][0].values(), looks[1][0].values(), strict=True):
            # a shader and the CPU round f32 otherwise
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(looks[0][1], looks[1][1])
    with pytest.raises(delassus.Error, match="not told by the state"):
        worlds.bring_back(worlds.observer(x=of.LIMIT_FORCE))
    with pytest.raises(ValueError, match="make one with"):
        worlds.bring_back(of.VELOCITIES)


def test_what_is_not_there_is_refused(ant):
    worlds = delassus.Worlds(ant, 2)
    for quantity, message in (
        (of.position("wing"), "no body called"),
        (of.position(body=99), "body 99: the model has"),
        (of.position(site=5), "site 5: the model has"),
        (of.Quantity("colour"), '"colour" is none of'),
    ):
        with pytest.raises(ValueError, match=message):
            worlds.observer(x=quantity)
    with pytest.raises(ValueError, match="give one of"):
        of.position("torso", site="head")
    with pytest.raises(ValueError, match="out: has shape"):
        worlds.observer(q=of.POSITIONS)(out=np.zeros((2, 3)))
