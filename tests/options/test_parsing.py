"""Options as one class: read from text, checked alone, beside each other, and for a task."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from trueground.errors import UsageError
from trueground.options.option import Option
from trueground.options.parsing import format_options, parse_options
from trueground.options.reading import declared_options


@dataclass(frozen=True, kw_only=True)
class Small:
    task: str = "open"
    shots: Annotated[int, Option("examples", min=1, max=7)] = 2
    seed: Annotated[int, Option("seed. Default: 0", unset=True, min=0, needs=("file",))] = 0
    kept: Annotated[float, Option("share", min=0, max=1)] = 1.0
    half: Annotated[float, Option("share", min=0, max=0.5, above=True)] = 0.3
    style: Annotated[Literal["short", "long"], Option("how", varied=True)] = "short"
    how: Annotated[Literal["a", "b"] | None, Option("which", tasks=("closed",))] = None
    file: Annotated[Path | None, Option("where", excludes={"drawn": "choose"})] = None
    drawn: Annotated[bool, Option("flag", applies={"style": ("long",)})] = False
    types: Annotated[tuple[str, ...], Option("names")] = ()
    name: Annotated[str | None, Option("text")] = None

    def __post_init__(self) -> None:
        if self.shots == 3:
            raise UsageError("three is too many")


def parse(task: str = "open", **given: Any) -> Small:
    return parse_options(Small, "small", given, task=task)


def refused(words: str, task: str = "open", **given: Any) -> None:
    with pytest.raises(UsageError, match=words):
        parse(task, **given)


def test_they_are_declared_with_their_defaults_as_text() -> None:
    found = {option.name: option for option in declared_options(Small)}
    assert {name: option.default_text for name, option in found.items()} == {
        "shots": "2",
        "seed": None,
        "kept": "1",
        "half": "0.3",
        "style": "short",
        "how": None,
        "file": None,
        "drawn": False,
        "types": None,
        "name": None,
    }
    assert found["style"].choices == ("short", "long")
    assert found["how"].choices == ("a", "b")
    assert found["style"].option.varied


def test_values_as_what_they_mean() -> None:
    assert parse() == Small()
    given = {"shots": " 7 ", "kept": ".5", "style": "long", "file": "a/b", "types": "x, y,x"}
    found = parse("closed", **given, seed="4", how="b", name=" n ")
    assert found == Small(
        task="closed",
        shots=7,
        seed=4,
        kept=0.5,
        style="long",
        how="b",
        file=Path("a/b"),
        types=("x", "y"),
        name="n",
    )
    assert parse(shots=7, kept=0.5, types=["x", "y"], file=Path("a"), seed=None).shots == 7
    texts = {**given, "shots": "7", "kept": "0.5", "types": "x,y", "seed": "4"}
    assert format_options(found) == {
        **texts, "half": "0.3", "how": "b", "drawn": False, "name": "n"
    }  # fmt: skip
    assert parse_options(Small, "small", format_options(found), task="closed") == found


@pytest.mark.parametrize("text", ["0", "1", ".5", " 0.25 ", "1e-3", "0.3", "1."])
def test_shares(text: str) -> None:
    assert parse(kept=text).kept == float(text)


@pytest.mark.parametrize(
    "text", ["1_0", "-0.1", "1.01", "nan", "inf", "half", "0,5", "1e400", "٣", "+1"]
)
def test_no_shares(text: str) -> None:
    refused(
        f"^--kept {text.replace('+', '[+]')}: expected a number from 0 to 1, such as 0.5$",
        kept=text,
    )


@pytest.mark.parametrize("text", ["0", "0.0", "0.51"])
def test_bounds_that_are_no_values(text: str) -> None:
    refused(rf"--half {text}: expected a number above 0, 0\.5 at most, such as 0\.25", half=text)


@pytest.mark.parametrize("text", ["1_0", "0", "8", "7.0", "+7", "9" * 5000, "٣"])
def test_no_whole_numbers(text: str) -> None:
    refused("expected a whole number, 1 to 7", shots=text)


def test_what_is_refused() -> None:
    words = "^--seed 9999999999: expected a whole number, 0 or more, below 1,000,000,000$"
    refused(words, seed="9999999999", file="f")
    refused("^--style loud: expected one of short, long$", style="loud")
    refused("unknown option of small 'stile'.*'style'", stile="long")
    refused("^--file is empty; give it a value, or leave it out$", file=" ")
    refused("^--types ,: expected names with commas between$", types=",")
    refused("^--drawn 'yes': expected true or false$", drawn="yes")
    refused("^--name True: expected text$", name=True)
    refused("^three is too many$", shots="3")


def test_what_is_refused_beside_others() -> None:
    refused("^--seed is for --file; give that too, or leave it out$", seed="1")
    refused("^--file and --drawn exclude each other; choose$", file="f", drawn=True)
    words = "^--how is for the task closed, not for open; run small/closed, or leave the option out"
    refused(words, how="a")


def test_options_without_effect() -> None:
    for given, unused in (
        ({}, ()),
        ({"drawn": True}, ("drawn",)),
        ({"drawn": True, "style": "long"}, ()),
    ):
        settings = parse(**given)
        changed = declared_options(Small).changed("small", given)
        names = tuple(option.name for option in changed if not option.has_effect(settings))
        assert names == unused
