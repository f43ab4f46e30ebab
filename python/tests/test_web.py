"""The page of examples/web in a real browser, on software WebGPU: what is stepped there is what the CPU steps.

scripts/test-web builds the page, and says where it is in DELASSUS_WEB_PAGE.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import delassus

WORLDS = 8
# As the page has it.
NOISE = 0.05
# Largest difference in q, m or rad: both solve to 1e-5 m/s, and f32 rounds.
SAME = 2e-3


@pytest.fixture
def page(browser):
    """Opens the page with a query; whatever it complains about fails the test at the end."""
    built = os.environ.get("DELASSUS_WEB_PAGE")
    if built is None:
        pytest.skip("the page is not built: scripts/test-web")
    complaints = []
    opened = browser.new_page(viewport={"width": 640, "height": 400})
    opened.set_default_timeout(240e3)
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))

    def open_(query, expected="world-steps"):
        opened.goto(f"{Path(built).resolve().as_uri()}?{query}")
        opened.wait_for_function("text => document.getElementById('facts').textContent.includes(text)", arg=expected)
        return opened

    yield open_
    opened.close()
    assert complaints == []


STEPPED = """async ([model, worlds, substeps, calls]) => {
  const batch = await wasm_bindgen.Batch.open(model, worlds, 1);
  for (let k = 0; k < calls; k++) await batch.step(substeps, false);
  return [batch.report(), [...batch.positions()]];
}"""


@pytest.mark.parametrize("model", ["hopper", "ant", "boxes"])
def test_a_browser_steps_as_the_cpu_does(page, model):
    opened = page("paused=1&model=hopper&worlds=1")
    report, positions = opened.evaluate(STEPPED, [model, WORLDS, 5, 4])
    report = json.loads(report)
    assert report["unsolved"] == 0 and report["residual"] < 1e-4
    assert report["world_steps"] == 20 * WORLDS
    # again, to the bit
    assert opened.evaluate(STEPPED, [model, WORLDS, 5, 4])[1] == positions

    text = Path(__file__).resolve().parents[2] / "examples" / "models" / f"{model}.xml"
    model = delassus.Model(text)
    worlds = delassus.Worlds(model, WORLDS)
    worlds.set_start(next(iter(model.keyframe_names), None), NOISE, NOISE)
    worlds.reset(seed=0)
    before = worlds.positions().copy()
    for _ in range(4):
        worlds.step(substeps=5)
    after = worlds.positions()
    assert np.abs(after - before).max() > 10 * SAME
    assert np.abs(np.reshape(positions, after.shape) - after).max() < SAME


def test_the_page_steps_and_draws(page, colors):
    opened = page("model=hopper&worlds=16")
    opened.wait_for_function("last.calls > 5")
    opened.click("#play")
    assert opened.inner_text("#play") == "Play"
    assert "16 × hopper" in opened.inner_text("#facts") and "not solved 0.00 %" in opened.inner_text("#facts")
    assert colors(opened) > 200
    opened.click("#reset")
    opened.wait_for_function("last.world_steps === 0")


def test_what_is_wrong_is_told(page):
    opened = page("paused=1&model=hopper&worlds=1")
    wrong = """async (model) => { try { await wasm_bindgen.Batch.open(model, 4, 1); return "opened"; } catch (error) { return error.message; } }"""
    assert "XML" in opened.evaluate(wrong, "no model at all")
    still = "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>"
    assert "nothing can move" in opened.evaluate(wrong, still)
