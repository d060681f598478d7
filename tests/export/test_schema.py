"""The schema holds for every artifact; the recipes run."""

import json
import re
import sys
from pathlib import Path

import pytest

from ogive import save
from ogive.calibrators import CLASS_VIEWS, GROUPED, METHODS, MULTICLASS, SHIFTED
from tests.export.calibrators import GROUP_NAMES, NAMES, fitted
from tests.export.freeze import FROZEN, json_schema

DOCS = Path(__file__).resolve().parents[2] / "docs"
RECIPES = sorted((DOCS / "recipes").glob("*.md"))
SCHEMA = json.loads((DOCS / "artifact.schema.json").read_text())


@pytest.fixture
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
        lambda d: d.update(version=2),
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


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_a_recipe_runs(path, tmp_path, monkeypatch):
    if path.stem == "torch":
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "calibrator", raising=False)
    names = {"__name__": path.stem}
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(), flags=re.DOTALL)
    assert blocks
    skipped = []
    for block in blocks:
        needs = re.match(r"# needs: (\w+)", block)
        if needs and not _installed(needs[1]):
            skipped.append(needs[1])
            continue
        exec(compile(block, str(path), "exec"), names)  # noqa: S102 - our own pages
    if skipped:
        pytest.skip(f"the rest ran; not installed: {', '.join(skipped)}")


def _installed(package):
    import importlib.util

    return importlib.util.find_spec(package) is not None
