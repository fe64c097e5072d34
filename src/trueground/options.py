"""The options of public functions, each declared once, in the function's signature.

A parameter is `name: Annotated[T, Option("help")] = default`. Python and type checkers read the
type and the default; the command line reads them too, with the help, and adds what only a terminal
needs (`cli/_options.py`); the API page prints the same. A parameter without an `Option` is no
option of a command. Modules that hold such signatures import nothing heavy before they are called.
"""

# No `from __future__ import annotations` here and in modules with such signatures: the command line
# reads the annotations as values, without the modules that heavy types come from.
from collections.abc import Callable, Coroutine, Sequence
from functools import update_wrapper
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
UNSET: Any = object()
# progress(phase, done, total); total is None if unknown. Phases: "check", "ask", "score", "report".
Progress = Callable[[str, int, int | None], None]
# What public functions take: a callback, or True for bars on standard error.
ShowProgress = Progress | bool
# note(message): what the user should know beside the result.
Note = Callable[[str], None]


def no_progress(_phase: str, _done: int, _total: int | None) -> None:
    """Say nothing."""


def no_note(_message: str) -> None:
    """Say nothing."""


class Option:
    """What the command line needs to know of a parameter beside its type and its default.

    `flags` are its names there, where they are others than the parameter's own. `type` is what a
    command takes where the function takes more than text can say, `default` the command's default
    where it differs, and `parse` makes the function's value of the command's. A flag "--no-X" of a
    parameter that is true by default turns it off.
    """

    def __init__(
        self,
        help_text: str | None,
        *flags: str,
        type: Any = None,  # noqa: A002
        default: Any = UNSET,
        parse: Callable[[Any], Any] | None = None,
        metavar: str | None = None,
        min: float | None = None,  # noqa: A002
        max: float | None = None,  # noqa: A002
    ) -> None:
        self.help = help_text
        self.flags = flags
        self.type = type
        self.default = default
        self.parse = parse
        self.metavar = metavar
        self.min = min
        self.max = max

    def __repr__(self) -> str:
        return f"Option({self.help!r})"


def for_event_loops(
    function: Callable[P, T], work: Callable[..., Coroutine[Any, Any, T]]
) -> Callable[P, Coroutine[Any, Any, T]]:
    """`work`, which does the same in an event loop, under the signature of the function."""
    update_wrapper(work, function)
    work.__name__ = work.__qualname__ = f"a{function.__name__}"
    work.__doc__ = f"`{function.__name__}` for callers that own an event loop."
    return work


def check_whole_numbers(**values: tuple[int | None, int]) -> None:
    """Each `name=(value, least)`: None, or a whole number of `least` or more. UsageError."""
    for name, (value, least) in values.items():
        if value is not None and (not isinstance(value, int) or value < least):
            from trueground.errors import UsageError

            raise UsageError(f"{name}={value!r}; it must be a whole number, {least} or more")


def check_draws(resamples: int, seed: int, level: float) -> None:
    """UsageError for intervals that cannot be drawn."""
    if resamples < 1 or seed < 0 or not 0 < level < 1:
        from trueground.errors import UsageError

        raise UsageError(
            f"resamples={resamples}, seed={seed}, level={level}; expected 1 or more, 0 or more, "
            "and a number between 0 and 1"
        )


def parse_shard(text: str) -> tuple[int, int]:
    """`3/16` → (2, 16): the number of a shard, from 0, and how many there are. UsageError."""
    one, slash, of = text.partition("/")
    number, count = (int(t) if t.isascii() and t.isdecimal() else 0 for t in (one, of))
    if not slash or not 1 <= number <= count:
        from trueground.errors import UsageError

        raise UsageError(f"--shard {text}: expected I/N, as in 3/16, I from 1 to N")
    return number - 1, count


OnBadRow = Annotated[Literal["stop", "skip"], Option("stop, or skip.", "--on-bad-row")]
Seed = Annotated[int, Option("Seed of all that is drawn.", "--seed", min=0, max=2**63 - 1)]
Resamples = Annotated[int, Option("Bootstrap samples.", "--resamples", min=1)]
Level = Annotated[float, Option("Level of the intervals, between 0 and 1.", "--level")]
Overwrite = Annotated[bool, Option("Replace --out.", "--overwrite")]
Cache = Annotated[
    bool, Option("Neither read nor write what is kept of earlier calls.", "--no-cache")
]
Workers = Annotated[int | None, Option("Processes. Default: by size.", min=1, default=None)]
KeepRecords = Annotated[bool, Option("Do not keep the records with the run.", "--no-records")]
By = Annotated[
    str | Sequence[str],
    Option("Break down by a field. Repeatable.", type=list[str] | None),
]
Label = Annotated[
    str | None,
    Option(
        "Key of `human`; several annotators stand as LABEL:ANNOTATOR. Default: faithful, else "
        "the only one.",
        "--label",
    ),
]
LabelPaths = Annotated[
    Sequence[str | Path],
    Option(
        "Labels of `trueground annotate`, beside the records. Repeatable.",
        "--labels",
        type=list[Path] | None,
    ),
]
RateLabels = Annotated[
    str | Path | Sequence[str | Path],
    Option(
        "People's labels of some answers: the rate that people would give all of them, with an "
        "interval. JSON lines with id and human, or of `trueground annotate`. Repeatable.",
        "--labels",
        type=list[Path] | None,
    ),
]
LabelsDrawn = Annotated[
    Literal["random"] | None,
    Option(
        "random: the answers in --labels were drawn at random, where the file does not say so.",
        "--labels-drawn",
    ),
]
PositiveAbove = Annotated[float, Option("A label above this is positive.", "--positive-above")]
