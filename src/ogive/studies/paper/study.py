"""The paper's tables on anyone's predictions, beside the paper's own numbers where it has them.

Every cell is a measure of the test part after a method was fitted to the cal part.
`ogive.studies.paper.tables.ASSUMPTIONS` says what the paper leaves open and how it is read here.
"""

from __future__ import annotations

import csv
import hashlib
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from ogive.calibrators import read_method
from ogive.calibrators.multiclass.shared_fits import shared_class_fits
from ogive.calibrators.scaling.odir import minutes
from ogive.curve import Curve
from ogive.errors import FileFormatError, OgiveError
from ogive.readers import open_file
from ogive.readers.multi_file import expand, two_parts
from ogive.readers.provenance import rows_checksum
from ogive.studies.compare import check_pair
from ogive.studies.fitting import VECTOR, apply, curve_of, fit, with_vectors
from ogive.studies.paper.tables import COLUMNS, Cell, PaperTables, is_extra

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ogive._typing import Progress
    from ogive.calibrators import Method
    from ogive.rows.predictions import Predictions

#: The paper's methods by their names here; in its tables "none" is uncalibrated.
METHODS = ("none", "temperature", "vector", "ms-odir", "dir-odir", "paper-spline")
_OF_THE_PAPER = {"uncalibrated": "none", "spline": "paper-spline"}
#: With more classes, methods that take minutes are fitted only if they are named.
MAX_CLASSES_FOR_SLOW_METHODS = 256


def paper_tables(
    files: Sequence[Path],
    methods: Iterable[str] | None = None,
    *,
    progress: Progress | None = None,
) -> PaperTables:
    """Compute the paper's tables on files of predictions.

    Parameters
    ----------
    files : sequence of path
        Files with a calibration and a test part, and folders of them.
    methods : iterable of str, optional
        Names of `ogive.calibrators.METHODS`, with options. Default: `METHODS`, the paper's. The
        spline of the paper has its knots, unless the name says how many.
    progress : function of (what, done, total), optional

    Returns
    -------
    PaperTables
    """
    asked = METHODS if methods is None else tuple(methods)
    for name in asked:
        read_method(name)
    skipped: dict[str, str] = {}
    cells: list[Cell] = []
    notes: dict[str, None] = {}
    paths = expand(files)
    for done, path in enumerate(paths):
        tell = _within(progress, done, len(paths), path.name)
        try:
            cal, test = parts_of(path)
        except (OgiveError, OSError) as error:
            skipped[path.name] = str(error)
            continue
        chosen = _chosen(asked, cal, notes, named=methods is not None)
        if test.kind == "probs" and not test.one_column:
            notes["Of files of probabilities, methods of whole matrices read log p."] = None
        found: list[Cell] = []
        with shared_class_fits():
            for number, method in enumerate(chosen):
                step = _within(tell, number, len(chosen), method)
                step("", 0, 1)
                found += _cells_of(path, cal, test, method, step)
        cells += _marked(_with_papers(found, path, test))
    if not cells:
        why = next(iter(skipped.values()), "there is no file")
        msg = f"no file has rows to fit and rows to test ({why})"
        raise FileFormatError(msg)
    if progress is not None:
        progress("done", len(paths), len(paths))
    return PaperTables(tuple(cells), tuple(notes), skipped)


def parts_of(path: Path) -> tuple[Predictions, Predictions]:
    """Read the rows to fit and the rows to test of a file."""
    cal, test = two_parts(open_file(path))
    check_pair(cal, test)
    return cal, test


def _within(progress: Progress | None, done: int, total: int, what: str) -> Progress:
    """Return a callback for the steps inside one of many steps."""

    def tell(inner: str, step: float, steps: int) -> None:
        if progress is not None:
            progress(f"{what} {inner}".strip(), done + (step / steps if steps else 0.0), total)

    return tell


def _chosen(
    asked: Sequence[str], cal: Predictions, notes: dict[str, None], *, named: bool
) -> list[str]:
    """Return the methods that apply to predictions; why others do not becomes a note."""
    kept = []
    for name in asked:
        method = read_method(name)
        if cal.one_column and is_whole(method):
            why = "Files of scores have no methods that need a column for each class."
        elif method.slow and not named and cal.K > MAX_CLASSES_FOR_SLOW_METHODS:
            why = (
                f"{name} takes about {minutes(cal.n, cal.K)} min on {cal.n:,} rows of {cal.K:,} "
                "classes: name it (--methods) to run it."
            )
        else:
            kept.append(name)
            continue
        notes[why] = None
    return kept


def is_whole(method: Method) -> bool:
    """Whether it calibrates whole vectors, and not the score of a view."""
    return method.reads == "predictions" or (method.way is not None and not method.score_only)


def _cells_of(
    path: Path, cal: Predictions, test: Predictions, method: str, step: Progress
) -> Iterator[Cell]:
    """Yield the cells of one method."""
    chosen = read_method(method)
    after = test if method == "none" else None
    if is_whole(chosen):
        vectors = apply(fit(cal, method, VECTOR, progress=step), test, VECTOR).vectors
        assert vectors is not None  # noqa: S101 - of whole vectors
        after = with_vectors(test, vectors)
    papers = chosen.name == "paper-spline" and after is None

    @cache
    def curve(view: str, words: str) -> Curve:
        if after is not None:
            return Curve.from_predictions(after, view)
        return curve_of(apply(fit(cal, words, view), test, view), test, view)

    for column in COLUMNS:
        if not column.exists(test):
            continue
        view = "score" if test.one_column else column.view
        if column.metric == "accuracy" and after is None:
            made = Curve.from_predictions(test, view)
            if papers:
                ranks = fit(cal, f"{method}:every-rank:rescale=no", VECTOR)
                vectors = apply(ranks, test, VECTOR).vectors
                assert vectors is not None  # noqa: S101
                made = Curve.from_predictions(with_vectors(test, vectors), view)
            yield Cell(path.stem, column.metric, method, None, column.measure(made))
        elif papers and "knots" not in chosen.asked:
            for k in column.knots:
                value = column.measure(curve(view, f"{method}:knots={k}"))
                yield Cell(path.stem, column.metric, method, k, value)
        else:
            yield Cell(path.stem, column.metric, method, None, column.measure(curve(view, method)))


def _marked(cells: Sequence[Cell]) -> Iterator[Cell]:
    """Mark the best and the second best of each metric among the methods, as the paper does."""
    for cell in cells:
        rivals = {c.here for c in cells if c.metric == cell.metric and not is_extra(c)}
        order = sorted(rivals, reverse=cell.metric == "accuracy")[:2]
        place = order.index(cell.here) if cell.here in order and not is_extra(cell) else -1
        yield replace(cell, mark=("best", "second", "")[place])


def _with_papers(cells: Sequence[Cell], path: Path, test: Predictions) -> list[Cell]:
    """Add the paper's numbers, if the file is of one of its nets."""
    net = _net_of(path, test)
    if net is None:
        return list(cells)
    known = {}
    for row in read_rows("paper_tables.csv"):
        if (row["dataset"], row["model"]) == net:
            metric = row["metric"].removesuffix("-percent")
            unit = 100.0 if metric != row["metric"] else 1.0
            method = _OF_THE_PAPER.get(row["method"], row["method"])
            key = metric, method, int(row["knots"]) if row["knots"] else None
            known[key] = float(row["value"]) / unit, row["status"]
    named = (replace(cell, dataset=net[0], model=net[1]) for cell in cells)
    found = ((cell, known.get((cell.metric, cell.method, cell.knots))) for cell in named)
    return [c if p is None else replace(c, paper=p[0], status=p[1]) for c, p in found]


def _net_of(path: Path, test: Predictions) -> tuple[str, str] | None:
    """Return dataset and model of a net of the paper: known by its values, else by its file."""
    values = rows_checksum(test.values)
    size = path.stat().st_size
    for row in read_rows("paper_files.csv"):
        same = values == row["values"]
        if not same and size == int(row["bytes"]):
            with path.open("rb") as file:
                same = hashlib.file_digest(file, "sha256").hexdigest() == row["sha256"]
        if same:
            return row["dataset"], row["model"]
    return None


def read_rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a table that comes with the library."""
    text = (resources.files("ogive") / "data" / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
