"""Recordings: what they hold, and the files and plots that are made of them."""

import numpy as np
import pytest

import delassus
from delassus import quantities as of

SHAPES = """<mujoco model="shapes">
  <asset><mesh name="wedge" vertex="0 0 0  0.3 0 0  0 0.3 0  0 0 0.3"/></asset>
  <worldbody>
    <geom name="floor/1" type="plane" size="1 1 1"/>
    <body pos="0 0 0.4"><freejoint/>
      <geom type="capsule" size="0.1 0.2"/><geom type="box" size="0.1 0.2 0.3"/><geom name="wedge" type="mesh" mesh="wedge"/>
    </body>
  </worldbody>
</mujoco>"""


def recorded(model, count=4, steps=30, worlds=(2, 0), fps=None, **settings):
    """A recording of falling and landing, and the states that the worlds said themselves."""
    source = delassus.Worlds(model, count, **settings)
    source.set_start(position_noise=0.02)
    source.reset(seed=3)
    states = [source.positions()]
    with source.record(worlds=worlds, fps=fps) as recording:
        for _ in range(steps):
            source.step(substeps=10)
            states.append(source.positions())
    return source, recording, np.array(states)


def test_a_recording_holds_the_chosen_worlds(ant):
    source, recording, states = recorded(ant, precision="f64")
    assert len(recording) == 31 and recording.worlds == [2, 0]
    np.testing.assert_array_equal(recording.positions, states[:, [2, 0]])
    np.testing.assert_allclose(recording.time, 10 * source.dt * np.arange(31))
    assert recording.velocities.shape == (31, 2, ant.nv)
    look = source.observer(torso=of.position(geom=0), turn=of.orientation(geom=3))()
    np.testing.assert_allclose(recording.poses[-1, :, 0, :3], look["torso"][[2, 0]], atol=1e-12)
    np.testing.assert_allclose(recording.poses[-1, :, 3, 3:], look["turn"][[2, 0]], atol=1e-12)
    np.testing.assert_array_equal(recording.reports[-1], source.reports[[2, 0]])
    # Closed: nothing more is kept, and nobody is watched.
    source.step()
    assert len(recording) == 31
    with pytest.raises(ValueError, match="not watched"):
        source.contacts(0)


def test_contacts_and_energy_of_a_falling_ball(ball):
    source = delassus.Worlds(ball, 1, precision="f64")
    with source.record(fps=None) as recording:
        for _ in range(600):
            source.step()
    contacts, force = recording.contacts, recording.contact_force()
    assert len(contacts) == 601 and all(len(moment) == 1 for moment in contacts)
    assert len(contacts[0][0]) == 0 and len(contacts[-1][0]) == 1
    np.testing.assert_allclose(force[-1], 2 * 9.81, rtol=1e-6)
    np.testing.assert_array_equal(force, recording.contact_force("ball"))
    np.testing.assert_array_equal(force, recording.contact_force(ball.geom("floor")))
    for wrong in (-1, 2):
        with pytest.raises(ValueError, match="no geom"):
            recording.contact_force(wrong)
    assert not force[0].any()
    # m g z at the start and at rest, and no spring
    energy = recording.energy
    np.testing.assert_allclose(energy[0, 0], [0, 2 * 9.81 * 0.5, 0])
    np.testing.assert_allclose(energy[-1, 0], [0, 2 * 9.81 * 0.1, 0], atol=1e-4)
    assert energy[:, 0, 0].max() > 0.9 * 2 * 9.81 * 0.4


def test_moments_come_as_often_as_asked(ball):
    source = delassus.Worlds(ball, 2)
    with source.record(fps=50) as few, source.record(worlds=[1], fps=None) as all_of_them:
        for _ in range(100):
            source.step(substeps=5)
            source.reset([0])
    np.testing.assert_allclose(few.time, np.arange(51) * 0.02)
    assert len(all_of_them) == 101


def test_a_page_is_written_even_if_the_rollout_fails(ball, tmp_path):
    source = delassus.Worlds(ball, 1)
    path = tmp_path / "ball.html"
    with pytest.raises(ZeroDivisionError), source.record(path) as recording:
        source.step(substeps=100)
        _ = 1 / 0
    text = path.read_text(encoding="utf-8")
    assert text == recording.page() and text.startswith("<!doctype html>") and '"ball"' in text
    assert "srcdoc" in recording._repr_html_()
    # A recording outlives its worlds.
    with source.record() as second:
        source.close()
    assert source.closed and len(second) == 1


def test_a_recording_that_ends_while_worlds_are_stepped_is_written(ball, tmp_path):
    worlds = delassus.Worlds(ball, 2)
    with pytest.raises(KeyError, match="mine"), worlds.record(tmp_path / "ball.html"):
        worlds.step()
        worlds.step_async()
        raise KeyError("mine")
    assert (tmp_path / "ball.html").stat().st_size > 1000
    worlds.wait()
    recording = worlds.record(tmp_path / "more.html")
    worlds.step_async()
    with pytest.raises(delassus.Error, match="wait"):
        recording.close()
    worlds.wait()
    recording.close()
    recording.close()


def test_what_is_recorded_stays_watched(ball):
    worlds = delassus.Worlds(ball, 2)
    recording = worlds.record(worlds=[1])
    with pytest.raises(ValueError, match="world 1 is being recorded"):
        worlds.watch(1, False)
    worlds.watch(0, True)
    worlds.watch(0, False)
    recording.close()
    worlds.watch(1, False)


def test_a_wrong_recording_is_refused(ball, tmp_path):
    source = delassus.Worlds(ball, 2)
    for path in ("ball.mp4", "ball"):
        with pytest.raises(ValueError, match=r"must end in \.html or \.rrd"):
            source.record(tmp_path / path)
    with pytest.raises(OSError, match="nowhere"):
        source.record(tmp_path / "nowhere" / "ball.html")
    for worlds in ([2], [-1], [0.5], 1, [[0]], []):
        with pytest.raises(ValueError, match="world"):
            source.record(worlds=worlds)
    for fps in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="fps"):
            source.record(fps=fps)
    # None of them is recorded.
    source.step()


def test_geoms_have_shapes(ant):
    model = delassus.Model(SHAPES)
    assert model.geom_shape == ["plane", "capsule", "box", "mesh"] and model.geom_body == [0, 1, 1, 1]
    np.testing.assert_array_equal(model.geom_size, [[0, 0, 0], [0.1, 0.2, 0], [0.1, 0.2, 0.3], [0, 0, 0]])
    corners, triangles = model.geom_mesh(3)
    assert corners.shape == (4, 3) and triangles.shape == (4, 3)
    with pytest.raises(ValueError, match="no geom of shape"):
        model.geom_mesh(0)
    assert ant.geom_size.shape == (len(ant.geom_names), 3)


def test_rerun_gets_every_moment(tmp_path):
    reader = pytest.importorskip("rerun.chunk")
    model = delassus.Model(SHAPES)
    source = delassus.Worlds(model, 2)
    with source.record(tmp_path / "shapes.rrd", worlds=[1], fps=None) as recording:
        for _ in range(50):
            source.step(substeps=10)
    columns, static = {}, {}
    for chunk in reader.RrdReader(tmp_path / "shapes.rrd").stream():
        batch = chunk.to_record_batch()
        into = static if chunk.is_static else columns
        for name in batch.schema.names:
            column = batch.column(name)
            # Times in nanoseconds.
            values = column.to_numpy(zero_copy_only=False) if name == "time" else column.to_pylist()
            into.setdefault(chunk.entity_path, {})[name] = values

    for geom, name in enumerate(model.geom_names):
        part = (name or f"geom_{geom}").replace("/", "\\/")
        entity = f"/world_1/{part}"
        (archetype,) = {component.split(":")[0] for component in static[entity]} - {"rerun.controls.RowId"}
        assert (
            archetype
            == dict(plane="Mesh3D", capsule="Capsules3D", box="Boxes3D", mesh="Mesh3D")[model.geom_shape[geom]]
        )
        position = np.array(columns[entity]["Transform3D:translation"])[:, 0]
        turn = np.array(columns[entity]["Transform3D:quaternion"])[:, 0]  # x y z w
        np.testing.assert_allclose(position, recording.poses[:, 0, geom, :3], atol=1e-6)
        np.testing.assert_allclose(turn, recording.poses[:, 0, geom, [4, 5, 6, 3]], atol=1e-6)
    energy = np.array(columns["/world_1/energy"]["Scalars:scalars"])
    np.testing.assert_allclose(energy, recording.energy.sum(axis=-1))
    times = columns["/world_1/energy"]["time"] / np.timedelta64(1, "s")
    np.testing.assert_allclose(times, recording.time, atol=1e-8)
    # Arrows: as many as contacts, and at the end as long as the weight, one metre, upwards.
    vectors = columns["/world_1/contact_force"]["Arrows3D:vectors"]
    assert [len(row) for row in vectors] == [len(moment[0]) for moment in recording.contacts]
    np.testing.assert_allclose(np.sum(vectors[-1], axis=0), [0, 0, 1], atol=1e-3)


def test_without_rerun_or_matplotlib_it_says_what_to_install(ball, tmp_path, monkeypatch):
    import sys

    from delassus import plot

    for module in ("rerun", "matplotlib"):
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "delassus.rerun", raising=False)
    monkeypatch.delattr(delassus, "rerun", raising=False)
    source = delassus.Worlds(ball, 1)
    with pytest.raises(ImportError, match=r"pip install 'delassus\[rerun\]'"):
        source.record(tmp_path / "ball.rrd")
    with source.record() as recording:
        source.step()
    with pytest.raises(ImportError, match="pip install matplotlib"):
        plot.overview(recording)


def test_plots_draw_what_is_recorded(ant):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    from delassus import plot

    _, recording, _ = recorded(ant, precision="f64")
    figure = plot.overview(recording)
    energy, force, residual = figure.axes
    np.testing.assert_allclose(energy.lines[1].get_ydata(), recording.energy[:, 1].sum(axis=-1))
    np.testing.assert_array_equal(force.lines[0].get_ydata(), recording.contact_force()[:, 0])
    shown = residual.lines[0].get_ydata()
    np.testing.assert_array_equal(shown[shown > 0], recording.reports["residual"][:, 0][shown > 0])
    assert residual.lines[-1].get_ydata()[0] == 1e-10
    parts = {line.get_label() for line in plot.energy(recording, world=0).lines}
    assert parts == {"total, world 0", "kinetic", "gravity"}
    assert plot.contact_force(recording, geom=0).get_ylabel() == "normal force on 0, N"
    with pytest.raises(ValueError, match="world: 1 is not recorded"):
        plot.energy(recording, world=1)
    figure.canvas.draw()
    pyplot.close("all")
