"""A file read whole, and read as a log: what must hold for both."""

import pytest

import ogive
from ogive.engines import local

BOTH = pytest.mark.parametrize("read", [ogive.read, local.curve], ids=["file", "log"])
