"""Views: which event is predicted, and the only place that ranks classes.

A view turns a row of predictions into one binary forecast: a set of classes (the event), its
share of the row's mass (the score), and whether the true class is in the set (the outcome).

==================  =========================================  ==================
name                event                                      paper's equation
==================  =========================================  ==================
``"class-k"``       the true class is k (from 0)               (2)
``"top-r"``         the true class is the r-th ranked          (3), (4)
``"within-top-r"``  the true class is among the first r        (5)
``"score"``         class 1, for one-column predictions        (2)
==================  =========================================  ==================

Classes rank by their value, and equal values by their index, lowest first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from ogive._html import record_form
from ogive._numerics.blocks import blocks, for_each_block
from ogive._numerics.logistic import log_odds_of_tails
from ogive.errors import DoesNotApply, InvalidType, UnknownName
from ogive.rows.tails import BLOCKS_PER_RECOMPUTATION, tails_of_column, tails_of_ranks

if TYPE_CHECKING:
    from ogive._typing import AnyArray, BoolArray, FloatArray, IntArray
    from ogive.rows.predictions import Predictions


@dataclass(frozen=True, slots=True)
class OfClass:
    """The event that the true class is `index`."""

    index: int

    @property
    def name(self) -> str:
        """The view's name, such as ``"class-7"``."""
        return f"class-{self.index}"


@dataclass(frozen=True, slots=True)
class TopRank:
    """The event that the true class is the one ranked `rank` (1 is the best)."""

    rank: int

    @property
    def name(self) -> str:
        """The view's name, such as ``"top-1"``."""
        return f"top-{self.rank}"


@dataclass(frozen=True, slots=True)
class WithinTop:
    """The event that the true class is among the first `rank`."""

    rank: int

    @property
    def name(self) -> str:
        """The view's name, such as ``"within-top-2"``."""
        return f"within-top-{self.rank}"


@dataclass(frozen=True, slots=True)
class Score:
    """The event of class 1, of predictions with one column."""

    @property
    def name(self) -> str:
        """The view's name, ``"score"``."""
        return "score"


View: TypeAlias = OfClass | TopRank | WithinTop | Score

_PATTERN = re.compile(r"(class|top|within-top)-(\d+)")
_KNOWN = ("top-1", "top-2", "within-top-2", "class-0", "score")


class Scored(NamedTuple):
    """Rows of a view: the score as side and tail, and the outcome. Each (n,).

    ``high`` is whether the score exceeds ½, ``tail`` is min(score, 1 − score), ``hit`` is None
    where the true classes are not known.
    """

    high: BoolArray
    tail: FloatArray
    hit: BoolArray | None

    def _repr_html_(self) -> str:
        return record_form(self)

    @property
    def score(self) -> FloatArray:
        """The score, which may round to 1, (n,)."""
        return np.where(self.high, 1.0 - self.tail, self.tail)

    @property
    def log_odds(self) -> FloatArray:
        """log(p / (1 − p)) from the tail, which does not saturate; ±inf where the tail is 0."""
        return log_odds_of_tails(self.high, self.tail)


def parse_view(view: str | View) -> View:
    """Return the view of that name; a view is returned as it is.

    >>> parse_view("within-top-2")
    WithinTop(rank=2)
    >>> parse_view("top-1").name
    'top-1'
    """
    if isinstance(view, OfClass | TopRank | WithinTop | Score):
        return view
    if not isinstance(view, str):
        msg = f"`view` must be a name such as 'top-1' or a view object, not {type(view).__name__}."
        raise InvalidType(msg)
    if view == "score":
        return Score()
    match = _PATTERN.fullmatch(view)
    if match is None:
        raise UnknownName.among("view", view, _KNOWN)
    number = int(match[2])
    if match[1] == "class":
        return OfClass(number)
    return TopRank(number) if match[1] == "top" else WithinTop(number)


def usual_views(classes: int) -> tuple[str, ...]:
    """Return the views that `measure_all` measures: ranks up to three, as K allows.

    >>> usual_views(3)
    ('top-1', 'top-2', 'top-3', 'within-top-2')
    """
    top = [f"top-{r}" for r in (1, 2, 3) if r <= classes]
    return (*top, *(f"within-top-{r}" for r in (2, 3) if r < classes))


def default_view(preds: Predictions) -> View:
    """Return ``score`` for one-column predictions, ``top-1`` for matrices."""
    return Score() if preds.one_column else TopRank(1)


def check_view(view: str | View | None, preds: Predictions) -> View:
    """Return the view if these predictions have it."""
    chosen = default_view(preds) if view is None else parse_view(view)
    K = preds.K
    match chosen:
        case OfClass(index) if not 0 <= index < K:
            rule = f"class-k needs k in [0, {K})"
        case TopRank(rank) if not 1 <= rank <= K:
            rule = f"top-r needs r in [1, {K}]"
        case WithinTop(rank) if not 1 <= rank < K:
            rule = (
                f"within-top-r needs r in [1, {K}), since the true class is always within all {K}"
            )
        case Score() if not preds.one_column:
            rule = "'score' is for one-column predictions; name a class or a rank, such as 'top-1'"
        case _:
            return chosen
    msg = f"`view` {chosen.name!r} is not a view of {K} classes: {rule}."
    raise DoesNotApply(msg)


def score_rows(
    preds: Predictions, view: str | View | None = None, *, n_jobs: int | None = None
) -> Scored:
    """Return the scores and outcomes of a view, row by row in the order of the predictions.

    Parameters
    ----------
    preds : Predictions
    view : str or view, optional
        Default: ``"top-1"``, or ``"score"`` for one-column predictions.
    n_jobs : int, optional

    Examples
    --------
    >>> from ogive import Predictions
    >>> rows = score_rows(Predictions([[40.0, 0.0], [0.0, 1.0]], [0, 0], kind="logits"))
    >>> rows.hit, rows.score.round(3), rows.log_odds
    (array([ True, False]), array([1.   , 0.731]), array([40.,  1.]))
    """
    chosen = check_view(view, preds)
    high, hit = np.empty(preds.n, dtype=np.bool_), np.empty(preds.n, dtype=np.bool_)
    tail = np.empty(preds.n)

    def work(at: slice) -> None:
        rows = score_block(preds, chosen, at)
        high[at], tail[at] = rows.high, rows.tail
        if rows.hit is not None:
            hit[at] = rows.hit

    for_each_block(
        work, preds.n, width=preds.width, together=BLOCKS_PER_RECOMPUTATION, n_jobs=n_jobs
    )
    return Scored(high, tail, None if preds.labels is None else hit)


def score_block(preds: Predictions, view: View, at: slice) -> Scored:
    """Return the scores of some rows, and the outcomes if the predictions have labels."""
    column = _event_column(preds, view, at)
    labels = None if preds.labels is None else preds.labels[at]
    if column is not None:
        return Scored(
            *tails_of_column(preds, at, column), None if labels is None else labels == column
        )
    first, last = rank_range(view)
    tails = tails_of_ranks(preds, at, first, last)
    return Scored(*tails, None if labels is None else _ranked_hits(preds, at, first, last))


def _event_column(preds: Predictions, view: View, at: slice) -> IntArray | None:
    """Return the one class that is the event of each row, where one is known without ranking."""
    match view:
        case OfClass(index):
            return np.full(at.stop - at.start, index)
        case Score():
            return np.ones(at.stop - at.start, dtype=np.intp)
        case TopRank(1) | WithinTop(1):
            return preds.choice(at)
        case _:
            return None


def rank_range(view: View) -> tuple[int, int]:
    """Return the ranks of the event as [first, last), counted from 0."""
    match view:
        case TopRank(rank):
            return rank - 1, rank
        case WithinTop(rank):
            return 0, rank
        case _:
            msg = f"{view.name} has no ranks"
            raise AssertionError(msg)


def ranked_classes(values: AnyArray, view: View) -> IntArray:
    """Return the classes of a rank's event, (rows, m), by what they are ranked by, (rows, K).

    >>> ranked_classes(np.array([[0.2, 0.4, 0.4]]), parse_view("within-top-2"))
    array([[1, 2]])
    """
    first, last = rank_range(view)
    if last == 1:
        best: IntArray = values.argmax(axis=1)[:, None]
        return best
    return np.argsort(-values, axis=1, kind="stable")[:, first:last]


def _ranked_hits(preds: Predictions, at: slice, first: int, last: int) -> BoolArray:
    """Return whether the true class has a rank in [first, last).

    Its rank is the number of classes before it: larger, or equal with a lower index.
    """
    assert preds.labels is not None  # noqa: S101 - checked by the caller
    hit = np.empty(at.stop - at.start, dtype=np.bool_)
    for rows in blocks(at.stop, start=at.start, width=preds.K):
        values, labels = preds.ranking_values(rows), preds.labels[rows]
        own = np.take_along_axis(values, labels[:, None], axis=1)
        ranks = (values > own).sum(axis=1)
        equal = values == own
        tied = equal.sum(axis=1) > 1
        if tied.any():
            before = np.arange(values.shape[1]) < labels[tied, None]
            ranks[tied] += (equal[tied] & before).sum(axis=1)
        hit[rows.start - at.start : rows.stop - at.start] = (first <= ranks) & (ranks < last)
    return hit


def rate_name(view: str) -> str:
    """Return what the share of outcomes that are 1 is called in a view.

    >>> rate_name("top-1"), rate_name("within-top-2"), rate_name("top-2"), rate_name("score")
    ('accuracy', 'share in the top 2', 'base rate', 'base rate')
    """
    if view.startswith("within-top-"):
        return f"share in the top {view.removeprefix('within-top-')}"
    return "accuracy" if view in {"vector", "top-1"} else "base rate"
