"""One file of questions for `trueground run instruct-qa` and `trueground index evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.instruct_qa_files import ID, TEXT, TOWNS, jsonl, single, world

from trueground.benchmarks.base import Question, Sources, get_benchmark
from trueground.wings.search.building import open_index, ready_index
from trueground.wings.search.gold import gold_numbers, read_questions

for library in ("bm25s", "Stemmer"):
    pytest.importorskip(library, reason="the retrieval extra is not installed")

TOWN = TOWNS[0]


def asked(data: Path, corpus: Path, setting: str) -> Question:
    options = {"corpus": str(corpus), "setting": setting}
    [question] = (
        get_benchmark("instruct_qa").prepare("questions", options, Sources(data)).questions()
    )
    return question


@pytest.mark.parametrize(
    "row",
    [
        {"gold": ID[TOWN]},
        {"gold": [TOWN]},
        {"gold": {"id": ID[TOWN]}},
        {"gold": [{"title": TOWN.upper()}]},
        {"gold": [{"text": TEXT[TOWN].lower()}]},
        {"gold": [{"id": "not there", "title": TOWN}]},
        {
            "gold": None,
            "contexts": [{"id": 9, "text": TEXT[TOWN][:-1], "gold": True}],
        },
    ],
)
def test_gold_passages_are_the_same_everywhere(tmp_path: Path, row: dict[str, Any]) -> None:
    _, corpus = world(tmp_path)
    data = jsonl(tmp_path / "q.jsonl", [{**single(0), **row}])
    index = open_index(ready_index(corpus, []).path)
    [[numbers]], absent = gold_numbers(index.passages, read_questions(data))
    assert not absent
    assert [index.passages[number].title for number in numbers] == [TOWN]
    question = asked(data, corpus, "retrieved")
    contexts = question.record.contexts or []
    assert [one.title for one in contexts if one.gold] == [TOWN]
    assert (question.record.meta or {})["gold_retrieved"] is True
    [gold] = asked(data, corpus, "gold").record.contexts or []
    assert gold.text.casefold().startswith(TEXT[TOWN][:-1].casefold())
