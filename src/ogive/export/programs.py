"""Which program of array arithmetic a calibrator is: what ONNX, torch and Python exports write."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

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


class WithBand:
    """A calibrator of rows with its band: the columns of its result, then ``low`` and ``high``.

    Of whole vectors the band is that of the most probable class: `MatrixMap.interval`.
    """

    def __init__(self, calibrator: Fitted, ends: Sequence[Fitted], kind: Kind) -> None:
        self.programs = [program_of(gamma, kind) for gamma in (calibrator, *ends)]
        main = self.programs[0]
        self.K, self.full, self.one_column = main.K, main.full, main.one_column
        self.constants = dict(main.constants)
        self.names: list[dict[str, str]] = []  # what each program calls a constant, and its name
        for prefix, program in zip(("", "low_", "high_"), self.programs, strict=True):
            names = {}
            for name, table in program.constants.items():
                same = np.array_equal(table, main.constants.get(name))
                names[name] = name if same else prefix + name
                self.constants[names[name]] = table
            self.names.append(names)

    def __call__(self, xp: Namespace, c: Constants, x: Array) -> Array:
        """Return the probabilities of a batch, and the ends of the band: two more columns."""
        every = [
            program(xp, {own: c[name] for own, name in names.items()}, x)
            for program, names in zip(self.programs, self.names, strict=True)
        ]
        q, own = every[0], every
        if self.full and not self.one_column:
            _, top = xp.descending(q, 1)
            own = [xp.gather(one, top) for one in every]
        return xp.join([q, reduce(xp.minimum, own), reduce(xp.maximum, own)])


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


def program_of(calibrator: Fitted, kind: Kind, ends: Sequence[Fitted] = ()) -> Any:  # noqa: ANN401
    """Return what a calibrator, and the ends of its band, compute, as array arithmetic."""
    if isinstance(calibrator, Map):
        forms = [form_of(gamma) for gamma in (calibrator, *ends)]  # type: ignore[arg-type]
        return ScoreProgram(forms, calibrator.view, kind)
    if calibrator.method not in PROGRAMS:
        msg = f"`calibrator` is a {type(calibrator).__name__}, which cannot be exported."
        raise InvalidType(msg)
    if ends:
        return WithBand(calibrator, ends, kind)
    return PROGRAMS[calibrator.method](calibrator, kind)
