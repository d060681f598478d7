"""The commands that compare methods: compare, and demo on bundled data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ogive._files import replacing
from ogive.cli.options import (
    FILE_HELP,
    INPUT,
    OUTPUT,
    SEED,
    SHARE,
    WORD,
    as_json_option,
    check_columns,
    columns_of,
    names_of,
    reads_files,
    refuse,
    view_option,
)
from ogive.cli.terminal import Command

if TYPE_CHECKING:
    from pathlib import Path

    from ogive.curve import Curve
    from ogive.predictions import Predictions

_NEXT_STEPS = """
Next:
  ogive measure FILE                      how far can these probabilities be trusted?
  ogive fit FILE -o cal.json              fit the repair on a calibration part
  ogive apply cal.json FILE -o out.npz    repair the probabilities
  ogive compare FILE                      which repair is best, and is that noise?
  ogive report FILE -o report.html        all of it on one page, with graphs

FILE is .npz, .parquet, .csv, .arrow, .p or .h5: see `ogive measure --help`."""


@click.command(cls=Command, epilog=FILE_HELP)
@click.argument("file", type=INPUT)
@click.option(
    "--methods", type=WORD, metavar="M,…", help="Names, separated by commas [all but the slow]."
)
@click.option(
    "--split",
    type=SHARE,
    help="Without parts: fit on this share of the rows, drawn at random, and test on the rest.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="The seed of --split.")
@view_option
@reads_files
@as_json_option
def compare(
    file: Path,
    methods: str | None,
    split: float | None,
    seed: int,
    view: str | None,
    *,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Fit each method on the cal part and measure it on the test part; the best first."""
    from ogive.readers import open_file  # noqa: PLC0415
    from ogive.readers.together import two_parts  # noqa: PLC0415

    check_columns([file])
    if split is None:
        refuse("nothing is drawn at random without --split", "seed")
    source = open_file(file, columns_of(options), experiment=options["experiment"])
    cal, test = two_parts(source, split, seed)
    _compare(cal, test, methods, view, as_json=as_json)


def _compare(
    cal: Predictions, test: Predictions, methods: str | None, view: str | None, *, as_json: bool
) -> None:
    from ogive.cli import tables, terminal  # noqa: PLC0415
    from ogive.studies.compare import compare as compared  # noqa: PLC0415

    with terminal.progress("comparing") as step:
        result = compared(cal, test, names_of(methods), view, progress=step)
    if as_json:
        terminal.print_json(result.to_dict())
    else:
        tables.show_comparison(terminal.console(), result)


@click.command(cls=Command)
@click.option("--save", type=OUTPUT, help="Also write the sample to this .npz file, to play with.")
@as_json_option
def demo(save: Path | None, *, as_json: bool) -> None:
    """Do the main job on real data: a LeNet-5 on Fashion-MNIST, bundled."""
    from importlib.resources import as_file, files  # noqa: PLC0415

    from ogive.cli import tables, terminal  # noqa: PLC0415
    from ogive.readers import open_file  # noqa: PLC0415
    from ogive.studies.measure import measure as measured  # noqa: PLC0415

    if save is not None and save.suffix.lower() != ".npz":
        msg = f"--save writes a NumPy archive: call it .npz, not {save.name}."
        raise click.UsageError(msg)
    with as_file(files("ogive") / "data" / "fmnist_lenet5.npz") as path:
        source = open_file(path)
        if save is not None:
            with replacing(save, [path]) as beside:
                beside.write_bytes(path.read_bytes())
    cal, test = source.predictions("cal"), source.predictions("test")
    if as_json:
        _compare(cal, test, None, None, as_json=True)
        return
    out = terminal.console()
    out.print("[bold]A LeNet-5 on Fashion-MNIST[/]: 10 classes, 5,000 rows to fit, 10,000 to test")
    tables.show_measurement(out, measured(test))
    tables.show_before_and_after(out, *_gaps(cal, test))
    _compare(cal, test, None, None, as_json=False)
    click.echo(_NEXT_STEPS)


def _gaps(cal: Predictions, test: Predictions) -> tuple[Curve, Curve]:
    """Return the test part's curve as it is, and after the default repair."""
    from ogive.curve import Curve  # noqa: PLC0415
    from ogive.studies.fitting import apply as applied  # noqa: PLC0415
    from ogive.studies.fitting import fit as fitted  # noqa: PLC0415

    rows = applied(fitted(cal), test)
    assert rows.hit is not None  # noqa: S101 - the sample has labels
    return Curve.from_predictions(test), Curve.from_scores(rows.score, rows.hit, view="top-1")
