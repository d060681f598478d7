"""Every shell example of README and docs runs: lines ``$ ogive …`` in console blocks.

Those of a cluster run in `tests/engines`, where there is one; those of pages whose outputs
are checked as well, in `docs/test_pages.py`.
"""

import pytest

from docs._site import cells
from ogive.cli import main
from tests.pages import ROOT, commands, make_log

pytestmark = pytest.mark.thorough

PAGES = [
    page
    for page in [ROOT / "README.md", *sorted(set(ROOT.glob("docs/**/*.md")) - set(cells.pages()))]
    if list(commands(page))
]


@pytest.mark.filterwarnings("default")  # a command's warnings are for its reader, on stderr
@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_shell_examples_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    make_log(tmp_path / "log")
    for words in commands(page):
        assert main(words) == 0, (words, capsys.readouterr().err)


def test_there_are_examples():
    assert ROOT / "README.md" in PAGES
