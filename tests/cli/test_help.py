"""Help that can be read, and words that the shell completes."""

import os
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from ogive.calibrators import METHODS
from ogive.cli.commands import ogive
from ogive.cli.help import GROUPS, SECTIONS, VIEWS
from ogive.rows.views import usual_views
from tests.cli import reference

COMMANDS = sorted(ogive.commands)
click_writes_help_as_now = not version("click").startswith("8.1.")


def test_views_that_are_completed_are_those_that_are_measured():
    assert (*usual_views(4), "class-0", "class-1", "score") == VIEWS


def completed(*words, typed=""):
    """Return what the shell offers after these words."""
    offered = ShellComplete(ogive, {}, "ogive", "_OGIVE_COMPLETE")
    return [item.value for item in offered.get_completions(list(words), typed)]


def test_without_a_command_the_help_is_printed(run):
    code, out, err = run()
    assert code == 0
    assert err == ""
    assert out == run("--help")[1]


def test_commands_stand_under_headings_in_the_order_of_use(run):
    out = run()[1]
    places = [out.index(f"\n{title}:") for title in GROUPS]
    assert places == sorted(places)
    names = [name for names in GROUPS.values() for name in names]
    places = [out.index(f"\n  {name} ") for name in names]
    assert places == sorted(places)
    assert set(names) == set(ogive.commands)  # none is left to "More"
    assert "..." not in out.replace("[ARGS]...", "")  # no line is cut


@pytest.mark.parametrize("name", COMMANDS)
def test_each_help_has_examples_that_can_be_typed(run, name):
    command = ogive.commands[name]
    assert command.examples
    out = run(name, "--help")[1]
    for line, meaning in command.examples:
        assert f"$ {line}\n" in out
        assert meaning.split(".")[0][:40] in " ".join(out.split())
        program, first, *words = shlex.split(line)
        assert (program, first) == ("ogive", name)
        command.make_context(name, words)  # every option and value is one it takes


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(name):
    command = ogive.commands[name]
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, option.name
            assert option.help.rstrip().endswith((".", "]")), option.help
            assert option.help[0].isupper() or option.name == "view", option.help


@pytest.mark.parametrize("name", ["fit", "plot", "report"])
def test_methods_are_listed_and_completed(run, name):
    takes_all = name == "fit"
    names = [m for m, method in METHODS.items() if takes_all or method.reads == "curve"]
    assert ", ".join(names) in " ".join(run(name, "--help")[1].split())
    assert completed(name, "--method") == names
    assert completed(name, "--method", typed="is") == ["isotonic"]


@pytest.mark.parametrize("name", ["compare", "report", "arena"])
def test_lists_of_methods_are_completed_word_by_word(name):
    assert completed(name, "--methods", typed="none,pl") == ["none,platt"]
    assert "none,none" not in completed(name, "--methods", typed="none,")


def test_views_parts_and_targets_are_completed(run):
    assert completed("measure", "--view", typed="w") == ["within-top-2", "within-top-3"]
    assert "all" in completed("measure", "--view")
    assert "all" not in completed("fit", "--view")
    assert completed("fit", "--view", typed="v") == ["vector"]
    assert completed("measure", "--part") == ["cal", "test", "all"]
    assert completed("export", "--to") == ["onnx", "torch", "python", "sql"]
    for name, words in (("measure", "cal, test, all"), ("export", "[onnx|torch|python|sql]")):
        assert words in " ".join(run(name, "--help")[1].split())
    assert completed(typed="me") == ["measure"]


def test_options_apart_are_options():
    known = {option.name for command in ogive.commands.values() for option in command.params}
    assert {name for names in SECTIONS.values() for name in names} <= known


def test_the_table_of_methods_loads_no_method():
    code = (
        "import sys, ogive.calibrators; "
        "print([m for m in sys.modules if m.startswith('ogive.calibrators.')])"
    )
    words = [sys.executable, "-c", code]
    assert subprocess.check_output(words, text=True).strip() == "[]"  # noqa: S603


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_of_each_shell_in_the_docs_prints_its_script(shell):
    docs = Path(__file__).parents[2] / "docs" / "cli.md"
    assert f"_OGIVE_COMPLETE={shell}_source ogive" in docs.read_text(encoding="utf-8")
    script = "from ogive.cli import entry; entry()"
    env = {**os.environ, "_OGIVE_COMPLETE": f"{shell}_source"}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", script], capture_output=True, text=True, env=env, check=False
    )
    assert f"{shell}_complete" in done.stdout
    assert done.stderr == ""


def test_bash_is_answered():
    env = {
        **os.environ,
        "_OGIVE_COMPLETE": "bash_complete",
        "COMP_WORDS": "ogive fit --method is",
        "COMP_CWORD": "3",
    }
    script = "from ogive.cli import entry; entry()"
    words = [sys.executable, "-c", script]
    answer = subprocess.run(words, capture_output=True, text=True, env=env, check=False)  # noqa: S603
    assert answer.stdout.split() == ["plain,isotonic"]


def test_the_page_has_every_option_of_every_command():
    text = reference.PAGE.read_text(encoding="utf-8")
    if click_writes_help_as_now:
        assert text.endswith(reference.reference()), "python -m tests.cli.reference"
    for name, command in ogive.commands.items():
        for param in command.params:
            for word in param.opts if isinstance(param, click.Option) else ():
                assert word in text, (name, word)
