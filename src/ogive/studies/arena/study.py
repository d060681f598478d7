"""The arena: every method on every experiment of a folder, and how the methods stand.

Every number of the table is a mean over the same experiments. An experiment or a method that
cannot take part is named, with the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators import METHODS, SCORE_ONLY, read_method
from ogive.errors import FileFormatError
from ogive.rows.views import parse_view
from ogive.studies.arena.cells import (
    METRICS,
    cell,
    default_methods,
    search_path,
)
from ogive.studies.arena.files import Experiment, families_of, find_experiments, look, read_families
from ogive.studies.arena.peers import OWN, Entrant, has_view, own_entrants, peer_entrants
from ogive.studies.arena.result import Arena, ExperimentResult
from ogive.studies.arena.run import Task, run
from ogive.studies.arena.standings import standings
from ogive.studies.fitting import VECTOR, method_for

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from ogive._typing import Progress

    Scores = dict[str, dict[str, dict[str, Any]]]  # by experiment, by label


def arena(
    source: str | os.PathLike[str],
    methods: Sequence[str] | None = None,
    view: str | None = None,
    *,
    peers: str | os.PathLike[str] | Mapping[str, Any] | Iterable[Any] = (),
    families: str | os.PathLike[str] | Mapping[str, str] | None = None,
    score_only: bool = False,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Arena:
    """Fit and measure methods on every experiment of a folder, and rank them.

    Parameters
    ----------
    source : path
        A folder of prediction files with parts cal and test, or an HDF5 file of experiments.
    methods : sequence of str, optional
        Names of `ogive.calibrators.METHODS`. Default: all that apply to every experiment and are
        not slow. If methods are named, experiments to which one of them does not apply are
        skipped. For whole vectors also ``"METHOD:WAY"``, such as ``"platt:ovr"``.
    view : str, optional
        Default: ``"top-1"`` of matrices, and the score of files of scores. ``"vector"``: whole
        vectors, of matrices only; KS is then that of the top class.
    peers : path, mapping or ``"module:NAME"``, or several of them
        Results of other libraries as ``{experiment: {view: {method: {"nll", "brier", "ks"}}}}``,
        in a JSON file or as a mapping; only experiments that are in it are then compared. Or a
        Python module with functions that fit other libraries' methods: see ``docs/arena.md``.
    families : path or mapping, optional
        Which experiments share a test set, from patterns of names to families:
        ``{"imagenet_*": "imagenet"}``. Others are found by equal test labels.
    score_only : bool
        The spline of a rank of a matrix reads the view's score alone, as peers do.
        ``"spline:score-only"`` among `methods` is that, beside ``"spline"``.
    n_jobs : int, optional
        Processes. Default: ``OMP_NUM_THREADS``, else all cores.
    random_state : int
        Of the resampling of families.
    progress : function of (what, done, total), optional

    Returns
    -------
    Arena

    Examples
    --------
    >>> import numpy as np
    >>> import ogive
    >>> rng = np.random.default_rng(0)
    >>> for name in ("one.npz", "two.npz"):
    ...     p = rng.random(3000)
    ...     s, y = p**0.5, rng.random(3000) < p
    ...     np.savez(name, cal_scores=s[:1500], cal_outcomes=y[:1500],
    ...              test_scores=s[1500:], test_outcomes=y[1500:])
    >>> result = ogive.arena(".", ["none", "platt", "spline"], n_jobs=1)
    >>> worst = result.standings[-1]
    >>> worst.method, worst.rank["nll"], worst.wins["nll"]
    ('none', 3.0, 0.0)
    """
    if view is not None and view != VECTOR:
        parse_view(view)  # an unknown name fails here, before any work
    for name in methods or ():
        method_for(name, view)
    named = None if families is None else read_families(families)
    entrants = own_entrants(default_methods(view) if methods is None else methods)
    if score_only:
        name = f"spline:{SCORE_ONLY}"
        method_for(name, view)
        entrants = [replace(e, name=name) if e.name == "spline" else e for e in entrants]
    entrants += peer_entrants(peers, view, [entrant.label for entrant in entrants])
    work = _Work(n_jobs, progress)
    found, skipped = find_experiments(source)
    field = _Field(found, work.looked(found, view), entrants, skipped)
    field.left_out |= {} if methods is not None else _slow()
    field.settle(named=methods is not None)
    scores = work.scored(field)
    field.complete(scores, named=methods is not None)
    return field.result(scores, families_of(field.facts, named), random_state)


def _slow() -> dict[str, str]:
    slow = (name for name, method in METHODS.items() if method.slow)
    return dict.fromkeys(slow, "it is slow: name it to run it")


@dataclass(frozen=True, slots=True)
class _Work:
    """How tasks are done."""

    n_jobs: int | None
    progress: Progress | None

    def looked(self, found: list[Experiment], view: str | None) -> list[dict[str, Any]]:
        """Return the facts of each experiment."""
        tasks = [Task(one.name, one.name, look, (one, view)) for one in found]
        return run(tasks, n_jobs=self.n_jobs, progress=self.progress)

    def scored(self, field: _Field) -> Scores:
        """Return the numbers of every entrant in every experiment."""
        pairs = field.pairs
        tasks = [
            _cell_task(one, entrant, field.facts[one.name]["view"])
            for one, entrant in pairs
            if entrant.is_run
        ]
        numbers = iter(run(tasks, n_jobs=self.n_jobs, progress=self.progress))
        scores: Scores = {one.name: {} for one in field.experiments}
        for one, entrant in pairs:
            view = field.facts[one.name]["view"]
            row = next(numbers) if entrant.is_run else entrant.read(one.name, view)
            scores[one.name][entrant.label] = row
        return scores


def _cell_task(one: Experiment, entrant: Entrant, view: str) -> Task:
    what = f"{one.name}: {entrant.label}"
    # A file is read once for all quick methods; slow ones are dealt to processes one by one.
    slow = entrant.module is not None or read_method(entrant.name).slow
    arguments = (one, entrant.name, view, entrant.module, search_path() if entrant.module else ())
    return Task(what, what if slow else one.name, cell, arguments)


class _Field:
    """Experiments and entrants, and the reasons of those that drop out."""

    def __init__(
        self,
        found: list[Experiment],
        facts: list[dict[str, Any]],
        entrants: list[Entrant],
        skipped: dict[str, str],
    ) -> None:
        self.experiments = found
        self.facts = {one.name: fact for one, fact in zip(found, facts, strict=True)}
        self.entrants = entrants
        self.skipped = dict(skipped)
        self.left_out: dict[str, str] = {}
        self._skip({name: fact["skip"] for name, fact in self.facts.items() if "skip" in fact})

    @property
    def pairs(self) -> list[tuple[Experiment, Entrant]]:
        """Every experiment with every entrant."""
        return [(one, entrant) for one in self.experiments for entrant in self.entrants]

    def settle(self, *, named: bool) -> None:
        """Leave out what is known not to go together before anything is fitted."""
        for entrant in self.entrants:
            if entrant.table is not None:
                table = entrant.table
                absent = [
                    n for n, fact in self.facts.items() if not has_view(table, n, fact["view"])
                ]
                self._skip(dict.fromkeys(absent, f"{entrant.source} has no numbers of it"))
        scores = [name for name, fact in self.facts.items() if not fact["matrix"]]
        matrix = [one for one in self.entrants if one.source == OWN and _needs_matrix(one.name)]
        if not (scores and matrix):
            return
        if named:
            why = f"it has scores, and {matrix[0].name} needs a column for each class"
            self._skip(dict.fromkeys(scores, why))
        else:
            why = (
                f"it needs a column for each class, and {len(scores)} of {len(self.facts)} "
                "experiments have scores: name it to run it on the others"
            )
            self._leave_out({one.label: why for one in matrix})

    def complete(self, scores: Scores, *, named: bool) -> None:
        """Leave out what has no number somewhere: experiments of named methods, else methods."""
        if named:
            for one in [entrant for entrant in self.entrants if entrant.source == OWN]:
                failed = _failed(scores, one.label, self.facts)
                self._skip({name: f"{one.label}: {why}" for name, why in failed.items()})
        for one in self.entrants:
            failed = _failed(scores, one.label, self.facts)
            if failed:
                why = (
                    f"{len(failed)} of {len(self.facts)} experiments: {next(iter(failed.values()))}"
                )
                self._leave_out({one.label: why})
        if not any(entrant.source == OWN for entrant in self.entrants):
            msg = f"no method has numbers on all experiments ({_first(self.left_out)})."
            raise FileFormatError(msg)

    def result(self, scores: Scores, family: dict[str, str], random_state: int) -> Arena:
        """Rank what is left."""
        labels = [entrant.label for entrant in self.entrants]
        names = [one.name for one in self.experiments]
        values = {
            metric: np.array([[scores[name][label][metric] for label in labels] for name in names])
            for metric in METRICS
        }
        rows = standings(
            labels,
            values,
            [family[name] for name in names],
            seconds=[_mean_seconds(scores, label, names) for label in labels],
            sources=[entrant.source for entrant in self.entrants],
            random_state=random_state,
        )
        own = [entrant.label for entrant in self.entrants if entrant.source == OWN]
        kept = {name: {label: scores[name][label] for label in labels} for name in names}
        tuples = (self._one(name, family[name], kept[name], own) for name in names)
        views = dict.fromkeys(self.facts[name]["view"] for name in names)
        return Arena(" or ".join(views), rows, tuple(tuples), self.skipped, self.left_out)

    def _one(
        self, name: str, family: str, scores: dict[str, dict[str, Any]], own: list[str]
    ) -> ExperimentResult:
        fact = self.facts[name]
        best = min(own, key=lambda label: scores[label]["nll"])
        return ExperimentResult(
            name=name,
            family=family,
            view=fact["view"],
            n_cal=fact["n_cal"],
            n_test=fact["n_test"],
            classes=fact["classes"],
            best=best,
            noise_floor=scores[best]["ks_expected"],
            scores=scores,
        )

    def _skip(self, reasons: dict[str, str]) -> None:
        self.skipped |= reasons
        self.experiments = [one for one in self.experiments if one.name not in reasons]
        self.facts = {one.name: self.facts[one.name] for one in self.experiments}
        if not self.experiments:
            msg = f"no experiment is left to compare on ({_first(self.skipped)})."
            raise FileFormatError(msg)

    def _leave_out(self, reasons: dict[str, str]) -> None:
        self.left_out |= reasons
        self.entrants = [one for one in self.entrants if one.label not in reasons]


def _needs_matrix(name: str) -> bool:
    return read_method(name).reads == "predictions"


def _failed(scores: Scores, label: str, names: Iterable[str]) -> dict[str, str]:
    """Return the experiments in which an entrant has no numbers, with the reason."""
    rows = ((name, scores[name][label]) for name in names)
    return {name: str(numbers["error"]) for name, numbers in rows if "error" in numbers}


def _first(reasons: dict[str, str]) -> str:
    name, why = next(iter(reasons.items()), ("", "there is none"))
    return f"{name}: {why}" if name else why


def _mean_seconds(scores: Scores, label: str, names: list[str]) -> float | None:
    """Return the mean time of a fit, where each is known."""
    times = [scores[name][label].get("seconds") for name in names]
    known = [time for time in times if isinstance(time, int | float) and np.isfinite(time)]
    return float(np.mean(known)) if len(known) == len(times) else None
