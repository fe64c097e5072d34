"""Options are declared once: in the signature of a function, from which its command has them."""

from __future__ import annotations

import asyncio
import inspect
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer
from typer.testing import CliRunner

import trueground as tg
from trueground.benchmarks.data import count_data, fetch_data
from trueground.cli import run_command
from trueground.cli._options import option_parameters, takes
from trueground.errors import user_messages
from trueground.options.option import Option
from trueground.options.shared import Cache, Workers
from trueground.studies.comparing import compare
from trueground.wings.graphs.operations import (
    find_entities,
    link_questions,
    load_graph,
    query_graph,
)
from trueground.wings.labeling.operations import export_tasks, import_answers, measure_agreement
from trueground.wings.papers.errors.study import sort_errors
from trueground.wings.search.operations import evaluate_index, make_index, search_index

PUBLIC = (tg.score, tg.ascore, tg.run, tg.arun, tg.validate, tg.calibrate, compare, sort_errors)


def take(
    *,
    names: Annotated[
        str | tuple[str, ...],
        Option("Names.", type=list[str] | None, parse=lambda texts: tuple(map(str.upper, texts))),
    ] = ("default",),
    cache: Cache = True,
    side: Annotated[Literal["left", "right"], Option("Which.", "--on", "-o")] = "left",
    workers: Workers = 1,
    deep: Annotated[bool, Option("Go deep.")] = False,
    hidden: int = 3,
) -> dict[str, Any]:
    return {name: value for name, value in locals().items() if name != "hidden"}


def invoke(words: list[str], before: dict[str, tuple[str, ...]] | None = None) -> Any:
    seen: dict[str, Any] = {}

    @takes(take, before=before)
    def command(
        file: str,
        *,
        own: int = 5,
        also: Annotated[bool, Option("Too.", "--no-also")] = True,
        **options: Any,
    ) -> None:
        """A command."""
        seen.update(file=file, own=own, also=also, given=dict(options), got=take(**options))

    app = typer.Typer(rich_markup_mode=None)
    app.command()(command)
    result = CliRunner().invoke(app, words, env={"COLUMNS": "100"})
    return result.output if "--help" in words else (result.exit_code, seen)


def test_what_is_not_named_is_left_to_the_function() -> None:
    code, seen = invoke(["a"])
    assert code == 0
    assert seen["given"] == {"cache": True, "side": "left", "workers": None, "deep": False}
    assert seen["got"]["names"] == ("default",)
    assert (seen["file"], seen["own"], seen["also"]) == ("a", 5, True)


def test_values_are_parsed_and_switches_turn_off() -> None:
    words = ["a", "--names", "x", "--names", "y", "--no-cache", "-o", "right", "--workers", "2"]
    _, seen = invoke([*words, "--deep", "--no-also", "--own", "7"])
    assert seen["got"] == {
        "names": ("X", "Y"),
        "cache": False,
        "side": "right",
        "workers": 2,
        "deep": True,
    }
    assert (seen["own"], seen["also"]) == (7, False)


def test_values_out_of_range_are_refused() -> None:
    assert invoke(["a", "--workers", "0"])[0] == 2
    assert invoke(["a", "--on", "middle"])[0] == 2
    assert invoke(["a", "--hidden", "4"])[0] == 2


def test_help_has_the_declared_text_in_the_declared_order() -> None:
    text = invoke(["--help"])
    places = [text.index(word) for word in ("--names", "--no-cache", "--on", "--workers", "--own")]
    assert places == sorted(places)
    assert "Don't read or write the cache." in text
    assert "--hidden" not in text
    early = invoke(["--help"], {"side": ("own",)})
    assert early.index("--own") < early.index("--on ")


@pytest.mark.parametrize(
    ("command", "function"),
    [
        ("annotate export", export_tasks),
        ("annotate import", import_answers),
        ("agreement", measure_agreement),
        ("index build", make_index),
        ("index search", search_index),
        ("index evaluate", evaluate_index),
        ("graph load", load_graph),
        ("graph query", query_graph),
        ("graph show", find_entities),
        ("graph link", link_questions),
        ("data fetch", fetch_data),
        ("data stats", count_data),
    ],
)
def test_a_command_has_what_its_function_declares(
    command: str, function: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command([*command.split(), "--help"]) == 0
    words = capsys.readouterr().out.replace(",", " ").split()
    declared = option_parameters(function)
    assert declared
    for parameter in declared:
        [option] = [one for one in parameter.annotation.__metadata__ if isinstance(one, Option)]
        for flag in option.flags or (f"--{parameter.name.replace('_', '-')}",):
            assert flag in words


@pytest.mark.parametrize("function", PUBLIC, ids=lambda f: f.__name__)
def test_public_functions_have_explicit_keywords(function: Callable[..., Any]) -> None:
    parameters = inspect.signature(function).parameters.values()
    kinds = {parameter.kind for parameter in parameters}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    assert len(parameters) > 8
    assert function.__doc__
    needed = ["x" for parameter in parameters if parameter.default is parameter.empty]

    async def call() -> None:
        result = function(*needed, no_such_option=1)
        if inspect.isawaitable(result):
            await result

    with pytest.raises(TypeError, match="'no_such_option'"):
        asyncio.run(call())


def test_the_functions_for_event_loops_take_the_same() -> None:
    assert inspect.signature(tg.ascore) == inspect.signature(tg.score)
    assert inspect.signature(tg.arun) == inspect.signature(tg.run)
    assert inspect.iscoroutinefunction(tg.ascore)


@pytest.mark.parametrize("seed", [-1, 0.5, "1", True, 2**63])
def test_score_seed_out_of_range_raises(seed: Any) -> None:
    with pytest.raises(tg.errors.UsageError, match=r"--seed .*expected a whole number, 0 or more"):
        tg.score([{"response": "a", "references": ["a"]}], seed=seed)


def test_run_command_quiet_hides_no_later_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text('{"response": "old", "references": ["old"]}')
    assert run_command(["score", "a.jsonl", "--out", "run", "--metrics", "f1", "--quiet"]) == 0
    user_messages.show("the run is resumed", note=True)
    assert "the run is resumed" in capsys.readouterr().err


def test_commands_run_in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    row = {"id": "a", "response": "It is \x1b[31mold.", "references": ["old"]}
    Path("a.jsonl").write_text(json.dumps(row))
    out, err, argv = io.StringIO(), io.StringIO(), list(sys.argv)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert run_command(["score", "a.jsonl", "--out", "run", "--metrics", "f1"]) == 0
    assert "f1" in out.getvalue()
    assert (sys.stdout, sys.stderr, sys.argv) == (out, err, argv)
    manifest = json.loads(Path("run/manifest.json").read_text())
    assert manifest["command"][:3] == ["trueground", "score", "a.jsonl"]
    assert run_command(["score", "a.jsonl", "--out", "run"]) == 2
    assert "trueground: run " in err.getvalue()
    assert run_command(["scor\x1b"]) == 2
    assert "\x1b" not in err.getvalue()
    assert run_command(["score", "a.jsonl", "--fail-under", "f1=1", "--out", "b"]) == 1
    assert run_command([]) == 0
