"""The command `ogive paper`: the paper's tables, beside the paper's own numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ogive.cli import terminal
from ogive.cli.options import as_json_option, check_output, names_of, resume_option
from ogive.cli.terminal import Command, say
from ogive.cli.values import INPUT, WORD

if TYPE_CHECKING:
    from pathlib import Path


@click.command(
    cls=Command,
    examples=(
        ("ogive paper logits/", "All tables whose logit files the folder holds."),
        (
            "ogive paper logits/ --methods spline,temperature --resume paper.json",
            "Some columns; results are kept, and an interrupted run goes on from there.",
        ),
    ),
)
@click.argument("folder", metavar="DIR", type=INPUT)
@click.option(
    "--methods",
    type=WORD,
    metavar="M,…",
    help="Columns of the paper's tables, separated by commas. [default: all]",
)
@resume_option("JSON file")
@as_json_option
def paper(folder: Path, methods: str | None, resume: Path | None, *, as_json: bool) -> None:
    """Reproduce the tables of the paper from its logit files.

    DIR holds copies of the logit files, found by name or by their sha256. Missing ones are named,
    with the place where the paper's authors keep them. The ODIR columns take minutes.
    """
    from ogive.errors import FileFormatError  # noqa: PLC0415
    from ogive.readers import read  # noqa: PLC0415
    from ogive.studies.paper.files import REPOSITORY  # noqa: PLC0415
    from ogive.studies.paper.study import paper_tables  # noqa: PLC0415

    check_output(resume, [folder])
    with terminal.progress("the paper's tables") as step:
        result = paper_tables(
            folder,
            read=read,
            methods=names_of(methods),
            cache=resume,
            progress=step,
        )
    if not result.copies:
        msg = (
            f"{folder} holds none of the paper's {len(result.missing)} logit files, such as "
            f"{result.missing[0].name}. The paper has them from {REPOSITORY} (folder logits)."
        )
        raise FileFormatError(msg)
    if as_json:
        terminal.print_json(result.to_dict())
    else:
        for line in repr(result).split("\n"):
            say(line)
