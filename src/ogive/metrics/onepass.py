"""One pass over a curve for any number of measures.

A *reader* receives the rows of a curve, run after run, in order of score, and stores the few
numbers its measure needs. Several readers share a pass, so that ten measures cost little more
than one: the rows are decoded once and read from memory once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ogive.curve.curve import check_curve

if TYPE_CHECKING:
    from ogive.curve import Curve
    from ogive.curve.keys import Run


class Reader(Protocol):
    """Anything that can receive the rows of a curve."""

    def add(self, run: Run) -> None:
        """Take in the next rows."""


def read(curve: Curve, *readers: Reader) -> None:
    """Pass all rows of the curve to all readers, once."""
    for run in check_curve(curve).runs():
        for reader in readers:
            reader.add(run)
