"""The command expect: what to expect of calibrated scores without outcomes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ogive.cli import terminal
from ogive.cli.options import (
    as_json_option,
    check_columns,
    check_skip_bad,
    columns_of,
    memory_option,
    part_option,
    reads_files,
    refuse,
    seed_option,
    skip_bad_option,
    view_option,
)
from ogive.cli.terminal import Command
from ogive.cli.values import INPUT

if TYPE_CHECKING:
    from pathlib import Path


@click.command(
    cls=Command,
    reads_predictions=True,
    examples=(
        ("ogive expect calibrated.csv", "Accuracy, precision and AUC to expect, with intervals."),
        (
            "ogive expect new.csv --calibrator cal.json --threshold 0.2",
            "Calibrate the scores first; the interval holds the calibrator's own uncertainty.",
        ),
    ),
)
@click.argument("file", metavar="FILE", type=INPUT)
@click.option(
    "--calibrator",
    type=INPUT,
    metavar="CAL.json",
    help="Apply this calibrator of a score first. [default: the scores are calibrated]",
)
@click.option(
    "--threshold",
    type=click.FLOAT,
    metavar="T",
    default=0.5,
    show_default=True,
    help="Predict outcome 1 where the score is at least this.",
)
@view_option(default="[default: score, class-1 of two classes, top-1 of more]")
@part_option("test")
@click.option(
    "--ignore-outcomes", is_flag=True, help="Accept a file with outcomes; they are not read."
)
@memory_option
@skip_bad_option
@seed_option("Random seed of the draws from a calibrator's posterior.")
@reads_files
@as_json_option
def expect(
    file: Path,
    calibrator: Path | None,
    *,
    threshold: float,
    view: str | None,
    part: str | None,
    ignore_outcomes: bool,
    memory: str,
    seed: int,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Estimate accuracy, precision and AUC of scores without outcomes.

    The estimates are right only if the scores are calibrated for these rows.
    """
    from ogive.cli.tables import show_expected  # noqa: PLC0415
    from ogive.studies.expected import expect_file  # noqa: PLC0415

    check_columns([file])
    check_skip_bad(file)
    if not 0.0 <= threshold <= 1.0:
        msg = f"--threshold must lie in [0, 1], not {threshold:g}."
        raise click.UsageError(msg)
    if calibrator is not None:
        refuse("the calibrator has its own", "view")
    with terminal.progress("reading scores") as step:
        found = expect_file(
            file,
            columns_of(options),
            view,
            threshold=threshold,
            calibrator=calibrator,
            part=part,
            experiment=options["experiment"],
            ignore_outcomes=ignore_outcomes,
            memory=memory,
            skip_bad=options["skip_bad"],
            random_state=seed,
            progress=step,
        )
    if found.threshold is None:
        refuse("the predicted class has none (--view class-k has)", "threshold")
    if as_json:
        terminal.print_json(found.to_dict())
    else:
        show_expected(terminal.console(), found)
