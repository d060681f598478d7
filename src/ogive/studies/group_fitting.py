"""Fit a calibrator of groups to what was read, check it on rows left out, and apply it to tables.

The check cuts the rows of every group into folds, fits the others, and calibrates the fold. Log
loss before and after is then known for each group: a group is worse off if the mean change of its
rows is above 0 by a one-sided t test, at a false discovery rate of 5 % over all groups.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import stdtr

from ogive.calibrators.grouped_map import ANY, JOIN, NO_GROUP
from ogive.calibrators.groups import fit_groups
from ogive.curve import Curve
from ogive.curve.folds import folds as dealt
from ogive.engines.files import group_columns, partition_of
from ogive.engines.grouping import groups_of_column
from ogive.errors import FileFormatError, InvalidInput, NotEnoughData, OgiveWarning, need
from ogive.export.artifact import FittedOn
from ogive.export.curve_file import is_curve_file
from ogive.export.schema import MAX_FILES
from ogive.metrics.ks import ks_error
from ogive.metrics.many import benjamini_hochberg
from ogive.metrics.proper import nll
from ogive.metrics.significance import LEVEL
from ogive.readers.guard import CSV, suffix_of
from ogive.readers.multi_file import expand
from ogive.readers.provenance import file_checksum
from ogive.studies.group_curves import key_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ogive._typing import AnyArray, FloatArray, WeightKind
    from ogive.calibrators.grouped_map import GroupedMap
    from ogive.engines.refine import Reading
    from ogive.readers.source import Source

#: A group needs this many rows to be called worse off: a t test of fewer rows decides nothing.
MIN_ROWS_TO_JUDGE_A_GROUP = 30
MOST_NAMED = 5  # groups named in a sentence; the JSON has all


@dataclass(frozen=True, slots=True)
class GroupCheck:
    """What calibrating does to rows left out, overall and to groups.

    Attributes
    ----------
    ks_before, ks_after : float
    log_loss_before, log_loss_after : float
    log_loss_overall : float
        Log loss after the map of all rows alone.
    worse : tuple of str
        Groups whose log loss rises significantly, the largest rise first.
    spoilt : tuple of str
        Groups that the map of all rows alone would make significantly worse.
    """

    ks_before: float
    ks_after: float
    log_loss_before: float
    log_loss_after: float
    log_loss_overall: float
    worse: tuple[str, ...]
    spoilt: tuple[str, ...]


def curves_by_group(reading: Reading, by: str) -> dict[Any, Curve]:
    """Return the curve of each group of the one view that was read."""
    views = {view for view, _ in reading.curves}
    if len(views) != 1:
        msg = "groups are calibrated in one view: name it, such as top-1 (--view)."
        raise InvalidInput(msg)
    return {key_of(group, by): curve for (_, group), curve in reading.curves.items()}


def check_groups(curves: Mapping[Any, Curve], cv: int) -> GroupCheck | None:
    """Calibrate every row by a fit that has not seen it; None where rows are too few."""
    parts: list[_Fold] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OgiveWarning)  # the fit to all rows has told already
        for fold in _folds(curves, cv):
            try:
                gamma = fit_groups(fold.rest)
            except NotEnoughData:
                return None
            parts += [_calibrated(name, part, gamma) for name, part in fold.part.items()]
    if not parts:
        return None
    after, overall = (_curve(parts, which) for which in ("after", "overall"))
    whole = _curve(parts, "before")
    return GroupCheck(
        ks_error(whole),
        ks_error(after),
        nll(whole),
        nll(after),
        nll(overall),
        _worse(parts, "after"),
        _worse(parts, "overall"),
    )


class _Parts(NamedTuple):
    """The curves of all but a fold, and of the fold, by group."""

    rest: dict[Any, Curve]
    part: dict[Any, Curve]


class _Fold(NamedTuple):
    """Rows of a group that were left out: probabilities, counts and hits, (m,) each."""

    name: str
    before: FloatArray
    after: FloatArray
    overall: FloatArray
    counts: FloatArray
    hits: FloatArray


def _folds(curves: Mapping[Any, Curve], cv: int) -> list[_Parts]:
    """Deal the rows of every group to folds; a group too small for a fold stays in the rest."""
    found = [_Parts({}, {}) for _ in range(cv)]
    for number, name in enumerate(sorted(curves)):
        pairs = list(dealt(curves[name], cv, random_state=number))
        for (rest, part), fold in zip(pairs, found, strict=False):
            fold.rest[name], fold.part[name] = rest, part
        for fold in found[len(pairs) :]:
            fold.rest[name] = curves[name]
    return [fold for fold in found if fold.part]


def _calibrated(key: object, part: Curve, gamma: GroupedMap) -> _Fold:
    high, tail = part.high, part.tail
    name = JOIN.join(map(str, key)) if isinstance(key, tuple) else str(key)
    return _Fold(
        name,
        part.score,
        gamma.from_tails(high, tail, [name] * tail.size),
        gamma.overall.from_tails(high, tail),
        part.count,
        part.hits,
    )


def _curve(parts: list[_Fold], which: str) -> Curve:
    scores = np.concatenate([getattr(fold, which) for fold in parts])
    counts, hits = (np.concatenate(x) for x in ([f.counts for f in parts], [f.hits for f in parts]))
    outcome = np.repeat([1.0, 0.0], scores.size)
    weights = np.concatenate([hits, np.maximum(counts - hits, 0.0)])
    kind: WeightKind = "repetition" if (weights % 1 == 0).all() else "sampling"
    both = np.tile(scores, 2)
    return Curve.from_scores(both, outcome, sample_weight=weights, weight_kind=kind)


_CLIP = 1e-7  # as log losses clip probabilities


def _worse(parts: list[_Fold], which: str) -> tuple[str, ...]:
    """Return the groups whose log loss rises significantly, the largest rise first."""
    sums: dict[str, FloatArray] = {}
    for fold in parts:
        old, new = (np.clip(x, _CLIP, 1 - _CLIP) for x in (fold.before, getattr(fold, which)))
        hit, miss = np.log(old / new), np.log((1 - old) / (1 - new))
        misses = fold.counts - fold.hits
        row = [
            fold.counts.sum(),
            fold.hits @ hit + misses @ miss,
            fold.hits @ hit**2 + misses @ miss**2,
        ]
        sums[fold.name] = sums.get(fold.name, np.zeros(3)) + np.array(row)
    names = [name for name, (n, *_) in sums.items() if n >= MIN_ROWS_TO_JUDGE_A_GROUP]
    if not names:
        return ()
    n, total, square = np.array([sums[name] for name in names]).T
    mean = total / n
    error = np.sqrt(np.maximum(square / n - mean**2, 0.0) / (n - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, mean / error, 0.0)
    adjusted = benjamini_hochberg(stdtr(n - 1, -t))
    order = np.argsort(-mean, kind="stable")
    return tuple(names[i] for i in order if adjusted[i] <= LEVEL and mean[i] > 0)


def fitted_on_groups(
    gamma: GroupedMap,
    check: GroupCheck | None,
    *,
    cv: int,
    file: Path,
    part: str | None = None,
    date: str | None = None,
    tag: str | None = None,
) -> FittedOn:
    """Return what is saved beside a calibrator of groups."""
    files = [] if is_curve_file(file) else expand([file])
    return FittedOn(
        n=gamma.n,
        view=gamma.view,
        method=gamma.method,
        ks_before=None if check is None else check.ks_before,
        ks_after=None if check is None else check.ks_after,
        log_loss_before=None if check is None else check.log_loss_before,
        log_loss_after=None if check is None else check.log_loss_after,
        folds=None if check is None else cv,
        files=tuple(map(file_checksum, files)) if 0 < len(files) <= MAX_FILES else None,
        part=part,
        date=date,
        tag=tag,
    )


def in_words(gamma: GroupedMap, check: GroupCheck | None, cv: int) -> list[str]:
    """Say what was fitted and what it does, in sentences."""
    shift, slope, bend = (f"{100 * (1 - none):.0f} %" for none in gamma.none)
    weights = f"shift {shift}, slope {slope}, bend {bend}"
    cells = [name for name in gamma.groups if ANY not in name.split(JOIN)]
    many = f"{len(cells):,} groups of {gamma.by}"
    lines = [f"{many}. The data's weight on a difference between them: {weights}."]
    if check is not None:
        lines.append(
            f"Log loss {check.log_loss_before:.4f} before, {check.log_loss_overall:.4f} after one "
            f"map for all rows, {check.log_loss_after:.4f} after this one (cross-validated, {cv} "
            "folds; lower is better)."
        )
        spared = tuple(name for name in check.spoilt if name not in check.worse)
        if spared:
            lines.append(f"One map for all rows would make {_named(spared)} worse than before.")
    if NO_GROUP in gamma.groups:
        rows = gamma.rows[gamma.groups.index(NO_GROUP)]
        lines.append(
            f"{rows:,.10g} rows have no value of {gamma.by}: they are the group {NO_GROUP}."
        )
    return lines


def warn_of_worse(check: GroupCheck | None) -> None:
    """Warn of groups whose log loss calibrating raises significantly."""
    if check is None or not check.worse:
        return
    warnings.warn(
        f"calibrating makes {_named(check.worse)} worse than before (log loss of rows left out, "
        "one-sided t test, false discovery rate 5 %). Leave the scores of these groups as they "
        "are, or fit them by themselves.",
        OgiveWarning,
        stacklevel=2,
    )


def _named(groups: tuple[str, ...]) -> str:
    """Return how many groups there are, and the names of the first.

    >>> _named(("BR",)), _named(("BR", "US"))
    ("1 group ('BR')", "2 groups ('BR', 'US')")
    """
    names = ", ".join(repr(str(name)) for name in groups[:MOST_NAMED])
    more = f" and {len(groups) - MOST_NAMED:,} more" if len(groups) > MOST_NAMED else ""
    many = "1 group" if len(groups) == 1 else f"{len(groups):,} groups"
    return f"{many} ({names}{more})"


def groups_of(source: Source, part: str, by: str | None) -> AnyArray:
    """Return the group of each row of a part of a table, (N,), named as `fit` names them.

    Of several columns, (N, k).
    """
    if by is None:
        msg = (
            "the calibrator does not say which column holds the groups: name it when fitting, "
            'fit_groups(curves, by="country").'
        )
        raise InvalidInput(msg)
    table, n = getattr(source.rest, "table", None), source.parts[part].values.shape[0]
    folders = partition_of(source.path)
    present = [*folders, *([] if table is None else table.column_names)]
    columns = group_columns(by, present)
    missing = [name for name in columns if name not in present]
    if table is None or missing:
        msg = (
            f"{source.path} has no column `{(*missing, by)[0]}`, which holds the groups of the "
            "calibrator. Give a table (Parquet, Arrow, CSV, JSON lines) that has it."
        )
        raise FileFormatError(msg)
    found = [
        _of_column(source, part, name)
        if name in table.column_names
        else np.full(n, folders[name], dtype=object)
        for name in columns
    ]
    return found[0] if len(found) == 1 else np.stack(found, axis=1)


def _of_column(source: Source, part: str, name: str) -> AnyArray:
    """Return the group of each row of a part by one column of a table."""
    index, names = groups_of_column(source.rest.table.column(name).combine_chunks(), name)
    if suffix_of(source.path) in CSV:  # where `fit` reads NA and the like as no value
        none = need("pyarrow.csv", extra="files").ConvertOptions().null_values
        names = [NO_GROUP if group in none else group for group in names]
    found: AnyArray = np.array(names, dtype=object)[index][source.rest.rows[part]]
    return found
