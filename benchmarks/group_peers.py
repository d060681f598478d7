"""Groups beside MCGrad and fairlearn, where they are installed: `python -m benchmarks.group_peers`.

    python -m benchmarks.group_peers                          all tables
    python -m benchmarks.group_peers --write docs/theory/groups.md

The multicalibration error and the metrics of groups are checked to be the same numbers; the
calibrators are compared on rows that none of them has seen.
"""

from __future__ import annotations

import argparse
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from benchmarks.tables import lines, show
from ogive import Curve, Predictions, fit_groups, fit_spline, measure_groups

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTRIES, DEVICES = 20, 4
ROWS = 200_000
#: Rows of a calibration set, over 80 cells whose sizes differ by a factor of about 100.
SIZES = (2_000, 10_000, 50_000)
DRAWS = 5
TEST_ROWS = 50_000
GROUPS_OF_SPEED, ROWS_OF_SPEED = 1000, 1_000_000


def drawn(n: int, seed: int) -> dict[str, np.ndarray]:
    """Draw rows of two columns; log-odds are shifted by country, device, and their pair."""
    truth = np.random.default_rng(0)
    shift = (
        0.4 * truth.normal(size=(COUNTRIES, 1))
        + 0.3 * truth.normal(size=DEVICES)
        + 0.2 * truth.normal(size=(COUNTRIES, DEVICES))
    )
    slope = 0.8 + 0.1 * truth.normal(size=(COUNTRIES, 1)) + np.zeros(DEVICES)
    share = truth.dirichlet(np.full(COUNTRIES * DEVICES, 0.8))
    rng = np.random.default_rng([1, n, seed])
    cell = rng.choice(share.size, n, p=share)
    eta = rng.normal(-1.0, 1.5, n)
    true = expit(slope.ravel()[cell] * eta + shift.ravel()[cell])
    country = np.char.add("c", (cell // DEVICES).astype(str))
    device = np.char.add("d", (cell % DEVICES).astype(str))
    outcome = (rng.random(n) < true).astype(int)
    return {
        "score": expit(eta),
        "outcome": outcome,
        "country": country,
        "device": device,
        "true": true,
    }


def seconds(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what some work gives, and the CPU time that it took."""
    start = time.process_time()
    return work(), time.process_time() - start


def columns_of(rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: rows[name] for name in ("country", "device")}


def multicalibration() -> str:
    """Return the multicalibration error of both packages, and how long they take."""
    import pandas as pd  # noqa: PLC0415
    from mcgrad.metrics import MulticalibrationError  # noqa: PLC0415

    rows = drawn(ROWS, 0)
    frame = pd.DataFrame(rows)
    preds = Predictions(rows["score"], rows["outcome"], kind="probs")
    found, ours = seconds(lambda: measure_groups(preds, columns_of(rows)))

    def peer() -> tuple[float, int]:
        error = MulticalibrationError(
            frame,
            "outcome",
            "score",
            categorical_segment_columns=["country", "device"],
            max_depth=2,
            max_values_per_segment_feature=COUNTRIES,
            min_samples_per_segment=1,
            max_n_segments=None,
            precision_dtype="float64",
        )
        return float(error.mce_sigma), int(error.total_number_segments)

    (sigmas, segments), theirs = seconds(peer)
    kuiper = found.multicalibration.kuiper.sigmas
    assert abs(kuiper - sigmas) < 1e-6 * sigmas, (kuiper, sigmas)
    assert segments == len(found.groups) + 1
    cells = [
        ["ogive", f"{kuiper:.6f}", f"{segments:,}", f"{len(found.off):,}", f"{ours:.2f}"],
        ["MCGrad", f"{sigmas:.6f}", f"{segments:,}", "", f"{theirs:.2f}"],
    ]
    head = ["", "largest Kuiper error / noise", "groups", "miscalibrated (FDR 5 %)", "CPU s"]
    return lines(head, cells)


def segments() -> str:
    """Return the excess log loss of calibrators by group on fresh rows, and their largest error."""
    import pandas as pd  # noqa: PLC0415
    from mcgrad.methods import (  # noqa: PLC0415
        IsotonicRegression,
        PlattScaling,
        SegmentwiseCalibrator,
    )

    test = drawn(TEST_ROWS, 99)
    shown, names = pd.DataFrame(test), ["country", "device"]
    groups = np.stack([test["country"], test["device"]], axis=1)
    table: dict[str, list[str]] = {}
    for n in SIZES:
        found: dict[str, list[tuple[float, float]]] = {}
        for seed in range(DRAWS):
            cal = drawn(n, seed)
            ways = {"scores as they are": test["score"]}
            whole = Curve.from_scores(cal["score"], cal["outcome"])
            ways["one spline"] = fit_spline(whole)(test["score"])
            ways["`ogive.fit_groups`"] = fit_groups(cells_of(cal))(test["score"], groups)
            frame = pd.DataFrame(cal)
            for kind in (PlattScaling, IsotonicRegression):
                peer = SegmentwiseCalibrator(kind)
                peer.fit(frame, "score", "outcome", categorical_feature_column_names=names)
                p = peer.predict(shown, "score", categorical_feature_column_names=names)
                ways[f"MCGrad, segment-wise {kind.__name__}"] = np.clip(p, 1e-7, 1 - 1e-7)
            for name, p in ways.items():
                found.setdefault(name, []).append((excess(test["true"], p), worst(p, test)))
        for name, values in found.items():
            loss, error = np.mean(values, axis=0)
            table.setdefault(name, []).extend([f"{1e4 * loss:.1f}", f"{error:.1f}"])
    head = [""]
    for n in SIZES:
        head += [f"excess, {n:,} rows", "largest"]
    return lines(head, [[name, *cells] for name, cells in table.items()])


def cells_of(rows: dict[str, np.ndarray]) -> dict[tuple[str, str], Curve]:
    """Return the curve of each cell of two columns."""
    pairs = np.char.add(np.char.add(rows["country"], " "), rows["device"])
    return {
        tuple(pair.split(" ")): Curve.from_scores(
            rows["score"][pairs == pair], rows["outcome"][pairs == pair]
        )
        for pair in np.unique(pairs).tolist()
    }


def excess(true: np.ndarray, p: np.ndarray) -> float:
    """Return the expected log loss of p beyond that of the truth."""
    q = np.clip(p, 1e-7, 1 - 1e-7)
    return float((true * np.log(true / q) + (1 - true) * np.log((1 - true) / (1 - q))).mean())


def worst(p: np.ndarray, rows: dict[str, np.ndarray]) -> float:
    """Return the multicalibration error of calibrated scores, by their Kuiper error."""
    preds = Predictions(p, rows["outcome"], kind="probs")
    return measure_groups(preds, columns_of(rows)).multicalibration.kuiper.sigmas


def metrics() -> str:
    """Return how far the metrics of groups are from fairlearn's, and how long both take."""
    from fairlearn.metrics import MetricFrame  # noqa: PLC0415
    from sklearn.metrics import brier_score_loss, log_loss  # noqa: PLC0415

    rows = drawn(ROWS, 0)
    preds = Predictions(rows["score"], rows["outcome"], kind="probs")
    found, ours = seconds(lambda: measure_groups(preds, {"country": rows["country"]}))
    wanted = {
        "base_rate": lambda y, _: float(np.mean(y)),
        "mean_score": lambda _, p: float(np.mean(p)),
        "brier": brier_score_loss,
        "nll": lambda y, p: log_loss(y, np.clip(p, 1e-7, 1 - 1e-7), labels=[0, 1]),
    }

    def peer() -> Any:  # noqa: ANN401
        how = {"y_true": rows["outcome"], "y_pred": rows["score"]}
        return MetricFrame(metrics=wanted, **how, sensitive_features=rows["country"]).by_group

    frame, theirs = seconds(peer)
    far = {
        name: max(abs(getattr(one, name) - frame.loc[one.group, name]) for one in found.groups)
        for name in wanted
    }
    assert max(far.values()) < 1e-9, far
    cells = [
        ["ogive: these, KS, Kuiper, ECE, intervals, p-values", f"{ours:.2f}", ""],
        [
            f"fairlearn `MetricFrame`: {len(far)} metrics",
            f"{theirs:.2f}",
            f"{max(far.values()):.0e}",
        ],
    ]
    return lines([f"{COUNTRIES} groups of {ROWS:,} rows", "CPU s", "largest difference"], cells)


def speed() -> str:
    """Return the CPU time of the grouped fit beside that of the ungrouped one, and its bound."""
    rng = np.random.default_rng(0)
    group = np.sort(rng.integers(0, GROUPS_OF_SPEED, ROWS_OF_SPEED))
    eta, shift = rng.normal(0, 2, ROWS_OF_SPEED), 0.5 * rng.normal(size=GROUPS_OF_SPEED)
    hits = rng.random(ROWS_OF_SPEED) < expit(0.8 * eta - 0.3 + shift[group])
    whole = Curve.from_scores(expit(eta), hits)
    ends = np.cumsum(np.bincount(group))
    parts = np.split(np.arange(ROWS_OF_SPEED), ends[:-1])
    curves = {str(i): Curve.from_scores(expit(eta[at]), hits[at]) for i, at in enumerate(parts)}
    fit_groups(dict(list(curves.items())[:20]))  # what is loaded on first use
    one = min(seconds(lambda: fit_spline(whole))[1] for _ in range(3))
    many = min(seconds(lambda: fit_groups(curves))[1] for _ in range(3))
    bound = 3 * one + 0.001 * GROUPS_OF_SPEED
    assert many <= bound, (many, bound)
    cells = [[f"{one:.3f}", f"{many:.3f}", f"{bound:.3f}"]]
    return lines(["one spline, CPU s", "`fit_groups`", "3 x one + 1 ms a group"], cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path)
    parser.add_argument("--only", help="some of: multicalibration,segments,metrics,speed")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    needs = {multicalibration: "mcgrad", segments: "mcgrad", metrics: "fairlearn", speed: "ogive"}
    chosen = None if asked.only is None else asked.only.split(",")
    tables = {
        f"peers: {make.__name__}": make()
        for make, package in needs.items()
        if find_spec(package) is not None and (chosen is None or make.__name__ in chosen)
    }
    show(tables, asked.write)


if __name__ == "__main__":
    main()
