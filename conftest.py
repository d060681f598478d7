"""Examples run in folders of their own; a run of tests can leave out what another has passed."""

from pathlib import Path

import pytest

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
    group.addoption("--passed-to", metavar="FILE", help="write the names of passed tests to FILE")
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


def pytest_collection_modifyitems(config, items):
    if path := config.getoption("--not-passed-in"):
        passed = set(Path(path).read_text(encoding="utf-8").split("\n"))
        left_out = [
            item
            for item in items
            if item.nodeid in passed and not item.get_closest_marker("with_parts")
        ]
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
            Path(path).write_text("\n".join(self.passed), encoding="utf-8")
        if self.skipped and self.config.getoption("--no-skips"):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        if self.skipped and self.config.getoption("--no-skips"):
            terminalreporter.section("skipped for want of a part")
            terminalreporter.write("\n".join([*self.skipped, ""]))
