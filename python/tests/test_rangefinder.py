"""What rangefinders read, beside MuJoCo."""

import numpy as np
import pytest

import delassus

SHAPES = """<asset><material name="glass" rgba="1 1 1 0"/><material name="paint" rgba="1 1 1 1"/></asset><worldbody>
  <geom type="plane" size="2 1.5 1" euler="5 3 0"/><geom type="plane" size="0 0 1" pos="0 0 -1"/>
  <body pos="0 0 .8"><freejoint/><geom type="box" size=".3 .2 .1"/><geom type="capsule" size=".1 .3" pos=".3 .3 .2" euler="30 20 10"/></body>
  <body pos=".5 .5 1"><freejoint/><geom type="ellipsoid" size=".3 .2 .1"/><geom type="cylinder" size=".2 .3" pos="-.6 .3 .2" euler="50 20 10"/></body>
  <body pos="-.5 -.5 1"><freejoint/><geom size=".3"/><geom size=".6" rgba="1 1 1 0"/><geom size=".5" pos=".2 0 0" material="glass" rgba="1 1 1 1"/>
    <geom size=".2" pos=".2 .4 0" material="paint" rgba="1 1 1 0" contype="0" conaffinity="0"/></body>
  <body pos="0 0 1.2"><freejoint/><geom size=".4"/>SITES</body></worldbody>"""


def test_distances_are_mujocos() -> None:
    mujoco = pytest.importorskip("mujoco")
    rng = np.random.default_rng(0)
    turns = rng.normal(size=(40, 4))
    places = rng.uniform(-0.8, 0.8, (40, 3))
    sites = "".join(
        f'<site name="s{i}" pos="{p[0]} {p[1]} {p[2]}" quat="{q[0]} {q[1]} {q[2]} {q[3]}"/>'
        for i, (p, q) in enumerate(zip(places, turns, strict=True))
    )
    cutoff = ['cutoff=".7"', "", "", ""]
    sensors = "".join(f'<rangefinder name="s{i}" site="s{i}" {cutoff[i % 4]}/>' for i in range(len(places)))
    text = f"<mujoco>{SHAPES.replace('SITES', sites)}<sensor>{sensors}</sensor></mujoco>"
    there, model = mujoco.MjModel.from_xml_string(text), delassus.Model(text)
    worlds = delassus.Worlds(model, 1, precision="f64")
    observe = worlds.observer(all=delassus.quantities.sensor(*(f"s{i}" for i in range(len(places)))))
    met, missed = 0, 0
    for _ in range(50):
        data = mujoco.MjData(there)
        mujoco.mj_integratePos(there, data.qpos, rng.normal(size=there.nv) * 0.6, 1.0)
        worlds.set_state(data.qpos[None], data.qvel[None])
        mujoco.mj_forward(there, data)
        found = observe()["all"][0]
        # a ray that grazes loses half of its digits
        assert np.abs(found - data.sensordata).max() < 1e-8
        assert np.median(np.abs(found - data.sensordata)) < 1e-14
        met, missed = met + (found > 0).sum(), missed + (found < 0).sum()
    assert met > 500 and missed > 300
