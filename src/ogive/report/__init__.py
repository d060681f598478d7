"""The report: one self-contained page that says whether a model's probabilities can be trusted.

The package can be called: ``ogive.report(scores, outcomes, output="report.html")``.
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ogive.report import plain
from ogive.report.model import Report, build_report
from ogive.report.render import render_html, write_html

if TYPE_CHECKING:
    from ogive.report.model import Report as _Report
    from ogive.report.models import ModelsReport as _ModelsReport


class _Callable(ModuleType):
    """A package that is a function as well, so that `ogive.report` is both."""

    def __call__(self, *args: Any, **options: Any) -> "_Report | _ModelsReport":  # noqa: ANN401
        """Build a report: see `ogive.report.plain.report`."""
        return plain.report(*args, **options)


sys.modules[__name__].__class__ = _Callable

__all__ = ["Report", "build_report", "render_html", "write_html"]
