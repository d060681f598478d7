"""The command shift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ogive.cli import terminal
from ogive.cli.help import FILE_OPTIONS
from ogive.cli.options import (
    as_json_option,
    check_columns,
    check_output,
    check_skip_bad,
    columns_of,
    memory_option,
    names_of,
    output_option,
    part_option,
    reads_files,
    refuse,
    skip_bad_option,
)
from ogive.cli.terminal import Command, say
from ogive.cli.values import INPUT, NOTE, SHARE_UP_TO_1, WORD
from ogive.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ogive._files import Output


@click.command(
    cls=Command,
    reads_predictions=True,
    examples=(
        (
            "ogive shift cal.json --base-rate 0.003 --trained-at 0.5 -o production.json",
            "Fitted on 50:50 data, used where 0.3 % of the rows are of class 1.",
        ),
        (
            "ogive shift cal.json --like new.csv -o production.json",
            "Estimate the base rate from new scores without outcomes.",
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
    help="Base rate of the rows that the calibrator was fitted on. [default: as recorded in "
    "CAL.json]",
)
@click.option(
    "--kept-negatives",
    type=SHARE_UP_TO_1,
    metavar="SHARE",
    help="Instead of --base-rate: the share of class 0 that was kept for fitting (all of class 1 "
    "were kept).",
)
@click.option(
    "--like",
    type=INPUT,
    metavar="LOG",
    help="Instead of --base-rate: estimate it from new scores without outcomes (a file, a folder "
    "or a glob).",
)
@click.option(
    "--ignore-outcomes",
    is_flag=True,
    help="With --like: accept a log with outcomes; they are not read.",
)
@part_option("test")
@memory_option
@skip_bad_option
@click.option("--date", type=NOTE, metavar="TEXT", help="A date to keep in the calibrator.")
@reads_files
@as_json_option
def shift(
    calibrator: Path,
    output: Output,
    *,
    base_rate: str | None,
    trained_at: str | None,
    kept_negatives: float | None,
    like: Path | None,
    date: str | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Move a calibrator to data with another base rate.

    The result is right if, within each class, the scores are distributed as before.
    """
    from ogive.studies.shifting import shift_file  # noqa: PLC0415

    check_output(output, [calibrator], "calibrator", force=options["force"])
    if sum(given is not None for given in (base_rate, kept_negatives, like)) != 1:
        msg = "give one of --base-rate R, --kept-negatives SHARE and --like LOG, and only one."
        raise click.UsageError(msg)
    before = _rates(trained_at, "trained-at")
    if like is not None:
        check_output(output, [calibrator, like], "calibrator", force=options["force"])
        _shift_like(calibrator, output, like, before, date, options, as_json=as_json)
        return
    reading = "ignore_outcomes", "part", "memory", "skip_bad"
    refuse("no data is read without --like", *reading, *FILE_OPTIONS)
    done = shift_file(
        calibrator,
        output,
        _rates(base_rate, "base-rate"),
        trained_at=before,
        kept_negatives=kept_negatives,
        date=date,
    )
    if as_json:
        terminal.print_json(done.to_dict())
        return
    if done.base_rate is not None:
        rates = _each(done.trained_at), _each(done.base_rate)
        for of, old, new in zip(_classes(done.classes, rates[0]), *rates, strict=True):
            say(f"{of} {_percent(old)} before, {_percent(new)} now.")
    say(f"Next: ogive apply {output} FILE -o OUT")


def _shift_like(  # noqa: PLR0917 - internal
    calibrator: Path,
    output: Output,
    like: Path,
    trained_at: Any,  # noqa: ANN401
    date: str | None,
    options: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    """Estimate the base rate of new data, and move a calibrator to it."""
    from ogive._wording import format_pvalue  # noqa: PLC0415
    from ogive.studies.shifting import MISFIT_LEVEL, shift_like  # noqa: PLC0415

    check_columns([like])
    check_skip_bad(like)
    with terminal.progress("reading scores") as step:
        done = shift_like(
            calibrator,
            output,
            like,
            columns_of(options),
            trained_at=trained_at,
            ignore_outcomes=options["ignore_outcomes"],
            part=options["part"],
            experiment=options["experiment"],
            date=date,
            memory=options["memory"],
            skip_bad=options["skip_bad"],
            progress=step,
        )
    if as_json:
        terminal.print_json(done.to_dict())
        return
    found = done.estimate
    rates = [_each(x) for x in (done.trained_at, found.base_rate)]
    ends = ""
    if found.low is not None and found.high is not None:
        ends = f"; 95 % interval {_percent(found.low)} to {_percent(found.high)}"
    for of, *row in zip(_classes(done.classes, rates[0]), *rates, strict=True):
        old, new = map(_percent, row)
        say(f"{of} {old} before, {new} now (estimated{ends}).")
    if found.misfit_pvalue is not None:
        seen = "More than" if found.misfit_pvalue < MISFIT_LEVEL else "No sign that more than"
        say(
            f"{seen} the base rate has changed (misfit test: {format_pvalue(found.misfit_pvalue)})."
        )
    say(f"Next: ogive apply {output} FILE -o OUT")


def _rates(words: str | None, option: str) -> Any:  # noqa: ANN401 - None, a number or a list
    """Return one share, or several separated by commas."""
    from ogive.calibrators.shifted import check_rates  # noqa: PLC0415

    if words is None:
        return None
    try:
        rates = [float(word) for word in names_of(words, option) or []]
    except ValueError:
        msg = f"--{option} {words!r}: shares are needed, such as 0.003 or 0.2,0.3,0.5."
        raise click.UsageError(msg) from None
    try:
        check_rates(rates, option.replace("-", "_"))
    except InvalidInput as error:
        raise click.UsageError(str(error)) from error
    return rates[0] if len(rates) == 1 else rates


def _each(rate: Any) -> list[float]:  # noqa: ANN401 - a number or a list
    return rate if isinstance(rate, list) else [rate]


def _classes(names: Sequence[Any] | None, rates: list[float]) -> list[str]:
    """Say whose base rate each of the rates is."""
    if len(rates) == 1:
        return ["Base rate"]
    return [f"Class {name}: base rate" for name in names or range(len(rates))]


def _percent(share: float) -> str:
    return f"{100 * share:.4g} %"
