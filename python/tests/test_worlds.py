"""Model, Settings and Worlds: what comes out, and what bad input is answered with."""

import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import delassus
from conftest import BALL, MODELS
from delassus import _core
from delassus import quantities as of


def rolled(model, count=8, steps=20, **settings):
    worlds = delassus.Worlds(model, count, **settings)
    worlds.set_start(position_noise=0.05, velocity_noise=0.1)
    worlds.reset(seed=1)
    random = np.random.default_rng(0)
    for _ in range(steps):
        worlds.step(random.uniform(-1, 1, (count, model.nu)), substeps=2)
    return worlds


def test_a_ball_comes_to_rest_on_its_surface(ball):
    worlds = delassus.Worlds(ball, 3)
    reports = worlds.step(substeps=1000)
    assert reports["solved"].all() and (reports["steps"] == 1000).all()
    assert reports["status"][0] == delassus.Status.SOLVED
    np.testing.assert_allclose(worlds.positions()[:, 2], 0.1, atol=1e-5)
    np.testing.assert_allclose(worlds.time(), 1000 * worlds.dt)


def test_contacts_of_a_resting_ball_carry_its_weight(ball):
    worlds = delassus.Worlds(ball, 2, precision="f64")
    worlds.watch(1)
    worlds.step(substeps=1000)
    (contact,) = worlds.contacts(1)
    assert (contact["geom_a"], contact["geom_b"]) == (ball.geom("floor"), ball.geom("ball"))
    np.testing.assert_allclose(contact["impulse"][0], 2 * 9.81 * worlds.dt, rtol=1e-4)
    np.testing.assert_allclose(contact["frame"][0], [0, 0, 1], atol=1e-6)
    with pytest.raises(ValueError, match="not watched"):
        worlds.contacts(0)


def test_model_says_what_it_is(ant):
    assert (ant.nq, ant.nv, ant.nu) == (15, 14, 8)
    assert ant.body_names[0] == "world" and ant.body(ant.body_names[1]) == 1
    assert ant.control_range.shape == (8, 2) and ant.q0.shape == (15,)
    assert ant.keyframe(ant.keyframe_names[0])["q"].shape == (15,)
    with pytest.raises(ValueError, match=r"no body called \"torus\": there are"):
        ant.body("torus")


def test_a_model_from_a_relative_path_is_found_from_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "ball.xml").write_text(BALL)
    monkeypatch.chdir(tmp_path)
    model = delassus.Model("ball.xml")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert pickle.loads(pickle.dumps(model)).fingerprint == model.fingerprint and model.source == "ball.xml"


def test_model_and_settings_pickle(ant, ball, tmp_path):
    for model in (ant, ball):
        again = pickle.loads(pickle.dumps(model))
        assert again.fingerprint == model.fingerprint and again.source == model.source
    settings = delassus.Settings(precision="f64", threads=2)
    assert pickle.loads(pickle.dumps(settings)) == settings
    path = tmp_path / "ball.xml"
    path.write_text(BALL)
    pickled = pickle.dumps(delassus.Model(path))
    path.write_text(BALL.replace("0.1", "0.2"))
    with pytest.raises(delassus.Error, match="no longer the model"):
        pickle.loads(pickled)


def test_what_is_read_is_the_same_in_both_types(ant):
    for precision, own in (("f32", np.float32), ("f64", np.float64)):
        worlds = rolled(ant, precision=precision)
        q = worlds.positions()
        assert q.dtype == own and q.shape == (8, ant.nq)
        for kind in (np.float32, np.float64):
            out = np.zeros_like(q, kind)
            assert worlds.positions(out=out) is out
            np.testing.assert_array_equal(out, q.astype(kind))


def test_control_of_any_number_type_is_taken(ant):
    control = np.asfortranarray(np.random.default_rng(0).integers(-1, 2, (8, ant.nu)))
    states = []
    for kind in (np.int64, np.float32, np.float64):
        worlds = delassus.Worlds(ant, 8)
        worlds.step(control.astype(kind), substeps=5)
        states.append(worlds.velocities())
    np.testing.assert_array_equal(states[0], states[1])
    np.testing.assert_array_equal(states[0], states[2])
    assert abs(states[0]).max() > 0.1


def test_control_that_is_drawn(ant):
    drawn = []
    for precision in ("f32", "f64"):
        worlds = delassus.Worlds(ant, 8, precision=precision)
        worlds.draw_control(5)
        drawn.append(worlds.control())
        assert drawn[-1].shape == (8, ant.nu)
        worlds.draw_control(6)
        assert (worlds.control() != drawn[-1]).all()
    np.testing.assert_array_equal(*drawn)
    assert abs(drawn[0]).max() <= 1 and len(np.unique(drawn[0])) == drawn[0].size
    with pytest.raises(ValueError, match="seed"):
        worlds.draw_control(-1)


def test_a_world_has_geoms_of_its_own_size(ball):
    worlds = delassus.Worlds(ball, 2, precision="f64")
    sizes = worlds.parameter("geom_size").reshape(2, -1, 3)
    np.testing.assert_array_equal(sizes[0], ball.geom_size)
    (geom,) = np.flatnonzero(ball.geom_size[:, 0] == 0.1)
    sizes[1, geom, 0] = 0.15
    worlds.set_parameter("geom_size", sizes.reshape(2, -1))
    worlds.step(substeps=1000)
    np.testing.assert_allclose(worlds.positions()[:, 2], [0.1, 0.15], atol=1e-5)
    sizes[1, geom, 1] = 0.2
    with pytest.raises(ValueError, match="it has a radius, then two zeros"):
        worlds.set_parameter("geom_size", sizes.reshape(2, -1))


def test_a_device_that_is_missing_is_an_error(ant):
    for device in (99, "no such device"):
        with pytest.raises(delassus.Error):
            delassus.Worlds(ant, 1, backend="gpu", device=device)
    with pytest.raises(ValueError, match="settings"):
        delassus.Worlds(ant, 1, device=1.5)


def test_starts_by_degree_of_freedom(ant):
    """Spread, seeds and keyframes of single worlds: the numbers are those of ``delassus.gym.Noise``."""
    gym = pytest.importorskip("delassus.gym")
    nv, seeds, key = ant.nv, [7, 9 + (3 << 32), 7], ant.keyframe_names[0]
    worlds = delassus.Worlds(ant, 4, precision="f64")
    low, high = np.linspace(-0.2, 0.0, nv), np.linspace(0.0, 0.3, nv)
    worlds.set_spread(np.stack([low, high], axis=1), 0.5)
    before = worlds.velocities()[1]
    worlds.reset_each(seeds, [key, None, None], [0, 2, 3])
    q, v = worlds.positions(), worlds.velocities()
    noise = gym.Noise(np.array([7, 9, 7]), np.array([0, 3, 0]))
    unit = noise.uniform(0, 1, nv)
    moved, change = low + (high - low) * unit, noise.uniform(-0.5, 0.5, nv)
    np.testing.assert_allclose(v[[0, 2, 3]], change, atol=1e-15)
    np.testing.assert_allclose(q[2, 7:], ant.q0[7:] + moved[1, 6:], atol=1e-15)
    np.testing.assert_allclose(q[0, :3], ant.keyframe(key)["q"][:3] + moved[0, :3], atol=1e-15)
    np.testing.assert_array_equal(v[0], v[3])
    np.testing.assert_array_equal(v[1], before)
    worlds.set_spread(velocity=0.1, law="gaussian")
    worlds.reset_each(np.arange(4))
    noise = gym.Noise(np.arange(4), np.zeros(4))
    noise.normal(nv)
    np.testing.assert_allclose(worlds.velocities(), 0.1 * noise.normal(nv), atol=1e-14)
    np.testing.assert_array_equal(worlds.positions()[0], ant.q0)
    many = delassus.Worlds(ant, 2000)
    many.set_spread(velocity=np.full((nv, 2), [1.0, 2.0]), law="gaussian")
    many.reset(seed=5)
    v = many.velocities()
    assert abs(v.mean() - 1) < 0.05 and abs(v.std() - 2) < 0.05 and abs(np.corrcoef(v.T) - np.eye(nv)).max() < 0.15
    some = v[[3, 500]]
    many.reset([500], seed=5)
    np.testing.assert_array_equal(many.velocities()[[3, 500]], some)
    many.reset(seed=6)
    assert (many.velocities() != v).all()
    for message, wrong in (
        ("position: must be a number", lambda: worlds.set_spread(np.zeros(3))),
        ("degree of freedom 0", lambda: worlds.set_spread([[1, 0]] * nv)),
        ("law", lambda: worlds.set_spread(law="flat")),
        ("seeds: must be 4", lambda: worlds.reset_each([1, 2])),
        ("none called", lambda: worlds.reset_each([1] * 4, ["nowhere"] * 4)),
        ("keyframes: has 1", lambda: worlds.reset_each([1] * 4, [None])),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()


def test_control_that_is_late(ant):
    late, prompt = delassus.Worlds(ant, 2), delassus.Worlds(ant, 2)
    late.set_control_delay([0, 3])
    np.testing.assert_array_equal(late.control_delay(), [0, 3])
    random = np.random.default_rng(0)
    given = [np.zeros(ant.nu)] * 3
    for _ in range(8):
        given.append(random.uniform(-1, 1, ant.nu))
        late.step([given[-1], given[-1]], substeps=3)
        prompt.step([given[-1], given[-4]], substeps=3)
        np.testing.assert_array_equal(late.velocities(), prompt.velocities())
    assert (late.velocities()[0] != late.velocities()[1]).any()
    for calls in (-1, 300, 0.5, [1, 2, 3]):
        with pytest.raises(ValueError, match="calls: must be integers"):
            late.set_control_delay(calls)


def test_reset_by_mask_and_by_list(ant):
    worlds = rolled(ant)
    before = worlds.positions()
    worlds.reset([2, 5], seed=1)
    mask = np.zeros(8, bool)
    mask[[2, 5]] = True
    by_list = worlds.positions()
    np.testing.assert_array_equal(by_list[~mask], before[~mask])
    assert (by_list[mask] != before[mask]).any(axis=1).all()
    worlds.reset(mask, seed=1)
    np.testing.assert_array_equal(worlds.positions(), by_list)
    q, v = by_list[:2] + 1, np.zeros((2, ant.nv))
    worlds.set_state(q, v, [7, 0])
    np.testing.assert_array_equal(worlds.positions()[[7, 0]], q)
    worlds.reset(np.zeros(0, int))
    np.testing.assert_array_equal(worlds.positions()[[7, 0]], q)


def test_snapshots_bring_back_every_bit(ant):
    worlds = rolled(ant)
    saved = worlds.save()
    assert isinstance(saved, bytes)
    worlds.step(substeps=20)
    future = worlds.positions(), worlds.velocities()
    other = delassus.Worlds(ant, 8)
    other.load(saved)
    other.step(substeps=20)
    np.testing.assert_array_equal(other.positions(), future[0])
    np.testing.assert_array_equal(other.velocities(), future[1])
    with pytest.raises(ValueError, match="is of 8 worlds, these are 9"):
        delassus.Worlds(ant, 9).load(saved)
    with pytest.raises(ValueError, match="do not begin"):
        worlds.load(b"no snapshot")
    with pytest.raises(ValueError, match="damaged"):
        worlds.load(saved[:-10])


def test_parameters(ball):
    worlds = delassus.Worlds(ball, 4)
    assert worlds.parameter("gravity").shape == (4, 3)
    worlds.set_parameter("gravity", [[0, 0, 0], [0, 0, -1]], worlds=[0, 3])
    worlds.step(substeps=10)
    v = worlds.velocities()[:, 2] / (10 * worlds.dt)
    np.testing.assert_allclose(v, [0, -9.81, -9.81, -1], rtol=1e-4)
    with pytest.raises(ValueError, match="is none of gravity, mass_scale"):
        worlds.parameter("colour")
    with pytest.raises(ValueError, match="is no friction"):
        worlds.set_parameter("friction", -np.ones((4, 2)))


def test_threads_change_no_bit(ant):
    alone = rolled(ant, 300, threads=1)
    shared = rolled(ant, 300, threads=3)
    np.testing.assert_array_equal(alone.positions(), shared.positions())


def test_external_force(ball):
    worlds = delassus.Worlds(ball, 2, precision="f64")
    force = np.zeros((2, 6))
    force[1, 0] = 3.0
    worlds.set_external_force(force)
    worlds.step()
    np.testing.assert_allclose(worlds.velocities()[:, 0], [0, 1.5 * worlds.dt])


def unaligned(shape, dtype):
    """Zeros that begin between two addresses where numbers may stand."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.zeros(size + 1, np.uint8)[1:].view(dtype).reshape(shape)


def wrong_input(model):
    """Calls that must be refused, and what the refusal names."""
    worlds = delassus.Worlds(model, 4)
    good = np.zeros((4, model.nu))
    nan = good.copy()
    nan[2, 1] = np.nan
    q, v = worlds.positions(), worlds.velocities()
    far = np.array([[0], [1e300], [0], [0]])
    read_only = np.zeros((4, model.nq))
    read_only.flags.writeable = False
    yield "control: has shape", lambda: worlds.step(np.zeros((4, model.nu + 1)))
    yield "control: has shape", lambda: worlds.step(np.zeros(4 * model.nu))
    yield "control: row 2, column 1 is NaN", lambda: worlds.step(nan)
    yield "control: must hold numbers", lambda: worlds.step(good.astype(object))
    yield "control: must hold numbers", lambda: worlds.step(good.astype(complex))
    yield "control: must hold numbers", lambda: worlds.step(good.astype(bool))
    yield "substeps", lambda: worlds.step(good, substeps=0)
    yield "substeps", lambda: worlds.step(good, substeps=1.5)
    yield "out: must be an array of dtype REPORT", lambda: worlds.step(good, out=np.zeros(4))
    yield "out: has shape", lambda: worlds.positions(out=np.zeros((3, model.nq)))
    yield "out: must be an array of float32", lambda: worlds.positions(out=np.zeros((4, model.nq), np.float16))
    yield "out: must be an array of float32", lambda: worlds.positions(out=[[0.0]])
    yield "out: must be writable, aligned, and in C order", lambda: worlds.positions(out=np.zeros((model.nq, 4)).T)
    yield (
        "out: must be writable, aligned, and in C order",
        lambda: worlds.positions(out=np.zeros((4, 2 * model.nq))[:, ::2]),
    )
    yield "out: must be writable", lambda: worlds.positions(out=read_only)
    yield "worlds: the mask has 3", lambda: worlds.reset(np.zeros(3, bool))
    yield "worlds: must be a mask", lambda: worlds.reset(np.zeros(4))
    yield "worlds: must be a mask", lambda: worlds.reset(np.zeros((4, 1), bool))
    yield "world 4: there are 4", lambda: worlds.reset([4])
    yield "-1 is no index", lambda: worlds.reset([-1])
    yield "seed", lambda: worlds.reset(seed=-1)
    yield "q: has shape", lambda: worlds.set_state(q[:2], v)
    yield "v: row 0, column 0 is inf", lambda: worlds.set_state(q, v + np.inf)
    yield "q: row 1, column 0 is 1e300, which float32", lambda: worlds.set_state(q + far, v)
    yield "control: row 0, column 0 is 1e300", lambda: worlds.step(good + 1e300)
    yield "force: row 0, column 0 is 1e39", lambda: worlds.set_external_force(np.full((4, model.nv), 1e39))
    yield "gravity: 1e300 is more than float32", lambda: worlds.set_parameter("gravity", np.full((4, 3), 1e300))
    yield "seeds: must be 2 integers", lambda: worlds.reset_each([1.5, 2], worlds=[0, 1])
    yield "seeds: must be 2 integers", lambda: worlds.reset_each(["1", 2], worlds=[0, 1])
    yield "seeds: must be 2 integers", lambda: worlds.reset_each([[1, 2]], worlds=[0, 1])
    yield "seeds: must be 1 integers", lambda: worlds.reset_each([2**64], worlds=[0])
    yield "snapshot: must be", lambda: worlds.load("saved")
    yield "position: -1 is neither", lambda: worlds.observer(a=of.position(-1))
    yield "position: 1.7 is neither", lambda: worlds.observer(a=of.position(1.7))
    yield "position: True is neither", lambda: worlds.observer(a=of.position(True))
    yield "out: must be writable, aligned", lambda: worlds.positions(out=unaligned((4, model.nq), np.float32))
    yield "model: 'ant.xml' must be a delassus.Model", lambda: delassus.Worlds("ant.xml", 2)
    yield "settings: {'dt': 1} must be", lambda: delassus.Worlds(model, 2, {"dt": 1})
    yield "keyframe", lambda: worlds.set_start("nowhere")
    yield "noise", lambda: worlds.set_start(position_noise=-1)
    yield "world: 4", lambda: worlds.watch(4)
    yield "count: 0", lambda: delassus.Worlds(model, 0)
    yield "count: 2.5", lambda: delassus.Worlds(model, 2.5)
    yield "world_count", lambda: delassus.Worlds(model, 10**12)
    yield "there is no colour", lambda: delassus.Worlds(model, 1, colour="red")
    yield "precision", lambda: delassus.Worlds(model, 1, precision="f16")
    yield "settings", lambda: delassus.Worlds(model, 1, iterations="many")
    yield "settings", lambda: delassus.Worlds(model, 1, threads=-1)
    yield "threads", lambda: delassus.Worlds(model, 1, threads=0)
    yield "dt", lambda: delassus.Worlds(model, 1, dt=float("nan"))


def test_bad_input_is_a_value_error_that_says_what(ant):
    for expected, call in wrong_input(ant):
        with pytest.raises(ValueError) as caught:
            call()
        assert expected in str(caught.value), f"{expected!r} is not in {caught.value}"


def test_what_is_refused_changes_nothing_and_odd_arrays_are_taken(ant):
    worlds = delassus.Worlds(ant, 2)
    with pytest.raises(ValueError, match="substeps"):
        worlds.step(np.ones((2, ant.nu)), substeps=0)
    assert not worlds.control().any()
    control = unaligned((2, ant.nu), np.float32)
    control[:] = 0.5
    worlds.set_control(control)
    assert (worlds.control() == 0.5).all()
    for kind in (bytearray, memoryview):
        worlds.load(kind(worlds.save()))


def test_large_seeds_stay_what_they_are(ant):
    worlds = delassus.Worlds(ant, 2)
    worlds.set_start(position_noise=0.1)
    starts = []
    for seeds in ([2**63 + 1, 2], np.array([2**63 + 1, 2], np.uint64), [2**64 - 1, 2], [2**63 + 5, 2]):
        worlds.reset_each(seeds)
        starts.append(worlds.positions())
    np.testing.assert_array_equal(starts[0], starts[1])
    for other in starts[2:]:
        assert (starts[0][0] != other[0]).any()
        np.testing.assert_array_equal(starts[0][1], other[1])


def test_threads_that_step_the_same_worlds_are_told_so(ant):
    worlds = delassus.Worlds(ant, 64)
    met = []

    def roll():
        for _ in range(50):
            try:
                worlds.step(substeps=4)
            except delassus.Error as error:
                met.append(str(error))

    threads = [threading.Thread(target=roll) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert met and all("another thread is using these worlds" in text for text in met)


def test_closed_worlds_say_so(ball):
    with delassus.Worlds(ball, 2) as worlds:
        worlds.step()
    for use in (worlds.step, worlds.positions, worlds.save, worlds.reset, lambda: worlds.dt):
        with pytest.raises(ValueError, match="closed"):
            use()
    worlds.close()


def test_models_that_cannot_be_read_are_errors(tmp_path):
    with pytest.raises(delassus.Error, match=r"cannot read .*nothing\.xml"):
        delassus.Model(tmp_path / "nothing.xml")
    with pytest.raises(delassus.Error, match="mjcf:1"):
        delassus.Model("<mujoco><worldbody><nonsense/></worldbody></mujoco>")
    with pytest.raises(delassus.Error, match="no joint"):
        delassus.Worlds(delassus.Model("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>"), 1)


def test_a_world_that_is_not_finite_is_reported_and_stays_alone(ant):
    worlds = rolled(ant)
    reference = rolled(ant)
    force = np.zeros((8, ant.nv))
    force[3] = 3e38
    worlds.set_external_force(force)
    reports = worlds.step(substeps=3)
    reference.step(substeps=3)
    assert reports["status"][3] == delassus.Status.NOT_FINITE and reports["failed"][3]
    others = np.arange(8) != 3
    np.testing.assert_array_equal(worlds.positions()[others], reference.positions()[others])
    worlds.reset(reports["failed"])
    assert worlds.step()["solved"][3]


def test_other_threads_run_while_worlds_step(ant):
    worlds = rolled(ant, 2000, steps=1)
    ticks = 0
    done = threading.Event()

    def step():
        worlds.step(substeps=30)
        done.set()

    thread = threading.Thread(target=step)
    thread.start()
    refused = False
    while not done.wait(0.001):
        ticks += 1
        try:
            worlds.positions()
        except delassus.Error as error:
            refused = "another thread" in str(error)
    thread.join()
    assert ticks > 5 and refused


def test_what_is_waited_for_later_is_what_a_step_does(ant):
    def roll(step):
        worlds, random = delassus.Worlds(ant, 70, threads=2), np.random.default_rng(0)
        with worlds.record(fps=None) as recording:
            reports = [step(worlds, random.uniform(-1, 1, (70, ant.nu))).copy() for _ in range(5)]
        return worlds.positions(), worlds.time(), np.array(reports), recording.time

    def later(worlds, control):
        worlds.step_async(control, substeps=4)
        for use in (worlds.positions, worlds.step, worlds.save, worlds.reset, worlds.step_async):
            with pytest.raises(delassus.Error, match="call wait"):
                use()
        return worlds.wait()

    for found, expected in zip(
        roll(later), roll(lambda worlds, control: worlds.step(control, substeps=4)), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_who_waits_has_begun(ball):
    worlds = delassus.Worlds(ball, 2)
    with pytest.raises(delassus.Error, match="nothing to wait for"):
        worlds.wait()
    with pytest.raises(ValueError, match="substeps"):
        worlds.step_async(substeps=0)
    out = np.zeros(2, delassus.REPORT)
    worlds.step_async(substeps=3)
    assert worlds.wait(out=out) is out and (out["steps"] == 3).all()
    # closed while it steps: the step ends by itself
    worlds.step_async(substeps=300)
    worlds.close()
    with pytest.raises(ValueError, match="closed"):
        worlds.positions()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_worlds_that_were_stepped_when_their_process_forked_are_the_parents(ant):
    script = f"""
import os, delassus
worlds = delassus.Worlds(delassus.Model({str(MODELS / "ant.xml")!r}), 400)
worlds.step_async(substeps=20)
child = os.fork()
if child == 0:
    try:
        worlds.wait()
    except delassus.Error as error:
        os._exit(0 if "forked" in str(error) else 1)
    os._exit(2)
assert (worlds.wait()["steps"] == 20).all()
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_after_a_fork_steps_on(ant):
    script = f"""
import os, sys, signal, delassus
model = delassus.Model({str(MODELS / "ant.xml")!r})
worlds = delassus.Worlds(model, 400, threads=2)
worlds.step(substeps=5)
child = os.fork()
worlds.step(substeps=5)
made_later = delassus.Worlds(model, 400, threads=2)
made_later.step(substeps=10)
assert (made_later.positions() == worlds.positions()).all()
if child == 0:
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_memory_does_not_grow(ball):
    resource = pytest.importorskip("resource")
    worlds = delassus.Worlds(ball, 4)
    control = np.zeros((4, 0))

    def peak_after(steps):
        for _ in range(steps):
            worlds.step(control)
            worlds.positions()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = peak_after(2000)
    assert peak_after(20000) - before < 1024, "more than 1 MB in 20,000 steps"


def test_the_layout_of_records_is_that_of_the_core():
    assert delassus.REPORT.itemsize == _core.REPORT_SIZE
    assert delassus.CONTACT.itemsize == _core.CONTACT_SIZE


def test_the_command():
    run = [sys.executable, "-m", "delassus"]
    done = subprocess.run([*run, "inspect", MODELS / "ant.xml"], capture_output=True, text=True)
    assert done.returncode == 0 and "ant" in done.stdout
    assert subprocess.run([*run, "inspect", "nothing.xml"], capture_output=True).returncode == 1
    wrong = subprocess.run([*run, "rollout"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "Usage" in wrong.stderr


def test_arrays_are_shared_with_torch(ant):
    torch = pytest.importorskip("torch")
    worlds = delassus.Worlds(ant, 4)
    q = torch.zeros((4, ant.nq))
    worlds.positions(out=q.numpy())
    np.testing.assert_array_equal(q.numpy(), worlds.positions())
    worlds.step(torch.zeros((4, ant.nu)))
