"""The command report: a page of one file, log, summary or watch, or of several of them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from ogive.cli import terminal
from ogive.cli.help import CURVE_METHODS
from ogive.cli.options import (
    as_json_option,
    by_option,
    cluster_option,
    columns_of,
    method_option,
    methods_option,
    names_of,
    output_option,
    reads_files,
    refuse,
    score_only_option,
    splits,
    view_option,
)
from ogive.cli.pictures import OF_ROWS, check, parts_of, watch_in
from ogive.cli.terminal import Command, say
from ogive.cli.values import INPUT, LONG_NOTE, NOTE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from ogive._files import Output
    from ogive.curve import Curve
    from ogive.report.models import ModelsReport, Subject
    from ogive.report.page import About, Page
    from ogive.report.watch import WatchReport
    from ogive.rows.predictions import Predictions


def _described(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that are recorded in the page."""
    for option in (
        click.option("--note", type=LONG_NOTE, metavar="TEXT", help="A note to put on the page."),
        click.option(
            "--tag", type=NOTE, metavar="TEXT", multiple=True, help="A tag; may be repeated."
        ),
        click.option("--author", type=NOTE, metavar="TEXT", help="Who made the page."),
        click.option("--model", type=NOTE, metavar="TEXT", help="The name of the model."),
        click.option("--title", type=NOTE, metavar="TEXT", help="The heading of the page."),
    ):
        command = option(command)
    return command


@click.command(
    cls=Command,
    reads_predictions=True,
    examples=(
        (
            "ogive report predictions.npz -o report.html",
            "A page with the test part, before and after.",
        ),
        ("ogive report scores.csv -o report.html --split 0.5", "Fit on half of the rows."),
        ("ogive report log.csv -o report.html --split 0.5 --by country", "With its groups."),
        ("ogive report a.npz b.npz -o models.html", "Several models, or days, on one page."),
    ),
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=INPUT)
@output_option("The page to write (.html).")
@_described
@methods_option("[default: all that take seconds]")
@view_option()
@score_only_option
@method_option(
    CURVE_METHODS,
    "What is fitted and shown",
    default=None,
    note=" [default: the recommended method; spline for several files]",
)
@cluster_option
@splits
@by_option("Add a section on the groups that these columns name, with a calibrator of groups.")
@reads_files
@as_json_option
def report(
    files: tuple[Path, ...],
    output: Output,
    *,
    as_json: bool,
    **options: Any,  # noqa: ANN401
) -> None:
    """Write one HTML page with the verdict, graphs and methods.

    The page is one file that loads nothing, so it can be sent and kept. With parts cal and test
    it also shows what calibration changes. A folder is read as one log; a summary saved by
    `measure --save-curve` and the state of a watch (`watch --state`) have pages as well.
    Several files are compared: models on the same rows, or days.
    """
    from ogive.errors import need  # noqa: PLC0415
    from ogive.report.page import FORMATS, PRINT_IT  # noqa: PLC0415

    if output.suffix.lower() == ".pdf":
        msg = f"{output}: {PRINT_IT.format(output.with_suffix('.html'))}"
        raise click.UsageError(msg)
    check(files, output, FORMATS, options["split"], "report", force=options["force"])
    about = _about(options)
    need("jinja2", extra="cli")
    page, words = _one(files[0], options) if len(files) == 1 else _several(files, options)
    with terminal.progress("writing"):
        page = page.described(about)
        page.save(output)
    if as_json:
        terminal.print_json({"out": str(output)})
        return
    say(words)
    say(f"Written: {output}")


def _about(options: dict[str, Any]) -> About:
    from ogive.report.page import About  # noqa: PLC0415 - keep `--help` quick

    said = {name: options[name] or "" for name in ("title", "model", "author", "note")}
    return About(**said, tags=tuple(options["tag"]))


def _one(file: Path, options: dict[str, Any]) -> tuple[Page, str]:
    """Return the page of one file, folder, summary or watch, and its verdict."""
    from ogive.export.curve_file import is_curve_file, load_curve  # noqa: PLC0415
    from ogive.report import build_report  # noqa: PLC0415

    watch = watch_in(file)
    if watch is not None:
        from ogive.report.watch import build_watch_report  # noqa: PLC0415

        refuse("this is the page of a watch", *OF_ROWS)
        found: WatchReport = build_watch_report(watch, source=file.name)
        return found, watch.verdict
    if is_curve_file(file):
        _refuse_of_rows(file)
        with terminal.progress("measuring") as step:
            page = build_report(load_curve(file), source=file.name, progress=step)
        return page, str(page.verdict.decision)
    return _of_rows(file, options)


def _refuse_of_rows(file: Path) -> None:
    """Refuse options that need rows, of a summary."""
    why = f"{file} is a summary, which has no rows to fit on"
    refuse(why, *OF_ROWS, "methods", "score_only", "by")


def _of_rows(file: Path, options: dict[str, Any]) -> tuple[Page, str]:
    """Return the page of a file or folder of predictions, and its verdict."""
    from ogive.report import build_report  # noqa: PLC0415
    from ogive.studies.group_fitting import groups_of_parts, open_with_groups  # noqa: PLC0415

    by, view, score_only = options["by"], options["view"], options["score_only"]
    split, seed = options["split"], options["seed"]
    notes: list[str] = []
    with terminal.progress("reading"):
        source = (
            _opened(file, options, notes)
            if by is None
            else open_with_groups(file, columns_of(options), options["experiment"])
        )
        cal, test = parts_of(source, split, seed)
        fits = cal is not None
        groups = None if by is None else groups_of_parts(source, by, split, seed, has_cal=fits)
    if cal is None:
        refuse(f"{file} has no rows to fit on (a cal part, or --split 0.5)", "methods")
    names = names_of(options["methods"])
    with terminal.progress("measuring") as step:
        page = build_report(
            test,
            cal,
            view=view,
            method=options["method"],
            methods=names,
            score_only=score_only,
            groups=groups,
            source=file.name,
            notes=notes,
            progress=step,
        )
    return page, str(page.verdict.decision)


def _opened(file: Path, options: dict[str, Any], notes: list[str]) -> Any:  # noqa: ANN401
    """Open a file or a folder; what is noted goes to the terminal and into `notes`."""
    from ogive.readers.sample import open_sampled  # noqa: PLC0415

    def note(line: str) -> None:
        terminal.note(line)
        notes.append(line)

    how = {"experiment": options["experiment"], "random_state": options["seed"], "note": note}
    return open_sampled(file, columns_of(options), **how)


def _several(files: Sequence[Path], options: dict[str, Any]) -> tuple[ModelsReport, str]:
    """Return the page that compares files, and its first sentence."""
    from ogive.report.models import build_models_report  # noqa: PLC0415

    refuse("several files are compared with one method each", "methods")
    refuse("groups are shown of one file", "by")
    for file in files:
        if watch_in(file) is not None:
            msg = f"{file} is the state of a watch, which has a page of its own: give it alone."
            raise click.UsageError(msg)
    with terminal.progress("measuring") as step:
        page = build_models_report(
            _subjects(files, options),
            view=options["view"],
            method=options["method"] or "spline",
            score_only=options["score_only"],
            progress=lambda what, done, _: step(what, done, len(files)),
        )
    return page, f"{page.sentence} {page.detail}".strip()


def _subjects(files: Sequence[Path], options: dict[str, Any]) -> Iterator[Subject]:
    """Read one file after the other."""
    from ogive.export.curve_file import is_curve_file, load_curve  # noqa: PLC0415
    from ogive.report.models import Subject  # noqa: PLC0415

    for file, name in zip(files, short_names(files), strict=True):
        if is_curve_file(file):
            yield Subject(name, load_curve(file))
            continue
        cal, test = parts_of(_opened(file, options, []), options["split"], options["seed"])
        rows: Predictions | Curve = test
        yield Subject(name, rows, cal)


def short_names(files: Sequence[Path]) -> list[str]:
    """Return names that tell files apart: the last parts of their paths, as few as will do.

    >>> from pathlib import Path
    >>> short_names([Path("a/test.npz"), Path("b/test.npz")])
    ['a/test.npz', 'b/test.npz']
    """
    whole = [file.absolute() for file in files]
    for many in range(1, max(len(path.parts) for path in whole) + 1):
        names = ["/".join(path.parts[-many:]) for path in whole]
        if len(set(names)) == len(names):
            return names
    twice = next(name for name, times in Counter(map(str, files)).most_common() if times)
    msg = f"{twice} is given twice. A comparison is of different files."
    raise click.UsageError(msg)
