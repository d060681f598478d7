"""The command shift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ogive.cli.options import as_json_option, check_output, names_of, output_option
from ogive.cli.terminal import Command, say
from ogive.cli.values import INPUT, NOTE, WORD

if TYPE_CHECKING:
    from pathlib import Path


@click.command(
    cls=Command,
    examples=(
        (
            "ogive shift cal.json --base-rate 0.003 --trained-at 0.5 -o production.json",
            "Fitted on 50:50 data, used where 0.3 % of the rows are of class 1.",
        ),
        (
            "ogive shift cal.json --kept-negatives 0.01 -o production.json",
            "Fitted on all rows of class 1 and 1 % of the others.",
        ),
    ),
)
@click.argument("calibrator", metavar="CAL.json", type=INPUT)
@output_option("The calibrator to write (.json).")
@click.option(
    "--base-rate",
    type=WORD,
    metavar="R",
    help="Share of class 1 in the new data, or the shares of all classes, separated by commas.",
)
@click.option(
    "--trained-at",
    type=WORD,
    metavar="R",
    help="The same of the rows that were fitted. [default: what the calibrator says]",
)
@click.option(
    "--kept-negatives",
    type=click.FLOAT,
    metavar="SHARE",
    help="Instead of --base-rate: the share of class 0 that was kept, of class 1 all.",
)
@click.option("--date", type=NOTE, metavar="TEXT", help="A date to keep in the calibrator.")
@as_json_option
def shift(
    calibrator: Path,
    output: Path,
    *,
    base_rate: str | None,
    trained_at: str | None,
    kept_negatives: float | None,
    date: str | None,
    as_json: bool,
) -> None:
    """Move a calibrator to data with another base rate.

    The shift is right where the scores within each class are distributed as before.
    """
    from ogive.cli import terminal  # noqa: PLC0415
    from ogive.studies.shifting import shift_file  # noqa: PLC0415

    check_output(output, [calibrator])
    if (base_rate is None) == (kept_negatives is None):
        msg = "give --base-rate R or --kept-negatives SHARE, and not both."
        raise click.UsageError(msg)
    rates = {"base_rate": _rates(base_rate, "base-rate")}
    done = shift_file(
        calibrator,
        output,
        **rates,
        trained_at=_rates(trained_at, "trained-at"),
        kept_negatives=kept_negatives,
        date=date,
    )
    if as_json:
        terminal.print_json(done.to_dict())
        return
    if done.base_rate is not None:
        say(f"Base rate {_shown(done.trained_at)} before, {_shown(done.base_rate)} now.")
    say(f"Next: ogive apply {output} FILE -o OUT")


def _rates(words: str | None, option: str) -> Any:  # noqa: ANN401 - None, a number or a list
    """Return one share, or several separated by commas."""
    if words is None:
        return None
    try:
        rates = [float(word) for word in names_of(words, option) or []]
    except ValueError:
        msg = f"--{option} {words!r}: shares are needed, such as 0.003 or 0.2,0.3,0.5."
        raise click.UsageError(msg) from None
    return rates[0] if len(rates) == 1 else rates


def _shown(rate: Any) -> str:  # noqa: ANN401 - a number or a list
    return ", ".join(f"{100 * x:.4g} %" for x in (rate if isinstance(rate, list) else [rate]))
