"""Make the pictures of the gallery and of the README, from the bundled LeNet-5 on Fashion-MNIST.

Run ``python docs/make_gallery.py``.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

from ogive.plotting import figure, save_figure
from ogive.readers import open_file
from ogive.studies.graphs import diagrams_of

PICTURES = Path(__file__).parent / "pictures"
DPI = {"panels": 85}
GRAPHS = (
    "panels", "difference", "reliability", "bins", "before-after", "methods", "classes",
    "decision", "cost",
)  # fmt: skip
#: The other views which the paper shows.
VIEWS = ("top-2", "top-3", "within-top-2", "within-top-3")


def main() -> None:
    """Draw every graph of the top class, and the panels of the paper's other views."""
    PICTURES.mkdir(exist_ok=True)
    with as_file(files("ogive") / "data" / "fmnist_lenet5.npz") as path:
        source = open_file(path)
        cal, test = source.predictions("cal"), source.predictions("test")
    for graph in GRAPHS:
        save_figure(
            figure(*diagrams_of(graph, test, cal)),
            PICTURES / f"{graph}.png",
            dpi=DPI.get(graph, 120),
        )
    for view in VIEWS:
        drawn = figure(*diagrams_of("panels", test, view=view))
        save_figure(drawn, PICTURES / f"panels-{view}.png", dpi=DPI["panels"])


if __name__ == "__main__":
    main()
