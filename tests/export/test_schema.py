"""The schema holds for every artifact; guides run in the engines they are about."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from docs._site import cells
from ogive import save
from ogive.calibrators import CLASS_VIEWS, GROUPED, METHODS, MULTICLASS, SHIFTED
from tests.export.calibrators import GROUP_NAMES, NAMES, fitted
from tests.export.freeze import FROZEN, json_schema

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDES = [page for page in cells.pages() if "# needs: " in page.read_text(encoding="utf-8")]
SCHEMA = json.loads((DOCS / "artifact.schema.json").read_text())


@pytest.fixture(scope="module")
def validator():
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


@pytest.mark.parametrize("path", sorted(FROZEN.glob("*.json")), ids=lambda path: path.stem)
def test_frozen_artifacts_follow_the_schema(path, validator):
    validator.validate(json.loads(path.read_text()))


@pytest.mark.parametrize("name", [*NAMES, *GROUP_NAMES])
def test_artifacts_of_today_follow_the_schema(name, validator, tmp_path):
    save(fitted(name), tmp_path / "cal.json")
    validator.validate(json.loads((tmp_path / "cal.json").read_text()))


def test_the_schema_can_fail(validator):
    document = json.loads((FROZEN / "v1-platt.score.json").read_text())
    for change in (
        lambda d: d.pop("map"),
        lambda d: d.update(version=3),
        lambda d: d.update(method="beta"),
        lambda d: d["map"].update(at_one=5),
        lambda d: d["map"].update(view="top-1\n"),
        lambda d: d["fitted_on"].update(tag="two\nlines"),
        lambda d: d["map"].update(slope="steep"),
        lambda d: d["map"].update(more=1),
        lambda d: d["fitted_on"].update(ks_after=1.5),
        lambda d: d.update(checksum="sha256:0"),
    ):
        altered = json.loads(json.dumps(document))
        change(altered)
        assert not validator.is_valid(altered)


def test_the_schema_is_what_load_enforces():
    assert json_schema() == SCHEMA, "python -m tests.export.freeze"


def test_the_schema_and_the_page_know_every_method():
    known = {*METHODS, *MULTICLASS, *GROUPED, *CLASS_VIEWS, *SHIFTED}
    assert set(SCHEMA["properties"]["method"]["enum"]) == known
    page = (DOCS / "artifact.md").read_text()
    for name, rules in SCHEMA["$defs"]["maps"].items():
        assert f"`{name}`" in page
        for field in rules["properties"]:
            assert f"`{field}`" in page, field
    for field in SCHEMA["properties"]["fitted_on"]["properties"]:
        assert f"`{field}`" in page


@pytest.mark.thorough
@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
def test_a_guide_runs_in_the_engines_that_it_needs(path, tmp_path):
    text = path.read_text(encoding="utf-8")
    # In a process of its own: a guide ends its Spark session, which other tests would share.
    script = "import sys; from pathlib import Path; from docs._site import cells; cells.check("
    script += "Path(sys.argv[1]).read_text(encoding='utf-8'), Path(sys.argv[2]))"
    words = [sys.executable, "-c", script, str(path), str(tmp_path)]
    done = subprocess.run(words, cwd=DOCS.parent, capture_output=True, text=True, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    if missing := {cell.needs for cell in cells.cells(text) if not cell.runs_here}:
        pytest.skip(f"the rest ran; not installed: {', '.join(sorted(missing))}")
