"""One cell of an arena: a method fitted to an experiment's rows to fit, measured on the others."""

from __future__ import annotations

import importlib
import sys
import time
import warnings
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibrators import METHODS, MULTICLASS, read_method
from ogive.errors import InvalidInput, OgiveError
from ogive.rows.predictions import Predictions
from ogive.rows.views import score_rows
from ogive.studies.fitting import VECTOR, Rows, apply, fit
from ogive.studies.losses import scores_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ogive._typing import FloatArray
    from ogive.studies.arena.files import Experiment

#: What an arena compares; in all of them less is better.
#: One row of a method that is certain and wrong must not decide a mean over experiments.
LOG_LOSS_CLIP = 1e-7
METRICS = ("nll", "brier", "ks")
_KEPT = (*METRICS, "accuracy", "ks_expected")


def default_methods(view: str | None) -> list[str]:
    """Return all methods that are not slow; of whole vectors, the spline in every way there is."""
    names = [name for name, method in METHODS.items() if not method.slow]
    if view != VECTOR:
        return names
    ways = [f"spline:{way}" for way, method in MULTICLASS.items() if not method.slow]
    return [name for name in names if name != "spline"] + ways


def search_path() -> tuple[str, ...]:
    """Return where modules are looked for, for processes that were started elsewhere."""
    return tuple(entry or str(Path.cwd()) for entry in sys.path)


def cell(
    experiment: Experiment,
    method: str,
    view: str,
    module: str | None,
    path: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return the numbers of a method, or ``{"error": why}``.

    A peer is in `module`, which is looked for in `path`.
    """
    known = search_path()  # in the process that asks, all of them
    sys.path += [entry for entry in path if entry not in known]
    cal, test = _parts(experiment)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            work = _own if module is None else _peer
            rows, seconds = work(cal, test, method, view, module)
            numbers, _ = scores_of(rows, test, view, least=LOG_LOSS_CLIP)
        except OgiveError as error:
            return {"error": str(error)}
    if module is None and caught:
        messages = sorted({str(warning.message) for warning in caught})
        return {key: numbers[key] for key in _KEPT} | {"seconds": seconds, "warnings": messages}
    return {key: numbers[key] for key in _KEPT} | {"seconds": seconds}


@lru_cache(maxsize=1)  # the methods of an experiment come one after the other
def _parts(experiment: Experiment) -> tuple[Predictions, Predictions]:
    return experiment.parts()


def _own(
    cal: Predictions, test: Predictions, name: str, view: str, _: str | None
) -> tuple[Rows, float]:
    """Fit a method of the library."""
    _warm(name, view)
    start = time.perf_counter()
    fitted = fit(cal, name, view)
    seconds = time.perf_counter() - start
    return apply(fitted, test, view), seconds


@cache
def _warm(name: str, view: str) -> None:
    """Fit a few rows once in each process, so that no time of a fit is that of an import."""
    if read_method(name).slow:
        return
    rows = np.linspace(0.1, 0.9, 40)
    values = rows if view == "score" else np.stack([rows, 0.7 * (1 - rows), 0.3 * (1 - rows)], 1)
    with suppress(OgiveError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(Predictions(values, np.arange(40) % 2, kind="probs"), name, view)


def peers_in(module: str, view: str | None) -> dict[str, Callable[..., Any]]:
    """Return the peers of a module: its ``SCORES``, or its ``VECTORS`` for whole vectors."""
    table = "VECTORS" if view == VECTOR else "SCORES"
    try:
        loaded = importlib.import_module(module)
    except ImportError as error:
        msg = f"`peers`: the module {module!r} cannot be imported ({error}). Is it on the path?"
        raise InvalidInput(msg) from error
    found = getattr(loaded, table, None)
    if not isinstance(found, dict):
        msg = f"`peers`: the module {module!r} has no table {table} of names and functions."
        raise InvalidInput(msg)
    return found


def _peer(
    cal: Predictions, test: Predictions, name: str, view: str, module: str | None
) -> tuple[Rows, float]:
    """Fit a peer: to scores and hits of the view, or to whole vectors and labels."""
    assert module is not None  # noqa: S101 - the caller's choice
    peer = peers_in(module, view)[name]
    if view == VECTOR:
        probs = cal.probabilities(), test.probabilities()
        p, seconds = _timed(peer, probs[0], cal.labels, probs[1])
        p = _checked(p, name, probs[1].shape)
        p /= p.sum(axis=1, keepdims=True)
        rows = score_rows(Predictions(p, test.labels, kind="probs"), "top-1")
        return Rows(rows.score, rows.hit, p), seconds
    from_, to = score_rows(cal, view), score_rows(test, view)
    p, seconds = _timed(peer, from_.score, from_.hit, to.score)
    return Rows(_checked(p, name, to.score.shape), to.hit), seconds


def _timed(
    peer: Callable[..., Any], given: FloatArray, outcomes: object, asked: FloatArray
) -> tuple[object, float]:
    """Call another library; whatever goes wrong in it becomes the reason why it is left out."""
    try:
        start = time.perf_counter()
        predict = peer(given, np.asarray(outcomes).astype(np.int64))
        seconds = time.perf_counter() - start
        return predict(asked), seconds
    except ImportError as error:
        msg = "it is not installed"
        raise OgiveError(msg) from error
    except Exception as error:
        msg = f"{type(error).__name__}: {error}"
        raise OgiveError(msg) from error


def _checked(p: object, name: str, shape: tuple[int, ...]) -> FloatArray:
    """Return a peer's probabilities, cut to [0, 1] as its users would have to."""
    result = np.asarray(p, dtype=np.float64)
    if result.shape != shape or not np.isfinite(result).all():
        msg = f"{name!r} returned shape {result.shape} where {shape} was due, or NaN."
        raise OgiveError(msg)
    return np.clip(result, 0.0, 1.0)
