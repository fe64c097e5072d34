"""Results that were found elsewhere: read in every form, matched by id and words, or refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trueground.components.specs import ComponentSpec
from trueground.errors import InputError, UsageError
from trueground.wings.search.base import OpenedRetriever, SearchQuery
from trueground.wings.search.kinds import bases, compose, open_over
from trueground.wings.search.store import PassageEntry, PassageStore

TEXTS = [
    "Anna Ruck led the Brenta expedition in the year of the flood.",
    "The Brenta expedition set out from Korvik with nine sailors.",
    "Korvik lies on the island of Ulm, far from any other harbour.",
    "Bees make honey of what they find in the flowers of the hill.",
]


@pytest.fixture
def store(tmp_path: Path) -> PassageStore:
    entries = [
        PassageEntry(text, str(number + 1), f"Title {number}") for number, text in enumerate(TEXTS)
    ]
    return PassageStore.write(tmp_path / "passages", entries)


def written(path: Path, value: Any) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=1))
    return path


def opened(path: Path, store: PassageStore) -> OpenedRetriever:
    def none(given: Any) -> OpenedRetriever:
        raise AssertionError(f"{given} keeps no files")

    return compose(f"file:{path}", none, store)


def numbers(path: Path, store: PassageStore, *queries: str, top: int = 9) -> list[list[int]]:
    found = opened(path, store).retriever.search(queries, top)
    return [[hit.index for hit in hits] for hits in found]


WHO, WHERE = "Who led the Brenta expedition?", "Where is Korvik?"


def ctx(number: int, **other: Any) -> dict[str, Any]:
    return {"id": str(number + 1), "title": f"Title {number}", "text": TEXTS[number], **other}


DPR = [
    {"question": WHO, "answers": ["x"], "ctxs": [ctx(0, score="81.5"), ctx(1, score="80.1")]},
    {"question": WHERE, "answers": ["x"], "ctxs": [ctx(2, has_answer=True), ctx(1)]},
]
RUN = "7 Q0 1 1 9.5 bm25\n7 Q0 2 2 9.1 bm25\n8 Q0 wiki:3 1 4.5e0 bm25\n8 Q0 2 2 4 bm25\n"
FORMS: dict[str, Any] = {
    "dpr.json": DPR,
    "dpr.jsonl": "".join(json.dumps(row) + "\n" for row in DPR),
    "authors.jsonl": '{"id_": 7, "answer": "a", "prompt": "p", "indices": [0, 1]}\n'
    '{"id_": "8", "answer": "a", "prompt": "p", "indices": [2, 1]}\n',
    "run.trec": RUN,
    "run.json": RUN,
    "other.trec": "".join(sorted(RUN.splitlines(True), reverse=True)).replace("Q0", "\tQ0"),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form(name: str, store: PassageStore, tmp_path: Path) -> None:
    path = written(tmp_path / name, FORMS[name])
    asked = [SearchQuery(WHERE, id="8"), SearchQuery(WHO, id="7")]
    assert numbers(path, store, *asked) == [[2, 1], [0, 1]]
    assert numbers(path, store, *asked, top=1) == [[2], [0]]
    packed = tmp_path / f"packed-{name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert numbers(packed, store, *asked) == [[2, 1], [0, 1]]
    signature = opened(path, store).retriever.signature
    assert signature.startswith("file:")
    assert (
        signature
        == opened(path, store).retriever.signature
        != opened(packed, store).retriever.signature
    )


def test_scores_are_the_files_or_fall_with_the_rank(store: PassageStore, tmp_path: Path) -> None:
    path = written(tmp_path / "r.json", DPR)
    [who, where] = opened(path, store).retriever.search([WHO, WHERE], 5)
    assert [hit.score for hit in who] == [81.5, 80.1]
    assert [hit.score for hit in where] == [0.0, -1.0]


def test_questions_are_known_by_their_words(store: PassageStore, tmp_path: Path) -> None:
    talk = {
        "question": f"{WHO.lower()} [SEP] Anna Ruck [SEP] and where is korvik",
        "ctxs": [ctx(2)],
    }
    path = written(tmp_path / "r.json", [*DPR, talk])
    assert numbers(path, store, "who led the BRENTA expedition") == [[0, 1]]
    turns = SearchQuery(
        "Who led the Brenta expedition?", "Anna Ruck.", "And where is Korvik?", id="0"
    )
    assert numbers(path, store, turns) == [[2]]
    # Other rows' numbers do not stand for these questions; the words do, and then the ids.
    rows = [{**row, "id": 1 - number} for number, row in enumerate(DPR)]
    path = written(tmp_path / "numbered.json", rows)
    assert (
        numbers(path, store, SearchQuery(WHO, id="0"), SearchQuery("The leader?", id="1"))
        == [[0, 1]] * 2
    )
    twice = [
        {"id": "a", "question": WHO, "ctxs": [ctx(0)]},
        {"id": "b", "question": WHO, "ctxs": [ctx(1)]},
    ]
    path = written(tmp_path / "twice.json", twice)
    assert numbers(path, store, SearchQuery(WHO, id="b")) == [[1]]
    with pytest.raises(InputError, match="2 different results for the question 'Who led"):
        numbers(path, store, WHO)


def test_passages_are_known_by_id_and_text(store: PassageStore, tmp_path: Path) -> None:
    """An id of another numbering does not count where the text says otherwise."""
    found = [
        {"id": "9", "text": TEXTS[3].upper()},
        {"id": "4", "text": TEXTS[0]},
        {"text": TEXTS[0], "title": "Title 0"},
        {"id": "wiki:3"},
        "2",
    ]
    path = written(tmp_path / "r.json", [{"question": WHO, "ctxs": found}])
    assert numbers(path, store, WHO) == [[3, 0, 2, 1]]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([{"question": WHO, "ctxs": [{"id": "77"}]}], r"the passage '77' is not in the corpus"),
        ([{"question": WHO, "ctxs": [{"text": "Other words."}]}], "'Other words.' is not in the c"),
        ([{"question": WHO, "ctxs": [{"score": 3}]}], r"field 'ctxs\[0\]': found object"),
        ([{"question": WHO, "indices": [4]}], r"found 4; expected the number .* from 0 to 3"),
        ([{"question": WHO}], "expected a question .* with ctxs"),
        ([{"ctxs": []}], "expected a question .* with ctxs"),
        ([{"question": "Why?", "ctxs": []}], "no results for the question 'Who led the Brenta exp"),
        ([{"id": 7, "ctxs": []}, {"id": "7", "ctxs": []}], "found the question '7' again"),
        ("7 Q0 1 1 9.5\n", "line 1: found '7 Q0 1 1 9.5'; expected six fields of a TREC run"),
        ("7 Q0 1 1 much bm25\n", "line 1: .*expected six fields"),
        ("7 Q0 1 1 nan bm25\n", "line 1: .*expected six fields"),
        ("9 Q0 1 1 1 bm25\n", r"no results for the question 'Who led .* \(id '7'\)"),
        ("", "empty|holds|expected|no results"),
    ],
)
def test_what_cannot_be_read(value: Any, words: str, store: PassageStore, tmp_path: Path) -> None:
    path = written(tmp_path / "r.json", value)
    with pytest.raises(InputError, match=words):
        numbers(path, store, SearchQuery(WHO, id="7"))


def test_a_run_may_lack_questions_that_found_nothing(store: PassageStore, tmp_path: Path) -> None:
    path = written(tmp_path / "r.trec", RUN)
    assert numbers(path, store, SearchQuery(WHO, id="7"), SearchQuery("Why?", id="9")) == [
        [0, 1],
        [],
    ]


def test_how_it_is_written(store: PassageStore, tmp_path: Path) -> None:
    path = written(tmp_path / "r.trec", RUN)
    assert bases(f"file:{path}") == []
    refusals: list[tuple[type[Exception], str, Callable[[], Any]]] = [
        (UsageError, "needs results: file:RESULTS", lambda: bases("file")),
        (UsageError, "takes no options", lambda: bases(f"file:{path}(k=1)")),
        (InputError, "gone.json", lambda: bases(f"file:{tmp_path / 'gone.json'}")),
    ]
    for kind, words, call in refusals:
        with pytest.raises(kind, match=words):
            call()
    given = ComponentSpec.parse("retriever", f"file:{path}")
    assert given.name == "file"
    in_memory = open_over(f"file:{path}", PassageStore(None, [PassageEntry("a", "1")]))
    with pytest.raises(InputError, match="is not in the corpus; expected results for its 1 pass"):
        in_memory.retriever.search([SearchQuery("a", id="7")], 1)
