"""The command measure: of files, and of logs through an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ogive.cli import terminal
from ogive.cli.gating import gate_of, gates, leave, limits_of
from ogive.cli.logs import is_log, read, reads_logs
from ogive.cli.options import (
    as_json_option,
    bins_option,
    check_columns,
    check_depth,
    check_output,
    cluster_option,
    columns_of,
    depth_of,
    force_option,
    groups_option,
    part_option,
    reads_files,
    refuse,
    seed_option,
    view_option,
)
from ogive.cli.terminal import Command, say
from ogive.cli.values import INPUT, OUTPUT, RESAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    from ogive.curve import Curve


@click.command(
    cls=Command,
    reads_predictions=True,
    examples=(
        ("ogive measure predictions.npz", "Calibration of the predicted class, on the test part."),
        (
            "ogive measure log/ --by country",
            "One line for each country, over all tables of a folder.",
        ),
        (
            "ogive measure log/ --by country,device",
            "Also for each device, and for each pair of country and device.",
        ),
    ),
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=INPUT)
@part_option("test")
@view_option("all")
@bins_option
@click.option(
    "--resamples",
    type=RESAMPLES,
    metavar="N",
    default=0,
    show_default=True,
    help="Bootstrap resamples for the intervals of all measures (0 = none).",
)
@click.option(
    "--more",
    is_flag=True,
    help="Also O/E ratio, intercept, slope, ICI, E50, E90, Emax and refinement loss.",
)
@cluster_option
@seed_option("Random seed of resamples and simulated p-values.")
@groups_option("Measure each group that these columns name, and their intersections.")
@force_option
@click.option(
    "--save-curve",
    type=OUTPUT,
    metavar="PATH",
    help="Also save a summary of the rows, which `measure` and `fit` read like a file.",
)
@gates
@reads_logs
@reads_files
@as_json_option
def measure(
    files: tuple[Path, ...],
    part: str | None,
    view: str | None,
    *,
    bins: int,
    resamples: int,
    more: bool,
    seed: int,
    undecided: str | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Measure calibration, with intervals, p-values and a verdict.

    Several files, a folder or a glob of tables are read as one log. So are summaries saved with
    --save-curve, and a table that does not fit the memory limit.
    With a limit (--max-ks 0.02) it is a gate for pipelines: the exit code says whether the error is
    below it (0), above it (3), or whether more rows are needed to tell (4).
    """
    from ogive.cli import tables, terminal  # noqa: PLC0415
    from ogive.readers.multi_file import read_together  # noqa: PLC0415
    from ogive.studies.gate import curve_of  # noqa: PLC0415
    from ogive.studies.measure import ALL, measure_all  # noqa: PLC0415
    from ogive.studies.measure import measure as measured  # noqa: PLC0415

    check_columns(files)
    check_output(options["save_curve"], files, "curve", force=options["force"])
    limits = limits_of(options, view)
    check_depth(options)
    how: dict[str, Any] = {"bins": bins, "random_state": seed, "resamples": resamples, "more": more}
    if is_log(files, options):
        result, curves = _measure_log(files, part, view, how, options)
    else:
        asked = (columns_of(options), options["experiment"], part)
        with terminal.progress("measuring") as step:
            how["progress"] = step
            memory = options["memory"]
            parts: list[str] = []
            note, of_part = terminal.note, parts.append
            data = read_together(
                files, *asked, default="test", memory=memory, note=note, of_part=of_part
            )
            cal = None
            if set(parts) == {"test"}:  # the calibration set decides whether to calibrate
                cal = read_together(files, *asked[:2], "cal", default="test", memory=memory)
                cal = None if cal.labels is None else cal
            decide = not parts or cal is not None
            if view == ALL:
                result = measure_all(data, **how, decide=decide)
            else:
                result = measured(data, view, **how, decide=decide, cal=cal)
            curves = curve_of(data, view) if limits else {}
    if limits and getattr(result, "fitted_rows", False):
        msg = f"{result.verdict} A gate cannot judge them."
        raise click.UsageError(msg)
    gate = gate_of(curves, limits, bins=bins, seed=seed)
    if as_json:
        found = {} if gate is None else {"gate": gate.to_dict()}
        terminal.print_json(result.to_dict() | found)
    else:
        tables.show_measurement(terminal.console(), result)
        if gate is not None:
            say(str(gate))
    leave(gate, undecided)


def _measure_log(
    files: tuple[Path, ...],
    part: str | None,
    view: str | None,
    how: dict[str, Any],
    options: dict[str, Any],
) -> tuple[Any, dict[str, Curve] | Curve]:
    """Measure a log; save its curve if asked to; return its curve, or one for each group."""
    from ogive.export.artifact import save  # noqa: PLC0415
    from ogive.studies import logs  # noqa: PLC0415
    from ogive.studies.measure import ALL  # noqa: PLC0415

    by, wanted = options.get("by"), {}
    if by is not None:
        refuse("groups have no bootstrap intervals", "resamples")
        wanted = {"depth": depth_of(options)}
        refuse("groups are measured by their KS error; measure one group's rows by itself", "more")
    with terminal.progress("reading") as step:
        alone = by is None and options.get("save_curve") is None
        reading = read(files, view, part, options, step, vectors=by is None, both=alone, **wanted)
        if by is not None:
            del how["resamples"], how["more"]
            result: Any = logs.measure_reading_groups(reading, by, **how)
        else:
            measured = logs.measure_views if view == ALL else logs.measure_reading
            result = measured(reading, progress=step, **how)
    target = options.get("save_curve")
    if target is not None:
        if len(reading.curves) != 1:
            msg = f"--save-curve saves one curve, but there are {len(reading.curves)}."
            raise click.UsageError(msg)
        save(reading.curve, target)
    groups = {group: curve for (_, group), curve in reading.curves.items() if group}
    return result, groups if by is not None else next(iter(reading.curves.values()))
