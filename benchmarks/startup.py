"""`import ogive` against `import numpy`, each in a fresh interpreter."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from benchmarks.race import Budget, Race

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NUMPY, OGIVE = "import numpy", "import ogive"


def races() -> Iterator[Race]:
    """Yield the one race."""
    statements = (NUMPY, OGIVE, "import scipy.special", "import sklearn.calibration")
    yield Race(
        "import",
        "Imports, in a fresh interpreter",
        {statement: _fresh(statement) for statement in statements},
        (Budget(OGIVE, NUMPY, most=1.2),),
    )


def _fresh(statement: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, "-c", statement], check=True)  # noqa: S603
