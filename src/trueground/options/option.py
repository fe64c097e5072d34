"""The declaration of an option: its help, its range, and what its command needs to know.

An option is declared once, as a parameter of a public function or as a field of a settings class:

    @dataclass(frozen=True, kw_only=True)
    class ToyOptions(TaskOptions):
        shots: Annotated[int, Option("Worked examples in the prompt.", min=0)] = 2
        style: Annotated[Literal["short", "long"], Option("How answers are worded.")] = "short"

Python and type checkers read the name, the type and the default. The command line,
`trueground list`, the range check and the docs read them too, together with the help.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

_UNSET: Any = object()


class Option:
    """Declaration of an option, beside the type and the default of what it annotates.

    Args:
        help: Help text. None for an option that needs none.
        *flags: Names on the command line if they differ from the parameter's name. A flag
            "--no-X" of a parameter that is true by default turns it off.
        min: Smallest number allowed.
        max: Largest number allowed.
        above: Whether a number must be larger than `min`.
        below: Whether a number must be smaller than `max`.
        expected: What a value must be, if type and range do not say it well.
        type: Type that a command takes if the function takes more than text can express.
        default: Default of the command if it differs from that of the function.
        parse: Converts the value of the command into the value of the function.
        metavar: Placeholder of the value in the help.
        unset: Whether no default is shown because the help explains it.
        varied: Whether it can be repeated, each value a run of its own.
        tasks: Tasks of a benchmark that have the option. Others reject it.
        needs: Options without which it is rejected.
        excludes: Options that it can't be combined with, each with advice.
        applies: Option, `task` or property, and the values with which it has an effect. With other
            values it is accepted, and the user gets a warning.

    Attributes:
        MAX_SEED: The largest seed.
    """

    MAX_SEED: ClassVar[int] = 2**63 - 1

    def __init__(
        self,
        help: str | None,  # noqa: A002
        *flags: str,
        min: float | None = None,  # noqa: A002
        max: float | None = None,  # noqa: A002
        above: bool = False,
        below: bool = False,
        expected: str = "",
        type: Any = None,  # noqa: A002
        default: Any = _UNSET,
        parse: Callable[[Any], Any] | None = None,
        metavar: str | None = None,
        unset: bool = False,
        varied: bool = False,
        tasks: tuple[str, ...] = (),
        needs: tuple[str, ...] = (),
        excludes: Mapping[str, str] | None = None,
        applies: Mapping[str, tuple[object, ...]] | None = None,
    ) -> None:
        self.help = help
        self.flags = flags
        self.min = min
        self.max = max
        self.above = above
        self.below = below
        self.expected = expected
        self.type = type
        self.default = default
        self.parse = parse
        self.metavar = metavar
        self.unset = unset
        self.varied = varied
        self.tasks = tasks
        self.needs = needs
        self.excludes = excludes or {}
        self.applies = applies or {}

    @property
    def has_own_default(self) -> bool:
        """Whether the command has another default than the function."""
        return self.default is not _UNSET

    def __repr__(self) -> str:
        return f"Option({self.help!r})"
