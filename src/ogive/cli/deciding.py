"""The command decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ogive.cli import terminal
from ogive.cli.help import ALL_METHODS
from ogive.cli.logs import is_log, on_engines, read, reads_once
from ogive.cli.options import (
    as_json_option,
    check_columns,
    cluster_option,
    columns_of,
    method_option,
    part_option,
    reads_files,
    refuse,
    seed_option,
    view_option,
)
from ogive.cli.terminal import Command
from ogive.cli.values import COST, INPUT, NUMBER, SHARE_UP_TO_1

if TYPE_CHECKING:
    from pathlib import Path

    from ogive.studies.acting.decision import Decision


@click.command(
    cls=Command,
    reads_predictions=True,
    examples=(
        (
            "ogive decide scores.csv --miss 20 --alarm 1",
            "A missed case costs 20 times as much as a false alarm.",
        ),
        (
            "ogive decide scores.csv --miss 20 --alarm 1 --capacity 500",
            "The same, where at most 500 of the cases can be acted on.",
        ),
    ),
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=INPUT)
@click.option(
    "--miss", type=COST, metavar="COST", help="Cost of a missed case: outcome 1, not acted on."
)
@click.option(
    "--alarm", type=COST, metavar="COST", help="Cost of a false alarm: outcome 0, acted on."
)
@click.option(
    "--costs",
    type=INPUT,
    metavar="FILE",
    help="Instead of --miss and --alarm: a table with a row for each action and a column for each "
    "class, named like it.",
)
@click.option(
    "--capacity", type=NUMBER, metavar="N", help="At most this many of the cases can be acted on."
)
@click.option(
    "--precision",
    type=SHARE_UP_TO_1,
    metavar="SHARE",
    help="At least this share of the cases acted on should be right.",
)
@click.option(
    "--calibrator",
    type=INPUT,
    metavar="CAL.json",
    help="A calibrator that was fitted to other rows. [default: --method, fitted to the cal part, "
    "or cross-validated]",
)
@method_option(ALL_METHODS, "What calibrates")
@part_option("test")
@view_option(default="[default: score, or class-1 of two classes]")
@seed_option("Random seed of the folds.")
@cluster_option
@on_engines
@reads_once
@reads_files
@as_json_option
def decide(
    files: tuple[Path, ...],
    *,
    costs: Path | None,
    calibrator: Path | None,
    method: str,
    part: str | None,
    view: str | None,
    seed: int,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Find the threshold for given costs, and what calibrating saves.

    Act on a case if its calibrated score is at least the threshold: alarm / (miss + alarm), or
    more where --capacity or --precision ask for it.
    The column "before" uses the scores as they are. The column "after" uses calibrated scores, at
    the same threshold and on rows that the calibrator was not fitted to. Costs are per case
    (averaged over rows); what is saved has a 95 % interval (`low`, `high`).
    """
    from ogive.studies.acting.files import decide_files, decide_log, event_of_log  # noqa: PLC0415

    check_columns(files)
    if costs is None and None in (options["miss"], options["alarm"]):
        msg = "give both costs, such as --miss 20 --alarm 1, or a matrix of costs: --costs FILE."
        raise click.UsageError(msg)
    if calibrator is not None:
        refuse("--calibrator has its own", "method", "seed")
    if costs is not None:
        refuse("--costs has all costs", "miss", "alarm", "capacity", "precision", "view")
    limits = {name: options[name] for name in ("miss", "alarm", "capacity", "precision")}
    how: dict[str, Any] = {**limits, "random_state": seed, "view": view}
    if calibrator is None:
        how["method"] = method
    with terminal.progress("deciding") as step:
        if costs is None and is_log(files, options):
            event = event_of_log(
                files, columns_of(options), view, calibrator, skip_bad=options["skip_bad"]
            )
            reading = read(files, event, part, options, step, one_pass=True)
            found = decide_log(files, reading, calibrator, **how | {"view": event})
            if reading.skipped:
                terminal.note(f"{reading.skipped:,} rows were not valid and were left out.")
        else:
            given = {"memory": options["memory"], "note": terminal.note, "progress": step}
            found = decide_files(
                files,
                columns_of(options),
                options["experiment"],
                part,
                costs=costs,
                calibrator=calibrator,
                **given,
                **how,
            )
    if as_json:
        terminal.print_json(found.to_dict())
    else:
        _show(found)


def _show(found: Decision) -> None:
    """Print the rule, a table of before and after, and what is saved."""
    from ogive.cli import tables, terminal  # noqa: PLC0415

    out = terminal.console()
    out.print(terminal.as_text(found.rule), style="bold")
    out.print(terminal.as_text(found.title))
    rows = [(list(cells), "") for cells in found.rows]
    tables.show_table(out, "", ("", "before", "after"), rows)
    out.print()
    out.print(terminal.as_text(found.verdict), style="bold")
    out.print(terminal.as_text(found.footing))
