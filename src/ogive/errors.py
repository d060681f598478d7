"""All errors and warnings of ogive.

::

    OgiveError
    ├── InvalidInput (ValueError)      a value breaks a rule
    │   ├── NotEnoughData              too few rows, or too few distinct scores
    │   └── OutputRefused              an output that is an input, or must not be replaced
    ├── InvalidType (TypeError)        not an array of numbers, not one of our objects
    ├── UnknownName (ValueError)       no such view, method, column; names the nearest
    ├── ArtifactError (ValueError)     not a saved calibrator, newer than ogive, or altered
    ├── ExportError (ValueError)        the target cannot express the calibrator exactly
    ├── FileFormatError (ValueError)   a prediction file that cannot be read
    ├── DoesNotApply                   a view, part or column that these predictions do not have
    │                                  (InvalidInput and FileFormatError)
    └── MissingExtra (ImportError)     an optional package is not installed

    OgiveWarning (UserWarning)
    ├── FallbackWarning                too little data for the method: a simpler one was used
    ├── LooksLikeProbabilities         ``kind="logits"``, yet every row is >= 0 and sums to 1
    ├── GuessedLabels                  which label is which column had to be guessed
    ├── LooksLikeTrainingRows          no score errs: the model may have been trained on the rows
    └── PermutedLabels                 fewer rows are right than by chance
"""

from __future__ import annotations

import difflib
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np


_MAX_CONTENTS_IN_ERROR = 200  # characters


class OgiveError(Exception):
    """The root of all errors raised on purpose."""


class InvalidInput(OgiveError, ValueError):
    """A value breaks a rule; the message names the argument, the rule, the rows and the way out."""


class NotEnoughData(InvalidInput):
    """Too few rows, or too few distinct scores, for what was asked."""


class OutputRefused(InvalidInput):
    """An output that is an input, is not a file, or exists and must not be replaced."""


class InvalidType(OgiveError, TypeError):
    """Not an array of numbers, or not the kind of object that is needed."""


class UnknownName(OgiveError, ValueError):
    """An unknown name; the message lists the known ones."""

    @classmethod
    def among(
        cls, what: str, name: object, known: Iterable[str], *, nearest: str | None = None
    ) -> UnknownName:
        """Return the error, with the nearest known name as a hint (`nearest`, if given).

        >>> UnknownName.among("method", "plat", ["platt", "beta"])
        UnknownName("unknown method 'plat'. Did you mean 'platt'? Known: platt, beta.")
        """
        names = list(known)
        near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
        near = [nearest] if nearest else near
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return cls(f"unknown {what} {name!r}.{hint} Known: {', '.join(names)}.")


class ArtifactError(OgiveError, ValueError):
    """Not a saved calibrator, or one that is newer than this library, or altered."""


class ExportError(OgiveError, ValueError):
    """A calibrator that the target cannot express, or an export whose numbers differ from it."""


class FileFormatError(OgiveError, ValueError):
    """A file that is not in the format of its name, or lacks a column or array."""


class DoesNotApply(InvalidInput, FileFormatError):
    """A view, a part or a column was asked for that these predictions do not have."""


class MissingExtra(OgiveError, ImportError):
    """An optional package is not installed; the message has the command that installs it."""


class OgiveWarning(UserWarning):
    """The root of all warnings."""


class FallbackWarning(OgiveWarning):
    """The data were too few for the method asked for, so a simpler one was fitted."""


class LooksLikeProbabilities(OgiveWarning):
    """The values were called logits, but every row is >= 0 and sums to 1."""


class GuessedLabels(OgiveWarning):
    """The file does not name the class of each column: the sorted labels were used."""


class PermutedLabels(OgiveWarning):
    """Fewer rows are right than by chance: labels and columns may be permuted."""


class LooksLikeTrainingRows(OgiveWarning):
    """The scores tell all outcomes apart, as they do on the rows that a model was trained on."""


class FewClusters(OgiveWarning):
    """There are so few clusters that p-values and intervals are rough."""


def need(package: str, *, extra: str) -> Any:  # noqa: ANN401 - a module has no better type
    """Import an optional package, or name the extra that installs it.

    >>> need("math", extra="all").pi > 3
    True
    """
    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = package.partition(".")[0]
        msg = f"this needs the package {name!r}: pip install 'ogive[{extra}]'"
        raise MissingExtra(msg) from error


def rows_that(bad: np.ndarray, *, of: str = "rows") -> str:
    """Return how many rows are bad and the first one: ``"2 of 9 rows, the first at row 3"``.

    >>> import numpy as np
    >>> rows_that(np.array([False, True, True]))
    '2 of 3 rows, the first at row 1'
    """
    return f"{int(bad.sum()):,} of {bad.size:,} {of}, the first at row {int(bad.argmax())}"


def printable(value: object) -> str:
    r"""Return a value of a file for an error: on one line, short, without control characters.

    >>> printable("a\nb"), printable(0.25)
    ('a b', '0.25')
    """
    return "".join(c if c.isprintable() else " " for c in str(value))[:_MAX_CONTENTS_IN_ERROR]
