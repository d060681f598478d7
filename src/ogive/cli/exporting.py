"""The command export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ogive.cli import terminal
from ogive.cli.options import (
    as_json_option,
    band_of,
    band_options,
    check_output,
    output_option,
    refuse,
)
from ogive.cli.terminal import Command, say
from ogive.cli.values import INPUT, WORD, one_of

if TYPE_CHECKING:
    from pathlib import Path

    from ogive._files import Output


@click.command(
    cls=Command,
    examples=(
        ("ogive export cal.json --to onnx -o cal.onnx", "A graph for ONNX runtimes."),
        ("ogive export cal.json --to sql --column p -o cal.sql", "An expression of the column p."),
    ),
)
@click.argument("calibrator", metavar="CAL.json", type=INPUT)
@click.option(
    "--to",
    required=True,
    type=one_of("target", "onnx", "torch", "python", "sql"),
    help="The form to write.",
)
@output_option("The file to write.")
@click.option(
    "--kind",
    type=one_of("kind", "logits", "probs"),
    help="What the exported form will be given. [default: what the calibrator was fitted on]",
)
@click.option(
    "--dtype",
    type=one_of("dtype", "float64", "float32"),
    help="Type of the numbers given; float32 rounds them. [default: float64, for torch float32]",
)
@click.option(
    "--column",
    type=WORD,
    metavar="COL",
    help="For sql: the column of the score, or the prefix of the logits' columns.",
)
@band_options
@as_json_option
def export(
    calibrator: Path,
    to: str,
    output: Output,
    *,
    kind: str | None,
    dtype: str | None,
    column: str | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Write a calibrator as ONNX, PyTorch, Python or SQL.

    onnx: a graph in double, operator set 17. torch: a .pt2 of torch.export. python: one function
    of a score, standard library only. sql: one expression for PostgreSQL and DuckDB. With --band
    each also gives low and high. The numbers are checked against those of the calibrator before
    the file is written.
    """
    from ogive.export.targets import export_file  # noqa: PLC0415

    check_output(output, [calibrator], to, force=options["force"])
    band = band_of(options)
    if to in {"python", "sql"}:
        refuse(f"{to} computes in double", "dtype")
    if to != "sql":
        refuse(f"{to} has no columns", "column")
    with terminal.progress(f"exporting to {to}"):
        result = export_file(
            calibrator, to, output, kind=kind, band=band, dtype=dtype, column=column
        )
    if as_json:
        terminal.print_json(result.to_dict())
    else:
        say(f"{result.out}: checked at {result.points:,} points, the largest difference is "
            f"{result.max_abs_difference:.1e}")  # fmt: skip
        if result.rounded:
            say(f"{result.rounded:,} points differ by more than the usual 2e-06, because float32 "
                "rounds what they are given: --dtype float64 keeps all digits.")  # fmt: skip
        if result.at_jumps:
            say(f"{result.at_jumps:,} points lie within rounding of a jump: counted apart.")
