"""docs/python.md says what the docstrings say."""

import runpy

from conftest import MODELS


def test_the_page_is_what_the_docstrings_say():
    script = runpy.run_path(str(MODELS.parents[1] / "scripts" / "api-page"))
    told, page = script["PAGE"].read_text(encoding="utf-8"), script["page"]()
    assert told == page, "run scripts/api-page"
    for name in ("### `Worlds`", "**`step(control: ArrayLike | None = None, substeps: int = 1", "### `Ant`"):
        assert name in page
