"""What models reply where JSON was asked for."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest

from trueground.wings.papers.builders.base import Rejected
from trueground.wings.papers.builders.json_reply import read_object


class Kind(msgspec.Struct):
    answer: str
    score: float = 0.0
    n: int = 0
    names: list[str] = []


GOOD = {
    "plain": '{"answer": "A"}',
    "white space": '\n\ufeff {"answer": " A "}\n',
    "more fields": '{"answer": "A", "because": ["x"], "n": 2}',
    "a fence": 'Here it is:\n```json\n{"answer": "A"}\n```\nDone.',
    "a fence that is not closed": '```json\n{"answer": "A"}',
    "a fence comes before prose": '{"answer": "no"} is wrong, so:\n```\n{"answer": "A"}\n```',
    "prose": 'Of course {really}! {"answer": "A"} I hope that helps.',
    "a list of one": '[{"answer": "A"}]',
    "the same twice": '{"answer": "A"}\n{"answer": "A"}',
    "one of the kind": '{"question": "q"} {"answer": "A"}',
    "line ends in a text": '{"answer": "A", "because": "one\ntwo"}',
    "a name twice, alike": '{"answer": "A", "answer": "A"}',
    "another name twice": '{"answer": "A", "x": 1, "x": 2}',
    "after many braces": "{ I think { so " * 52 + '{"answer": "A"}',
    "after thousands of braces": '{"x" ' * 5_000 + '{"answer": "A"}',
    "after sets and templates": "{{name}} {a, b} {'x': 1} " * 400 + '{"answer": "A"} {done}',
    "a fence within a text": '{"answer": "A", "code": "```x```"}',
}
BAD = {
    "empty": ("empty_reply", ""),
    "white space": ("empty_reply", " \n\t"),
    "prose": ("not_json", "I would say that it is Paris."),
    "a number": ("not_json", "42"),
    "null": ("not_json", "null"),
    "cut off": ("not_json", '{"answer": "A'),
    "another type": ("wrong_fields", '{"answer": 3}'),
    "null within": ("wrong_fields", '{"answer": null}'),
    "a list of other things": ("wrong_fields", '{"answer": "A", "names": ["x", 3]}'),
    "no such field": ("wrong_fields", '{"Answer": "A"}'),
    "one level too deep": ("wrong_fields", '{"result": {"answer": "A"}}'),
    "several": ("wrong_fields", '{"answer": "A"} or {"answer": "B"}'),
    "several fences": ("wrong_fields", '```\n{"answer":"A"}\n```\n```\n{"answer":"B"}\n```'),
    "a name twice": ("wrong_fields", '{"answer": "A", "answer": "B"}'),
    "NaN": ("wrong_fields", '{"answer": "A", "score": NaN}'),
    "infinity": ("wrong_fields", '{"answer": "A", "score": -Infinity}'),
    "beyond a float": ("wrong_fields", '{"answer": "A", "score": 1e999}'),
    "beyond 64 bits": ("wrong_fields", '{"answer": "A", "n": 9223372036854775808}'),
    "endless digits": ("not_json", f'{{"answer": "A", "n": {"9" * 10_000}}}'),
    "deep": ("not_json", f'{{"answer": {"[" * 100_000}{"]" * 100_000}}}'),
    "deep objects": ("not_json", '{"a":' * 100_000 + "1" + "}" * 100_000),
    "megabytes": ("not_json", "x" * 5_000_000),
    "braces": ("not_json", "{" * 1_000_000),
    "open lists": ("not_json", '{"answer": [1,' * 60_000),
    "long open lists": ("not_json", ('{"a": [' + "1," * 900) * 250),
    "fences": ("not_json", "x```a\n" * 150_000),
    "open texts": ("not_json", '{"answer": "' + '{"answer": "'.join(["a" * 10_000] * 90)),
}


@pytest.mark.parametrize("name", GOOD)
def test_one_object_is_found(name: str) -> None:
    assert read_object(GOOD[name], Kind).answer == "A"


@pytest.mark.parametrize("name", BAD)
def test_everything_else_has_its_reason(name: str) -> None:
    reason, reply = BAD[name]
    start = time.process_time()
    with pytest.raises(Rejected) as met:
        read_object(reply, Kind)
    assert met.value.reason == reason
    assert 0 < len(met.value.detail) < 300
    assert time.process_time() - start < 2


@pytest.mark.parametrize("depth", [300, 900, 3_000, 20_000])
def test_depth_beside_what_is_asked_for(depth: int) -> None:
    reply = f'{{"x": {"[" * depth}{"]" * depth}, "answer": "A"}}'
    try:
        found = read_object(reply, Kind).answer
    except Rejected as unreadable:
        found = unreadable.reason
    assert found in ("A", "wrong_fields", "not_json")  # readers differ in what they bear


def test_what_no_file_can_hold_is_taken_out() -> None:
    made: Any = read_object('{"answer": "a\\u0000\\ud800b", "names": ["\\u0000"]}', Kind)
    assert (made.answer, made.names) == ("a?b", [""])
    msgspec.json.encode(made)
