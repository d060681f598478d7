"""The report: one self-contained page that says whether a model's probabilities can be trusted."""

from ogive.report.model import Report, build_report
from ogive.report.render import render_html, write_html

__all__ = ["Report", "build_report", "render_html", "write_html"]
