"""The command watch: a log day by day, with an alarm."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ogive._files import safe_output
from ogive.cli import terminal
from ogive.cli.logs import on_engines, read, reads_once
from ogive.cli.options import (
    as_json_option,
    check_columns,
    cluster_option,
    columns_of,
    part_option,
    read_from,
    reads_files,
    refuse,
    view_option,
)
from ogive.cli.terminal import Command, note, say
from ogive.cli.values import INPUT, OUTPUT, SHARE, WORD, one_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from ogive._typing import Progress
    from ogive.studies.watch import GroupWatch, Watch
    from ogive.studies.watch.days import Reader, Watched
    from ogive.studies.watch.state import State

QUIET, ALARM = 0, 3
_OF_ROWS = ("time", "label_time", "view", "part", "by", "cluster", "skip_bad", "engine")
#: Options that decide what is counted: a state keeps them, and later runs must have the same.
_KEPT = (
    *("every", "time", "label_time", "by", "cluster", "part"),
    *("score", "outcome", "positive", "label", "weight"),
)


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
    "--by",
    type=WORD,
    metavar="COL",
    help="Also watch each group of rows with the same value here, and name those that changed.",
)
@cluster_option
@click.option(
    "--state",
    type=OUTPUT,
    metavar="STATE.json",
    help="Go on from this file, and write it: files that it has counted are not read again.",
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
    *,
    alpha: float,
    state: Path | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Watch a log for loss of calibration.

    The log is read day by day: are the scores still calibrated, and if not, since when? Exit code
    0: no alarm. Exit code 3: alarm, with the day of the change, which scores are off, and what to
    do. The chance of any false alarm is at most --alpha, however often you look.
    Curves that `measure --save-curve` wrote, one for each day, are read like a log if their names
    are the days: 2026-05-03.curve.
    Rows must be independent given their scores (rows that share a shock: --cluster); a day counts
    once, with all its rows.
    """
    from ogive.export.artifact import load_map  # noqa: PLC0415
    from ogive.studies.watch.days import watch_files  # noqa: PLC0415
    from ogive.studies.watch.state import save_state  # noqa: PLC0415

    check_columns(files)
    if state is not None:
        safe_output(state, read_from(files))  # it is read, and goes on
    if options["by"] and options["cluster"]:
        refuse("with --by a cluster may be in several groups", "cluster")
    time = options["label_time"] or options["time"]
    saved = _are_saved_curves(files, time)
    with _held(state), terminal.progress("watching") as step:
        before = _before(state, alpha, options)
        found = watch_files(
            before,
            _expanded(files, options, saved=saved),
            _reader(options, before.watch.view, step, saved=saved),
            calibrator=options["calibrator"] and load_map(options["calibrator"]),
            clustered=options["cluster"] is not None,
            skip_late=options["skip_late"],
            skip_untimed=options["label_time"] is not None,
            step=step,
        )
        if state is not None and (found.state.files != before.files or not state.exists()):
            save_state(found.state, state)
    _note(found)
    result = found.state.watch
    plain = result.to_dict()
    plain["verdict"] = _with_command(plain["verdict"], files, options, result.view, saved=saved)
    if as_json:
        terminal.print_json(plain)
    else:
        _show(result, plain["verdict"])
    click.get_current_context().exit(ALARM if result.alarm else QUIET)


def _with_command(
    verdict: str, files: Sequence[Path], options: dict[str, Any], view: str | None, *, saved: bool
) -> str:
    """Return the answer with the command that refits, ready to be run."""
    from shlex import join, quote  # noqa: PLC0415

    from ogive.studies.watch.change import OF_GROUPS, REFIT  # noqa: PLC0415

    if saved:  # curves have no column of times, and `fit` takes one of them
        return verdict if REFIT not in verdict else verdict.partition(f": {REFIT}")[0] + "."
    if len(files) != 1:  # `fit` takes one file, folder or glob
        return verdict
    given = {name: options[name] for name in ("score", "outcome", "label", "weight", "positive")}
    named = [word for name, value in given.items() if value for word in (f"--{name}", value)]
    named += [] if view in {None, "score"} else ["--view", str(view)]
    time = options["label_time"] or options["time"]
    command = join(["ogive", "fit", str(files[0]), *named, "--time", time])
    by = f" --by {quote(options['by'])}" if options["by"] else ""
    return verdict.replace(OF_GROUPS, by).replace(REFIT, command)


def _note(found: Watched) -> None:
    """Say on stderr what was not counted."""
    if found.unread:
        note(f"{found.unread:,} files were counted before and have not changed: not read again.")
    if found.again:
        note(f"{found.again:,} days were counted before, with the same rows: not counted again.")
    if found.late:
        note(f"{found.late:,.0f} rows came late and were left out.")
    if found.untimed:
        note(f"{found.untimed:,.0f} rows have no label time and were left out.")


def _are_saved_curves(files: tuple[Path, ...], time: str | None) -> bool:
    """Return whether all files are saved curves, named by their day; a log needs a column."""
    from ogive.export.curve_file import is_curve_file  # noqa: PLC0415

    if all(is_curve_file(file) for file in files):
        refuse("saved curves have the time in their name (2026-05-03.curve)", *_OF_ROWS)
        return True
    if time is None:
        msg = "--time is missing: name the column of the time of a row, e.g. --time day"
        raise click.UsageError(msg)
    return False


def _expanded(files: tuple[Path, ...], options: dict[str, Any], *, saved: bool) -> list[Path]:
    """Return the files of folders and globs, which must be of the calibrator's model."""
    from ogive.engines.files import open_log  # noqa: PLC0415
    from ogive.studies.same_model import check_log  # noqa: PLC0415

    if saved:
        return list(files)
    log = open_log(files, columns_of(options), skip_bad=options["skip_bad"])
    if options["calibrator"]:
        check_log(options["calibrator"], log)
    return list(log.files)


def _reader(options: dict[str, Any], view: str | None, step: Progress, *, saved: bool) -> Reader:
    """Return the function that reads files as the options ask for."""
    from ogive.studies.watch.days import by_day, saved_days  # noqa: PLC0415

    time, by = options["label_time"] or options["time"], options["by"] or options["cluster"]
    of_rows = time if by is None else f"{time},{by}"
    asked = {**options, "cluster": None, "by": of_rows, "one_pass": True}
    view, part = options["view"] or view, options["part"]

    def reader(files: Sequence[Path]) -> Mapping[str, Any]:
        if saved:
            return saved_days(files, options["every"])
        curves = read(files, view, part, asked, step, default_part="all").by_group
        return curves if by is None else by_day(curves)

    return reader


@contextmanager
def _held(state: Path | None) -> Iterator[None]:
    """Hold the state for this run; a second run at the same time is refused."""
    from ogive._files import only_writer  # noqa: PLC0415

    if state is None:
        yield
        return
    with only_writer(state.resolve().parent, f".{state.name}.ogive-lock"):
        yield


def _before(path: Path | None, alpha: float, options: dict[str, Any]) -> State:
    """Return the state, or a new one; a run that reads rows in another way is refused."""
    from ogive.studies.watch import GroupWatch, Watch  # noqa: PLC0415
    from ogive.studies.watch.state import State, load_state  # noqa: PLC0415

    settings = _settings(options)
    if path is None or not path.exists():
        new = (Watch if options["by"] is None else GroupWatch)(alpha=alpha)
        return State(new, settings)
    found = load_state(path)
    old = {"alpha": found.watch.alpha, **found.settings}
    view = found.watch.view
    now = {"alpha": alpha, **settings}
    if options["view"] is not None and view is not None:
        from ogive.rows.views import parse_view  # noqa: PLC0415

        old, now = {**old, "view": view}, {**now, "view": parse_view(options["view"]).name}
    for name, value in now.items():
        if name in old and old[name] != value:
            began, runs = (_given(name, one) for one in (old[name], value))
            msg = (
                f"{path} was begun {began}, and this run is {runs}: a watch goes on as it began. "
                "Give the same, or a new --state."
            )
            raise click.UsageError(msg)
    return found


def _given(name: str, value: object) -> str:
    """Say how an option was given."""
    option = "--" + name.replace("_", "-")
    return f"without {option}" if value is None else f"with {option} {value}"


def _settings(options: dict[str, Any]) -> dict[str, str | None]:
    """Return the options that decide what is counted, as a state keeps them."""
    import hashlib  # noqa: PLC0415

    found = {name: options[name] for name in _KEPT}
    file = options["calibrator"]
    digest = None if file is None else hashlib.sha256(file.read_bytes()).hexdigest()
    return {**found, "calibrator": digest and f"sha256:{digest}"}


DAYS_SHOWN = 14  # the last two weeks; --json has all
GROUPS_SHOWN = 20  # those with the largest evidence


def _show(result: Watch | GroupWatch, verdict: str) -> None:
    """Print the last days as rows, the groups, and the answer."""
    from ogive.cli import tables, terminal  # noqa: PLC0415
    from ogive.studies.watch import GroupWatch  # noqa: PLC0415

    columns = ("time", "rows", "log e", "KS %", "95 % interval", "base rate %", "mean score %")
    rows = []
    for day in result.days[-DAYS_SHOWN:]:
        ks, low, high, rate, score = (
            f"{100 * (share or 0.0):.2f}"
            for share in (day.ks, day.ks_low, day.ks_high, day.base_rate, day.mean_score)
        )
        cells = [str(day.time), f"{day.n:,.0f}", f"{day.log_e:.2f}", ks, f"{low} to {high}"]
        rows.append(([*cells, rate, score], ""))
    left = len(result.days) - len(rows)
    title = f"the last {len(rows)} of {len(result.days):,}" if left else f"{len(rows)} in all"
    tables.show_table(terminal.console(), title, columns, rows, ("95 % interval",))
    if isinstance(result, GroupWatch):
        _show_groups(result)
    say(verdict)


def _show_groups(result: GroupWatch) -> None:
    """Print the groups with the largest evidence."""
    from ogive.cli import tables, terminal  # noqa: PLC0415

    order = sorted(result.groups, key=lambda name: -result.groups[name].log_e)[:GROUPS_SHOWN]
    rows = []
    for name in order:
        one, change = result.groups[name], result.changes.get(name)
        n = sum(day.n for day in one.days)
        off = ("", "") if change is None else (str(change.since), change.kind)
        rows.append(([name, f"{n:,.0f}", f"{one.log_e:.2f}", *off], ""))
    left = len(result.groups) - len(rows)
    title = f"{len(rows)} of {len(result.groups):,} groups" if left else f"{len(rows)} groups"
    columns = ("group", "rows", "log e", "off since", "what changed")
    tables.show_table(terminal.console(), title, columns, rows, ("off since", "what changed"))
