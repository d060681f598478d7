"""The command watch: a log day by day, with an alarm."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ogive.cli.logs import on_engines, read, reads_once
from ogive.cli.options import (
    as_json_option,
    check_columns,
    check_output,
    part_option,
    reads_files,
    refuse,
    view_option,
)
from ogive.cli.terminal import Command, note, say
from ogive.cli.values import INPUT, OUTPUT, RUN_LENGTH, SHARE, WORD, one_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ogive.studies.watch import Watch

QUIET, ALARM = 0, 3
_OF_ROWS = ("time", "label_time", "view", "part", "bits", "skip_bad", "engine")


@click.command(
    cls=Command,
    reads_predictions=True,
    examples=(
        ("ogive watch log/ --time day", "Is the model still calibrated, and since when not?"),
        (
            "ogive watch log/ --time day --state watch.json --json",
            "Every night: go on from the day before; exit code 3 is the alarm.",
        ),
    ),
)
@click.argument("files", metavar="LOG...", nargs=-1, required=True, type=INPUT)
@click.option(
    "--time",
    type=WORD,
    metavar="COL",
    help="Column of the time of a row: dates in ISO 8601, or numbers of batches.",
)
@click.option(
    "--label-time",
    type=WORD,
    metavar="COL",
    help="Column of the time at which the label arrived: a row counts then, and not at --time.",
)
@click.option(
    "--every",
    type=one_of("period", "day", "week", "batch"),
    default="day",
    show_default=True,
    help="What is counted together: a day, a week from Monday, or equal values of --time.",
)
@view_option()
@part_option("all rows")
@click.option(
    "--calibrator",
    type=INPUT,
    metavar="CAL.json",
    help="Watch the scores after this calibrator, where the log holds them before it.",
)
@click.option(
    "--alpha",
    type=SHARE,
    metavar="SHARE",
    default=0.05,
    show_default=True,
    help="The chance of any false alarm, over all days to come, is at most this.",
)
@click.option(
    "--run-length",
    type=RUN_LENGTH,
    metavar="DAYS",
    help="Ring by another rule: a false alarm every DAYS days on average, or less often.",
)
@click.option(
    "--state",
    type=OUTPUT,
    metavar="STATE.json",
    help="Go on from this file, and write it: days that it has counted are not counted again.",
)
@click.option(
    "--skip-late",
    is_flag=True,
    help="Leave out rows of days that were counted before, and say how many.",
)
@on_engines
@reads_once
@reads_files
@as_json_option
def watch(
    files: tuple[Path, ...],
    time: str | None,
    label_time: str | None,
    view: str | None,
    part: str | None,
    *,
    alpha: float,
    run_length: float | None,
    state: Path | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Watch a log for loss of calibration.

    It is read day by day: is it still calibrated, and since when not? Exit code 0: no alarm. Exit
    code 3: alarm, with the day of the change, which scores are off, and what to do. However often
    one looks, the chance of any false alarm is at most --alpha.
    Curves that `measure --save-curve` wrote, one for each day, are read like a log if their names
    are the days: 2026-05-03.curve.
    Rows must be independent given their scores; a day counts once, with all its rows.
    """
    from ogive.cli import terminal  # noqa: PLC0415
    from ogive.export.artifact import load_map  # noqa: PLC0415
    from ogive.studies.watch.days import saved_days, watch_days  # noqa: PLC0415

    check_columns(files)
    check_output(state, files)
    calibrator = options.pop("calibrator")
    skip_late = options.pop("skip_late")
    options |= {"by": label_time or time, "one_pass": True}
    saved = _are_saved_curves(files, options["by"])
    with _held(state), terminal.progress("watching") as step:
        before = _before(state, alpha, run_length)
        gamma = None if calibrator is None else load_map(calibrator)
        if saved:
            curves = saved_days(files, options["every"])
        else:
            curves = read(files, view, part, options, step, default_part="all").by_group
        found = watch_days(before, curves, calibrator=gamma, skip_late=skip_late, step=step)
        result = found.watch
        if state is not None and (found.new or not state.exists()):
            result.save(state)
    if found.again:
        note(f"{found.again:,} days were counted before, with the same rows: not counted again.")
    if found.late:
        note(f"{found.late:,.0f} rows came late and were left out.")
    if as_json:
        terminal.print_json(result.to_dict())
    else:
        _show(result)
    click.get_current_context().exit(ALARM if result.alarm else QUIET)


def _are_saved_curves(files: tuple[Path, ...], by: str | None) -> bool:
    """Return whether all files are saved curves, named by their day; a log needs a column."""
    from ogive.export.curve_file import is_curve_file  # noqa: PLC0415

    if all(is_curve_file(file) for file in files):
        refuse("saved curves have the time in their name (2026-05-03.curve)", *_OF_ROWS)
        return True
    if by is None:
        msg = "--time is missing: name the column of the time of a row, e.g. --time day"
        raise click.UsageError(msg)
    return False


@contextmanager
def _held(state: Path | None) -> Iterator[None]:
    """Hold the state for this run; a second run at the same time is refused."""
    from ogive._files import only_writer  # noqa: PLC0415

    if state is None:
        yield
        return
    with only_writer(state.resolve().parent, f".{state.name}.ogive-lock"):
        yield


def _before(state: Path | None, alpha: float, run_length: float | None) -> Watch:
    """Return the watch of the state, or a new one; other rules than its own are refused."""
    from ogive.studies.watch import Watch  # noqa: PLC0415

    if state is None or not state.exists():
        return Watch(alpha=alpha, run_length=run_length)
    found = Watch.load(state)
    if (found.alpha, found.run_length) != (alpha, run_length):
        msg = (
            f"{state} was begun with --alpha {found.alpha:g}"
            + (f" --run-length {found.run_length:g}" if found.run_length else "")
            + ": the rule cannot change on the way. Give the same, or a new --state."
        )
        raise click.UsageError(msg)
    return found


DAYS_SHOWN = 14  # the last two weeks; --json has all


def _show(result: Watch) -> None:
    """Print the last days as rows, and the answer."""
    from ogive.cli import tables, terminal  # noqa: PLC0415

    columns = ("time", "rows", "log e", "KS %", "95 % interval", "base rate %", "mean score %")
    rows = []
    for day in result.days[-DAYS_SHOWN:]:
        shares = (f"{100 * share:.2f}" for share in (day.base_rate, day.mean_score))
        interval = f"{100 * day.ks_low:.2f} to {100 * day.ks_high:.2f}"
        cells = [str(day.time), f"{day.n:,.0f}", f"{day.log_e:.2f}", f"{100 * day.ks:.2f}"]
        rows.append(([*cells, interval, *shares], ""))
    left = len(result.days) - len(rows)
    title = f"the last {len(rows)} of {len(result.days):,}" if left else f"{len(rows)} in all"
    tables.show_table(terminal.console(), title, columns, rows, ("95 % interval",))
    say(result.verdict)
