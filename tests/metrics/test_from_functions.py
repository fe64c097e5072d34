"""A function of one item is a metric: its parameters are the needs, its return is the value."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trueground as tg
from trueground.components.functions import MAX_CONCURRENT_CALLS
from trueground.errors import ProtocolError, UsageError
from trueground.metrics.registry import METRICS

ROWS = [
    {"id": "a", "response": "It is tall.", "contexts": ["Look. It is tall."]},
    {"id": "b", "response": "It is red.", "contexts": ["It is tall."]},
    {"id": "c", "response": "It is old."},
]


@pytest.fixture(autouse=True)
def _forget_metrics() -> Iterator[None]:
    before = set(METRICS)
    yield
    for name in set(METRICS) - before:
        del METRICS[name]


def test_metric_decorator_function_scores_records() -> None:
    @tg.metric
    def copied(response: str, contexts: list[str]) -> float:
        return float(any(response in context for context in contexts))

    result = tg.score(ROWS, metrics="copied")

    assert [item["scores"]["copied"] for item in result.evidence] == [1.0, 0.0, None]
    assert result.summary["copied"].unscored == {"missing_field": 1}
    assert METRICS.resolve("copied").default_needs == ("contexts",)


def test_metric_decorator_function_stays_callable() -> None:
    @tg.metric
    def length(response: str) -> int:
        return len(response)

    assert length("four") == 4
    assert tg.metrics.length(["four", "sixteen"]).tolist() == [4.0, 7.0]


def test_metric_function_none_is_not_applicable() -> None:
    @tg.metric
    def shouts(response: str) -> bool | None:
        return None if response == "It is red." else response.isupper()

    result = tg.score(ROWS, metrics="shouts")

    assert result.evidence[1]["status"]["shouts"] == "not_applicable"
    assert result.evidence[1]["scores"]["shouts"] is None
    assert result.summary["shouts"].scored == 2


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, 1.0), (False, 0.0), (3, 3.0), (np.float32(0.5), 0.5), (np.bool_(True), 1.0)],
    ids=["true", "false", "int", "numpy float", "numpy bool"],
)
def test_metric_function_number_is_accepted(value: Any, expected: float) -> None:
    @tg.metric(version=1)
    def constant(response: str) -> Any:
        return value

    assert tg.score(ROWS[:1], metrics="constant").summary["constant"].mean == expected


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("yes", r"str \('yes'\)"),
        (float("nan"), r"float \(nan\)"),
        (float("inf"), r"float \(inf\)"),
        ([1.0], r"list \(\[1.0\]\)"),
        (np.ones(1), r"numpy.ndarray \(array\(\[1.\]\)\)"),
    ],
    ids=["text", "nan", "infinity", "list", "array"],
)
def test_metric_function_wrong_return_is_named(value: Any, words: str) -> None:
    @tg.metric(name="mine", version=1)
    def my_function(response: str) -> Any:
        return value

    with pytest.raises(
        ProtocolError,
        match=rf"the metric 'mine': the function my_function\(\) returned {words}; expected a "
        "finite number, True, False, or None",
    ):
        tg.score(ROWS, metrics="mine")


def test_metric_sync_function_returning_coroutine_is_named() -> None:
    async def later() -> float:
        return 1.0

    @tg.metric(version=1)
    def lazy(response: str) -> Any:
        return later()

    with pytest.raises(ProtocolError, match=r"the function lazy\(\) returned coroutine"):
        tg.score(ROWS, metrics="lazy")


def test_metric_function_optional_parameter_gets_field_or_default() -> None:
    @tg.metric
    def asked(response: str, question: str = "?") -> float:
        return len(question)

    rows = [{"response": "a", "question": "Who is it?"}, {"response": "b"}]

    result = tg.score(rows, metrics="asked")

    assert [item["scores"]["asked"] for item in result.evidence] == [10.0, 1.0]
    assert METRICS.resolve("asked").default_needs == ()


def test_metric_function_every_field_arrives_in_its_plain_form() -> None:
    seen: dict[str, Any] = {}

    @tg.metric(version=1)
    def spy(
        response: str,
        question: str,
        history: list[str],
        contexts: list[str],
        references: list[str],
        gold_facts: list[str],
        response_facts: list[str],
        choices: dict[str, str],
        answerable: bool,
        knowledge: list[dict[str, Any]],
        gold_knowledge: list[list[str]],
        absent_knowledge: list[list[str]],
        meta: dict[str, Any],
    ) -> int:
        seen.update(locals())
        seen.pop("seen")
        return 1

    row = {
        "response": "A",
        "question": "Which?",
        "history": [{"role": "user", "content": "Hello"}],
        "contexts": [{"text": "One.", "title": "T"}, "Two."],
        "references": ["A"],
        "gold_facts": ["It is A."],
        "response_facts": ["A."],
        "choices": [{"label": "A", "text": "x"}],
        "answerable": True,
        "knowledge": [{"qid": "Q1", "country": "France"}],
        "gold_knowledge": [["Q1", "country", "France"]],
        "absent_knowledge": [],
        "meta": {"source": "test"},
    }

    assert tg.score([row], metrics="spy").summary["spy"].mean == 1
    assert seen == row | {
        "history": ["Hello"],
        "contexts": ["One.", "Two."],
        "choices": {"A": "x"},
    }


def test_metric_function_changing_its_input_changes_no_other_metric() -> None:
    @tg.metric
    def greedy(response: str, references: list[str]) -> int:
        references.clear()
        return 1

    row = {"response": "tall", "references": ["tall"]}

    assert tg.score([row], metrics="greedy,f1").summary["f1"].mean == 1.0


def test_metric_async_function_scores_records() -> None:
    active, most = 0, 0

    @tg.metric(version=1)
    async def slow(response: str) -> float:
        nonlocal active, most
        active += 1
        most = max(most, active)
        await asyncio.sleep(0.01)
        active -= 1
        return len(response)

    rows = [{"response": "x" * n} for n in range(1, 41)]

    result = tg.score(rows, metrics="slow")

    assert [item["scores"]["slow"] for item in result.evidence] == list(map(float, range(1, 41)))
    assert 1 < most <= MAX_CONCURRENT_CALLS


def test_metric_async_function_works_inside_event_loop() -> None:
    @tg.metric
    async def alen(response: str) -> float:
        return len(response)

    async def notebook() -> float | None:
        return (await tg.ascore(ROWS, metrics="alen")).summary["alen"].mean

    assert asyncio.run(notebook()) == pytest.approx(31 / 3)


def test_metric_function_failing_on_one_item_is_error_of_that_item() -> None:
    @tg.metric
    def picky(response: str) -> float:
        if response == "It is red.":
            raise ValueError("no colors")
        return 1.0

    result = tg.score(ROWS, metrics="picky")

    assert result.summary["picky"].unscored == {"error": 1}
    assert "no colors" in result.evidence[1]["evidence"]["picky"]["reason"]


def test_metric_async_function_failing_on_one_item_repeats_no_other_call() -> None:
    calls: list[str] = []

    @tg.metric(version=1)
    async def picky(response: str) -> float:
        calls.append(response)
        if response == "1":
            raise ValueError("not this")
        return 1.0

    result = tg.score([{"response": str(n)} for n in range(8)], metrics="picky")

    assert result.summary["picky"].scored == 7
    assert sorted(set(calls) - {"1"}) == sorted(call for call in calls if call != "1")


def test_metric_options_reach_the_declaration() -> None:
    @tg.metric(name="word-count", higher_is_better=False, version="2")
    def count(response: str) -> int:
        """Number of words.

        More text.
        """
        return len(response.split())

    metric = METRICS.resolve("word-count")

    assert metric.doc == "Number of words."
    assert metric.higher_is_better is False
    assert METRICS.is_default("word-count") is False
    assert METRICS.parse("word-count").signature == "word-count|v:2"


def test_metric_signature_changes_with_source() -> None:
    def register(body: str, folder: Path) -> str:
        file = folder / "mine.py"
        file.write_text(f"def mine(response):\n    return {body}\n")
        names: dict[str, Any] = {}
        exec(compile(file.read_text(), str(file), "exec"), names)
        tg.metric(names["mine"])
        signature = METRICS.parse("mine").signature
        del METRICS["mine"]
        return signature

    def signature_of(body: str, name: str, base: Path) -> str:
        (base / name).mkdir()
        return register(body, base / name)

    base = Path(os.environ["TRUEGROUND_HOME"]) / "functions"
    base.mkdir(parents=True)

    first = signature_of("1", "first", base)
    same = signature_of("1", "same", base)
    edited = signature_of("2", "edited", base)

    assert first == same
    assert first != edited


def test_metric_closure_without_version_is_refused() -> None:
    limit = 3

    def longer(response: str) -> bool:
        return len(response) > limit

    with pytest.raises(UsageError, match=r"its values depend on limit .* pass version="):
        tg.metric(longer)


def test_metric_without_source_needs_version() -> None:
    names: dict[str, Any] = {}
    exec("def made(response): return 1", names)

    with pytest.raises(UsageError, match=r"the source of made\(\) can't be read; pass version="):
        tg.metric(names["made"])
    tg.metric(version=1)(names["made"])
    assert METRICS.parse("made").signature == "made|v:1"


def _context_only(context: list[str]) -> float:
    return 1.0


def _positional(response: str, /) -> float:
    return 1.0


def _variadic(**fields: Any) -> float:
    return 1.0


def _nothing() -> float:
    return 1.0


class _Callable:
    def __call__(self, response: str) -> float:
        return 1.0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_context_only, "unknown parameter of the metric _context_only 'context'.*'contexts'"),
        (_positional, "the parameter 'response' can't be passed by keyword"),
        (_variadic, "the parameter 'fields' can't be passed by keyword"),
        (_nothing, "has no parameters; name what it reads: response, question"),
        (_Callable(), r"@tg.metric takes a function; found"),
        (_Callable, r"@tg.metric takes a function; found"),
    ],
    ids=["unknown field", "positional", "variadic", "no parameters", "object", "class"],
)
def test_metric_unusable_function_is_refused(function: Callable[..., Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        tg.metric(function)


@pytest.mark.parametrize("name", ["my metric", "", "1st", "a,b"])
def test_metric_unwritable_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="isn't a name of a metric; pass name="):
        tg.metric(name=name)(_nothing)


def test_metric_taken_name_is_refused() -> None:
    def f1(response: str) -> float:
        return 1.0

    with pytest.raises(UsageError, match="a metric named 'f1' exists already"):
        tg.metric(f1)


def test_metric_defined_again_replaces_itself() -> None:
    cell = "@tg.metric(version={0})\ndef redefined(response):\n    return {0}\n"
    for value in (1, 2):
        exec(cell.format(value), {"tg": tg, "__name__": "__main__"})

    assert tg.score(ROWS[:1], metrics="redefined").summary["redefined"].mean == 2.0


def test_metric_long_form_option_without_doc_is_refused() -> None:
    with pytest.raises(UsageError, match="needs= works only with doc="):
        tg.metric("mine", needs=("contexts",))  # type: ignore[call-overload]


def test_score_metric_as_function_is_refused_by_name() -> None:
    @tg.metric
    def copied(response: str) -> float:
        return 1.0

    with pytest.raises(UsageError, match="metrics: got function; expected names"):
        tg.score(ROWS, metrics=[copied])  # type: ignore[list-item]


def test_metric_of_entry_point_reaches_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "their_functions.py").write_text(
        "import trueground as tg\n"
        "@tg.metric\n"
        "def copied(response: str, contexts: list[str]) -> float:\n"
        "    'Share of contexts that hold the response.'\n"
        "    return sum(response in context for context in contexts) / len(contexts)\n"
        "@tg.judge\n"
        "def verbatim(claim: str, texts: list[str]) -> bool:\n"
        "    'Is the claim in a text word for word?'\n"
        "    return any(claim in text for text in texts)\n"
    )
    info = tmp_path / "their_functions-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-functions\nVersion: 1\n")
    (info / "entry_points.txt").write_text(
        "[trueground.metrics]\ncopied = their_functions\n"
        "[trueground.judges]\nverbatim = their_functions\n"
    )
    (tmp_path / "rows.jsonl").write_text(
        '{"response": "It is.", "contexts": ["It is.", "No."]}\n' * 3
    )
    command = [sys.executable, "-m", "trueground"]
    paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}

    def trueground(*words: str) -> str:
        done = subprocess.run(
            [*command, *words], capture_output=True, text=True, cwd=tmp_path, env=env
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    listed = trueground("list", "metrics")
    scored = trueground(
        *("score", "rows.jsonl", "--metrics", "copied,support", "--judge", "verbatim"),
        *("--out", "run", "--workers", "2"),
    )

    words = " ".join(listed.split())
    assert "Share of contexts that hold the response. [needs contexts]" in words
    assert "Is the claim in a text word for word?" in trueground("list", "judges")
    assert "0.5000" in scored
    assert '"copied":0.5' in (tmp_path / "run" / "items.jsonl").read_text()
