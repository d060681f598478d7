"""The tables of docs/arena.md: `python -m benchmarks.arena DIR --peers FILE [--write PAGE]`.

Runs the default calibrator on every experiment of DIR beside the peers of a results file, all
methods of the library on all experiments, matrices by all columns, and whole vectors; says whether
the aims are met; and writes the tables between the page's markers, or prints them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import ogive
from benchmarks.tables import lines, show
from ogive.studies.arena.standings import standings

if TYPE_CHECKING:
    from ogive.studies.arena.result import Arena
    from ogive.studies.arena.standings import Standing

OURS = "spline"
#: On matrices: the default by all columns and by the score alone. Temperature needs a matrix, so
#: that files of scores are left out.
OF_MATRICES = (OURS, f"{OURS}:score-only", "temperature", "none")
METRICS = ("nll", "brier", "ks")


def ends(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.2f} … {interval[1]:.2f}"


def counted(result: Arena) -> str:
    return f"{len(result.experiments)} experiments in {len(result.families)} families"


def table(result: Arena, *, ours: tuple[str, ...]) -> str:
    """Return the standings; the library's own rows are in bold where there are peers."""
    head = (
        "method", "log loss rank", "95 %", "without a family", "excess x 1000", "worst x 1000",
        "wins", "Brier rank", "KS rank", "mean KS %", "fit s",
    )  # fmt: skip

    def row(one: Standing) -> list[str]:
        name = f"**{one.method}**" if one.method in ours else one.method
        return [
            name,
            f"{one.rank['nll']:.2f}",
            ends(one.rank_interval["nll"]),
            ends(one.rank_range["nll"]),
            f"{1e3 * one.excess['nll']:.2f}",
            f"{1e3 * one.worst['nll']:.1f}",
            f"{one.wins['nll']:.3g}",
            f"{one.rank['brier']:.2f}",
            f"{one.rank['ks']:.2f}",
            f"{100 * one.mean['ks']:.3f}",
            "" if one.seconds is None else f"{one.seconds:.3f}",
        ]

    perfect = f"{100 * result.noise_floor:.3f} %"
    floor = f"Noise floor: a perfectly calibrated model would show a mean KS of {perfect}."
    left = [f"{name} ({why})" for name, why in result.left_out.items()]
    left_out = f"\n\nLeft out: {'; '.join(left)}." if left else ""
    return f"{counted(result)}.\n\n{lines(head, map(row, result.standings))}\n\n{floor}{left_out}"


def without(result: Arena, family: str | None) -> dict[str, Standing]:
    """Return the standings over the experiments of all other families."""
    kept = [one for one in result.experiments if one.family != family]
    names = [row.method for row in result.standings]
    values = {
        metric: np.array([[one.scores[name][metric] for name in names] for one in kept])
        for metric in METRICS
    }
    blank: list[Any] = [None] * len(names)
    families = [one.family for one in kept]
    rows = standings(names, values, families, seconds=blank, sources=[""] * len(names))
    return {row.method: row for row in rows}


def by_family(result: Arena) -> str:
    """Return how the default stands without each family in turn."""
    head = ("without", "experiments", "log loss rank", "next", "excess x 1000", "worst x 1000",
            "Brier rank", "next", "KS / isotonic's")  # fmt: skip

    def row(family: str | None) -> list[str]:
        rows = without(result, family)
        ours = rows[OURS]
        others = [one for name, one in rows.items() if name != OURS]
        nll, brier = (min(one.rank[metric] for one in others) for metric in ("nll", "brier"))
        left = 0 if family is None else len(result.families[family])
        return [
            family or "nothing",
            str(len(result.experiments) - left),
            f"{ours.rank['nll']:.2f}",
            f"{nll:.2f}",
            f"{1e3 * ours.excess['nll']:.3f}",
            f"{1e3 * ours.worst['nll']:.2f}",
            f"{ours.rank['brier']:.2f}",
            f"{brier:.2f}",
            f"{ours.mean['ks'] / rows['isotonic'].mean['ks']:.3f}",
        ]

    return lines(head, map(row, [None, *sorted(result.families)]))


def vectors(result: Arena) -> str:
    """Return means over experiments of whole vectors, ours in bold."""
    head = ("method", "log loss", "Brier", "top-1 KS %", "log loss rank", "95 %", "Brier rank",
            "KS rank", "fit s")  # fmt: skip

    def row(one: Standing) -> list[str]:
        return [
            f"**{one.method}**" if one.source == "ogive" else one.method,
            *(f"{one.mean[metric]:.4f}" for metric in ("nll", "brier")),
            f"{100 * one.mean['ks']:.3f}",
            f"{one.rank['nll']:.2f}",
            ends(one.rank_interval["nll"]),
            *(f"{one.rank[metric]:.2f}" for metric in ("brier", "ks")),
            "" if one.seconds is None else f"{one.seconds:.2f}",
        ]

    left = [f"{name} ({why})" for name, why in result.left_out.items()]
    left_out = f"\n\nLeft out: {'; '.join(left)}." if left else ""
    return f"{counted(result)}.\n\n{lines(head, map(row, result.standings))}{left_out}"


def aims(result: Arena) -> str:
    """Return the aims, what was measured, and whether they are met."""
    rows = {row.method: row for row in result.standings}
    ours = rows[OURS]
    others = [row for name, row in rows.items() if name != OURS]
    brier = min(row.rank["brier"] for row in others)
    ratio = ours.mean["ks"] / rows["isotonic"].mean["ks"]
    checks = [
        (f"mean log loss rank at most 2.6 of {len(rows)}", f"{ours.rank['nll']:.2f}",
         ours.rank["nll"] <= 2.6),
        ("first by Brier", f"{ours.rank['brier']:.2f}, next {brier:.2f}",
         ours.rank["brier"] < brier),
        ("mean KS at most 1.03 times isotonic's", f"{ratio:.3f}", ratio <= 1.03),
        ("mean NLL excess at most 0.0005", f"{ours.excess['nll']:.5f}",
         ours.excess["nll"] <= 0.0005),
        ("worst NLL excess at most 0.005", f"{ours.worst['nll']:.5f}",
         ours.worst["nll"] <= 0.005),
    ]  # fmt: skip
    said = [(aim, value, "yes" if met else "no") for aim, value, met in checks]
    return lines(("aim", "measured", "met"), said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peers", required=True)
    parser.add_argument("--families", default="docs/arena-families.json")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    shared: dict[str, Any] = {
        "families": asked.families, "n_jobs": asked.jobs
    }  # fmt: skip
    # Peers are given the view's score alone: beside them the default reads no more than that.
    beside = ogive.arena(asked.folder, [OURS], peers=asked.peers, score_only=True, **shared)
    own = ogive.arena(asked.folder, score_only=True, **shared)
    columns = ogive.arena(asked.folder, OF_MATRICES, peers=asked.peers, **shared)
    whole = ogive.arena(asked.folder, view="vector", peers=asked.peers, **shared)
    tables = {
        "aims": aims(beside),
        "peers": table(beside, ours=(OURS,)),
        "families": by_family(beside),
        "own": table(own, ours=()),
        "matrices": vectors(columns),
        "vectors": vectors(whole),
    }
    show(tables, asked.write)


if __name__ == "__main__":
    main()
