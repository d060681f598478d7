"""What a watch keeps from one run to the next: a small JSON file, written whole or not at all.

::

    {
      "format": "ogive-watch",
      "version": 1,
      "library": "0.1.0",
      "settings": {...},                how the rows were read
      "files": [...],                   marks of the files that were counted
      "watch": {"alpha", "days": [...], "starts": [...]},
                or, with groups: {"alpha", "days", "whole", "groups": [...]}
      "checksum": "sha256:..."          of all the rest, in canonical form
    }

The rows since each start are the bytes of a saved curve (`ogive.export.curve_file`) in base 64.
Numbers read back as the same float64, so a watch that goes on from a file gives the same numbers
as one that never stopped. A file may come from anyone: every field is checked. Files of 0.1 also
have the sums of a rule for the alarm that is gone (`run_length`, `log_sum`), which are passed over.
"""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import ogive
from ogive._files import replacing
from ogive.errors import ArtifactError, OgiveError
from ogive.export.artifact import build, checksum_of
from ogive.export.curve_file import curve_bytes, curve_of_bytes
from ogive.export.rules import MAX_TEXT, Checked, Listing, Number, Object, Text, broken, shown
from ogive.studies.watch.grouped import GroupWatch
from ogive.studies.watch.starts import Start
from ogive.studies.watch.times import as_time, in_order
from ogive.studies.watch.watch import Day, Watch

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from ogive.calibrators.spline_map import SplineMap
    from ogive.export.rules import Rule

FORMAT, VERSION = "ogive-watch", 2
_OF_0_1 = 1
#: A watch of a year takes 0.2 MB with hundreds of rows a day and about 2 MB with a million; each
#: group takes as much again.
MAX_BYTES = 100_000_000
#: Days, groups and files of one watch: more is a mistake, or an attack.
MAX_ITEMS = 10_000_000
_NUMBERS = ("number", "log_e", "log_share")
_ROUNDING = 1e-9  # of sums of weights


def _check_time(value: Any, where: str) -> None:  # noqa: ANN401
    if isinstance(value, bool) or not isinstance(value, str | int) or as_time(value) != value:
        raise broken(where, "a time", value)


def _check_name(value: Any, where: str) -> None:  # noqa: ANN401
    """Take a name from the data: any characters."""
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise broken(where, f"a text of at most {MAX_TEXT:,} characters", value)


def _check_words(value: Any, where: str) -> None:  # noqa: ANN401
    """Take lines of text by name; a value may be null."""
    if not isinstance(value, dict) or len(value) > MAX_ITEMS:
        raise broken(where, "an object of words", value)
    for name, word in value.items():
        Text().check(name, where)
        if word is not None:
            _check_name(word, f"{where}.{name}")


def _check_gone(value: Any, where: str) -> None:  # noqa: ANN401
    """Refuse a watch whose alarm has another rule than `alpha`."""
    if value is not None:
        raise broken(where, "null: that rule is gone, so begin a new --state with --alpha", value)


def _many(item: Rule) -> Listing:
    return Listing(item=item, most=MAX_ITEMS)


_SHARE = Number(low=0.0, high=1.0)
_ANYTHING = Checked(lambda *_: None)  # what reads it checks it: a curve, a map
_GONE: dict[str, Rule] = {"log_sum": Number(optional=True)}
_RULE: dict[str, Rule] = {
    "alpha": Number(above=0.0, high=1.0),
    "run_length": Checked(_check_gone, optional=True),
}
_DAY = Object(
    {
        "time": Checked(_check_time),
        "n": Number(above=0.0),
        **dict.fromkeys(("log_e", "saved"), Number()),
        **dict.fromkeys(("ks", "ks_low", "ks_high", "base_rate", "mean_score"), _SHARE),
        **_GONE,
    }
)
_START = Object(
    {
        "number": Number(low=1, high=MAX_ITEMS, whole=True),
        **dict.fromkeys(_NUMBERS[1:], Number()),
        **_GONE,
        "rows": _ANYTHING,
        "map": _ANYTHING,
    }
)
_ONE = Object({**_RULE, "days": _many(_DAY), "starts": _many(_START)})
_GROUP = Object(
    {"group": Checked(_check_name), "share": Number(above=0.0, high=1.0), "watch": _ONE}
)


_GROUPS = Object({**_RULE, "days": _many(_DAY), "whole": _ONE, "groups": _many(_GROUP)})


def _check_watch(value: Any, where: str) -> None:  # noqa: ANN401
    """Take a watch, or one with groups."""
    grouped = isinstance(value, dict) and "groups" in value
    (_GROUPS if grouped else _ONE).check(value, where)


STATE = Object(
    {
        "settings": Checked(_check_words, optional=True),
        "files": Listing(item=Text(), most=MAX_ITEMS, optional=True),
        "watch": Checked(_check_watch),
    },
    open_=True,
)


@dataclass(frozen=True, slots=True)
class State:
    """A watch, with what it was made of.

    Attributes
    ----------
    watch : Watch or GroupWatch
    settings : mapping of text
        How the rows were read, by the name of the option: a later run must read them likewise.
    files : set of str
        Marks of the files whose rows were counted: see `ogive.studies.watch.days.mark_of`.
    """

    watch: Watch | GroupWatch
    settings: Mapping[str, str | None] = field(default_factory=dict)
    files: frozenset[str] = frozenset()


def save_state(state: State, path: str | os.PathLike[str]) -> None:
    """Write a state."""
    watch = state.watch
    document = {
        "format": FORMAT,
        "version": VERSION,
        "library": ogive.__version__,
        "settings": dict(state.settings),
        "files": sorted(state.files),
        "watch": _plain_groups(watch) if isinstance(watch, GroupWatch) else _plain(watch),
    }
    text = json.dumps(document | {"checksum": checksum_of(document)}, allow_nan=False)
    with replacing(path) as beside:
        beside.write_text(text + "\n", encoding="utf-8")


def load_state(path: str | os.PathLike[str]) -> State:
    """Read a state; anything foreign, newer or altered is refused."""
    document = _document(path)
    if document is None:
        msg = f"{path} is not the state of a watch. Give the file that --state wrote, or a new one."
        raise ArtifactError(msg)
    if document.pop("checksum", None) != checksum_of(document):
        msg = (
            f"{path} was altered after it was written: its checksum does not match. Restore it, or "
            "delete it and run the watch over all days again."
        )
        raise ArtifactError(msg)
    if document.get("version") not in {_OF_0_1, VERSION}:
        msg = f"{path} was written by a newer version: pip install --upgrade ogive"
        raise ArtifactError(msg)
    try:
        return _state(document, path)
    except (OgiveError, KeyError, TypeError, ValueError, AttributeError) as error:
        msg = (
            f"{path} is not a state that can be used ({type(error).__name__}: {shown(str(error))})."
        )
        raise ArtifactError(msg) from error


def is_state_file(path: str | os.PathLike[str]) -> bool:
    """Return whether a file says that it is the state of a watch."""
    try:
        return Path(path).suffix.lower() == ".json" and _document(path) is not None
    except (OSError, OgiveError):
        return False


def _document(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the JSON of a file, None if it is not that of a watch."""
    with Path(path).open("rb") as file:
        text = file.read(MAX_BYTES + 1)
    try:
        document = json.loads(text) if len(text) <= MAX_BYTES else None
    except (ValueError, RecursionError) as error:
        msg = f"{path} is not the state of a watch, or it is cut short."
        raise ArtifactError(msg) from error
    return document if isinstance(document, dict) and document.get("format") == FORMAT else None


def _plain_days(watch: Watch | GroupWatch) -> dict[str, Any]:
    return {"alpha": watch.alpha, "days": [asdict(day) for day in watch.days]}


def _plain(watch: Watch) -> dict[str, Any]:
    return _plain_days(watch) | {"starts": [_plain_start(start) for start in watch.starts]}


def _plain_groups(watch: GroupWatch) -> dict[str, Any]:
    return _plain_days(watch) | {
        "whole": _plain(watch.whole),
        "groups": [
            {"group": name, "share": watch.shares[name], "watch": _plain(one)}
            for name, one in watch.groups.items()
        ],
    }


def _plain_start(start: Start) -> dict[str, Any]:
    return {name: getattr(start, name) for name in _NUMBERS} | {
        "rows": base64.b64encode(curve_bytes(start.rows)).decode(),
        "map": None if start.gamma is None else start.gamma.to_dict(),
    }


def _state(document: dict[str, Any], path: str | os.PathLike[str]) -> State:
    STATE.check(document, "state")
    values = document["watch"]
    watch = _groups(values, path) if "groups" in values else _watch(values, path)
    return State(watch, document.get("settings", {}), frozenset(document.get("files", ())))


def _groups(values: dict[str, Any], path: str | os.PathLike[str]) -> GroupWatch:
    alpha = values["alpha"]
    groups = {one["group"]: _watch(one["watch"], path) for one in values["groups"]}
    _require(len(groups) == len(values["groups"]), "each group once")
    whole = _watch(values["whole"], path)
    days = _days(values["days"])
    known = {day.time for day in days}
    _require(all(one.days and one.days[0].time in known for one in groups.values()), "its days")
    _require(all(one.alpha == alpha for one in (whole, *groups.values())), "one rule")
    _require([day.time for day in whole.days] == [day.time for day in days], "the same days")
    shares = {one["group"]: one["share"] for one in values["groups"]}
    _require(sum(shares.values()) <= 1.0 + _ROUNDING, "weights that sum to 1 at most")
    return GroupWatch(alpha=alpha, days=days, whole=whole, groups=groups, shares=shares)


def _watch(values: dict[str, Any], path: str | os.PathLike[str]) -> Watch:
    days = _days(values["days"])
    starts = tuple(_start(start, path) for start in values["starts"])
    order = [start.number for start in starts]
    _require(order == sorted(set(order)) and order[-1:] in ([], [len(days)]), "starts in order")
    _require(bool(days) == bool(order) and order[:1] in ([], [1]), "a start on the first day")
    _require(len({start.rows.view for start in starts}) <= 1, "one view")
    return Watch(alpha=values["alpha"], days=days, starts=starts)


def _days(rows: list[dict[str, Any]]) -> tuple[Day, ...]:
    known = [{name: value for name, value in row.items() if name not in _GONE} for row in rows]
    days = tuple(Day(**{**row, "time": as_time(row["time"])}) for row in known)
    times = [day.time for day in days]
    _require(in_order(times) == times and len(set(times)) == len(times), "days in order")
    return days


def _start(values: dict[str, Any], path: str | os.PathLike[str]) -> Start:
    gamma = values["map"]
    if gamma is not None:
        gamma = cast("SplineMap", build({"method": "spline", "map": gamma}))
    rows = curve_of_bytes(base64.b64decode(values["rows"], validate=True), path)
    return Start(rows=rows, gamma=gamma, **{name: values[name] for name in _NUMBERS})


def _require(right: bool, what: str) -> None:
    if not right:
        msg = f"it does not have {what}"
        raise ValueError(msg)
