"""`python -m ogive.cli` is `ogive`."""

from ogive.cli import entry

entry()
