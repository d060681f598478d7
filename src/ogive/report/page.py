"""What all pages have in common: who says what of them, and how they are shown and saved."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from ogive.errors import InvalidInput
from ogive.report.render import render_html, write_html

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

#: What a page can be saved as.
FORMATS = (".html", ".htm")
PRINT_IT = "a report is written as .html. Write {}, open it in a browser and print it as PDF."
#: Longer notes would push the answer off the first page.
MAX_CHARACTERS = 1000
_INCHES_IN_A_NOTEBOOK = 7
_NAMES = {"model": "Model", "author": "Author", "tags": "Tags", "note": "Note"}


@dataclass(frozen=True, slots=True)
class About:
    """What people say of a page; it is recorded in the page, as text.

    `title` stands in place of the usual heading.
    """

    title: str = ""
    model: str = ""
    author: str = ""
    tags: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        """Refuse what is not text, does not end, or cannot be shown."""
        for field in fields(self):
            value = getattr(self, field.name)
            for text in value if field.name == "tags" else (value,):
                _check(field.name, text)

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """What is given besides the title, as (name, text)."""
        given = {"model": self.model, "author": self.author, "tags": ", ".join(self.tags)}
        given["note"] = self.note
        return tuple((_NAMES[key], text) for key, text in given.items() if text)


def as_tags(tags: str | Iterable[str]) -> tuple[str, ...]:
    """Return one tag, or several, as a tuple."""
    return (tags,) if isinstance(tags, str) else tuple(tags)


def _check(name: str, text: Any) -> None:  # noqa: ANN401 - what a caller gave
    if not isinstance(text, str):
        msg = f"`{name}` must be text, not {type(text).__name__}."
        raise InvalidInput(msg)
    if len(text) > MAX_CHARACTERS or not text.replace("\n", " ").isprintable():
        msg = f"`{name}` must be printable text of at most {MAX_CHARACTERS:,} characters."
        raise InvalidInput(msg)


#: What is shown where nothing is given.
NOTHING = About()


class Page:
    """A page that can be shown in a notebook, saved, and marked with who made it.

    Subclasses are frozen dataclasses with `source`, `made`, `version`, `about` and `how`.
    """

    __slots__ = ()
    template: ClassVar[str]
    source: str
    about: About

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page (.html); a file being replaced stays whole.

        It has a style for paper: print it from a browser for a PDF.
        """
        if Path(path).suffix.lower() == ".pdf":
            msg = f"`path`: {PRINT_IT.format(Path(path).with_suffix('.html'))}"
            raise InvalidInput(msg)
        if Path(path).suffix.lower() not in FORMATS:
            msg = f"`path` must end in {', '.join(FORMATS)}, but is {str(path)!r}."
            raise InvalidInput(msg)
        write_html(self, path)

    def described(self, about: About) -> Self:
        """Return the same page with a title, an author, and so on."""
        return replace(self, about=about)  # type: ignore[type-var]

    def _repr_html_(self) -> str:
        """Show the whole page in a frame of its own, whose styles leave the notebook alone."""
        text = escape(render_html(self))
        name = escape(self.about.title or f"Report of {self.source}")
        style = f"width:100%;height:{_INCHES_IN_A_NOTEBOOK}in;border:1px solid #8886"
        frame = f'title="{name}" sandbox="allow-scripts allow-downloads" style="{style}"'
        return f'<iframe {frame} srcdoc="{text}"></iframe>'

    def __repr__(self) -> str:
        """Return one line: the whole page is in `_repr_html_` and `save`."""
        return f"<{type(self).__name__} of {self.source}>"
