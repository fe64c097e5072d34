"""The dataset's files: read back by the benchmark they are what was meant; tasks and kappa."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.wings.papers.builders.grounding.stages import FACTS, ORIGINAL, OTHER, PAIR, TEXT

from trueground.wings.papers.builders.grounding.items import (
    AtomicFact,
    Conflict,
    Context,
    Instance,
    OriginalInstance,
    answer_forms,
    format_answers,
    is_answer,
)
from trueground.wings.papers.builders.grounding.plan import KINDS, agreement, make_dataset, tasks_of
from trueground.wings.papers.builders.people import PeopleLabels
from trueground.wings.papers.truly_ground.source import read_items
from trueground.wings.search.corpus import read_corpus

NEW = TEXT.replace("1820", "1911")
CONFLICT = Conflict(
    question=PAIR.question,
    answer="Brill Lock was opened in 1911.",
    answers=("1911", "in 1911"),
    contexts=(Context("lock", "Brill Lock", NEW), PAIR.contexts[1]),
    gold=("Brill Lock was opened in 1911.", FACTS[2].text),
    changes=(),
)
PASSAGES = {
    f"L_DOC{number}": one
    for number, one in enumerate(
        [
            *PAIR.contexts,
            Context("mill", "Marl Mill [old]", "Marl Mill ground flour until 1890."),
            Context("long", "Long Moor", "word " * 2_000),
        ]
    )
}
FREE = msgspec.structs.replace(
    PAIR,
    id="p2",
    question="Explain the canal.",
    answer="It joins lock and sea.",
    answers=(),
    contexts=PAIR.contexts[1:],
    popularity="low",
    documents="single",
    form="free-form",
)
FREE_CONFLICT = msgspec.structs.replace(CONFLICT, answers=(), contexts=CONFLICT.contexts[1:])
INSTANCES = [
    Instance("p1", ORIGINAL, CONFLICT, ("L_DOC2", "L_DOC3")),
    Instance(
        "p2",
        OriginalInstance("p2", FREE, (AtomicFact(FACTS[2].text, 0, 0),), (0,), (0,)),
        FREE_CONFLICT,
    ),
]

NOBODY = PeopleLabels(KINDS, tasks_of, None)


def put(folder: Path, files: Any) -> Path:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def test_the_benchmark_reads_what_was_meant(tmp_path: Path) -> None:
    data = put(tmp_path, make_dataset(INSTANCES, PASSAGES, NOBODY, distractors=True).files)
    first, second = read_items(data / "original_version.json", data / "qId2metaInfo.json")
    assert (first.id, first.question, first.references) == ("Q0", PAIR.question, ("1820",))
    assert first.facts == (FACTS[0].text, FACTS[2].text)
    assert [(one.title, one.text) for one in first.gold] == [
        ("Brill Lock", TEXT),
        ("Osk Canal", OTHER),
    ]
    assert (first.popularity, first.contexts, first.answer) == ("high", "multi", "definite")
    assert (second.popularity, second.contexts, second.answer) == ("low", "single", "free-form")
    assert (second.references, second.facts) == ((), (FACTS[2].text,))
    changed = read_items(data / "revised_version.json", data / "qId2metaInfo.json")[0]
    assert changed.references == ("1911", "in 1911")
    assert changed.gold[0].text == NEW


def test_the_corpus_holds_every_passage_and_titles_stay_titles(tmp_path: Path) -> None:
    data = put(tmp_path, make_dataset(INSTANCES, PASSAGES, NOBODY, distractors=True).files)
    corpus = read_corpus(data / "localDocId2localDocText.json", data / "localDocId2title.json")
    assert [corpus[i].text.strip() for i in range(4)] == [
        one.text.strip() for one in PASSAGES.values()
    ]
    assert corpus[2].title == "Marl Mill (old)"


def test_two_sets_of_distractors_one_within_the_budget() -> None:
    files = make_dataset(INSTANCES, PASSAGES, NOBODY, distractors=True).files
    found = json.loads(files["qId2distractor.json"])
    assert found["Q0"]["2k_distractor"] == [
        "Title: Marl Mill (old)\n\nMarl Mill ground flour until 1890."
    ]
    assert len(found["Q0"]["all_distractor"]) == 2
    assert found["Q1"] == {"2k_distractor": [], "all_distractor": []}
    assert (
        "qId2distractor.json"
        not in make_dataset(INSTANCES, PASSAGES, NOBODY, distractors=False).files
    )


def test_without_conflicting_versions_there_is_no_such_file() -> None:
    alone = [msgspec.structs.replace(one, conflict=None) for one in INSTANCES]
    dataset = make_dataset(alone, PASSAGES, NOBODY, distractors=False)
    assert "revised_version.json" not in dataset.files
    assert "truly-ground/original-gold " in dataset.run


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (("12 May", "May 12"), ("12 May", "May 12")),
        (("a | b", "c"), ("c",)),
        (("Marks & Spencer",), ("Marks & Spencer",)),
        (("Marks & Spencer", "M&S"), ("Marks & Spencer",)),
        (("one\ntwo", " one  two "), ("one two",)),
        (("", "|"), ()),
    ],
)
def test_forms_are_those_that_the_notation_gives_back(answers: Any, expected: Any) -> None:
    assert answer_forms(answers) == expected
    assert format_answers(expected) == " | ".join(expected)


def test_an_answer_matches_a_form_that_it_holds() -> None:
    assert is_answer("in the year 1820", ("1820",))
    assert is_answer("1820", ("in 1820",))
    assert not is_answer("1820", ("1821", "182"))


def test_kappa_of_two_models_over_all_facts() -> None:
    # Facts 1, 2, 3: the first says +, -, +; the second +, +, -: 1 of 3 agree, by chance 5 of 9.
    one = msgspec.structs.replace(ORIGINAL, proposed=(0, 2), second=(0, 1))
    (said,) = agreement([Instance("p1", one), INSTANCES[1]])
    assert f"{(1 / 3 - 5 / 9) / (1 - 5 / 9):.2f}" in said
    assert said.endswith("over 3 facts")
    assert agreement(INSTANCES) == []
