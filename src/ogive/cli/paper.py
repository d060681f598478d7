"""The command `ogive paper`: the paper's tables, beside the paper's own numbers."""

from __future__ import annotations

from pathlib import Path

import click

from ogive.cli.options import as_json_option, names_of


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--methods", metavar="M,…", help="Columns, separated by commas [all].")
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    help="Keep results in this JSON file, and start from it.",
)
@as_json_option
def paper(folder: Path, methods: str | None, resume: Path | None, *, as_json: bool) -> None:
    """Print the paper's tables from its logit files, beside the paper's own numbers.

    DIR holds copies of the logit files, found by name or by their sha256. Missing ones are named,
    with the place where the paper's authors keep them. The ODIR columns take minutes.
    """
    from ogive.cli import terminal  # noqa: PLC0415
    from ogive.errors import FileFormatError  # noqa: PLC0415
    from ogive.readers import read  # noqa: PLC0415
    from ogive.studies.paper import paper_tables  # noqa: PLC0415
    from ogive.studies.paper_files import REPOSITORY  # noqa: PLC0415

    with terminal.progress("the paper's tables") as step:
        result = paper_tables(
            folder,
            read=read,
            methods=names_of(methods),
            cache=resume,
            progress=lambda done, total, what: step(what, done, total),
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
        click.echo(repr(result))
