"""Build the site of the documentation: ``python -m docs build``, into ``build/site``.

``python -m docs serve`` shows it while pages are edited. Both need ``pip install -e '.[docs]'``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run mkdocs on this folder; every broken link is an error."""
    command = sys.argv[1] if len(sys.argv) > 1 else "build"
    if command not in {"build", "serve"}:
        sys.exit(__doc__)
    root = Path(__file__).resolve().parents[1]
    paths = os.pathsep.join([str(root / "src"), str(root), str(root / "docs" / "_site")])
    return subprocess.call(  # noqa: S603 - our own words
        [sys.executable, "-m", "mkdocs", command, "--strict"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": paths, "NO_MKDOCS_2_WARNING": "1"},
    )


if __name__ == "__main__":
    sys.exit(main())
