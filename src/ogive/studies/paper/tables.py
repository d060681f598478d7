"""The paper's tables as they are shown: columns, marks, counts, and the claim of its abstract."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ogive._wording import percent
from ogive.calibrators import read_method
from ogive.metrics import MEASURES
from ogive.metrics.binned import ece, mce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ogive.curve import Curve
    from ogive.rows.predictions import Predictions

_TWO_CLASSES = 2
#: What the paper claims of its spline's KS errors.
CLAIM = 0.01

ASSUMPTIONS = (
    "The paper's spline is fitted to the residual, cumulative accuracy minus cumulative score.",
    "Equal scores are one point of the curve: nothing depends on the order of the rows.",
    "The fitted curve is interpolated with the right weights (the published code swapped them).",
    "The fit is over the fractiles i/N (the published code had i/(N - 1)).",
    "ECE: 25 bins of equal width, closed on the right; a score of exactly 0 is in the first.",
    "MCE: the largest gap of the same 25 bins; the paper does not state its bins.",
    "The commented-out ECE column does not state its knots: 6 are assumed.",
    "Brier: the mean of (top-1 score - outcome) squared. KDE-ECE: triweight kernel, mirrored.",
    "Accuracy of the paper's spline: every rank on its own, then the largest score.",
    "A rank never right on the calibration rows is fitted with Platt's method in its place.",
    "MS-ODIR, Dir-ODIR: five folds shuffled with seed 15, and the mean of the fold models.",
    "MS-ODIR, Dir-ODIR above 256 classes: 3 x 3 strengths, chosen on 5 rows a class at the most.",
    "Methods that calibrate the whole matrix rank the classes anew; others keep the decision.",
)


class Column(NamedTuple):
    """A measure of a view; `knots` are those of the paper's spline, the published ones first."""

    metric: str
    title: str
    view: str
    measure: Callable[[Curve], float]
    knots: tuple[int, ...] = (6,)

    @property
    def percent(self) -> bool:
        """Whether the paper prints it in percent."""
        return self.metric.startswith(("ks-", "ece25-", "accuracy"))

    def exists(self, preds: Predictions) -> bool:
        """Whether it says something of such predictions that no other column says."""
        if preds.one_column or preds.K == _TWO_CLASSES:
            return self.view == "top-1" and not (preds.one_column and self.metric == "accuracy")
        rank = int(self.view[-1])
        return rank < preds.K or not self.view.startswith("within")


_KS = MEASURES["ks"]
COLUMNS = (
    Column("ks-top1", "KS error, top-1", "top-1", _KS),
    Column("ks-top2", "KS error, top-2", "top-2", _KS),
    Column("ks-within-top2", "KS error, within top-2", "within-top-2", _KS, (14, 6)),
    Column("ece25-top1", "ECE, 25 bins, top-1", "top-1", partial(ece, bins=25), (13, 6)),
    Column("kde-ece-top1", "KDE-ECE, top-1", "top-1", MEASURES["kde_ece"]),
    Column("mce-top1", "MCE, 25 bins, top-1", "top-1", partial(mce, bins=25)),
    Column("brier-top1", "Brier score, top-1", "top-1", MEASURES["brier"]),
    Column("accuracy", "Accuracy", "top-1", MEASURES["accuracy"]),
    Column("ks-top3", "KS error, top-3", "top-3", _KS),
    Column("ks-within-top3", "KS error, within top-3", "within-top-3", _KS, (14,)),
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of a table; fractions, not percent.

    Attributes
    ----------
    file : str
    metric : str
        Such as ``"ks-top1"``; see `COLUMNS`.
    method : str
    knots : int or None
        Of the paper's spline.
    here : float
    dataset, model : str or None
        As the paper names the net, if it is one of its nets.
    paper : float or None
        The paper's number, and its status: ``"published"``, ``"figure caption"``, ``"in the
        source, not printed"``.
    status : str or None
    mark : str
        ``"best"`` or ``"second"`` of the methods, in this file and metric.
    """

    file: str
    metric: str
    method: str
    knots: int | None
    here: float
    dataset: str | None = None
    model: str | None = None
    paper: float | None = None
    status: str | None = None
    mark: str = ""

    @property
    def name(self) -> str:
        """The method, with the knots."""
        return self.method if self.knots is None else f"{self.method}:knots={self.knots}"


class Shown(NamedTuple):
    """A table to show: the cells of its rows are a text and its mark."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[tuple[str, str], ...], ...]


@dataclass(frozen=True, repr=False)
class PaperTables:
    """The tables, the notes on them, and why other files are not in them."""

    cells: tuple[Cell, ...]
    notes: tuple[str, ...]
    skipped: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values: ``{"tables": [...], "methods": [...], ...}``."""
        return {
            "tables": [asdict(cell) for cell in self.cells],
            "methods": self.counts(),
            "notes": list(self.notes),
            "skipped": self.skipped,
            "assumptions": list(ASSUMPTIONS),
        }

    def counts(self) -> list[dict[str, Any]]:
        """Return how often each method has the lowest KS errors, and how many are below 1 %."""
        found: dict[str, dict[str, Any]] = {}
        for cell in self.cells:
            if not cell.metric.startswith("ks-") or is_extra(cell):
                continue
            empty = {"method": cell.method, "first": 0, "second": 0, "of": 0, "below": {}}
            row = found.setdefault(cell.method, empty)
            row["of"] += 1
            row["first"] += cell.mark == "best"
            row["second"] += cell.mark == "second"
            below, of = row["below"].get(cell.metric, (0, 0))
            row["below"][cell.metric] = (below + (cell.here < CLAIM), of + 1)
        return list(found.values())

    def claim(self) -> Iterator[str]:
        """Say on which files the KS error of the paper's spline is not below 1 %."""
        for column in COLUMNS:
            cells = [c for c in self.cells if c.metric == column.metric and not is_extra(c)]
            cells = [c for c in cells if read_method(c.method).name == "paper-spline"]
            if cells and column.metric.startswith("ks-"):
                above = [f"{c.file} ({percent(c.here)})" for c in cells if c.here >= CLAIM]
                but = f"; not on {', '.join(above)}" if above else ""
                words = f"{len(cells) - len(above)} of {len(cells)} files{but}."
                yield f"{column.title} of the paper's spline below 1 % on {words}"

    def tables(self) -> Iterator[Shown]:
        """Return a table for each metric, and one that counts."""
        for column in COLUMNS:
            cells = [cell for cell in self.cells if cell.metric == column.metric]
            if cells:
                yield _table(column, cells)
        counts = self.counts()
        columns = [one for one in COLUMNS if any(one.metric in row["below"] for row in counts)]
        views = (f"{one.title.partition(', ')[2]} < 1 %" for one in columns)
        head = ("method", "lowest", "second", *views)
        rows = []
        for row in counts:
            shares = [row["below"].get(one.metric, (0, 0)) for one in columns]
            texts = [row["method"], f"{row['first']} of {row['of']}", str(row["second"])]
            rows.append(tuple((text, "") for text in [*texts, *(f"{k} of {n}" for k, n in shares)]))
        yield Shown("KS errors: how often the lowest, the second, and below 1 %", head, tuple(rows))

    def to_markdown(self) -> str:
        """Return the tables as Markdown: the best is bold, the second best underlined."""
        marks = {"best": "**{}**", "second": "<u>{}</u>", "": "{}"}
        lines = []
        for title, head, rows in self.tables():
            lines += [f"**{title}**", "", _line(head), _line("---" for _ in head)]
            lines += [_line(marks[mark].format(text) for text, mark in row) for row in rows]
            lines.append("")
        return "\n".join([*lines, *(f"* {note}" for note in self.words())])

    def words(self) -> list[str]:
        """Return what there is to say besides the tables."""
        skipped = (f"{name} is left out: {why}" for name, why in self.skipped.items())
        return [*self.claim(), *self.notes, *skipped]

    def __repr__(self) -> str:
        return self.to_markdown()


def _line(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def is_extra(cell: Cell) -> bool:
    """Whether it is of other knots than those that the paper's table was published with."""
    column = next(one for one in COLUMNS if one.metric == cell.metric)
    return cell.knots is not None and cell.knots != column.knots[0]


def _table(column: Column, cells: list[Cell]) -> Shown:
    """Lay out one metric: a row for each file, a column for each method and the paper's number."""
    unit, digits = (100.0, 3) if column.percent else (1.0, 5)
    names = list(dict.fromkeys(cell.name for cell in cells))
    known = {cell.name for cell in cells if cell.paper is not None}
    head = ["file"]
    for name in names:
        head += [name, *["paper"] * (name in known)]
    rows = []
    for file in dict.fromkeys(cell.file for cell in cells):
        of = {cell.name: cell for cell in cells if cell.file == file}
        row = [(file, "")]
        for name in names:
            cell = of.get(name)
            row.append(("", "") if cell is None else (f"{unit * cell.here:.{digits}f}", cell.mark))
            if name in known:
                paper = None if cell is None else cell.paper
                row.append(("" if paper is None else f"{unit * paper:.{digits}f}", ""))
        rows.append(tuple(row))
    return Shown(f"{column.title}{' (%)' * column.percent}", tuple(head), tuple(rows))
