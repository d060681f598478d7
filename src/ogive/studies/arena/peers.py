"""Who takes part in an arena: methods of the library, and peers from files or modules.

A file is one JSON object ``{experiment: {view: {method: numbers}}}``, numbers being ``{"nll",
"brier", "ks"}`` with or without ``"seconds"`` and others, or ``{"error": text}``. The view
``"top-1"`` also holds the numbers of files of scores. Nothing in a file is ever run.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive.errors import FileFormatError, InvalidInput
from ogive.studies.arena.cells import METRICS, peers_in

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping

Table = dict[str, dict[str, dict[str, dict[str, Any]]]]

OWN = "ogive"
_MODULE = "module:"
_LAYOUT = "{experiment: {view: {method: {nll, brier, ks}}}}"


@dataclass(frozen=True, slots=True)
class Entrant:
    """A method that takes part.

    name : as the library, the file or the module calls it
    label : as the table calls it, where each is called otherwise
    source : "ogive", or the short name of the file or module
    module : the Python module that fits it, for peers that are run
    table : the numbers of a file, for those that are read
    """

    name: str
    label: str
    source: str = OWN
    module: str | None = None
    table: Table | None = None

    @property
    def is_run(self) -> bool:
        """Whether its numbers are computed, not read."""
        return self.table is None

    def read(self, experiment: str, view: str) -> dict[str, Any]:
        """Return its numbers from the file."""
        missing = {"error": "it has no number there"}
        methods = _of_view((self.table or {}).get(experiment, {}), view)
        return methods.get(self.name, missing)


def own_entrants(methods: Iterable[str]) -> list[Entrant]:
    """Return the library's methods as entrants."""
    return [Entrant(name, name) for name in dict.fromkeys(methods)]


def peer_entrants(sources: Any, view: str | None, taken: Iterable[str]) -> list[Entrant]:  # noqa: ANN401
    """Return the peers of all sources; one whose name is taken gets the name of its source."""
    labels = set(taken)
    found: list[Entrant] = []
    single = isinstance(sources, str) or hasattr(sources, "__fspath__") or hasattr(sources, "items")
    for source in [sources] if single else sources:
        if isinstance(source, str) and source.startswith(_MODULE):
            module = source.removeprefix(_MODULE)
            short, table = module.rpartition(".")[2], None
            names: Iterable[str] = peers_in(module, view)
        else:
            module = None
            short, table = read_peers(source)
            names = _names(table, view)
        for name in names:
            label = name if name not in labels else f"{name} ({short})"
            if label in labels:
                msg = f"`peers`: two sources named {short!r} have the method {name!r}."
                raise InvalidInput(msg)
            labels.add(label)
            found.append(Entrant(name, label, short, module, table))
    return found


def _names(table: Table, view: str | None) -> list[str]:
    """Return the methods that any experiment of a file has in a view."""
    named = (_of_view(views, view or "score") for views in table.values())
    return list(dict.fromkeys(name for methods in named for name in methods))


def has_view(table: Table, experiment: str, view: str) -> bool:
    """Whether a file has numbers of an experiment."""
    return bool(_of_view(table.get(experiment, {}), view))


def _of_view(
    views: Mapping[str, dict[str, dict[str, Any]]], view: str
) -> dict[str, dict[str, Any]]:
    """Return the numbers of a view; those of a score may stand under ``top-1``."""
    return views.get(view) or (views.get("top-1", {}) if view == "score" else {})


def read_peers(source: str | os.PathLike[str] | Mapping[str, Any]) -> tuple[str, Table]:
    """Return a short name of a file or mapping of results, and its checked contents."""
    if hasattr(source, "items"):
        return "peers", _checked("`peers`", source)
    path = Path(source)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # a wrong encoding is a ValueError too
        msg = f"{path} is not JSON ({error})."
        raise FileFormatError(msg) from error
    return path.stem, _checked(str(path), document)


def _checked(where: str, document: Any) -> Table:  # noqa: ANN401
    for experiment, views in _object(where, document).items():
        for view, methods in _object(f"{where}: {experiment}", views).items():
            for method, numbers in _object(f"{where}: {experiment}, {view}", methods).items():
                _check_numbers(f"{where}: {experiment}, {view}, {method}", numbers)
    return dict(document)


def _object(at: str, value: Any) -> dict[str, Any]:  # noqa: ANN401
    if not hasattr(value, "items"):
        msg = f"{at} must be an object, as in {_LAYOUT}."
        raise FileFormatError(msg)
    found: dict[str, Any] = value
    return found


def _check_numbers(at: str, numbers: Any) -> None:  # noqa: ANN401
    if "error" in _object(at, numbers):
        return
    for metric in METRICS:
        value = numbers.get(metric)
        good = isinstance(value, int | float) and not isinstance(value, bool)
        if not (good and math.isfinite(value) and value >= 0):
            msg = f"{at}: {metric!r} must be a finite number >= 0, not {value!r}."
            raise FileFormatError(msg)
