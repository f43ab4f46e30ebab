"""What the tests share: a model of the repository, and a ball that falls on a floor."""

import shutil
from pathlib import Path

import pytest

import delassus

MODELS = Path(__file__).resolve().parents[2] / "examples" / "models"

BALL = """<mujoco model="ball">
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="ball" pos="0 0 0.5"><freejoint/><geom name="ball" size="0.1" mass="2"/></body>
  </worldbody>
</mujoco>"""


@pytest.fixture(scope="session")
def ant() -> delassus.Model:
    return delassus.Model(MODELS / "ant.xml")


@pytest.fixture(scope="session")
def ball() -> delassus.Model:
    return delassus.Model(BALL)


BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser():
    """A browser that draws and computes in software."""
    playwright = pytest.importorskip("playwright.sync_api")
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    arguments = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with playwright.sync_playwright() as p:
        try:
            started = p.chromium.launch(
                executable_path=path,
                args=[*arguments, "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"],
            )
        except playwright.Error as error:
            pytest.skip(f"no browser: {error.message.splitlines()[0]}")
        yield started
        started.close()


# How many colours the canvas shows, among pixels that are not next to each other.
COLORS = """() => {
  const view = document.getElementById("view"), copy = document.createElement("canvas");
  [copy.width, copy.height] = [view.width, view.height];
  const to = copy.getContext("2d");
  to.drawImage(view, 0, 0);
  const pixels = new Uint32Array(to.getImageData(0, 0, copy.width, copy.height).data.buffer);
  return new Set(pixels.filter((_, i) => i % 7 === 0)).size;
}"""


@pytest.fixture
def colors():
    """Counts the colours of a page's canvas."""
    return lambda page: page.evaluate(COLORS)
