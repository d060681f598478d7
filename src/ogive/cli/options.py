"""Options that several commands have, and what makes their values valid.

A value that breaks a rule, and an option that does not apply to the files it is given with, end
the command with exit code 2 before anything is read.
"""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ogive._files import identities
from ogive.calibrators import read_method, words_of_options
from ogive.cli.help import ALL_METHODS, PARTS, QUICK_METHODS, VIEWS, Listed
from ogive.cli.values import (
    BINS,
    DEPTH,
    INPUT,
    MEMORY,
    OUTPUT,
    SEED,
    SHARE,
    WORD,
    LaterDefault,
    one_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ogive._files import Identity, Output
    from ogive._typing import BandKind
    from ogive.readers.source import Columns

_COLUMN_OPTIONS = ("score", "outcome", "label", "weight")
OPTIONS_ELSEWHERE = " Options follow, as `ogive fit --help` says."
OPTIONS_OF_METHODS = (
    " Options follow after colons, as in paper-spline:knots=14; for whole vectors also a way, as "
    f"in spline:free, and its options. {words_of_options()}."
)
_OF_A_MATRIX = "top-r, within-top-r or class-k (k from 0)"
DEFAULT_VIEW = "[default: top-1, or score for a file of scores]"
MANY_METHODS = Listed(ALL_METHODS, many=True, check=read_method)


def view_option(*more: str, default: str = DEFAULT_VIEW) -> Callable[..., Any]:
    """Return the option that names a view; `more` are other words it takes here."""
    words = ", ".join([_OF_A_MATRIX, "score", *more])
    return click.option(
        "--view", type=Listed([*VIEWS, *more]), metavar="VIEW", help=f"{words}. {default}"
    )


def part_option(default: str) -> Callable[..., Any]:
    """Return the option that names a part of a file."""
    help_ = f"Rows of a file with parts: {', '.join(PARTS)}. [default: {default}]"
    return click.option("--part", type=Listed(PARTS), metavar="PART", help=help_)


def method_option(
    names: Sequence[str],
    what: str,
    *,
    default: str | None = "spline",
    note: str = "",
    options: str = OPTIONS_ELSEWHERE,
) -> Callable[..., Any]:
    """Return the option that names a method; without a default, `note` says what is taken."""
    return click.option(
        "--method",
        type=Listed(names, check=read_method),
        metavar="METHOD",
        default=default,
        show_default=True,
        help=f"{what}: {', '.join(names)}.{options}{note}",
    )


def methods_option(help_: str = "") -> Callable[..., Any]:
    """Return the option that names several methods."""
    slow = " and ".join(name for name in ALL_METHODS if name not in QUICK_METHODS)
    text = f"Methods, separated by commas: {', '.join(ALL_METHODS)}.{OPTIONS_ELSEWHERE} "
    return click.option(
        "--methods",
        type=MANY_METHODS,
        metavar="M,…",
        help=text + (help_ or f"[default: all except the slow {slow}]"),
    )


force_option = click.option(
    "--force", is_flag=True, help="Replace an existing output (never an input)."
)


def output_option(help_: str, *, required: bool = True) -> Callable[..., Any]:
    """Return the options that name what is written, and whether it may replace a file."""
    named = click.option(
        "-o", "--output", required=required, type=OUTPUT, metavar="PATH", help=help_
    )
    return lambda command: named(force_option(command))


def seed_option(help_: str) -> Callable[..., Any]:
    """Return the option that makes randomness repeatable."""
    return click.option("--seed", type=SEED, metavar="N", default=0, show_default=True, help=help_)


def groups_option(help_: str) -> Callable[..., Any]:
    """Return the options that name columns of groups, and how many of them are combined."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        depth = "With --by: how many columns to combine at most. [default: 2]"
        command = click.option("--depth", type=DEPTH, metavar="N", help=depth)(command)
        named: Callable[..., None] = by_option(help_)(command)
        return named

    return add


def by_option(help_: str) -> Callable[..., Any]:
    """Return the option that names the columns of groups."""
    return click.option("--by", type=WORD, metavar="COL,…", help=help_)


def check_depth(options: dict[str, Any]) -> None:
    """Refuse a depth without columns, or one that is larger than their number."""
    by, depth = options["by"], options["depth"]
    if by is None:
        refuse("columns are combined with --by A,B", "depth")
    elif depth is not None and depth > by.count(",") + 1:
        msg = f"--depth {depth}: --by {by} has fewer columns to combine."
        raise click.UsageError(msg)


def depth_of(options: dict[str, Any]) -> int:
    """Return how many columns are combined at most."""
    from ogive.studies.group_curves import DEPTH as USUAL  # noqa: PLC0415 - keep `--help` quick

    return int(options["depth"] or USUAL)


def _usual_bins() -> int:
    from ogive.metrics.binned import BINS as USUAL  # noqa: PLC0415 - keep `--help` quick

    return USUAL


bins_option = click.option(
    "--bins",
    cls=LaterDefault,
    type=BINS,
    metavar="N",
    default=_usual_bins,
    show_default=True,
    help="Number of bins for ECE and MCE.",
)


def splits(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that split a file without parts."""
    help_ = "For a file without parts: fit on this share of its rows, drawn at random, e.g. 0.5."
    command = seed_option("Random seed of --split.")(command)
    return click.option("--split", type=SHARE, metavar="SHARE", help=help_)(command)


memory_option = click.option(
    "--memory",
    type=MEMORY,
    metavar="SIZE",
    default="1GB",
    show_default=True,
    help="Memory limit for reading files, e.g. 500MB.",
)

skip_bad_option = click.option(
    "--skip-bad",
    is_flag=True,
    help="Leave out rows of a log that are not valid, and say how many.",
)

cluster_option = click.option(
    "--cluster",
    type=WORD,
    metavar="COL",
    help="Column (array of an .npz file) of what is repeated: patient, customer, day. Tests, "
    "intervals and folds then allow for rows that are not independent.",
)

score_only_option = click.option(
    "--score-only",
    is_flag=True,
    help="With top-r or within-top-r of a matrix, spline reads that score alone, not all columns.",
)


def check_score_only(view: str | None, method: str = "spline") -> None:
    """Refuse --score-only where nothing has one score to read."""
    if view == "vector":
        refuse("whole vectors have a score for each class (--view top-1 has one)", "score_only")
    if read_method(method).reads == "predictions":
        refuse(f"{method} reads all columns by its definition", "score_only")


as_json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object and nothing else."
)


def reads_files(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say how a file is read."""
    for option in (
        click.option(
            "--renormalise",
            is_flag=True,
            help="Divide each row of probabilities by its sum (rounded to 2 decimals, …).",
        ),
        click.option(
            "--positive",
            type=WORD,
            metavar="WORD",
            help="The outcome that counts as 1, where outcomes are words.",
        ),
        click.option(
            "--classes",
            type=WORD,
            metavar="A,B,…",
            help="The label of each column, in their order. [default: what the columns are called]",
        ),
        click.option(
            "--kind",
            type=one_of("kind", "probs", "logits"),
            help="What the matrix of a .npy file holds.",
        ),
        click.option(
            "--labels", type=INPUT, metavar="FILE", help="The labels or outcomes of a .npy file."
        ),
        click.option(
            "--weight-kind",
            type=one_of("weight kind", "repetition", "sampling"),
            default="repetition",
            show_default=True,
            help="What weights mean: 2 is the row twice, or the row stands for two others.",
        ),
        _column("weight", "weights"),
        _column("label", "true classes"),
        _column("outcome", "outcomes (0 or 1)"),
        _column("score", "scores"),
    ):
        command = option(command)
    experiment = "Which experiment of an .h5 file."
    return click.option("--experiment", type=WORD, metavar="NAME", help=experiment)(command)


def _column(name: str, what: str) -> Callable[..., Any]:
    help_ = f"Column of the {what} in a table. [default: {name}]"
    return click.option(f"--{name}", type=WORD, metavar="COL", help=help_)


def columns_of(options: dict[str, Any]) -> Columns:
    """Return the names of the columns that were asked for."""
    from ogive.readers import Columns  # noqa: PLC0415 - keep `ogive --help` quick

    classes = names_of(options["classes"], "classes")
    return Columns(
        score=options["score"],
        outcome=options["outcome"],
        label=options["label"],
        weight=options["weight"],
        classes=None if classes is None else tuple(classes),
        positive=options["positive"],
        renormalise=options["renormalise"],
        kind=options["kind"],
        labels=None if options["labels"] is None else str(options["labels"]),
        weight_kind=options["weight_kind"],
        cluster=options.get("cluster"),
    )


def names_of(words: str | None, option: str = "methods") -> list[str] | None:
    """Split names at commas."""
    if words is None:
        return None
    names = [word.strip() for word in words.split(",")]
    if not all(names):
        msg = f"--{option} {words!r}: names separated by commas are needed, and one is empty."
        raise click.UsageError(msg)
    return names


def is_given(name: str) -> bool:
    """Return whether an option of the running command was given, and not left at its default."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def refuse(why: str, *names: str) -> None:
    """Refuse the first of these options that was given: it would be ignored."""
    for name in names:
        if is_given(name):
            msg = f"--{name.replace('_', '-')} does not apply: {why}. Leave it out."
            raise click.UsageError(msg)


def check_skip_bad(file: Path) -> None:
    """Refuse --skip-bad for a file that is not read row by row."""
    from ogive.engines.files import is_log  # noqa: PLC0415

    if not is_log(file):
        refuse("it is for tables, folders and globs", "skip_bad")


def band_options(command: Any) -> Any:  # noqa: ANN401 - a decorator
    """Add --band and --simultaneous."""
    command = click.option(
        "--simultaneous",
        is_flag=True,
        help="With --band: a wider band, which holds the whole curve in 95 of 100 samples.",
    )(command)
    return click.option(
        "--band",
        is_flag=True,
        help="Also the 95 % band of the calibrated probability: low and high.",
    )(command)


def band_of(options: dict[str, Any]) -> BandKind | None:
    """Return which band was asked for."""
    if options["simultaneous"] and not options["band"]:
        msg = "--simultaneous makes the band of --band wider. Give --band too."
        raise click.UsageError(msg)
    if not options["band"]:
        return None
    return "simultaneous" if options["simultaneous"] else "pointwise"


def check_columns(files: Iterable[Path]) -> None:
    """Refuse names of columns for files without columns, and of experiments for others."""
    from ogive.readers import FORMATS  # noqa: PLC0415
    from ogive.readers.guard import suffix_of  # noqa: PLC0415

    for file in files:
        form = FORMATS.get(suffix_of(file))
        if form not in {None, "table"} and file.is_file():
            refuse(f"{file} has arrays, not columns", *_COLUMN_OPTIONS)
        if form not in {None, "table", "npz"} and file.is_file():
            refuse(f"{file} has no named arrays, as .npz files do", "cluster")
        if form not in {None, "hdf5"} and file.is_file():
            refuse(f"{file} holds no experiments, as .h5 files do", "experiment")
        if form not in {None, "npy"} and file.is_file():
            refuse(f"{file} holds more than one array, unlike .npy files", "kind", "labels")


def check_output(
    output: Output | None, inputs: Sequence[Path], kind: str | None, *, force: bool
) -> None:
    """Refuse an output that is an input, or that stands there and is not ogive's own of a kind.

    kind : of `ogive._files.KINDS`; None is data, of which every file that stands there is refused
    """
    from ogive.readers import FORMATS  # noqa: PLC0415
    from ogive.readers.guard import suffix_of  # noqa: PLC0415

    if output is None:
        return
    if kind not in {None, "curve"} and suffix_of(output) in FORMATS:
        msg = f"{output}: {output.suffix} is for files of predictions. Give another suffix."
        raise click.UsageError(msg)
    output.claim(read_from(inputs), kind, force=force, kinds=FORMATS)


def read_from(paths: Iterable[Path]) -> dict[Identity, Path]:
    """Return the identities of files, of the data that folders hold, and of what globs match."""
    from ogive.readers import FORMATS  # noqa: PLC0415
    from ogive.readers.guard import suffix_of  # noqa: PLC0415

    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += [path, *(p for p in path.rglob("*") if suffix_of(p) in FORMATS)]
        elif any(sign in str(path) for sign in "*?[") and not path.exists():
            found += map(Path, glob.glob(str(path), recursive=True))  # noqa: PTH207 - as logs do
        else:
            found.append(path)
    return identities(found)
