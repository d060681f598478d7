"""The command fit: to files, and to logs through an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ogive.cli import terminal
from ogive.cli.help import ALL_METHODS
from ogive.cli.logs import ENGINE_ONLY, is_log, log_options, read, reads_logs
from ogive.cli.options import (
    OPTIONS_OF_METHODS,
    as_json_option,
    by_option,
    check_columns,
    check_output,
    check_score_only,
    cluster_option,
    columns_of,
    is_given,
    method_option,
    output_option,
    part_option,
    reads_files,
    refuse,
    score_only_option,
    view_option,
)
from ogive.cli.terminal import Command, note, say
from ogive.cli.values import FOLDS, INPUT, NOTE, WORD, one_of

if TYPE_CHECKING:
    from pathlib import Path

    from ogive._files import Output
    from ogive._typing import Progress
    from ogive.calibrators.grouped_map import GroupedMap
    from ogive.calibrators.maps import Fitted
    from ogive.curve import Curve
    from ogive.export.artifact import FittedOn
    from ogive.rows.predictions import Predictions
    from ogive.studies.group_fitting import GroupCheck
    from ogive.studies.verdict import Verdict


@click.command(
    cls=Command,
    reads_predictions=True,
    examples=(
        ("ogive fit predictions.npz -o cal.json", "Fit the default method on the cal part."),
        (
            "ogive fit scores.csv -o cal.json --method platt",
            "Fit Platt scaling to a table of scores.",
        ),
    ),
)
@click.argument("file", type=INPUT)
@output_option("The calibrator to write (.json).")
@part_option("cal")
@method_option(ALL_METHODS, "What to fit", options=OPTIONS_OF_METHODS)
@view_option("vector", default="[default: vector, or score for a file of scores]")
@score_only_option
@click.option(
    "--folds",
    type=FOLDS,
    metavar="N",
    default=5,
    show_default=True,
    help="Cross-validation folds for KS error and log loss after calibration (0 = skip).",
)
@by_option("Also calibrate each group that these columns name, as far as its rows differ.")
@click.option(
    "--check-by",
    type=WORD,
    metavar="COL,…",
    help="Warn of groups that these columns name and that calibrating makes worse.",
)
@cluster_option
@click.option(
    "--since",
    type=WORD,
    metavar="TIME",
    help="Of a log, only the rows of this day (2026-05-03) or batch and later; needs --time.",
)
@click.option("--time", type=WORD, metavar="COL", help="Column of the time of a row, for --since.")
@click.option("--date", type=NOTE, metavar="TEXT", help="A date to keep in the calibrator.")
@click.option("--tag", type=NOTE, metavar="TEXT", help="A note to keep in the calibrator.")
@click.option(
    "--impossible",
    type=one_of("impossible", "zero"),
    help="With zero, a probability of 0 stays 0, as a logit of -inf always does.",
)
@reads_logs
@reads_files
@as_json_option
def fit(
    file: Path,
    output: Output,
    part: str | None,
    method: str,
    view: str | None,
    *,
    folds: int,
    date: str | None,
    tag: str | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Fit a calibrator and save it as JSON.

    With --view vector a method may be followed by how its curves become probabilities of every
    class: spline:free, platt:ovr.
    """
    from ogive.export.artifact import save  # noqa: PLC0415
    from ogive.export.curve_file import is_curve_file  # noqa: PLC0415
    from ogive.readers.multi_file import expand  # noqa: PLC0415
    from ogive.studies.deciding import judge_fit  # noqa: PLC0415
    from ogive.studies.fitted_on import fitted_on  # noqa: PLC0415

    check_columns([file])
    check_output(output, [file], "calibrator", force=options["force"])
    if (options["since"] is None) != (options["time"] is None):
        msg = "--since and --time go together: --time names the column, --since the first day."
        raise click.UsageError(msg)
    if method == "none":
        refuse("nothing is fitted by the method none, so there is nothing to validate", "folds")
    with terminal.progress(f"fitting {method}") as step:
        asked = _Asked(file, method, view, part, folds, options, step)
        if options["by"] is not None:
            refuse("the groups of --by are judged anyway", "check_by")
            _save_groups(_fit_groups(asked), output, asked, date=date, tag=tag, as_json=as_json)
            return
        _check_can_be_judged(asked)
        fit_it = _fit_log if is_log((file,), options) else _fit_file
        done = (fit_it if options["since"] is None else _fit_since)(asked)
        gamma, data = done.gamma, done.data
        if not hasattr(gamma, "impossible"):
            refuse(f"{gamma.view} is one score, and zeros stay in whole vectors", "impossible")
        info = fitted_on(
            data,
            gamma,
            method,
            cv=folds,
            date=date,
            tag=tag,
            classes=done.classes,
            files=[] if is_curve_file(file) else expand([file]),
            part=part,
            progress=step,
        )
        if folds and info.folds is None:
            _not_validated(gamma.n, method, folds)
        verdict = judge_fit(data, gamma, info, done.test)
        worse = _worse_groups(asked, gamma)
    save(gamma, output, info)
    if as_json:
        score_only = not hasattr(gamma, "K")
        found = _as_json(method, gamma, info, output) | {"score_only": score_only}
        terminal.print_json(found | verdict.flat() | worse | {"reasons": verdict.to_dict()})
    else:
        _show(gamma, info, verdict, output, tested=done.test is not None)


class _Asked(NamedTuple):
    """What the command was asked to fit, and how far it is."""

    file: Path
    method: str
    view: str | None
    part: str | None
    folds: int
    options: dict[str, Any]
    step: Progress


def _as_json(method: str, gamma: Fitted, info: FittedOn, output: Path) -> dict[str, Any]:
    """Return what the JSON of every fit holds."""
    known = ("ks_before", "ks_after", "log_loss_before", "log_loss_after", "folds")
    head = {"method": method, "view": gamma.view, "n": gamma.n, "artifact": str(output)}
    return head | {name: getattr(info, name) for name in known}


def _show(
    gamma: Fitted, info: FittedOn, verdict: Verdict, output: Path, *, tested: bool = False
) -> None:
    """Print what was fitted, what it changes and what to do next.

    tested : the verdict is of a test set, whose numbers differ from those of the calibration set
    """
    from ogive.studies.fitted_on import before_and_after  # noqa: PLC0415
    from ogive.studies.fitting import MAY_MOVE, READS_COLUMNS, may_move  # noqa: PLC0415

    say(f"{info.method} ({gamma.view}), fitted on {gamma.n:,} rows: {output}")
    if gamma.method == "class-view":
        say(READS_COLUMNS)
    changed, judged = before_and_after(info), str(verdict)
    if tested:
        changed = f"On the calibration set: {changed}" if changed else ""
        judged = f"On the test set: {judged[0].lower()}{judged[1:]}"
    say(changed)
    if may_move(gamma):
        say(MAY_MOVE)
    say(judged)
    if verdict.calibrate is not False:
        say(f"Next: ogive apply {output} FILE -o OUT")


class _Done(NamedTuple):
    """A calibrator, what it was fitted to, of a curve the classes, and the test part of a file."""

    gamma: Fitted
    data: Curve | Predictions
    classes: tuple[str | int, ...] | None = None
    test: Predictions | None = None


def _fit_file(asked: _Asked) -> _Done:
    """Fit a method to the rows of a file."""
    from ogive.readers.multi_file import read_together  # noqa: PLC0415
    from ogive.studies.fitting import default_view  # noqa: PLC0415
    from ogive.studies.fitting import fit as fitted  # noqa: PLC0415

    method, options, folds = asked.method, asked.options, asked.folds
    source = ((asked.file,), columns_of(options), options["experiment"])
    parts: list[str] = []
    how: Any = {"default": "cal", "memory": options["memory"]}
    data = read_together(*source, asked.part, **how, note=terminal.note, of_part=parts.append)
    test = read_together(*source, "test", **how) if parts == ["cal"] else None
    view = asked.view or default_view(data)
    check_score_only(view, method)
    _check_folds(data, folds)
    score_only: bool = options["score_only"]
    how = {"impossible": options["impossible"], "progress": asked.step, "score_only": score_only}
    return _Done(fitted(data, method, view, **how), data, test=test)


class _Groups(NamedTuple):
    """A calibrator of groups, and what it does to rows left out, if that is known."""

    gamma: GroupedMap
    check: GroupCheck | None


def _fit_groups(asked: _Asked) -> _Groups:
    """Fit the default method to the groups of a column, which an engine reads."""
    from ogive.calibrators.groups import fit_groups  # noqa: PLC0415
    from ogive.studies.group_curves import key_of  # noqa: PLC0415
    from ogive.studies.group_fitting import check_groups  # noqa: PLC0415

    if asked.method != "spline":
        msg = (
            f"--by calibrates groups with the method spline, not {asked.method}. Leave --method "
            "out."
        )
        raise click.UsageError(msg)
    refuse("groups are calibrated in one view, which has no zeros to keep", "impossible")
    by = asked.options["by"]
    if asked.options["since"] is None:
        curves = _group_curves(asked, asked.view, by)
    else:
        curves = {key_of(group, by): curve for group, curve in _since(asked).items()}
    gamma = fit_groups(curves, by)
    return _Groups(gamma, check_groups(curves, asked.folds) if asked.folds > 1 else None)


def _group_curves(asked: _Asked, view: str | None, by: str) -> dict[Any, Curve]:
    """Return the curve of each group that columns name, which an engine reads."""
    from ogive.studies.group_fitting import curves_by_group  # noqa: PLC0415

    options = asked.options | {"by": by}
    is_log((asked.file,), options)
    return curves_by_group(
        read((asked.file,), view, asked.part, options, asked.step, default_part="cal"), by
    )


def _check_can_be_judged(asked: _Asked) -> None:
    """Refuse to judge groups without columns, or without a fit of a score to rows left out."""
    from ogive.calibrators import find_method  # noqa: PLC0415
    from ogive.engines.files import is_log as is_table  # noqa: PLC0415

    if asked.options["check_by"] is None:
        return
    if not is_table(asked.file):
        refuse(f"{asked.file} has no columns that name groups; tables have", "check_by")
    if not asked.folds:
        refuse("without folds there are no rows left out to judge groups on", "check_by")
    if asked.view == "vector" or find_method(asked.method).reads != "curve":
        why = (
            "groups are judged here for methods of one score; ogive compare --view top-1 --by "
            "judges all"
        )
        refuse(why, "check_by")


def _worse_groups(asked: _Asked, gamma: Fitted) -> dict[str, Any]:
    """Warn of groups that one map of all rows makes worse, and return them for the JSON."""
    from ogive.studies.group_fitting import check_one_map  # noqa: PLC0415
    from ogive.studies.group_harm import warn_of_worse  # noqa: PLC0415

    by = asked.options["check_by"]
    if by is None:
        return {}
    curves = _group_curves(asked, gamma.view, by)
    worse = check_one_map(curves, asked.method, asked.folds, by)
    warn_of_worse(worse or (), "rows left out", by_group=False)
    return {"worse": None if worse is None else [one.group for one in worse]}


def _save_groups(
    made: _Groups,
    output: Output,
    asked: _Asked,
    *,
    date: str | None,
    tag: str | None,
    as_json: bool,
) -> None:
    """Write a calibrator of groups, and print what it does."""
    from ogive.export.artifact import save  # noqa: PLC0415
    from ogive.studies.group_fitting import fitted_on_groups, in_words  # noqa: PLC0415
    from ogive.studies.group_harm import warn_of_worse  # noqa: PLC0415

    gamma, check = made
    how: Any = {"cv": asked.folds, "file": asked.file, "part": asked.part}
    info = fitted_on_groups(gamma, check, **how, date=date, tag=tag)
    save(gamma, output, info)
    if check is not None:
        warn_of_worse(check.worse, "rows left out", by_group=True)
    if as_json:
        found = _as_json(gamma.method, gamma, info, output)
        found |= {"by": gamma.by, "groups": len(gamma.groups)}
        worse = None if check is None else [one.group for one in check.worse]
        overall = None if check is None else check.log_loss_overall
        terminal.print_json(found | {"log_loss_overall": overall, "worse": worse})
        return
    say(f"spline by {gamma.by} of {gamma.view}, fitted on {gamma.n:,} rows: {output}")
    for line in in_words(gamma, check, asked.folds):
        say(line)
    say(f"Next: ogive apply {output} FILE -o OUT")


def _check_folds(data: Curve | Predictions, folds: int) -> None:
    """Refuse more folds than the rows allow, if they were asked for."""
    from ogive.studies.fitted_on import most_folds  # noqa: PLC0415

    most = most_folds(data)
    if is_given("folds") and folds > most:
        fewer = f"Give at most {most}, or 0" if most > 1 else "Give 0"
        msg = (
            f"--folds {folds}: every fold needs a row of the most frequent class, which has "
            f"{most:,}. {fewer} to skip cross-validation."
        )
        raise click.UsageError(msg)


def _not_validated(n: float, method: str, folds: int) -> None:
    """Refuse folds that were asked for and could not be fitted; say it of the default."""
    few = f"{n:,} rows are too few to cross-validate {method} in {folds} folds"
    if is_given("folds"):
        msg = f"--folds {folds}: {few}. Give fewer, or 0 to skip cross-validation."
        raise click.UsageError(msg)
    note(f"{few}: there is no KS error or log loss after calibration.")


def _since(asked: _Asked) -> Any:  # noqa: ANN401 - a curve, or one for each group
    """Read the rows of a log from a day on."""
    from ogive.engines.periods import is_period  # noqa: PLC0415
    from ogive.studies.watch.days import by_day, rows_since  # noqa: PLC0415

    options = asked.options
    time, by, since = options["time"], options["by"], options["since"]
    refuse("with --since a log is read day by day, without clusters", "cluster", "check_by")
    every = "day" if is_period(since) else "batch"
    how = {**options, "by": time if by is None else f"{time},{by}", "every": every}
    is_log((asked.file,), how)
    how["one_pass"] = True
    days = read((asked.file,), asked.view, asked.part, how, asked.step, default_part="cal").by_group
    return rows_since(days if by is None else by_day(days), since)


def _fit_since(asked: _Asked) -> _Done:
    """Fit a method to the rows of a log from a day on."""
    from ogive.studies.fitting import fit as fitted  # noqa: PLC0415

    check_score_only(asked.view, asked.method)
    curve = _since(asked)
    _check_folds(curve, asked.folds)
    return _Done(fitted(curve, asked.method, curve.view), curve)


def _fit_log(asked: _Asked) -> _Done:
    """Fit a method to the curve, or the rows, of a log."""
    from ogive.studies.logs import ONLY_SCORES, fit_log  # noqa: PLC0415

    method, options = asked.method, asked.options
    check_score_only(asked.view, method)
    given = next((name for name in ENGINE_ONLY if options.get(name)), None)
    done = fit_log(
        (asked.file,),
        method,
        asked.view,
        part=asked.part,
        impossible=options["impossible"],
        in_pieces=None if given is None else f"--{given.replace('_', '-')}",
        check=lambda data: _check_folds(data, asked.folds),
        progress=asked.step,
        **log_options(options),
    )
    if done.only_scores and method == "spline" and not options["score_only"]:
        note(ONLY_SCORES.format(done.gamma.view))
    return _Done(done.gamma, done.data, done.classes)
