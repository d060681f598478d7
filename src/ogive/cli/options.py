"""Options that several commands have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive.readers.source import Columns

FILE_HELP = """
FILE holds predictions: .npz with `logits` or `probs` and `labels`, or `scores` and `outcomes`
(prefixes cal_ and test_ make two parts); .parquet, .csv or .arrow with columns `score` and
`outcome`, or `label` with logit_0… or prob_0…, or a list column `logits` or `probs`, and
optionally `weight` and `part` (cal, test); the paper's .p files; CalArena's .h5 files."""

as_json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object instead."
)


def reads_files(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how a file is read."""
    for option in (
        click.option("--experiment", metavar="NAME", help="One experiment of an .h5 file."),
        click.option("--weight", metavar="COL", help="Column of the weights [weight]."),
        click.option("--label", metavar="COL", help="Column of the true classes [label]."),
        click.option("--outcome", metavar="COL", help="Column of the outcomes [outcome]."),
        click.option("--score", metavar="COL", help="Column of the scores [score]."),
    ):
        command = option(command)
    return command


def columns_of(options: dict[str, Any]) -> Columns:
    """Return the names of the columns that were asked for."""
    from ogive.readers import Columns  # noqa: PLC0415 - keep `ogive --help` quick

    return Columns(*(options[name] for name in ("score", "outcome", "label", "weight")))


def names_of(words: str | None) -> list[str] | None:
    """Split names at commas."""
    return None if words is None else [word.strip() for word in words.split(",")]
