"""The commands that compare methods: compare, and demo on bundled data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ogive._files import replacing
from ogive.cli import terminal
from ogive.cli.options import (
    as_json_option,
    bins_option,
    by_option,
    check_columns,
    check_score_only,
    cluster_option,
    columns_of,
    force_option,
    methods_option,
    names_of,
    reads_files,
    refuse,
    score_only_option,
    splits,
    view_option,
)
from ogive.cli.terminal import Command, progress
from ogive.cli.values import INPUT, OUTPUT

if TYPE_CHECKING:
    from pathlib import Path

    from ogive._files import Output
    from ogive.curve import Curve
    from ogive.rows.predictions import Predictions
    from ogive.studies.compare import Comparison

#: A first look: what most people know. Without vector scaling, which loads an optimiser, it takes
#: a fifth less time.
_DEMO_METHODS = "spline,temperature,platt,isotonic,none"
_NEXT_STEPS = """
Next, with your own predictions:
  ogive measure FILE                    how far off are they, and is it worth calibrating?
  ogive fit FILE -o cal.json{method:12}fit a calibrator on the calibration set
  ogive apply cal.json FILE -o out.npz  calibrate the probabilities
  ogive compare FILE                    which of all methods has the lowest log loss?
  ogive report FILE -o report.html      all of it on one page, with graphs

`ogive measure --help` says what a FILE of predictions looks like."""


@click.command(
    cls=Command,
    reads_predictions=True,
    examples=(
        ("ogive compare predictions.npz", "Fit on the cal part and measure on the test part."),
        (
            "ogive compare scores.csv --split 0.5 --methods none,spline,platt",
            "Fit on half of the rows, drawn at random, and measure on the others.",
        ),
        ("ogive compare log.csv --split 0.5 --by country", "Also group by group."),
        (
            "ogive compare a.npz --view within-top-2 --methods none,paper-spline:knots=14",
            "The paper's spline with 14 knots, on the paper's second view.",
        ),
    ),
)
@click.argument("file", type=INPUT)
@methods_option()
@cluster_option
@splits
@view_option("vector")
@score_only_option
@bins_option
@by_option("Also compare in each group that these columns name, with a calibrator of groups.")
@reads_files
@as_json_option
def compare(
    file: Path,
    methods: str | None,
    split: float | None,
    seed: int,
    view: str | None,
    *,
    score_only: bool,
    bins: int,
    by: str | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Compare methods: fit on the cal part, measure on the test part.

    The method with the lowest log loss is first. Losses are compared row by row, so that the table
    says which differences are larger than noise.
    """
    from ogive.cli import tables, terminal  # noqa: PLC0415
    from ogive.readers.multi_file import two_parts  # noqa: PLC0415
    from ogive.readers.sample import open_sampled  # noqa: PLC0415
    from ogive.studies.group_fitting import groups_of_parts, open_with_groups  # noqa: PLC0415

    check_columns([file])
    check_score_only(view)
    if split is None:
        refuse("nothing is drawn at random without --split", "seed")
    with progress("reading"):
        how: Any = {
            "experiment": options["experiment"],
            "random_state": seed,
            "note": terminal.note,
        }
        source = (
            open_sampled(file, columns_of(options), **how)
            if by is None
            else open_with_groups(file, columns_of(options), options["experiment"])
        )
        cal, test = two_parts(source, split, seed)
        groups = None if by is None else groups_of_parts(source, by, split, seed)
    how = {"score_only": score_only, "groups": groups, "bins": bins}
    result = _compared(cal, test, methods, view, **how)
    if as_json:
        terminal.print_json(result.to_dict())
    else:
        tables.show_comparison(terminal.console(), result)


def _compared(
    cal: Predictions,
    test: Predictions,
    methods: str | None = None,
    view: str | None = None,
    *,
    score_only: bool = False,
    **how: Any,  # noqa: ANN401 - groups, and the number of bins
) -> Comparison:
    from ogive.studies.compare import compare as compared  # noqa: PLC0415

    names = names_of(methods)
    with terminal.progress("comparing") as step:
        return compared(cal, test, names, view, score_only=score_only, progress=step, **how)


@click.command(
    cls=Command,
    examples=(
        ("ogive demo", "Measure, calibrate and compare on the bundled predictions."),
        ("ogive demo --save demo.npz", "Also save them, to try the other commands."),
    ),
)
@click.option(
    "--save", type=OUTPUT, metavar="PATH", help="Also save the predictions to this .npz file."
)
@force_option
@as_json_option
def demo(save: Output | None, *, force: bool, as_json: bool) -> None:
    """Measure, calibrate and compare on real data that is bundled.

    The predictions are those of a LeNet-5 on Fashion-MNIST: 10 classes, 15,000 images. The table
    compares the methods that most people know; `ogive compare` compares all of them.
    """
    from importlib.resources import as_file, files  # noqa: PLC0415

    from ogive.readers import open_file  # noqa: PLC0415

    if save is not None and save.suffix.lower() != ".npz":
        msg = f"--save writes a NumPy archive: call it .npz, not {save.name}."
        raise click.UsageError(msg)
    with as_file(files("ogive") / "data" / "fmnist_lenet5.npz") as path:
        source = open_file(path)
        if save is not None:
            same = save.is_file() and save.read_bytes() == path.read_bytes()
            save.claim([path], None, force=force or same)
            with replacing(save) as beside:
                beside.write_bytes(path.read_bytes())
    _show_demo(source.predictions("cal"), source.predictions("test"), as_json=as_json)


def _show_demo(cal: Predictions, test: Predictions, *, as_json: bool) -> None:
    """Compare and measure the bundled predictions, and print it; classes are fitted once."""
    from ogive.calibrators.multiclass.shared_fits import shared_class_fits  # noqa: PLC0415
    from ogive.cli import tables, terminal  # noqa: PLC0415
    from ogive.studies.measure import measure as measured  # noqa: PLC0415

    with shared_class_fits():
        compared = _compared(cal, test, _DEMO_METHODS)
        method = compared.decision.method or "spline"
        if not as_json:
            with progress("measuring"):
                result, gaps = measured(test, cal=cal), _gaps(cal, test, method)
    if as_json:
        terminal.print_json(compared.to_dict())
        return
    out = terminal.console()
    out.print("[bold]A LeNet-5 on Fashion-MNIST[/]: 10 classes, 5,000 rows to fit, 10,000 to test")
    tables.show_measurement(out, result)
    tables.show_before_and_after(out, *gaps, method)
    tables.show_comparison(out, compared)
    option = "" if method == "spline" else f" --method {method}"
    click.echo(_NEXT_STEPS.format(method=f"{option}  "))


def _gaps(cal: Predictions, test: Predictions, method: str) -> tuple[Curve, Curve]:
    """Return the test part's curve as it is, and calibrated by a method."""
    from ogive.curve.curve import Curve  # noqa: PLC0415
    from ogive.studies.fitting import apply as applied  # noqa: PLC0415
    from ogive.studies.fitting import fit as fitted  # noqa: PLC0415

    rows = applied(fitted(cal, method, "top-1"), test)
    assert rows.hit is not None  # noqa: S101 - the sample has labels
    return Curve.from_predictions(test), Curve.from_scores(rows.score, rows.hit, view="top-1")
