"""A file of the package imports from lower levels only; a test imports from no other test."""

import ast
from pathlib import Path

import pytest

import ogive
from tests.levels import LEVEL, MOST_SIDEWAYS, SIDEWAYS

ROOT = Path(ogive.__file__).parent
TESTS = Path(__file__).parent


def modules(path, package):
    """The modules and names that a file imports, also in functions and under TYPE_CHECKING.

    `from a import b` is "a.b", since b may be a module; relative names are made absolute.
    """
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    yield from names
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            start = ".".join([*(above if node.level else []), *([node.module] * bool(node.module))])
            yield from (f"{start}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", None) in names:
            yield f"{node.value.id}.{node.attr}"


def parts(path, package="ogive"):
    """The parts of ogive that a file imports; a public name counts as the part it comes from.

    `import ogive` alone loads none of them, so its attributes are what counts.
    """
    for name in modules(path, package):
        parts = name.split(".")
        if parts[0] != "ogive" or parts[1:] in ([], ["__version__"]):
            continue
        known = len(parts) == 2 and ogive._MODULES.get(parts[1])
        yield known.split(".")[1] if known else parts[1]


FILES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


def part_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def package_of(path):
    return ".".join(["ogive", *path.relative_to(ROOT).parent.parts])


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_imports_from_lower_levels_only(path):
    part = part_of(path)
    assert part in LEVEL, f"{part} has no level: add it to the table"
    for other in parts(path, package_of(path)):
        same = other == part or (part, other) in SIDEWAYS
        assert same or LEVEL[other] < LEVEL[part], f"{part} must not import {other}"


def test_few_parts_import_sideways():
    assert len(SIDEWAYS) <= MOST_SIDEWAYS


@pytest.mark.parametrize(
    "line",
    [
        "from ogive.metrics.ks import ks_error",
        "import ogive.metrics.ks",
        "from ogive import metrics",
        "from ogive import ks_error",
        "from ..metrics.ks import ks_error",
        "from .. import metrics",
        "from .. import ks_error as gap",
        "import ogive; ogive.ks_error",
    ],
)
@pytest.mark.parametrize("place", ["def f():\n    {}", "if TYPE_CHECKING:\n    {}", "{}"])
def test_the_check_can_fail(line, place, tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text(place.format(line))
    assert list(parts(bad, "ogive.curve")) == ["metrics"]


def test_the_version_is_no_part(tmp_path):
    good = tmp_path / "good.py"
    good.write_text("import ogive\nprint(ogive.__version__)\nfrom . import keys\n")
    assert list(parts(good, "ogive.curve")) == ["curve"]


PYTHON = [*sorted(TESTS.rglob("*.py")), *sorted((TESTS.parent / "benchmarks").rglob("*.py"))]


@pytest.mark.parametrize("path", PYTHON, ids=lambda p: str(p.relative_to(TESTS.parent)))
def test_helpers_are_in_modules_of_their_own(path):
    package = ".".join(path.relative_to(TESTS.parent).parent.parts)
    for name in modules(path, package):
        tested = [part for part in name.split(".")[1:] if part.startswith("test_")]
        assert not name.startswith("tests.") or not tested, f"{name}: move it to a helper module"


# Tests of no single module: of names, of whole topics, against other libraries, or by simulation.
TOPICS = {"browser", "parity", "slow"}
TOPIC_TESTS = {
    "calibrators/curve_methods",
    "cli/counts",
    "cli/hostile",
    "cli/outputs",
    "engines/memory",
    "estimators/checks",
    "export/frozen",
    "export/hostile",
    "readers/formats",
    "readers/mutants",
}


@pytest.mark.parametrize("path", sorted(TESTS.glob("*/**/test_*.py")), ids=lambda p: p.stem)
def test_a_module_s_test_is_beside_it(path):
    """tests/a/test_b.py is of ogive/a/b.py (or b_c for a part of it), or of the package a."""
    folder, name = path.relative_to(TESTS).parent, path.stem.removeprefix("test_")
    if folder.parts[0] in TOPICS or f"{folder}/{name}" in TOPIC_TESTS:
        return
    own = {p.stem for p in (ROOT / folder).glob("*.py")} | {folder.name}
    assert any(f"{name}_".startswith(f"{module.lstrip('_')}_") for module in own)
