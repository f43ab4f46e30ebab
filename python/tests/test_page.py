"""The page of a recording in a real browser, where there is one: it draws, it plays, and nothing goes wrong."""

import pytest

import delassus


def picture(page):
    """What is drawn once all that was asked for is, without what stands over it."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return page.evaluate("document.getElementById('view').toDataURL()")


@pytest.fixture
def opened(browser):
    """Opens a page; whatever it complains about fails the test at the end."""
    complaints = []
    page = browser.new_page(viewport={"width": 800, "height": 600})
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)

    def open_(path):
        page.goto(path.as_uri())
        page.wait_for_function("document.getElementById('clock').textContent !== ''")
        return page

    yield open_
    page.close()
    assert complaints == []


def test_a_page_draws_and_plays(ant, opened, colors, tmp_path):
    source = delassus.Worlds(ant, 4)
    with source.record(tmp_path / "ant.html", worlds=[0, 3]) as recording:
        for _ in range(300):
            source.step(substeps=2)
    page = opened(tmp_path / "ant.html")
    assert page.title() == "ant – delassus"
    assert colors(page) > 200
    end = recording.time[-1]
    assert page.inner_text("#clock") == f"0.00 of {end:.2f} s"
    assert page.evaluate("document.getElementById('moment').max") == str(len(recording) - 1)

    before = picture(page)
    page.select_option("#speed", "0.25")
    page.click("#play")
    page.wait_for_function("parseFloat(document.getElementById('clock').textContent) > 0.2")
    assert page.inner_text("#play") == "Pause"
    page.click("#play")
    stopped = page.inner_text("#clock")
    assert picture(page) != before
    page.wait_for_timeout(300)  # longer than a moment
    assert page.inner_text("#clock") == stopped

    # To the end by the slider: what is told is the last report's.
    page.locator("#moment").fill(str(len(recording) - 1))
    page.select_option("#world", label="3")
    report = recording.reports[-1, 1]
    contacts = "1 contact," if report["contact_count"] == 1 else f"{report['contact_count']} contacts,"
    page.wait_for_function("text => document.getElementById('facts').textContent.includes(text)", arg=contacts)
    assert page.inner_text("#clock") == f"{end:.2f} of {end:.2f} s"
    page.locator("#view").click(position={"x": 400, "y": 300})
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("document.getElementById('moment').value === document.getElementById('moment').max - 1 + ''")


def test_a_camera_turns_and_forces_are_drawn(ball, opened, tmp_path):
    source = delassus.Worlds(ball, 1)
    source.step(substeps=500)
    with source.record(tmp_path / "ball.html"):
        source.step()
        source.step(substeps=20)
    page = opened(tmp_path / "ball.html")
    page.locator("#moment").fill("1")
    page.wait_for_function("document.getElementById('facts').textContent.includes('1 contact,')")
    with_force = picture(page)
    page.locator("#forces").fill("0")
    without = picture(page)
    assert without != with_force
    page.mouse.move(400, 200)
    page.mouse.down()
    page.mouse.move(500, 260, steps=5)
    page.mouse.up()
    turned = picture(page)
    assert turned != without
    page.mouse.wheel(0, 300)
    assert picture(page) != turned


def test_every_shape_and_a_world_that_is_lost_are_drawn(opened, colors, tmp_path):
    model = delassus.Model(
        """<mujoco model="&lt;/script> &amp; shapes">
        <asset><mesh name="wedge" vertex="0 0 0  0.3 0 0  0 0.3 0  0 0 0.3"/></asset>
        <worldbody>
          <geom type="plane" size="1 1 1" euler="5 0 0"/><geom type="box" size="0.2 0.2 0.02" pos="0 0 0.3"/>
          <body pos="0 0 1"><freejoint/>
            <geom size="0.1"/><geom type="capsule" size="0.05 0.2" pos="0.3 0 0"/><geom type="ellipsoid" size="0.1 0.2 0.05" pos="-0.3 0 0"/>
            <geom type="cylinder" size="0.1 0.1" pos="0 0.4 0"/><geom type="box" size="0.1 0.1 0.05" pos="0 -0.4 0" group="2"/>
            <geom type="mesh" mesh="wedge" pos="0 0 0.2" group="3"/>
          </body>
        </worldbody></mujoco>"""
    )
    source = delassus.Worlds(model, 2)
    with source.record(tmp_path / "shapes.html", worlds=[0, 1], fps=None):
        source.step(substeps=10)
        source.set_state([[1e30] * 3 + [1, 0, 0, 0]], [[1e30] * 6], [1])
        source.step(substeps=10)
    page = opened(tmp_path / "shapes.html")
    assert page.title() == "</script> & shapes – delassus"
    assert colors(page) > 200
    # The group that MuJoCo's viewer hides is hidden, until it is asked for.
    assert [box.is_checked() for box in page.locator("#groups input").all()] == [True, True, False]
    hidden = picture(page)
    page.get_by_label("group 3").check()
    assert picture(page) != hidden
    page.locator("#moment").fill("2")
    page.wait_for_function("document.getElementById('facts').textContent.includes('not solved: 1 of 2 worlds')")
    assert colors(page) > 200
