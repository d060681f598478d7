"""`import ogive` against `import numpy`, and `ogive demo`, each in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.race import Budget, Race

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NUMPY, OGIVE, DEMO = "import numpy", "import ogive", "ogive demo"


def races() -> Iterator[Race]:
    """Yield the race of imports, then that of a first look."""
    statements = (NUMPY, OGIVE, "import scipy.special", "import sklearn.calibration")
    yield Race(
        "import",
        "Imports, in a fresh interpreter",
        {statement: _fresh(statement) for statement in statements},
        (Budget(OGIVE, NUMPY, most=1.2),),
    )
    yield Race(
        "import",
        "A first look, whole processes",
        {"import sklearn.calibration": _fresh("import sklearn.calibration"), DEMO: _demo},
        (Budget(DEMO, seconds=0.8),),
    )


def _fresh(statement: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, "-c", statement], check=True)  # noqa: S603


def _demo() -> object:
    command = [sys.executable, "-c", "from ogive.cli import main; main()", "demo"]
    return subprocess.run(command, check=True, capture_output=True)  # noqa: S603
