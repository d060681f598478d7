"""The arena's command and its table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ogive._files import replacing
from ogive._wording import percent
from ogive.cli import terminal
from ogive.cli.options import (
    as_json_option,
    check_output,
    check_score_only,
    methods_option,
    names_of,
    output_option,
    score_only_option,
    seed_option,
    view_option,
)
from ogive.cli.terminal import Command, as_text
from ogive.cli.values import COUNT, INPUT, WORD

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console
    from rich.text import Text

    from ogive._files import Output
    from ogive.studies.arena.result import Arena
    from ogive.studies.arena.standings import Standing


@click.command(
    cls=Command,
    examples=(
        ("ogive arena experiments/", "Compare all but the slow methods over a folder of files."),
        (
            "ogive arena experiments/ --methods none,spline,platt",
            "Keep what is finished, and go on from there after an interruption.",
        ),
    ),
)
@click.argument("source", metavar="DIR", type=INPUT)
@methods_option()
@view_option("vector")
@score_only_option
@click.option(
    "--peers",
    type=WORD,
    metavar="FILE",
    multiple=True,
    help="Results of other libraries: a JSON file, or module:NAME.",
)
@click.option(
    "--families",
    type=INPUT,
    metavar="FILE",
    help='JSON file that says which experiments share a test set: {"pattern*": "family"}.',
)
@click.option("--jobs", type=COUNT, metavar="N", help="Number of processes. [default: all cores]")
@seed_option("Random seed of the intervals.")
@output_option("Also write the JSON object to this file.", required=False)
@as_json_option
def arena(
    source: Path,
    methods: str | None,
    view: str | None,
    peers: tuple[str, ...],
    *,
    families: Path | None,
    jobs: int | None,
    seed: int,
    score_only: bool,
    output: Output | None,
    force: bool,
    as_json: bool,
) -> None:
    """Compare methods over many experiments: ranks, wins, worst cases.

    DIR is a folder of files with parts cal and test, or an HDF5 file of experiments. Every number
    is a mean over the same experiments; those that cannot take part are named.
    """
    from ogive.studies.arena.study import arena as compared  # noqa: PLC0415

    names = names_of(methods)
    check_score_only(view)
    others = [source, *([] if families is None else [families]), *map(Path, peers)]
    check_output(output, others, "arena", force=force)
    with terminal.progress("reading") as step:
        result = compared(
            source,
            names,
            view,
            peers=peers,
            families=families,
            score_only=score_only,
            n_jobs=jobs,
            random_state=seed,
            progress=step,
        )
    if output is not None:
        with replacing(output, [source]) as beside:
            beside.write_text(json.dumps(result.to_dict(), allow_nan=False), encoding="utf-8")
    if as_json:
        terminal.print_json(result.to_dict())
    else:
        show_arena(terminal.console(), result)


# What each column reads, less being better, and its digits; the sign is not shown.
_COLUMNS: dict[str, tuple[Callable[[Standing], float | None], str]] = {
    "log loss rank": (lambda row: row.rank["nll"], ".2f"),
    "excess": (lambda row: row.excess["nll"], ".5f"),
    "worst": (lambda row: row.worst["nll"], ".4f"),
    "wins": (lambda row: -row.wins["nll"], ".3g"),
    "Brier rank": (lambda row: row.rank["brier"], ".2f"),
    "KS rank": (lambda row: row.rank["ks"], ".2f"),
    "KS %": (lambda row: 100 * row.mean["ks"], ".3f"),
    "fit s": (lambda row: row.seconds, ".3f"),
}


def show_arena(out: Console, result: Arena) -> None:
    """Print methods as rows, the lowest mean log loss rank first; * marks the best of a column."""
    from ogive.cli.tables import show_table  # noqa: PLC0415

    shared = len(result.families)
    of = "family" if shared == 1 else "families"
    count = f"{len(result.experiments)} experiments in {shared} {of}"
    names = list(_COLUMNS)
    columns = ("method", names[0], "95 %", *names[1:])
    rows = []
    best = {name: _best(result, name) for name in _COLUMNS}
    for row in result.standings:
        cells = [_cell(row, name, best[name]) for name in _COLUMNS]
        ends = row.rank_interval["nll"]
        cells.insert(1, "" if ends is None else f"{ends[0]:.2f} … {ends[1]:.2f}")
        rows.append(([row.method, *cells], ""))
    title = f"{result.view}: {count}"
    spare = ("fit s", "wins", "Brier rank", "95 %", "worst")
    show_table(out, title, columns, rows, spare)
    floor = percent(result.noise_floor, 3)
    out.print(f"\nMeans over experiments; * is the best. A perfectly calibrated model: KS {floor}.")
    for what, reasons in (("Skipped", result.skipped), ("Left out", result.left_out)):
        for why in dict.fromkeys(reasons.values()):
            same = ", ".join(name for name, reason in reasons.items() if reason == why)
            out.print(as_text(f"{what}: {same}: {why}"), soft_wrap=True)


def _best(result: Arena, name: str) -> float | None:
    read, _ = _COLUMNS[name]
    values = [value for value in map(read, result.standings) if value is not None]
    return min(values, default=None)


def _cell(row: Standing, name: str, best: float | None) -> str | Text:
    read, digits = _COLUMNS[name]
    value = read(row)
    if value is None:
        return ""
    text = f"{abs(value):{digits}}"
    return as_text(f"{text}*", "bold green") if value == best else f"{text} "
