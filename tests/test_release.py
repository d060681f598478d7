"""What is written in several places for a release agrees."""

import re
import tomllib
from pathlib import Path

import pytest

import ogive

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_version_is_in_one_place_and_others_agree():
    assert "version" in PROJECT["dynamic"]
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", cited, re.MULTILINE)[1] == ogive.__version__
    released = re.search(r"^date-released: (.+)$", cited, re.MULTILINE)[1]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## [{ogive.__version__}] - {released}\n" in changes


def extras(name):
    """What an extra asks for, with the extras that it names."""
    for need in PROJECT["optional-dependencies"][name]:
        inside = re.fullmatch(r"ogive\[(.+)\]", need)
        if inside:
            for other in inside[1].split(","):
                yield from extras(other)
        else:
            yield need


def test_all_is_every_part_without_the_pandas_of_spark():
    parts = ["cli", "dask", "onnx", "spark", "torch"]
    every = {need for part in parts for need in extras(part)}
    pinned = {need for need in every if need.startswith("pandas")}
    assert pinned
    assert set(extras("all")) == every - pinned


@pytest.mark.parametrize(
    "words", ["pip install '.[cli]' && ogive demo", "pip install -e '.[test]' && pytest"]
)
def test_the_readme_begins_with_two_commands(words):
    first = (ROOT / "README.md").read_text(encoding="utf-8").partition("```sh\n")[2]
    assert words in first.partition("```")[0]
