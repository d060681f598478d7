"""Small HTML forms for notebooks: a table, and a line drawn in it. All text is escaped.

Colours are those of the page (`currentColor`), so that they suit a dark notebook too; there is
no script and no style sheet.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Protocol

    class Curve(Protocol):
        """The part of a curve that is shown."""

        view: str

        @property
        def n(self) -> float: ...
        @property
        def total_hits(self) -> float: ...


_CELL = 'style="text-align:left;padding:2px 12px 2px 0"'
_NUMBER = 'style="text-align:right;padding:2px 12px 2px 0;font-variant-numeric:tabular-nums"'


def table(caption: str, rows: Mapping[str, str], *, picture: str = "", below: str = "") -> str:
    """Return names and values as a table; `picture` is finished markup, all else is text.

    >>> table("a < b", {"n": "3"})[:28]
    '<div><div style="margin:4px '
    """
    lines = "".join(
        f'<tr><th scope="row" {_CELL}>{escape(name)}</th><td {_NUMBER}>{escape(value)}</td></tr>'
        for name, value in rows.items()
    )
    return _block(caption, f"{picture}<table><tbody>{lines}</tbody></table>", below)


def grid(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, below: str = ""
) -> str:
    """Return a table with a heading for each column; the first column names the row."""
    top = "".join(f'<th scope="col" {_CELL}>{escape(name)}</th>' for name in head)
    lines = "".join(
        f'<tr><th scope="row" {_CELL}>{escape(row[0])}</th>'
        + "".join(f"<td {_NUMBER}>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    body = f"<table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table>"
    return _block(caption, body, below)


def square(x: Iterable[float], y: Iterable[float], what: str) -> str:
    """Return a line in the unit square beside its diagonal, as SVG.

    >>> square([0, 1], [0, 0.5], "a map").count("<path")
    2
    """
    points = " ".join(f"{100 * a:.1f},{100 - 100 * b:.1f}" for a, b in zip(x, y, strict=True))
    return (
        f'<svg role="img" aria-label="{escape(what)}" viewBox="-2 -2 104 104" width="120" '
        'height="120" style="display:block;margin:4px 0" fill="none" stroke="currentColor">'
        '<path d="M0 0V100H100" opacity=".4"/>'
        f'<path d="M0 100L100 0" stroke-dasharray="3 3" opacity=".4"/>'
        f'<polyline points="{points}" stroke-width="2"/></svg>'
    )


def curve_form(curve: Curve) -> str:
    """Return a curve as a table."""
    rows = {
        "rows": f"{curve.n:,}",
        "outcomes that are 1": f"{curve.total_hits:,.6g}",
        "their share": f"{curve.total_hits / curve.n:.4f}",
    }
    return table(f"Curve of {curve.view}", rows)


def record_form(record: Any) -> str:  # noqa: ANN401 - a dataclass or a named tuple
    """Return the fields of a result as a table; of arrays, how many numbers and their range."""
    names = getattr(record, "_fields", None)
    if names is None and is_dataclass(record):
        names = [field.name for field in fields(record)]
    rows = {name.replace("_", " "): _value(getattr(record, name)) for name in names or ()}
    return table(_in_words(type(record).__name__), rows)


def text_form(result: object) -> str:
    """Return a result as its text says it: the first line as caption, columns kept in line."""
    first, _, rest = str(result).partition("\n")
    body = f'<pre style="margin:4px 0;overflow-x:auto">{escape(rest)}</pre>' if rest else ""
    return _block(first, body, "")


def _in_words(name: str) -> str:
    """Return the name of a class as words.

    >>> _in_words("CalibrationTest")
    'Calibration test'
    """
    spaced = "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()
    return spaced[:1].upper() + spaced[1:]


def _value(value: Any) -> str:  # noqa: ANN401 - of any field
    """Return a number in at most four digits, an array by its size and ends, others as text."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if hasattr(value, "dtype") and value.ndim:
        ends = f", {value.min():.4g} to {value.max():.4g}" if value.dtype.kind in "fiu" else ""
        return f"{value.size:,} values{ends if value.size else ''}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_value(one)}" for name, one in value.items())
    if getattr(value, "_fields", ())[:3] == ("value", "low", "high"):
        return f"{value.value:.4g} ({value.low:.4g} to {value.high:.4g})"
    return str(value)


def _block(caption: str, body: str, below: str) -> str:
    """Put a caption on a line of its own above a body, so that nothing runs into it."""
    end = f'<p style="margin:4px 0">{escape(below)}</p>' if below else ""
    above = f'<div style="margin:4px 0;overflow-wrap:anywhere"><strong>{escape(caption)}</strong>'
    return f"<div>{above}</div>{body}{end}</div>"
