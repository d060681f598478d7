"""The gate of `ogive measure`: its options, its line and its exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ogive.cli.options import is_given, refuse
from ogive.cli.values import SHARE, one_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ogive.curve import Curve
    from ogive.studies.gate import Gate

_LIMITS = {
    "max_ks": "Exit with 0 if the KS error is below this limit, 3 if above, 4 if undecided.",
    "max_ece": "The same for the ECE.",
    "max_log_loss_gain": "The same for the log loss per row that calibrating could save.",
}


def gates(command: Callable[..., None]) -> Callable[..., None]:
    """Add the limits, and what an undecided gate counts as."""
    command = click.option(
        "--undecided",
        type=one_of("outcome", "pass", "fail"),
        help="Treat an undecided gate as this: exit with 0 or 3 instead of 4.",
    )(command)
    for name, text in reversed(_LIMITS.items()):
        option = f"--{name.replace('_', '-')}"
        command = click.option(option, type=SHARE, metavar="LIMIT", help=text)(command)
    return command


def limits_of(options: dict[str, Any], view: str | None) -> dict[str, float]:
    """Take the limits that were given out of the options; refuse what would be ignored."""
    limits = {name: limit for name in _LIMITS if (limit := options.pop(name)) is not None}
    if not limits:
        refuse("there is no gate without a limit (--max-ks 0.02)", "undecided")
    elif view == "all":
        refuse("a gate is of one view: name one with --view", *(n for n in _LIMITS if is_given(n)))
    return limits


def gate_of(
    curves: Curve | Mapping[str, Curve], limits: dict[str, float], *, bins: int, seed: int
) -> Gate | None:
    """Return the gate, if limits were given."""
    from ogive.studies.gate import gate  # noqa: PLC0415 - keep `--help` quick

    return gate(curves, **limits, bins=bins, random_state=seed) if limits else None


def leave(gate: Gate | None, undecided: Any) -> None:  # noqa: ANN401 - "pass", "fail" or None
    """End the command with the exit code of its gate."""
    if gate is not None:
        click.get_current_context().exit(gate.exit_code(undecided))
