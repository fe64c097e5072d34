"""Gold passages: read from a file of questions, and found in a corpus by id, title and text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trueground.errors import InputError
from trueground.wings.search.gold import (
    GoldPassage,
    gold_numbers,
    read_questions,
    same_text,
)
from trueground.wings.search.store import PassageEntry, PassageStore

LONG = "The Brenta expedition set out from Korvik in May and reached the island of Ulm in June."
ENTRIES = [
    PassageEntry("Bees make honey.", "0", "Bees", "Bees"),
    PassageEntry("He was born in Korvik.", "1", "Anna Ruck", "Anna Ruck"),
    PassageEntry("He was born in Korvik.", "2", "Otto Lund", "Otto Lund"),
    PassageEntry(LONG, "3", "Brenta", "Brenta"),
    PassageEntry("Honig ist su\u0308\u00df; 蜜蜂酿蜜。", "4", "Bees", "Bees"),
    PassageEntry("Bees make honey.", "5", "Honey", "Honey"),
]


@pytest.fixture
def store(tmp_path: Path) -> PassageStore:
    return PassageStore.write(tmp_path / "s", ENTRIES)


def numbers(store: PassageStore, gold: GoldPassage) -> list[int]:
    return sorted(GoldPassage.find(store, [gold])[gold])


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        (GoldPassage(id="3"), [3]),
        (GoldPassage(id="wiki:3"), [3]),
        (GoldPassage(id="9", text="bees MAKE honey"), [0, 5]),
        (GoldPassage(id="9"), []),
        (GoldPassage(name="3"), [3]),
        (GoldPassage(name="bees"), [0, 4]),
        (GoldPassage(title="Bees"), [0, 4]),
        (GoldPassage("Bees make honey.", title="Bees", page=True), [0, 4]),
        (GoldPassage("Bees make honey."), [0, 5]),
        (GoldPassage("He was born in Korvik", title="Otto_Lund"), [2]),
        (GoldPassage("He was born in Korvik", title="Somebody"), [1, 2]),
        (GoldPassage("set out from Korvik in May, and reached"), [3]),
        (GoldPassage(f"At last! {LONG} There they met bees."), [3]),
        (GoldPassage("They met him. He was born in Korvik. He was a sailor."), []),
        (GoldPassage("s\u00fcss"), [4]),
        (GoldPassage("酿蜜"), [4]),
        (GoldPassage("bee"), []),
        (GoldPassage("?!"), []),
    ],
)
def test_by_what_gold_passages_are_found(
    store: PassageStore, gold: GoldPassage, expected: list[int]
) -> None:
    assert numbers(store, gold) == expected


def test_a_search_for_texts_finds_what_each_comparison_does(store: PassageStore) -> None:
    texts = [*store.texts, LONG[10:60], f"Well: {LONG} Yes.", "in", "korvik", "Bees make"]
    for text in texts:
        gold = GoldPassage(text)
        one_by_one = [i for i in range(len(store)) if same_text(text, store[i].text)]
        assert numbers(store, gold) == one_by_one
        assert one_by_one == [i for i in range(len(store)) if gold.is_passage(store, i)]


@pytest.mark.parametrize(
    ("gold", "expected"),
    [
        (GoldPassage(name="3"), [3]),
        (GoldPassage(name="bees"), [0, 4]),
        (GoldPassage(name="Otto Lund"), [2]),
        (GoldPassage(title="Bees"), [0, 4]),
        (GoldPassage(id="3", title="Bees"), [3]),
        (GoldPassage(id="0", title="Brenta"), [0]),
        (GoldPassage(id="none", title="Brenta"), [3]),
        (GoldPassage(id="none"), []),
        (GoldPassage(name="2"), [2]),
    ],
)
def test_what_is_found_and_what_is_gold_are_the_same(
    tmp_path: Path, gold: GoldPassage, expected: list[int]
) -> None:
    # The last is called as another's id.
    corpus = PassageStore.write(tmp_path / "s", [*ENTRIES, PassageEntry("Two.", "6", "2", "2")])
    assert numbers(corpus, gold) == expected
    assert [i for i in range(len(corpus)) if gold.is_passage(corpus, i)] == expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({}, []),
        ({"gold": None, "contexts": "A text."}, []),
        ({"gold": []}, []),
        ({"gold": " bees "}, [GoldPassage(name="bees")]),
        ({"gold": 7}, [GoldPassage(name="7")]),
        ({"gold": ["manual.pdf", 7]}, [GoldPassage(name="manual.pdf"), GoldPassage(name="7")]),
        ({"gold": '["a", "b"]'}, [GoldPassage(name="a"), GoldPassage(name="b")]),
        ({"gold": "[a"}, [GoldPassage(name="[a")]),
        ({"gold": {"id": 7}}, [GoldPassage(id="7")]),
        (
            {
                "gold": [
                    {"id": "a", "title": "T", "text": "x", "more": 1},
                    {"title": "T", "id": None},
                ]
            },
            [GoldPassage("x", "a", "T"), GoldPassage(title="T")],
        ),
        (
            {"gold": "a", "contexts": [{"text": "x", "id": "9", "gold": True}, {"text": "y"}, "z"]},
            [GoldPassage("x"), GoldPassage(name="a")],
        ),
    ],
)
def test_how_gold_passages_are_written(row: dict[str, Any], expected: list[GoldPassage]) -> None:
    assert list(GoldPassage.read("here", row)) == expected


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"gold": True}, "here, field 'gold': found bool"),
        ({"gold": ["a", " "]}, r"here, field 'gold\[1\]': found str"),
        ({"gold": [{"name": "a"}]}, r"here, field 'gold\[0\]': found object .*id, title or text"),
        ({"contexts": [{"text": " ", "gold": True}]}, r"here, field 'contexts\[0\]': found object"),
    ],
)
def test_gold_passages_that_cannot_be_read(row: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        GoldPassage.read("here", row)


def questions(tmp_path: Path, *rows: dict[str, Any]) -> Path:
    path = tmp_path / "q.jsonl"
    path.write_text("".join(json.dumps({"question": "?"} | row) + "\n" for row in rows))
    return path


def test_the_ids_of_contexts_are_not_those_of_the_corpus(
    tmp_path: Path, store: PassageStore
) -> None:
    context = {"id": "0", "title": "Brenta", "text": LONG, "gold": True}
    noise = {"id": "1", "text": "Bees make honey."}
    rows: list[dict[str, Any]] = [
        {"contexts": [noise, context]},
        {"gold": [{"id": "0", "text": LONG}]},
        {"contexts": [{"id": "4", "gold": True}]},
    ]
    asked = read_questions(questions(tmp_path, *rows))
    found, absent = gold_numbers(store, asked)
    assert [sorted(one) for (one,) in found] == [[3], [0], [4]]
    assert not absent


def test_a_text_that_stands_several_times_is_one_gold_passage(
    tmp_path: Path, store: PassageStore
) -> None:
    twice = [{"text": "Bees make honey."}, {"text": "bees make  honey"}, "3"]
    asked = read_questions(questions(tmp_path, {"gold": twice}, {"gold": ["nobody", "3"]}, {}))
    found, absent = gold_numbers(store, asked)
    assert [[sorted(one) for one in some] for some in found] == [[[0, 5], [3]], [], []]
    assert absent == [f"{tmp_path / 'q.jsonl'}, line 2: id or title 'nobody'"]


def test_a_text_file_has_one_query_a_line(tmp_path: Path) -> None:
    path = tmp_path / "q.txt"
    path.write_bytes("\ufeffWhere is Korvik?\r\n\r\none\u2028two\u0085three\n".encode())
    asked = read_questions(path)
    assert [one.query for one in asked] == ["Where is Korvik?", "one\u2028two\u0085three"]
    assert [one.place for one in asked] == [f"{path}, line 1", f"{path}, line 3"]
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="save it as UTF-8"):
        read_questions(path)
    with pytest.raises(InputError, match="does not exist"):
        read_questions(tmp_path / "none.txt")
