"""Every format gives back the records that were written into it."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, strategies as st
from tests.records.record_files import (
    FULL,
    PACKERS,
    PLAIN,
    WRITERS,
    as_csv,
    as_json,
    as_jsonl,
    read,
)

from trueground.errors import BadRowsError
from trueground.records.reading import RecordSource
from trueground.types import Choice, Passage, Record, Turn


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("ending", WRITERS)
def test_round_trip(ending: str, packing: str, tmp_path: Path) -> None:
    path = tmp_path / f"answers{ending}{packing}"
    path.write_bytes(PACKERS[packing](WRITERS[ending]([FULL, PLAIN])))
    assert read(str(path)) == [FULL, PLAIN]


@pytest.mark.parametrize("data", [as_jsonl([FULL]), as_json([FULL])], ids=["lines", "array"])
@pytest.mark.parametrize("name", ["answers", "answers.json", "answers.v2", "answers.gz"])
def test_format_is_seen_from_the_content(name: str, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(PACKERS[".gz"](data) if name.endswith(".gz") else data)
    assert read(path) == [FULL]


@pytest.mark.parametrize("ending", [".jsonl", ".json", ".csv", ".tsv"])
def test_byte_order_mark_is_skipped(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{ending}"
    path.write_bytes(b"\xef\xbb\xbf" + WRITERS[ending]([FULL]))
    assert read(path) == [FULL]


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("packing", PACKERS)
def test_answers_as_their_authors_publish_them(
    indent: int | None, packing: str, tmp_path: Path
) -> None:
    """Instruct-QA's result rows, and Truly-Ground's object of answers."""
    rows = [{"id_": "q_1", "answer": "Paris", "prompt": "p", "indices": [3, 4]}]
    answers = {"Q0": {"input": "p", "output": "Paris"}, "Q10": {"input": "q", "output": ""}}
    for name, value in (("rows", rows), ("answers", answers)):
        path = tmp_path / f"{name}.json{packing}"
        path.write_bytes(PACKERS[packing](json.dumps(value, indent=indent).encode()))
        found = read(path)
        if name == "rows":
            meta = {"prompt": "p", "indices": [3, 4]}
            assert found == [Record(id="q_1", response="Paris", meta=meta)]
        else:
            assert [(one.id, one.response) for one in found] == [("Q0", "Paris"), ("Q10", "")]
            assert found[0].meta == {"input": "p"}
    lines = tmp_path / "rows.jsonl"
    lines.write_text(json.dumps(rows[0]) + "\n")
    assert read(lines)[0].response == "Paris"
    nested = tmp_path / "nested.json"
    nested.write_text(json.dumps({"raw": {"output": "x"}, "response": "Paris"}) + "\n")
    assert [one.response for one in read(nested)] == ["Paris"]
    torn = tmp_path / "torn.json"
    torn.write_text(json.dumps({**answers, "Q3": ["x"]}))
    with pytest.raises(BadRowsError, match=r"row 3.*under 'Q3'; expected input and output"):
        read(torn)


def test_facts_of_sentences(tmp_path: Path) -> None:
    """FActScore's [sentence, [fact, …]], also beside plain facts and in a cell."""
    facts = [["It is tall and old.", ["It is tall.", "It is old."]], ["Hm.", []], "It is red."]
    row = {"response": "It is tall and old. Hm.", "response_facts": facts}
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row))
    assert read(path)[0].response_facts == ["It is tall.", "It is old.", "It is red."]
    table = tmp_path / "a.csv"
    table.write_text('response,response_facts\nx,"' + json.dumps(facts).replace('"', '""') + '"\n')
    assert read(table)[0].response_facts == ["It is tall.", "It is old.", "It is red."]
    for wrong in (["a", "b", 3], [["a", "b"]], [["a", ["b", 3]]], [["a"]]):
        path.write_text(json.dumps({**row, "response_facts": wrong}))
        with pytest.raises(BadRowsError, match="response_facts"):
            read(path)


def test_lines_may_be_blank_end_in_crlf_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"response": "x"}\r\n\r\n \n{"response": "y\\\\u0000"}')
    assert [(r.id, r.response) for r in read(path)] == [("0", "x"), ("1", "y\\u0000")]


def test_short_forms_are_brought_to_one_form(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(
        '{"id": 7, "response": "r", "contexts": ["a", {"text": "b", "extra": 1}], '
        '"references": "one", "history": ["hi", {"content": "ho"}], "score": 2, '
        '"meta": {"score": 3, "k": null}, "human": {"a": true, "b": null, "c": 2}, '
        '"gold_knowledge": [["Q1", "year", 1889]]}\n'
        '{"response": "r", "contexts": "only"}\n'
    )
    first, second = read(path)
    assert first.id == "7"
    assert first.contexts == [Passage("a"), Passage("b")]
    assert first.references == ["one"]
    assert first.history == [Turn("hi"), Turn("ho")]
    assert first.meta == {"score": 3, "k": None}
    assert first.human == {"a": 1.0, "c": 2.0}
    assert first.gold_knowledge == [["Q1", "year", "1889"]]
    assert second == Record(id="1", response="r", contexts=[Passage("only")])


def test_csv_cells(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(
        "id,response,contexts,answerable,topic,references\n"
        "7,,A lone text.,TRUE,x,42\n"
        '8,y,"[""a"", {""text"": ""b""}]",0,,\n'
    )
    assert read(path) == [
        Record(
            id="7",
            response="",
            contexts=[Passage("A lone text.")],
            answerable=True,
            references=["42"],
            meta={"topic": "x"},
        ),
        Record(id="8", response="y", contexts=[Passage("a"), Passage("b")], answerable=False),
    ]


def test_a_large_cell_and_a_large_array_element_are_read(tmp_path: Path) -> None:
    long = Record(id="a", response='[{",\\' * 300_000, contexts=[Passage("c" * 900_000)])
    for name, data in (("a.csv", as_csv([long, PLAIN])), ("a.json", as_json([long, PLAIN]))):
        (tmp_path / name).write_bytes(data)
        assert read(tmp_path / name) == [long, PLAIN]


_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)
_NAME = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=8)
_FLOAT = st.floats(allow_nan=False, allow_infinity=False)
_TEXTS = st.lists(_TEXT, max_size=3)
_TRIPLES = st.lists(st.tuples(_TEXT, _TEXT, _TEXT).map(list), max_size=2)
_PASSAGE = st.builds(
    Passage,
    text=_TEXT,
    id=st.none() | _TEXT,
    title=st.none() | _TEXT,
    gold=st.none() | st.booleans(),
    source=st.none() | _TEXT,
)
_GRAPH = st.builds(
    lambda qid, rest: {**rest, "qid": qid},
    _TEXT,
    st.dictionaries(_NAME, _TEXT | st.integers(-9, 9) | _TEXTS, max_size=2),
)
# An empty cell of a table means "absent", so the optional texts are never empty here.
_FILLED = _TEXT.filter(bool)
_RECORD = st.builds(
    Record,
    id=_FILLED,
    response=_TEXT,
    question=st.none() | _FILLED,
    history=st.none() | st.lists(st.builds(Turn, _TEXT, st.none() | _TEXT), max_size=2),
    contexts=st.none() | st.lists(_PASSAGE, max_size=3),
    references=st.none() | _TEXTS,
    gold_facts=st.none() | _TEXTS,
    response_facts=st.none() | _TEXTS,
    choices=st.none() | st.lists(st.builds(Choice, _TEXT, _TEXT), max_size=2),
    answerable=st.none() | st.booleans(),
    knowledge=st.none() | st.lists(_GRAPH, max_size=2),
    gold_knowledge=st.none() | _TRIPLES,
    absent_knowledge=st.none() | _TRIPLES,
    human=st.none() | st.dictionaries(_NAME, _FLOAT, max_size=2),
    model=st.none() | _FILLED,
    group=st.none() | _FILLED,
    meta=st.none() | st.dictionaries(_NAME, _TEXT | _TEXTS | st.integers(), max_size=2),
)


@pytest.mark.parametrize("ending", [".jsonl", ".json", ".csv", ".tsv", ".parquet"])
@given(records=st.lists(_RECORD, min_size=1, max_size=4, unique_by=lambda record: record.id))
def test_any_records_survive(ending: str, records: list[Record]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"a{ending}"
        path.write_bytes(WRITERS[ending](records))
        assert read(path) == records


def test_check_tells_what_there_is(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    blank = Record(id="b", response="x", contexts=[Passage(" \n")], references=[])
    path.write_bytes(as_jsonl([FULL, PLAIN, blank]))
    check = RecordSource.open(path).check()
    assert (check.n, check.bad, check.bad_total, check.groups) == (3, [], 0, True)
    assert set(check.fields) == set(Record.__struct_fields__)
    given = {name: check.fields[name] for name in ("id", "response", "contexts", "references")}
    assert given == {"id": 3, "response": 3, "contexts": 1, "references": 2}
    [file] = check.files
    assert (file.path, file.bytes) == (str(path), path.stat().st_size)
    assert len(file.sha256) == 64
