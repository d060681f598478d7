"""Build the site of the documentation: ``python -m docs build``, into ``build/site``.

``python -m docs serve`` shows it while pages are edited. Both need ``pip install -e '.[docs]'``.
``python -m docs update [PAGE …]`` runs the cells of pages and writes their outputs and figures into
the pages' folder; it needs ``pip install -e '.[cli]'``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

#: Stored figures are for readers of the repository; those of the site are made by its build.
COLOURS_OF_STORED_FIGURES = 64


def main() -> int:
    """Run mkdocs on this folder; every broken link is an error."""
    command = sys.argv[1] if len(sys.argv) > 1 else "build"
    if command == "update":
        update([Path(page).resolve() for page in sys.argv[2:]])
        return 0
    if command not in {"build", "serve"}:
        sys.exit(__doc__)
    root = Path(__file__).resolve().parents[1]
    paths = os.pathsep.join([str(root / "src"), str(root), str(root / "docs" / "_site")])
    return subprocess.call(  # noqa: S603 - our own words
        [sys.executable, "-m", "mkdocs", command, "--strict"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": paths, "NO_MKDOCS_2_WARNING": "1"},
    )


def update(pages: list[Path]) -> None:
    """Run the cells of these pages, or of all that have some."""
    from PIL import Image  # noqa: PLC0415 - it comes with matplotlib

    from docs._site import cells  # noqa: PLC0415 - mkdocs needs no ogive to be called

    for page in pages or cells.pages():
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            page.write_text(text := cells.updated(text, Path(folder)), encoding="utf-8")
            for link, made in cells.files(text, Path(folder)).items():
                if made.suffix == ".png":
                    target = page.parent / link
                    target.parent.mkdir(parents=True, exist_ok=True)
                    few = Image.open(made).convert("RGB").quantize(COLOURS_OF_STORED_FIGURES)
                    few.save(target, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
