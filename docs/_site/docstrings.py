"""Docstrings as Markdown: their mathematics and roles are written as in Sphinx."""

from __future__ import annotations

import re
from textwrap import dedent

from griffe import Extension, Object

_BLOCK = re.compile(r"^([ ]*)\.\. math::[ ]*(.*(?:\n(?:\1[ ]+.*|[ ]*(?=\n)))*)", re.MULTILINE)
_INLINE = re.compile(r":math:`([^`]+)`")
#: Examples that follow a section would be read as its last entry.
_SECTION = re.compile(r"^(?:Parameters|Returns|Attributes|Yields|Raises)\n-+$", re.MULTILINE)
_EXAMPLE = re.compile(r"(\n)(?=>>> )(?<!Examples\n--------\n)", re.MULTILINE)
_ROLE = re.compile(r":\w+:`~?([^`]+)`")


class Docstrings(Extension):
    """Turns every docstring, once, before it is parsed."""

    def on_instance(self, *, obj: Object, **_: object) -> None:
        """Turn the docstring of a module, class or function."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    r"""Return a docstring with `$…$` in place of roles.

    >>> as_markdown("The gap :math:`x^2`.")
    'The gap $x^2$.'
    """

    def block(match: re.Match[str]) -> str:
        indent, formula = match.groups()
        first, _, rest = formula.partition("\n")
        body = "\n".join(x for x in (first.strip(), dedent(rest).strip()) if x)
        return f"{indent}$$\n{body}\n$$".replace("\n", f"\n{indent}")

    text = (
        _EXAMPLE.sub(r"\1\nExamples\n--------\n", text, count=1) if _SECTION.search(text) else text
    )
    text = _BLOCK.sub(block, text)
    text = _INLINE.sub(lambda match: f"${match[1]}$", text)
    return _ROLE.sub(r"`\1`", text)
