"""Which program of array arithmetic a calibrator is: what ONNX, torch and Python exports write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ogive.calibrators.maps import Map
from ogive.errors import InvalidType
from ogive.export.arrays import ScoreProgram
from ogive.export.class_vectors import ClassView, Free, Kept
from ogive.export.forms import form_of
from ogive.export.group_arrays import GroupProgram
from ogive.export.vectors import (
    EveryRank,
    Odir,
    OneAgainstTheRest,
    Ranks,
    Temperature,
    Vector,
    Vectors,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ogive._typing import Kind
    from ogive.calibrators.maps import Fitted
    from ogive.export.arrays import Array, Constants, Namespace


class Shifted(Vectors):
    """Another calibrator, moved to other shares of the classes."""

    def __init__(self, gamma: Any, kind: Kind) -> None:  # noqa: ANN401 - a ShiftedVectorMap
        super().__init__(gamma, kind)
        self.inner: Vectors = program_of(gamma.inner, kind)
        ratio = gamma.ratio / gamma.ratio[0] if self.one_column else gamma.ratio
        self.constants = {**self.inner.constants, "ratio": ratio[1:] if self.one_column else ratio}

    def __call__(self, xp: Namespace, c: Constants, x: Array) -> Array:
        """Return the calibrated probabilities of a batch: (n, K), or (n, 1) of class 1."""
        q = self.inner(xp, c, x)
        event = q * c["ratio"]
        return event / (event + (1.0 - q)) if self.one_column else event / xp.sum(event)


#: The program of each method that reads more than one score.
PROGRAMS: dict[str, Any] = {
    "class-view": ClassView,
    "dir-odir": Odir,
    "every-rank": EveryRank,
    "free": Free,
    "groups": GroupProgram,
    "keep": Kept,
    "ms-odir": Odir,
    "ovr": OneAgainstTheRest,
    "ranks": Ranks,
    "shifted-vector": Shifted,
    "temperature": Temperature,
    "vector": Vector,
}


def program_of(calibrator: Fitted, kind: Kind, ends: Sequence[Map] = ()) -> Any:  # noqa: ANN401
    """Return what a calibrator, and the ends of its band, compute, as array arithmetic."""
    if isinstance(calibrator, Map):
        forms = [form_of(gamma) for gamma in (calibrator, *ends)]
        return ScoreProgram(forms, calibrator.view, kind)
    if calibrator.method not in PROGRAMS:
        msg = f"`calibrator` is a {type(calibrator).__name__}, which cannot be exported."
        raise InvalidType(msg)
    return PROGRAMS[calibrator.method](calibrator, kind)
