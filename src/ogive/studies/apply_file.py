"""Apply a calibrator to the parts of a file, and write them like it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ogive._files import Output
from ogive.calibrators.grouped_map import GroupedMap
from ogive.curve.ties import squares
from ogive.export.artifact import load_map
from ogive.readers import open_file
from ogive.readers.multi_file import write_like
from ogive.readers.provenance import sidecar_of
from ogive.rows.views import score_rows
from ogive.studies.apply_mark import origin_of, warn_if_calibrated
from ogive.studies.fitting import calibrated
from ogive.studies.group_fitting import groups_of
from ogive.studies.group_harm import Harm, warn_of_worse
from ogive.studies.same_model import check_classes, warn_of_kind

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ogive._typing import BandKind
    from ogive.calibrators.maps import Fitted
    from ogive.readers.source import Calibrated, Columns, Source
    from ogive.studies.group_harm import Worse


def apply_file(
    calibrator: str | os.PathLike[str],
    file: Path,
    output: Path,
    columns: Columns | None = None,
    *,
    experiment: str | None = None,
    band: BandKind | None = None,
    note: Callable[[str], None] | None = None,
) -> AppliedFile:
    """Calibrate a file that fits memory; return how many rows it has, and the calibrator.

    Parameters
    ----------
    calibrator : path
        A saved calibrator.
    file, output : Path
        The same kind of file.
    columns : Columns, optional
    experiment : str, optional
        Which one of an .h5 file.
    band : {"pointwise", "simultaneous"}, optional
        Also write the ends of the 95 % band of the score, as ``low`` and ``high``.
    note : function of a line, optional
        Is given which label is which column, where the file or `columns` say so.
    """
    gamma = load_map(calibrator)
    _check_sidecar(output, [calibrator, file])
    source = open_file(file, columns, experiment=experiment)
    warn_of_kind(calibrator, source.kind, str(file))
    warn_if_calibrated(file)
    mapping = source.mapping
    if mapping is not None:
        if mapping.how in {"by name", "as given"} and note is not None:
            note(mapping.words)
        check_classes(calibrator, mapping.labels.size, mapping.known, str(file))
    harm = Harm()
    results = calibrated_parts(gamma, source, harm, band)
    origin = origin_of(
        calibrator, gamma, file, {k: part.values for k, part in source.parts.items()}
    )
    write_like(source, output, results, origin)
    n = sum(one.values.shape[0] for one in results.values())
    return AppliedFile(n, gamma, warn_of_harm(harm))


def _check_sidecar(output: Path, inputs: Sequence[str | os.PathLike[str]]) -> None:
    """Refuse a name beside the output that is an input, or not ogive's own to replace."""
    sidecar = sidecar_of(output)
    if sidecar is not None:
        Output(sidecar).claim(inputs, "sidecar", force=False)


class AppliedFile(NamedTuple):
    """How many rows were calibrated, by what, and which groups it made worse, if that is known."""

    n: int
    gamma: Fitted
    worse: tuple[Worse, ...] | None


def warn_of_harm(harm: Harm) -> tuple[Worse, ...] | None:
    """Warn of groups that are worse off, and return them; None where nothing is known of groups."""
    if not harm.sums:
        return None
    worse = harm.worse()
    warn_of_worse(worse, "the rows that were calibrated", by_group=True)
    return worse


def calibrated_parts(
    gamma: Fitted,
    source: Source,
    harm: Harm,
    band: BandKind | None = None,
) -> dict[str, Calibrated]:
    """Return what is written of each part: of a file, or of some rows of a log.

    What a calibrator of groups does to them is added to `harm`, where there are outcomes.
    """
    results = {}
    for part in source.parts:
        own = groups_of(source, part, gamma.by) if isinstance(gamma, GroupedMap) else None
        preds = source.predictions(part or None)
        results[part] = calibrated(gamma, preds, own, band)
        if own is not None and preds.labels is not None:
            rows = score_rows(preds, "score" if preds.one_column else gamma.view)
            hit = np.asarray(rows.hit, dtype=np.bool_)
            before, after = (np.where(hit, s, 1.0 - s) for s in (rows.score, results[part].values))
            weights = preds.row_weights
            harm.add(own, before, after, weights, squares(weights, preds.weight_kind))
    return results
