"""The paper's tables, computed from its logit files, beside the paper's own numbers.

Every cell is a measure of the test part after a method was fitted to the calibration part.
`ASSUMPTIONS` says what the paper leaves open and how it is read here.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ogive
from ogive.errors import UnknownName
from ogive.studies.paper.cells import Bench, Key, is_percent, title_of
from ogive.studies.paper.files import Copy, PaperFile, find_copies, paper_files, read_rows
from ogive.studies.store import Results

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from ogive._typing import Progress
    from ogive.rows.predictions import Predictions

METHODS = ("uncalibrated", "temperature", "vector", "ms-odir", "dir-odir", "spline")

ASSUMPTIONS = (
    "The spline is fitted to the residual, cumulative accuracy minus cumulative score.",
    "Equal scores are one point of the curve: nothing depends on the order of the rows.",
    "The fitted curve is interpolated with the right weights (the published code swapped them).",
    "The fit is over the fractiles i/N (the published code had i/(N - 1)).",
    "ECE: 25 bins of equal width, closed on the right; a score of exactly 0 is in the first.",
    "MCE: the largest gap of the same 25 bins; the paper does not state its bins.",
    "The commented-out ECE column does not state its knots: 6 are assumed.",
    "Brier: the mean of (top-1 score - outcome) squared. KDE-ECE: triweight kernel, mirrored.",
    "Accuracy of the spline: every rank on its own with 6 knots, then the largest score.",
    "A rank never right on the calibration rows is fitted with Platt's method in its place.",
    "MS-ODIR, Dir-ODIR: five folds shuffled with seed 15, and the mean of the fold models.",
    "MS-ODIR, Dir-ODIR above 256 classes: a coarser grid of strengths.",
    "Methods that calibrate the whole matrix rank the classes anew.",
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of the paper, and what comes out here. Both are fractions, not percent.

    Attributes
    ----------
    metric, dataset, model, method : str
        ``metric`` is such as ``"ks-top1"``; ``method`` one of `METHODS`.
    knots : int or None
        Of the spline.
    status : str
        ``"published"``, ``"figure caption"``, or ``"in the source, not printed"``.
    paper, here : float
    """

    metric: str
    dataset: str
    model: str
    method: str
    knots: int | None
    status: str
    paper: float
    here: float

    @property
    def difference(self) -> float:
        """Here minus the paper."""
        return self.here - self.paper

    def to_dict(self) -> dict[str, Any]:
        """Return the cell as plain JSON values."""
        return {
            "metric": self.metric,
            "dataset": self.dataset,
            "model": self.model,
            "method": self.method,
            "paper": self.paper,
            "here": self.here,
            "difference": self.difference,
            "knots": self.knots,
            "status": self.status,
        }


@dataclass(frozen=True, repr=False)
class PaperTables:
    """The cells that the files at hand allow, and the files that are missing.

    Attributes
    ----------
    cells : tuple of Cell
    copies : tuple of Copy
        The files that were read.
    missing : tuple of PaperFile
    assumptions : tuple of str
    """

    cells: tuple[Cell, ...]
    copies: tuple[Copy, ...]
    missing: tuple[PaperFile, ...]
    assumptions: tuple[str, ...] = ASSUMPTIONS

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values: ``{"tables": [...], "missing": [...], ...}``."""
        return {
            "tables": [cell.to_dict() for cell in self.cells],
            "files": [
                {"path": str(copy.path), "published": copy.published} for copy in self.copies
            ],
            "missing": [
                {"dataset": file.dataset, "model": file.model, "where": file.where}
                for file in self.missing
            ],
            "assumptions": list(self.assumptions),
        }

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterable[str]:
        for metric in dict.fromkeys(cell.metric for cell in self.cells):
            yield from _table(metric, [cell for cell in self.cells if cell.metric == metric])
        for copy in self.copies:
            if not copy.published:
                yield f"Not the published file, byte for byte: {copy.path}"
        if self.missing:
            yield f"Missing, from {self.missing[0].where.partition(' ')[0]}:"
            yield from (f"  {file.dataset}, {file.model}: {file.path}" for file in self.missing)
        yield "Assumptions:"
        yield from (f"  - {text}" for text in self.assumptions)


def _table(metric: str, cells: list[Cell]) -> Iterable[str]:
    """Lay out one metric: a line for each file and kind of number, paper / here."""
    unit = 100.0 if is_percent(metric) else 1.0
    digits = 3 if is_percent(metric) else 5
    columns = [name for name in METHODS if any(cell.method == name for cell in cells)]
    yield f"{title_of(metric)}{' (%)' if unit > 1 else ''}: paper / here"
    yield f"{'':28}" + "".join(f"{name:>18}" for name in columns)
    for dataset, model, status in dict.fromkeys((c.dataset, c.model, c.status) for c in cells):
        at = (dataset, model, status)
        row = {c.method: c for c in cells if (c.dataset, c.model, c.status) == at}
        texts = [_both(row.get(name), unit, digits) for name in columns]
        yield f"{dataset + ' ' + model:28}" + "".join(texts) + _remark(status, row.get("spline"))
    yield ""


def _both(cell: Cell | None, unit: float, digits: int) -> str:
    both = cell and f"{unit * cell.paper:.{digits}f} / {unit * cell.here:.{digits}f}"
    return f"{both or '':>18}"


def _remark(status: str, spline: Cell | None) -> str:
    knots = f"  {spline.knots} knots" if spline is not None and spline.knots else ""
    return knots + ("" if status == "published" else f"  ({status})")


def paper_tables(
    folder: str | os.PathLike[str],
    *,
    read: Callable[[Path, str], Predictions],
    methods: Iterable[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    n_jobs: int | None = None,
) -> PaperTables:
    """Compute every cell of the paper's tables that the logit files in a folder allow.

    Parameters
    ----------
    folder : path
        Where to look for copies of the paper's files, by name or by sha256.
    read : callable
        ``read(path, part)`` gives the `Predictions` of the part ``"cal"`` or ``"test"``.
    methods : iterable of str, optional
        Some of `METHODS`. Default: all.
    cache : path, optional
        A file of JSON lines that holds what was computed so far. A line is added after each method
        of each file, and read back at the next call: a long run can be resumed.
    progress : callable, optional
        ``progress(what, done, total)``: what is being worked on, and how many methods of how
        many files are done; `done` is a fraction where a method can tell.
    n_jobs : int, optional

    Returns
    -------
    PaperTables
    """
    chosen = _check_methods(methods)
    copies = find_copies(folder)
    published = [row for row in read_rows("paper_tables.csv") if row["method"] in chosen]
    results = Results(cache)
    jobs = [(copy, method) for copy in copies for method in chosen]
    for done, (copy, method) in enumerate(jobs):
        keys = [Key.of(row) for row in published if _is_of(row, copy.file, method)]
        known = results.get(_job(copy, method))
        if known is None or any(key.name not in known for key in keys):
            tell = _within(progress, done, len(jobs), f"{copy.file.name} {method}")
            tell("", 0, 1)
            bench = Bench(read(copy.path, "cal"), read(copy.path, "test"), n_jobs)
            started = time.perf_counter()
            values = bench.measure(method, keys, progress=tell)
            numbers = {key.name: value for key, value in values.items()}
            seconds = time.perf_counter() - started
            results.add(_job(copy, method), numbers | {"seconds": seconds})
    if progress is not None:
        progress("done", len(jobs), len(jobs))
    cells = [
        _cell(row, (results.get(_job(copy, row["method"])) or {})[Key.of(row).name])
        for row in published
        for copy in copies
        if _is_of(row, copy.file, row["method"])
    ]
    found = {copy.file for copy in copies}
    missing = tuple(file for file in paper_files() if file not in found)
    return PaperTables(tuple(cells), tuple(copies), missing)


def _check_methods(methods: Iterable[str] | None) -> tuple[str, ...]:
    asked = METHODS if methods is None else tuple(methods)
    for name in asked:
        if name not in METHODS:
            raise UnknownName.among("method", name, METHODS)
    return tuple(name for name in METHODS if name in asked)


def _is_of(row: dict[str, str], file: PaperFile, method: str) -> bool:
    return (row["dataset"], row["model"], row["method"]) == (file.dataset, file.model, method)


def _job(copy: Copy, method: str) -> tuple[str, ...]:
    return ("paper", copy.sha256, method, ogive.__version__)


def _within(progress: Progress | None, done: int, total: int, what: str) -> Progress:
    """Return a callback for the steps inside one job."""

    def tell(_: str, step: float, steps: int) -> None:
        if progress is not None:
            progress(what, done + step / steps, total)

    return tell


def _cell(row: dict[str, str], here: float) -> Cell:
    key = Key.of(row)
    unit = 100.0 if row["metric"].endswith("-percent") else 1.0
    return Cell(
        metric=key.metric,
        dataset=row["dataset"],
        model=row["model"],
        method=key.method,
        knots=key.knots,
        status=row["status"],
        paper=float(row["value"]) / unit,
        here=here,
    )
