"""What a user writes of a part: quotes around models and values, and options where none can be."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from trueground.components.specs import ComponentSpec, ResultKey, quote
from trueground.errors import UsageError
from trueground.evaluate.components import Components
from trueground.judges.registry import get_judge
from trueground.metrics.registry import METRICS


@pytest.mark.parametrize(
    ("text", "model", "options"),
    [
        ('b:"/models/a (1)"', "/models/a (1)", {}),
        ('b:"/models/a (1)"(calibration="a,b.json")', "/models/a (1)", {"calibration": "a,b.json"}),
        ("b : 'C:\\\\a, b' ( x = '(1)' , y=2 )", "C:\\\\a, b", {"x": "(1)", "y": "2"}),
        ("b(x=\"it's\",y='=')", None, {"x": "it's", "y": "="}),
        ("b:it's/a(x=it's)", "it's/a", {"x": "it's"}),
        ("b(x=f(1),)", None, {"x": "f(1)"}),
        ("b()", None, {}),
    ],
)
def test_quotes(text: str, model: str | None, options: dict[str, str]) -> None:
    assert ComponentSpec.parse("judge", text) == ComponentSpec("judge", "b", model, options)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("b:/models/a (1)", "cannot read option number 1; write option=value. Quote a value"),
        ('b:"/models/a', "cannot read the judge"),
        ('b:""', "cannot read the judge"),
        ('b(x="a,b)', "Quote a value that contains a comma or parentheses"),
        ('b(x="a"c)', "Quote a value"),
        ('b(x="")', "write option=value"),
        ("b(x=a,b.json)", "cannot read option number 2"),
        ("b(=1)", "cannot read =…; write"),
    ],
)
def test_what_cannot_be_read(text: str, words: str) -> None:
    with pytest.raises(UsageError) as told:
        ComponentSpec.parse("judge", text)
    assert words in str(told.value)


_WORDS = st.text(st.characters(exclude_characters='"', exclude_categories=["Cs"]), min_size=1)


@given(model=_WORDS, value=_WORDS)
def test_whatever_stands_in_quotes_comes_back(model: str, value: str) -> None:
    found = ComponentSpec.parse("judge", f'b:"{model}"(x="{value}",y=1)')
    assert (found.model, found.options) == (model, {"x": value, "y": "1"})


def test_a_part_without_options_says_so() -> None:
    with pytest.raises(UsageError, match="the judge b takes no options, but has 'x'"):
        ComponentSpec("judge", "b", options={"x": "1"}).check(())
    with pytest.raises(UsageError, match="Known: calibration, threshold"):
        get_judge("lexical(x=1)")


@pytest.mark.parametrize("word", ["²", "٣", "7" * 5_000, "1_0", "-1", "2.5", "0", "one", "+3"])
def test_what_is_no_whole_number(word: str) -> None:
    with pytest.raises(UsageError, match="a whole number, 1 or more") as told:
        ComponentSpec("judge", "b", options={"n": word}).whole("n", 4)
    assert len(str(told.value)) < 200


def test_whole_numbers() -> None:
    part = ComponentSpec("judge", "b", options={"n": "7", "most": "9" * 9})
    assert (part.whole("n", 4), part.whole("most", 4), part.whole("m", 4)) == (7, 999_999_999, 4)


_ANY = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
_NAMES = st.from_regex(r"[A-Za-z_][\w-]{0,8}", fullmatch=True)


@given(name=_NAMES, model=st.none() | _ANY, options=st.dictionaries(_NAMES, _ANY, max_size=3))
def test_what_is_written_is_read_again(
    name: str, model: str | None, options: dict[str, str]
) -> None:
    """Round trip: for parts, for the models of roles, and within a list."""
    part = ComponentSpec("judge", name, model, options)
    assert ComponentSpec.parse("judge", part.written) == part
    assert ComponentSpec.split(f"a, {part.written} ,b") == ["a", part.written, "b"]
    assert ResultKey.parse(replace(part, model=None).written + "@nli") == (
        name,
        replace(part, model=None).written,
        "nli",
    )
    if model is not None:
        written = ComponentSpec("model", "role", None, options).written.removeprefix("role")
        assert ComponentSpec.parse_model("role", quote(model) + written) == (
            model,
            ComponentSpec("model", "role", None, options),
        )


def test_quotes_mean_the_same_wherever_parts_are_named(tmp_path: Path) -> None:
    model = {"base_url": "http://127.0.0.1:9/v1?a=1,b=2"}
    judge = 'llm:"my(model)"(base_url="http://127.0.0.1:9/v1?a=1,b=2")'
    with closing(Components.make(judge)) as parts:
        assert parts.rater_spec == ComponentSpec("rater", "llm", "my(model)", model)
    assert ComponentSpec.parse_model("writer", judge.removeprefix("llm:"))[1].options == model
    spec = METRICS.parse('bem(model="org/m@main",device="cpu")')
    assert spec.options["model"] == "org/m@main"
    assert METRICS.of_key(f"{spec.key}@nli") is spec.metric
    key = METRICS.parse(f'rated(rubric="{tmp_path}/my, own (1).txt")').key
    assert [one.key for one in METRICS.parse_all(f"f1,{key},recall")] == ["f1", key, "recall"]


def test_reading_is_linear() -> None:
    for text in ('"' * 200_000, "(" * 200_000, "a=" * 100_000, "'a" * 100_000, "b(" + "x=1," * 9):
        with pytest.raises(UsageError):
            ComponentSpec.parse("judge", text)


def test_keys_are_found_by_their_bare_name() -> None:
    keys = ["support(scope=gold)", "support(scope=gold)@nli", "k_precision(of='(@)')", "p_g"]
    parsed = [ResultKey.parse(key) for key in keys]
    assert [key.name for key in parsed] == [
        "support",
        "support",
        "k_precision",
        "p_g",
    ]
    assert [key.options for key in parsed] == [
        "scope=gold",
        "scope=gold",
        "of='(@)'",
        "",
    ]
    assert ResultKey.find("k_precision", keys) == keys[2:3]
    assert ResultKey.find("support", keys) == keys[:2]
    assert ResultKey.find("support", ["support@nli", "support"]) == ["support"]
    assert ResultKey.find("supp", keys) == []
