"""Which tests run, and on how many cores; examples run in folders of their own."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the workers already use all cores

PAGES = Path(__file__).parent / "docs"

#: What no installed part would change: other data, other users, other systems, more time.
ALLOWED_SKIPS = (
    "the arena is not beside this checkout",
    "OGIVE_SLOW_TESTS",
    "the superuser may write anything",
    "no such form",
    "this pyarrow has no such allocator",
    "all tests skipped by +SKIP option",
)


@pytest.fixture(autouse=True)
def _folder_for_examples(request):
    if isinstance(request.node, pytest.DoctestItem):  # no other test pays for a folder
        tmp_path = request.getfixturevalue("tmp_path")
        request.getfixturevalue("monkeypatch").chdir(tmp_path)


def pytest_addoption(parser):
    group = parser.getgroup("ogive")
    group.addoption("--passed-to", metavar="FILE", help="add the names of passed tests to FILE")
    group.addoption(
        "--not-passed-in",
        metavar="FILE",
        help="leave out the tests that FILE names, except those marked with_parts",
    )
    group.addoption(
        "--no-skips", action="store_true", help="fail if a test is skipped for want of a part"
    )


def pytest_configure(config):
    if not hasattr(config, "workerinput"):  # the one process that sees all reports
        config.pluginmanager.register(Reports(config))


def paths(config):
    return [Path(word.split("::")[0]).absolute() for word in config.args]


def pytest_xdist_auto_num_workers(config):
    """Use no workers for files: to start them takes longer than the tests of most files."""
    return 0 if all(path.is_file() for path in paths(config)) else None


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(config, items):
    """Leave out what takes long, unless -m or the name of its file asks for it."""
    named, passed = paths(config), set()
    if path := config.getoption("--not-passed-in"):
        passed.update(Path(path).read_text(encoding="utf-8").split("\n"))

    def runs(item):
        if item.path.is_relative_to(PAGES):
            item.add_marker("thorough")
        marks = {mark.name for mark in item.iter_markers()}
        if item.nodeid in passed and "with_parts" not in marks:
            return False
        asked = config.option.markexpr or not marks & {"slow", "thorough"}
        return asked or ("slow" not in marks and item.path in named)

    left_out = [item for item in items if not runs(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


class Reports:
    """The tests that passed, and those skipped for want of a part."""

    def __init__(self, config):
        self.config, self.passed, self.skipped = config, [], []

    def pytest_runtest_logreport(self, report):
        if report.passed and report.when == "call":
            self.passed.append(report.nodeid)
        self.note_skip(report)

    def pytest_collectreport(self, report):
        self.note_skip(report)

    def note_skip(self, report):
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = str(report.longrepr[2])
            if not any(words in reason for words in ALLOWED_SKIPS):
                self.skipped.append(f"{report.nodeid}: {reason}")

    def pytest_sessionfinish(self, session):
        if path := self.config.getoption("--passed-to"):
            with Path(path).open("a", encoding="utf-8") as file:
                file.write("\n".join([*self.passed, ""]))
        if self.skipped and self.config.getoption("--no-skips"):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        if self.skipped and self.config.getoption("--no-skips"):
            terminalreporter.section("skipped for want of a part")
            terminalreporter.write("\n".join([*self.skipped, ""]))
