"""Fit a calibrator of groups to what was read, check it on rows left out, and apply it to tables.

The check cuts the rows of every group into folds, fits the others, and calibrates the fold. Log
loss before and after is then known for each group: see `ogive.studies.group_harm`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from ogive._numerics.splits import random_parts
from ogive._wording import percent
from ogive.calibrators import find_method
from ogive.calibrators.grouped_map import ANY, JOIN, NO_GROUP
from ogive.calibrators.groups import check_not_unique, fit_groups
from ogive.curve import Curve
from ogive.curve.curve import merge_all
from ogive.curve.folds import folds as dealt
from ogive.engines.files import group_columns, partition_of
from ogive.engines.grouping import groups_of_column
from ogive.errors import FileFormatError, InvalidInput, NotEnoughData, OgiveWarning
from ogive.export.artifact import FittedOn
from ogive.export.curve_file import is_curve_file
from ogive.export.schema import MAX_FILES
from ogive.metrics.ks import ks_error
from ogive.metrics.proper import nll
from ogive.readers import open_file
from ogive.readers.folders import is_glob
from ogive.readers.multi_file import expand
from ogive.readers.provenance import file_checksum
from ogive.studies.compare_groups import GroupsOf
from ogive.studies.group_curves import content_seed, key_of
from ogive.studies.group_harm import Harm, named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from ogive._typing import AnyArray, FloatArray, WeightKind
    from ogive.calibrators.grouped_map import GroupedMap
    from ogive.engines.refine import Reading
    from ogive.readers.source import Columns, Source
    from ogive.studies.group_harm import Worse


@dataclass(frozen=True, slots=True)
class GroupCheck:
    """What calibrating does to rows left out, overall and to groups.

    Attributes
    ----------
    ks_before, ks_after : float
    log_loss_before, log_loss_after : float
    log_loss_overall : float
        Log loss after the map of all rows alone.
    worse : tuple of Worse
        Groups whose log loss rises significantly, the largest rise first.
    spoilt : tuple of Worse
        Groups that the map of all rows alone would make significantly worse.
    """

    ks_before: float
    ks_after: float
    log_loss_before: float
    log_loss_after: float
    log_loss_overall: float
    worse: tuple[Worse, ...]
    spoilt: tuple[Worse, ...]


def curves_by_group(reading: Reading, by: str) -> dict[Any, Curve]:
    """Return the curve of each group of the one view that was read."""
    views = {view for view, _ in reading.curves}
    if len(views) != 1:
        msg = "groups are calibrated in one view: name it, such as top-1 (--view)."
        raise InvalidInput(msg)
    return {key_of(group, by): curve for (_, group), curve in reading.curves.items()}


def check_groups(curves: Mapping[Any, Curve], cv: int) -> GroupCheck | None:
    """Calibrate every row by a fit that has not seen it; None where rows are too few."""
    found = _checked(curves, cv, lambda rest: _of_groups(fit_groups(rest)), ("after", "overall"))
    if found is None:
        return None
    whole, (after, worse), (overall, spoilt) = found.before, *found.ways
    losses = (nll(whole), nll(after), nll(overall))
    return GroupCheck(ks_error(whole), ks_error(after), *losses, worse.worse(), spoilt.worse())


def check_one_map(
    curves: Mapping[Any, Curve], method: str, cv: int, by: str | None = None
) -> tuple[Worse, ...] | None:
    """Return the groups that one map of all rows makes worse, on rows that it has not seen.

    Groups that are nearly as many as the rows are refused; `by` is what they are called.
    """
    check_not_unique(len(curves), sum(float(curve.n) for curve in curves.values()), by)

    def fit(rest: Mapping[Any, Curve]) -> Ways:
        gamma: Any = find_method(method).fit(merge_all(list(rest.values())))
        return lambda _, part: [gamma.from_tails(part.high, part.tail)]

    found = _checked(curves, cv, fit, ("after",))
    return None if found is None else found.ways[0][1].worse()


#: Probabilities of the rows of a part of a group, by each way of calibrating it.
Ways: TypeAlias = "Callable[[str, Curve], list[FloatArray]]"


def _of_groups(gamma: GroupedMap) -> Ways:
    def ways(name: str, part: Curve) -> list[FloatArray]:
        by_group = gamma.from_tails(part.high, part.tail, [name] * part.tail.size)
        return [by_group, gamma.overall.from_tails(part.high, part.tail)]

    return ways


class _Checked(NamedTuple):
    """The curve of rows left out, and for each way of calibrating them the curve and the harm."""

    before: Curve
    ways: list[tuple[Curve, Harm]]


def _checked(
    curves: Mapping[Any, Curve],
    cv: int,
    fit: Callable[[Mapping[Any, Curve]], Ways],
    names: tuple[str, ...],
) -> _Checked | None:
    """Calibrate every row by a fit to other folds, in each of the named ways."""
    harms = [Harm() for _ in names]
    scores: list[list[FloatArray]] = [[] for _ in ("before", *names)]
    parts: list[Curve] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OgiveWarning)  # the fit to all rows has warned already
        for fold in _folds(curves, cv):
            try:
                calibrate = fit(fold.rest)
            except NotEnoughData:
                return None
            for key, part in fold.part.items():
                name = JOIN.join(map(str, key)) if isinstance(key, tuple) else str(key)
                after = calibrate(name, part)
                parts.append(part)
                for column, some in zip(scores, [part.score, *after], strict=True):
                    column.append(some)
                for harm, p in zip(harms, after, strict=True):
                    _add_part(harm, name, part, p)
    if not parts:
        return None
    before, *ways = (_curve(parts, np.concatenate(column)) for column in scores)
    return _Checked(before, list(zip(ways, harms, strict=True)))


def _add_part(harm: Harm, name: str, part: Curve, p: FloatArray) -> None:
    """Add the hits and the misses of a part of a group, with the probability of each."""
    hits, misses = part.hits, part.count - part.hits
    squares = np.concatenate([part.square_hits, part.square - part.square_hits])
    old, new = (np.concatenate([x, 1.0 - x]) for x in (part.score, p))
    harm.add(name, old, new, np.concatenate([hits, misses]), squares)


class _Parts(NamedTuple):
    """The curves of all but a fold, and of the fold, by group."""

    rest: dict[Any, Curve]
    part: dict[Any, Curve]


def _folds(curves: Mapping[Any, Curve], cv: int) -> list[_Parts]:
    """Deal the rows of every group to folds; a group too small for a fold stays in the rest.

    How they are dealt depends on the rows of a group, not on its name.
    """
    found = [_Parts({}, {}) for _ in range(cv)]
    for name, curve in curves.items():
        pairs = list(dealt(curve, cv, random_state=content_seed(curve.n, curve.hits.sum())))
        for (rest, part), fold in zip(pairs, found, strict=False):
            fold.rest[name], fold.part[name] = rest, part
        for fold in found[len(pairs) :]:
            fold.rest[name] = curve
    return [fold for fold in found if fold.part]


def _curve(parts: list[Curve], scores: FloatArray) -> Curve:
    counts, hits = (np.concatenate(x) for x in ([f.count for f in parts], [f.hits for f in parts]))
    outcome = np.repeat([1.0, 0.0], scores.size)
    weights = np.concatenate([hits, np.maximum(counts - hits, 0.0)])
    kind: WeightKind = "repetition" if (weights % 1 == 0).all() else "sampling"
    both = np.tile(scores, 2)
    return Curve.from_scores(both, outcome, sample_weight=weights, weight_kind=kind)


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
    errors = ("ks_before", "ks_after", "log_loss_before", "log_loss_after")
    return FittedOn(
        n=gamma.n,
        view=gamma.view,
        method=gamma.method,
        **({} if check is None else {"folds": cv, **{key: getattr(check, key) for key in errors}}),
        files=tuple(map(file_checksum, files)) if 0 < len(files) <= MAX_FILES else None,
        part=part,
        date=date,
        tag=tag,
    )


def in_words(gamma: GroupedMap, check: GroupCheck | None, cv: int) -> list[str]:
    """Say what was fitted and what it does, in sentences."""
    shift, slope, bend = (percent(1 - none, 0) for none in gamma.none)
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
        still = {one.group for one in check.worse}
        spared = tuple(one.group for one in check.spoilt if one.group not in still)
        if spared:
            lines.append(f"One map for all rows would make {named(spared)} worse than before.")
    if NO_GROUP in gamma.groups:
        rows = gamma.rows[gamma.groups.index(NO_GROUP)]
        lines.append(
            f"{rows:,.10g} rows have no value of {gamma.by}: they are the group {NO_GROUP}."
        )
    return lines


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
            f"{source.path} has no column `{(*missing, by)[0]}`, which holds the groups. Give a "
            "table (Parquet, CSV, JSON lines) that has it."
        )
        raise FileFormatError(msg)
    found = [
        _of_column(source, part, name)
        if name in table.column_names
        else np.full(n, folders[name], dtype=object)
        for name in columns
    ]
    return found[0] if len(found) == 1 else np.stack(found, axis=1)


def open_with_groups(path: Path, columns: Columns | None, experiment: str | None = None) -> Source:
    """Open a table with its columns of groups; a folder has a row's other columns in many files."""
    if path.is_dir() or is_glob(str(path)):
        msg = (
            f"{path} is a folder or a pattern, and --by needs one table here. Write the rows to "
            "one file, or use ogive fit --by and ogive measure --by, which read a whole log."
        )
        raise InvalidInput(msg)
    return open_file(path, columns, experiment=experiment)


def groups_of_parts(
    source: Source,
    by: str,
    split: float | None = None,
    random_state: int = 0,
    *,
    has_cal: bool = True,
) -> GroupsOf:
    """Return the groups of the rows that `ogive.readers.multi_file.two_parts` gives.

    Without rows to fit on, those of the test part, or of the only part.
    """
    if not has_cal:
        part = "test" if "test" in source.parts else next(iter(source.parts))
        return GroupsOf(None, groups_of(source, part, by), by)
    if split is None:
        return GroupsOf(groups_of(source, "cal", by), groups_of(source, "test", by), by)
    (part,) = source.parts
    whole = groups_of(source, part, by)
    cal, test = random_parts(whole.shape[0], split, random_state, source.parts[part].clusters)
    return GroupsOf(whole[cal], whole[test], by)


def _of_column(source: Source, part: str, name: str) -> AnyArray:
    """Return the group of each row of a part by one column of a table."""
    index, names = groups_of_column(source.rest.table.column(name).combine_chunks(), name)
    found: AnyArray = np.array(names, dtype=object)[index][source.rest.rows[part]]
    return found
