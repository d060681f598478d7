"""The table of all options in docs/cli.md, made from the commands themselves.

``python -m tests.cli.reference`` writes it.
"""

import re
from pathlib import Path

import click

from ogive.cli.commands import ogive
from ogive.cli.help import GROUPS

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
RANGE = re.compile(r"\[(\S*[<>]\S*)\]")  # as in [1<=x<=10], which Markdown takes for a link
TITLE = "## All options\n"
LEAD = """
Options without a list of commands are those of every command that reads predictions: `measure`,
`plot`, `report`, `fit`, `apply` and `compare`. `ogive COMMAND --help` has the same words.

"""


def options():
    """Return (how it is written, its help) -> the commands that have it, in the order of use."""
    found = {}
    order = [name for names in GROUPS.values() for name in names]
    assert sorted(order) == sorted(ogive.commands)
    for name in order:
        command = ogive.commands[name]
        for param in command.params:
            if isinstance(param, click.Option):
                record = param.get_help_record(click.Context(command))
                found.setdefault(tuple(" ".join(part.split()) for part in record), []).append(name)
    return found


def reference():
    """Return the section as Markdown."""
    readers = [name for name, command in ogive.commands.items() if command.reads_predictions]
    rows = ["| option | commands | meaning |", "|---|---|---|"]
    for (written, meaning), names in sorted(options().items()):
        commands = "" if sorted(names) == sorted(readers) else ", ".join(names)
        cells = (f"`{written}`", commands, RANGE.sub(r"`\1`", meaning))
        rows.append("| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |")
    return TITLE + LEAD + "\n".join(rows) + "\n"


def main():
    """Write the section as the last one of the page."""
    before = PAGE.read_text(encoding="utf-8").partition(TITLE)[0]
    PAGE.write_text(f"{before.rstrip()}\n\n{reference()}", encoding="utf-8")


if __name__ == "__main__":
    main()
