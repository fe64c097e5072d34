"""Errors speak of options at a terminal, and of parameters in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import trueground as tg
from trueground.cli import app
from trueground.cli._options import option_parameters
from trueground.errors import UsageError, in_python, user_messages
from trueground.evaluate.run import RunRequest
from trueground.evaluate.score import ScoreRequest
from trueground.options.option import Option
from trueground.wings.papers.builders.settings import EndpointDefaults


@pytest.fixture(autouse=True)
def _options_in_messages() -> None:
    """Here errors are shown as Python shows them."""


@pytest.mark.parametrize(
    ("words", "python"),
    [
        ("choose another --out", "choose another `out`"),
        ("pass --overwrite to replace it", "pass `overwrite=True` to replace it"),
        ("--no-cache goes without it", "`cache=False` goes without it"),
        ("or pass --on-bad-row skip to score", 'or pass `on_bad_row="skip"` to score'),
        ("--by color: no record has it", '`by="color"`: no record has it'),
        ("--max-failed 2.5: expected a share", "`max_failed=2.5`: expected a share"),
        ("--map response=COLUMN names it", '`mapping={"response": "COLUMN"}` names it'),
        ('add --rater "llm:MODEL(x=1)"', 'add `rater="llm:MODEL(x=1)"`'),
        ("first: trueground graph load x --out DIR", "first: trueground graph load x --out DIR"),
        ("with: trueground judge fit FILE --out X", "with: `trueground.fit_judge`"),
        ("`trueground validate` does it on", "`trueground.validate` does it on"),
        ("run `hf download x --local-dir F` there", "run `hf download x --local-dir F` there"),
        ("a -- b, a--b, -–- and --- stay", "a -- b, a--b, -–- and --- stay"),
    ],
)
def test_options_as_parameters(words: str, python: str) -> None:
    assert in_python(words) == python
    error = UsageError(words)
    assert str(error) == python
    with user_messages.at_terminal():
        assert str(error) == words
    assert error.args == (words,)


def test_the_names_are_those_of_the_signatures() -> None:
    """Each option of a public function becomes its parameter."""
    places = (
        ScoreRequest,
        RunRequest,
        tg.validate,
        tg.calibrate,
        tg.BuildSettings,
        EndpointDefaults,
    )
    seen = 0
    for place in places:
        for parameter in option_parameters(place):
            (declared,) = (m for m in parameter.annotation.__metadata__ if isinstance(m, Option))
            for flag in declared.flags or (f"--{parameter.name.replace('_', '-')}",):
                shown = in_python(flag).strip("`").partition("=")
                assert shown[0] == parameter.name, (place, flag)
                if isinstance(parameter.default, bool):
                    assert shown[2] == str(not parameter.default), (place, flag)
                seen += 1
    assert seen > 50


def test_python_and_the_command_say_the_same_of_a_bad_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text('{"response": "a"}\n{"response": 3}\n', encoding="utf-8")
    with pytest.raises(tg.errors.BadRowsError) as met:
        tg.score(file)
    assert 'pass `on_bad_row="skip"` to score the rest' in str(met.value)
    assert "--" not in str(met.value)
    assert app.run(["score", str(file), "--out", str(tmp_path / "out")]) == 2
    assert "pass --on-bad-row skip to score the rest" in capsys.readouterr().err


def test_python_speaks_of_parameters_and_functions(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"response": "x", "ctx_texts": ["a text", "another"]}] * 2
    result = tg.score(rows)
    for said in (capsys.readouterr().err, repr(result), result._repr_html_()):
        words = " ".join(said.replace("&quot;", '"').split())
        assert '`mapping={"contexts": "ctx_texts"}`' in words
        assert "--" not in words
    tg.score([{"response": "x", "passages": ["a"], "documents": ["b"]}])
    assert '`mapping={"contexts": "passages"}`' in capsys.readouterr().err
