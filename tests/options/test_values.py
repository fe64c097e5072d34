"""Declared options: their values, their ranges, and pairs such as NAME=VALUE."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest

from trueground.api.requests import takes_fields_of
from trueground.errors import UsageError
from trueground.options.declaration import DeclaredOption
from trueground.options.option import Option
from trueground.options.pairs import split_pair
from trueground.options.reading import declared_options
from trueground.options.values import MAX_WHOLE

if TYPE_CHECKING:
    import numpy as np

WHOLE = DeclaredOption.of("n", int, 1, Option(None, min=1))
SHARE = DeclaredOption.of("share", float, 0.5, Option(None, min=0, max=1, above=True, below=True))
ANY = DeclaredOption.of("any", float, 0.0, Option(None))


@dataclass(frozen=True, kw_only=True)
class Request:
    rows: str | np.ndarray[Any, Any]
    count: Annotated[int, Option("Count.", min=1)] = 1
    side: Annotated[Literal["left", "right"] | None, Option("Side.")] = None
    array: Annotated[np.ndarray[Any, Any] | None, Option("Heavy type.", type=str)] = None

    def __post_init__(self) -> None:
        declared_options(type(self)).check(vars(self))


@takes_fields_of(Request)
def measure(request: Request) -> int:
    """Return the count."""
    return request.count


@takes_fields_of(Request)
async def measure_later(request: Request) -> int:
    """Return the count."""
    return request.count


def test_declared_options_reads_types_choices_and_defaults() -> None:
    count, side, array = declared_options(Request)
    assert (count.name, count.type, count.default) == ("count", int, 1)
    assert side.choices == ("left", "right")
    assert side.optional
    assert array.option.type is str


@pytest.mark.parametrize("value", [0, -1, 1.0, "1", True, None, nan, inf])
def test_check_of_whole_number_out_of_range_raises(value: object) -> None:
    with pytest.raises(UsageError, match="a whole number, 1 or more"):
        WHOLE.check(value)


def test_check_of_number_too_long_for_json_raises() -> None:
    WHOLE.check(MAX_WHOLE)
    with pytest.raises(UsageError, match=r"1 or more, up to 9,007,199,254,740,991"):
        WHOLE.check(MAX_WHOLE + 1)


def test_check_of_seed_takes_64_bits() -> None:
    seed = DeclaredOption.of("seed", int, 0, Option(None, min=0, max=Option.MAX_SEED))
    seed.check(Option.MAX_SEED)
    with pytest.raises(UsageError, match="0 or more, up to 9,223,372,036,854,775,807"):
        seed.check(Option.MAX_SEED + 1)


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, -0.1, 2])
def test_check_on_open_bounds_raises(value: float) -> None:
    with pytest.raises(UsageError, match="a number between 0 and 1"):
        SHARE.check(value)


@pytest.mark.parametrize("value", [inf, -inf, nan])
def test_check_of_endless_number_raises(value: float) -> None:
    with pytest.raises(UsageError, match="a finite number"):
        ANY.check(value)


def test_parse_without_range_takes_a_sign() -> None:
    assert ANY.parse(" -1.5e2 ") == -150.0
    with pytest.raises(ValueError, match="a number"):
        ANY.parse("1_0")


def test_parse_of_path_and_names() -> None:
    path = DeclaredOption.of("p", Path | None, None, Option(None))
    names = DeclaredOption.of("t", tuple[str, ...], (), Option(None))
    assert path.parse("a/b") == Path("a/b")
    assert names.parse("x, y,x") == ("x", "y")


def test_check_of_settings_names_the_option() -> None:
    with pytest.raises(UsageError, match=r"--count 0: expected a whole number, 1 or more"):
        Request(rows="a", count=0)
    with pytest.raises(UsageError, match=r"expected one of left, right"):
        Request(rows="a", side="up")  # type: ignore[arg-type]


def test_check_uses_the_declaration_of_the_function() -> None:
    def plot(*, size: Annotated[int, Option("Size.", "--big", min=2)] = 2) -> None: ...

    declared = declared_options(plot)
    declared.check({"size": 2})
    with pytest.raises(UsageError, match=r"--big 1: expected a whole number, 2 or more"):
        declared.check({"size": 1})


def test_takes_fields_of_gives_the_function_the_parameters_of_the_class() -> None:
    import asyncio
    import inspect

    parameters = inspect.signature(measure).parameters
    assert list(parameters) == ["rows", "count", "side", "array"]
    assert measure(rows="a", count=3) == 3
    assert asyncio.run(measure_later(rows="a", count=4)) == 4
    assert inspect.iscoroutinefunction(measure_later)
    with pytest.raises(TypeError, match=r"measure\(\) got an unexpected keyword argument 'depth'"):
        measure(rows="a", depth=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("text", "last", "pair"),
    [
        (" a = b ", False, ("a", "b")),
        ("a=b=c", False, ("a", "b=c")),
        ("k(x=y)=0.5", True, ("k(x=y)", "0.5")),
    ],
    ids=["spaces", "first", "last"],
)
def test_split_pair_cuts_at_an_equals_sign(text: str, last: bool, pair: tuple[str, str]) -> None:
    assert split_pair("--map", text, "A=B", last=last) == pair


@pytest.mark.parametrize("text", ["", "a", "a=", "=b", " = "])
def test_split_pair_without_name_or_value_raises(text: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be read; write A=B"):
        split_pair("--map", text, "A=B")


def test_split_pair_of_a_secret_keeps_the_value_out_of_the_message() -> None:
    with pytest.raises(UsageError) as raised:
        split_pair("--param", "=hunter2", "A=B", secret=True)
    assert "hunter2" not in str(raised.value)


def test_split_pair_takes_an_empty_value_if_allowed() -> None:
    assert split_pair("--where", "a=", "A=B", allow_empty=True) == ("a", "")
