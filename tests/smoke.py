"""What a user does first, with ogive as installed: measure, fit, save, load, export, report."""

import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np

import ogive
from ogive.cli import main


def check(folder):
    """Run each step in `folder`; an assertion fails where one is wrong."""
    assert version("ogive") == ogive.__version__
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    outcomes = rng.random(3000) < scores**2
    before = ogive.ks_error(scores, outcomes)
    gamma = ogive.fit_spline(ogive.Curve.from_scores(scores, outcomes))
    assert ogive.ks_error(gamma(scores), outcomes) < before / 5
    ogive.save(gamma, folder / "cal.json")
    assert ogive.load(folder / "cal.json") == gamma
    rows = folder / "rows.csv"
    lines = [f"{s!r},{int(y)}" for s, y in zip(scores.tolist(), outcomes.tolist(), strict=True)]
    rows.write_text("\n".join(["score,outcome", *lines]), encoding="utf-8")
    cal, page, code = (str(folder / name) for name in ("cal2.json", "page.html", "cal.py"))
    for words in (
        ["measure", str(rows)],
        ["fit", str(rows), "-o", cal],
        ["apply", cal, str(rows), "-o", str(folder / "out.csv")],
        ["export", cal, "--to", "python", "-o", code],
        ["report", str(rows), "-o", page],
        ["plot", str(rows), "-o", str(folder / "graph.svg")],
    ):
        assert main(words) == 0, words
    assert "<title" in Path(page).read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        check(Path(name))
    print(f"ogive {ogive.__version__} of {Path(ogive.__file__).parent}: all steps ran")
