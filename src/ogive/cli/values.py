"""The values that options take, and what makes them valid."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ogive._files import Output, special_kind
from ogive.errors import OgiveError, UnknownName

if TYPE_CHECKING:
    from collections.abc import Callable

#: More folds than this would fit for hours and say nothing more.
MAX_FOLDS = 1000
#: More bins or resamples than this is a slip of the finger, and would fill the memory.
MAX_BINS = MAX_RESAMPLES = 1_000_000
#: More columns combined than this make groups of single rows.
MAX_DEPTH = 10
#: Notes are kept in the calibrator and printed: one line. Those on a page may be longer.
MAX_NOTE_LENGTH, MAX_PAGE_NOTE_LENGTH = 200, 1000


if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:
    _Type = click.ParamType  # older versions of click have no [...]


class _Checked(_Type):
    """One of click's types with a further rule.

    `why_not` is given the value as it was typed and as it was converted; it returns what is wrong
    with it, or None.
    """

    def __init__(self, base: _Type, why_not: Callable[[Any, Any], str | None]) -> None:
        self.base, self.why_not, self.name = base, why_not, base.name
        self.shell_complete = base.shell_complete  # type: ignore[method-assign]
        self.get_metavar = base.get_metavar  # type: ignore[method-assign]

    def convert(
        self,
        value: Any,  # noqa: ANN401
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401
        """Convert a value, or refuse it."""
        converted = self.base.convert(value, param, ctx)
        reason = self.why_not(value, converted)
        if reason is not None:
            self.fail(reason, param, ctx)
        return converted


def _no_name(typed: Any, _: Any = None) -> str | None:  # noqa: ANN401
    empty = not os.fspath(typed).strip() or "\0" in os.fspath(typed)
    return "a name is needed, and this one is empty." if empty else None


def _no_input(typed: Any, path: Path) -> str | None:  # noqa: ANN401
    if _no_name(typed):
        return _no_name(typed)
    try:
        kind = special_kind(path.stat())
    except OSError:
        return None  # reading it will say what is wrong
    return kind and f"{path} is {kind}, which may never end. Save it to a file and give that."


def _no_output(typed: Any, _: Any) -> str | None:  # noqa: ANN401
    if os.fspath(typed) == "-":
        return "results go to a file: give its name (--json prints to stdout)."
    return _no_name(typed)


def _no_note(typed: str, _: Any, most: int = MAX_NOTE_LENGTH) -> str | None:  # noqa: ANN401
    if not typed.isprintable() or len(typed) > most:
        return f"it must be one printable line of at most {most:,} characters."
    return _no_name(typed)


def _no_size(typed: str, _: Any) -> str | None:  # noqa: ANN401
    from ogive.readers.memory import parse_memory  # noqa: PLC0415 - keep `--help` quick

    try:
        parse_memory(typed)
    except OgiveError as error:
        return str(error)
    except OverflowError:
        return f"`memory` must be a size such as 1GB, not {typed}."
    return None


def _no_folds(_: Any, folds: int) -> str | None:  # noqa: ANN401
    return "one fold leaves no rows to fit: give 0 to skip, or at least 2." if folds == 1 else None


def _no_number(_: Any, number: float) -> str | None:  # noqa: ANN401
    return "it is not a number." if math.isnan(number) else None  # no comparison refuses it


INPUT = _Checked(click.Path(path_type=Path), _no_input)
OUTPUT = _Checked(click.Path(path_type=Output), _no_output)
WORD, NOTE = _Checked(click.STRING, _no_name), _Checked(click.STRING, _no_note)
LONG_NOTE = _Checked(click.STRING, lambda typed, _: _no_note(typed, _, MAX_PAGE_NOTE_LENGTH))
MEMORY = _Checked(click.STRING, _no_size)
DEPTH = click.IntRange(1, MAX_DEPTH)
FOLDS = _Checked(click.IntRange(0, MAX_FOLDS), _no_folds)
NUMBER = _Checked(click.FLOAT, _no_number)
COST = _Checked(click.FloatRange(0), _no_number)
SHARE_UP_TO_1 = _Checked(click.FloatRange(0, 1, min_open=True), _no_number)
SHARE = _Checked(click.FloatRange(0, 1, min_open=True, max_open=True), _no_number)
BINS, RESAMPLES, SEED, COUNT = (
    _Checked(limits, lambda *_: None)  # the help does not show the limits of these
    for limits in (
        click.IntRange(1, MAX_BINS),
        click.IntRange(0, MAX_RESAMPLES),
        click.IntRange(0),
        click.IntRange(1),
    )
)


class LaterDefault(click.Option):
    """An option whose default is a function, called when it is shown: `ogive --help` is quick."""

    def get_default(self, ctx: click.Context, call: bool = True) -> Any:  # noqa: ANN401, ARG002 - click's
        """Return the value."""
        return super().get_default(ctx, call=True)


def one_of(what: str, *words: str) -> _Type:
    """Return a choice of words; the refusal of another names the nearest."""

    def convert(value: str) -> str:
        if value not in words:
            raise click.BadParameter(str(UnknownName.among(what, value, words)))
        return value

    choice = _Checked(click.STRING, lambda *_: None)
    choice.base = click.types.FuncParamType(convert)
    choice.get_metavar = click.Choice(words).get_metavar  # type: ignore[method-assign]
    choice.shell_complete = click.Choice(words).shell_complete  # type: ignore[method-assign]
    return choice
