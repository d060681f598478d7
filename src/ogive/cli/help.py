"""How help is laid out: commands in the order of use, values of options, two examples each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ogive.calibrators import METHODS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from click.shell_completion import CompletionItem

#: Commands by what they are for, in the order in which one would use them.
GROUPS = {
    "Start here": ("demo",),
    "Measure": ("measure", "plot", "report", "watch", "expect"),
    "Decide": ("decide",),
    "Calibrate": ("fit", "apply", "shift", "export"),
    "Choose a method": ("compare", "arena", "paper"),
}
_REST = "More"

#: Options that say what a file holds: every command that reads files has them.
FILE_OPTIONS = (
    *("score", "outcome", "positive", "label", "labels", "classes", "kind", "renormalise"),
    *("weight", "weight_kind", "cluster", "experiment"),
)
#: Options that are listed apart, since most people do not need them.
SECTIONS = {
    "Options for logs (folders, globs, several tables, long tables)": (
        "by", "save_curve", "memory", "one_pass", "skip_bad", "engine", "scheduler",
        "master",
    ),
    "Options that say what a file holds": FILE_OPTIONS,
}  # fmt: skip

_ARRAYS = """`logits` or `probs` with `labels`, or `scores` with `outcomes`. The prefixes cal_ and
test_ make two parts: cal_logits, test_logits, …"""
_COLUMNS = """.csv, .tsv, .jsonl (also .gz) or .parquet with columns `score` and `outcome`;
or `label` with logit_… or prob_… for each class; or `label` with a list column `logits` or `probs`.
Optional: `weight`, and `part` (cal or test)."""
_FILES = (
    (".npz", _ARRAYS),
    (".npy", "One array of scores, logits or probabilities; its labels: --labels FILE.npy"),
    ("tables", _COLUMNS),
    (".p .h5", "The logit files of the paper, and the files of CalArena."),
)

#: Names of methods, from the one table: all, those that comparisons fit unasked, those of a curve.
ALL_METHODS = tuple(METHODS)
QUICK_METHODS = tuple(name for name, method in METHODS.items() if not method.slow)
CURVE_METHODS = tuple(name for name, method in METHODS.items() if method.reads == "curve")
#: Views that are completed; r and k may be any number that the file has.
VIEWS = ("top-1", "top-2", "top-3", "within-top-2", "within-top-3", "class-0", "class-1", "score")
PARTS = ("cal", "test", "all")


#: A hyphen at which no line is broken: names such as paper-spline and --no-name stay whole.
_UNBROKEN = "\u2011"


class _Formatter(click.HelpFormatter):
    """Breaks lines at spaces only."""

    def write_text(self, text: str) -> None:
        """Write a paragraph."""
        super().write_text(text.replace("-", _UNBROKEN))

    def write_dl(  # type: ignore[override,unused-ignore] # versions of click differ
        self,
        rows: Iterable[tuple[str, str]],
        *args: Any,  # noqa: ANN401
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        """Write names and what they mean."""
        whole = [(name, meaning.replace("-", _UNBROKEN)) for name, meaning in rows]
        super().write_dl(whole, *args, **kwargs)

    def getvalue(self) -> str:
        """Return the text with plain hyphens."""
        return super().getvalue().replace(_UNBROKEN, "-")


class _Context(click.Context):
    formatter_class = _Formatter


class HelpfulCommand(click.Command):
    """A command whose help ends with examples, and with the kinds of files that it reads.

    examples : pairs of a command line and what it does
    reads_predictions : whether the kinds of files are listed
    """

    context_class = _Context

    def __init__(
        self,
        *args: Any,  # noqa: ANN401 - click's
        examples: Sequence[tuple[str, str]] = (),
        reads_predictions: bool = False,
        **kwargs: Any,  # noqa: ANN401 - click's
    ) -> None:
        super().__init__(*args, **kwargs)
        self.examples, self.reads_predictions = tuple(examples), reads_predictions

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, those for logs and names apart."""
        known = SECTIONS if self.reads_predictions else {}
        apart = {name: title for title, names in known.items() for name in names}
        found: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Options", *SECTIONS)}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                found[apart.get(str(param.name), "Options")].append(record)
        for title, records in found.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and the kinds of files."""
        if self.examples:
            with formatter.section("Examples"):
                for line, meaning in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}$ {line}\n")
                    with formatter.indentation(), formatter.indentation():
                        formatter.write_text(meaning)
        if self.reads_predictions:
            with formatter.section("Files of predictions"):
                formatter.write_dl(_FILES)
        super().format_epilog(ctx, formatter)


class Group(click.Group):
    """Commands under headings; without a command it prints its help."""

    context_class = _Context

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - click's
        super().__init__(*args, **{**kwargs, "no_args_is_help": False})
        self.invoke_without_command = True

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click's
        """Run the command, or print the help if there is none."""
        result = super().invoke(ctx)
        if ctx.invoked_subcommand is None:
            click.echo(ctx.get_help())
        return result

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of use; names without a heading last."""
        return [name for names in self.by_heading(ctx).values() for name in names]

    def by_heading(self, ctx: click.Context) -> dict[str, list[str]]:
        """Return the names of the commands under their headings."""
        known = super().list_commands(ctx)
        found = {
            title: [name for name in names if name in known] for title, names in GROUPS.items()
        }
        listed = {name for names in found.values() for name in names}
        found[_REST] = [name for name in known if name not in listed]
        return {title: names for title, names in found.items() if names}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section for each heading, with aligned columns."""
        width = max(map(len, self.commands), default=0)
        for title, names in self.by_heading(ctx).items():
            rows = []
            for name in names:
                short = self.commands[name].get_short_help_str(formatter.width - 6 - width)
                rows.append((name.ljust(width), short))
            with formatter.section(title):
                formatter.write_dl(rows)


class Listed(click.ParamType):  # type: ignore[type-arg,unused-ignore] # older click has no [...]
    """A word of which the common values are known: they are listed in help and completed.

    Other words are allowed, since views have numbers (``class-7``); the library checks them.
    `many`: words separated by commas, and the last one is completed.
    `check` refuses a word that has options or a way which do not exist.
    """

    name = "text"

    def __init__(
        self,
        values: Iterable[str],
        *,
        many: bool = False,
        check: Callable[[str], object] | None = None,
    ) -> None:
        self.values, self.many, self.check = tuple(values), many, check

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str:
        """Return the word, or refuse an empty one."""
        if not str(value).strip() or "\0" in str(value):
            self.fail("a name is needed, and this one is empty.", param, ctx)
        if self.check is not None:
            for word in str(value).split("," if self.many else None):
                if ":" in word:
                    self.check(word.strip())
        return str(value)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return the values that begin with what was typed."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only shells ask

        before, comma, typed = incomplete.rpartition(",") if self.many else ("", "", incomplete)
        given = before.split(",")
        return [
            CompletionItem(f"{before}{comma}{value}")
            for value in self.values
            if value.startswith(typed) and value not in given
        ]
