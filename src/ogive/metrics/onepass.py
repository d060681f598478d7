"""One pass over a curve for any number of measures.

A *reader* is shown the rows of a curve, run after run, in order of score, and keeps the few
numbers its measure needs. Several readers share a pass, so that ten measures cost little more
than one: decoding the rows, and the memory traffic, are paid once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ogive.errors import InvalidType

if TYPE_CHECKING:
    from ogive._keys import Run
    from ogive.curve import Curve


class Reader(Protocol):
    """Anything that can be shown the rows of a curve."""

    def add(self, run: Run) -> None:
        """Take in the next rows."""


def read(curve: Curve, *readers: Reader) -> None:
    """Show all rows of the curve to all readers, once."""
    check_curve(curve)
    for run in curve.runs():
        for reader in readers:
            reader.add(run)


def check_curve(curve: Curve) -> None:
    """Refuse anything but a curve, with the way to one."""
    if not hasattr(curve, "runs"):
        msg = (
            f"`curve` must be a Curve, not {type(curve).__name__}; "
            "build it with Curve.from_scores(scores, hits)."
        )
        raise InvalidType(msg)
