"""What no question, and no new sentence, may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.builders.kalma.making import dropped, made, reasons, rows_of, said, unless
from tests.wings.papers.builders.kalma.world import ANNOTATED, GOOD, part
from tests.wings.papers.builders.scripted_server import scripted

from trueground.wings.papers.builders.base import Rejected
from trueground.wings.papers.builders.checks import find_form_error
from trueground.wings.papers.builders.kalma import BUILDER
from trueground.wings.papers.builders.kalma.items import Draft, grown
from trueground.wings.papers.builders.kalma.knowledge import pool, skipped_properties
from trueground.wings.papers.builders.kalma.questions import check_question

PARAGRAPH = (
    "Tobias Quill, a poet from Inkford, wrote The Salt Road. He married Anna Harrow in 1690."
)
DRAFT = Draft(
    id="1",
    paragraph=PARAGRAPH,
    head="Tobias Quill",
    relation="spouse",
    tail="Anna Harrow",
    qids=("Q10", "Q11"),
    edge="spouse",
    graphs=({"qid": "Q10", "name": "Tobias Quill"}, {"qid": "Q11", "name": "Anna Harrow"}),
    counts={},
    entries=1,
    text=PARAGRAPH,
    knowledge=(
        (
            ("Q10", "occupation", "poet"),
            ("Q10", "place of birth", "Inkford"),
            ("Q10", "spouse", "Anna Harrow"),
            ("Q11", "spouse", "Tobias Quill"),
        ),
        (("Q10", "notable work", "The Salt Road"),),
        (("Q11", "occupation", "glassblower"),),
    ),
)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("What is known of Tobias Quill?", None),
        ("Who were Tobias and Anna?", None),
        ("Who was the poet Tobias Quill, of Inkford, and whom did he marry?", None),  # 2 of 4
        ("Is it so that Quill was a poet from Inkford who wrote The Salt Road?", "gives_away"),
        (f"Is it true that {PARAGRAPH[:-1]}?", "gives_away"),
        ("Is it true that Tobias Quill of Inkford, poet, wrote the salt road?", "gives_away"),
        ("Tobias Quill?", "no_question"),
        ("Quill?", "no_question"),
        ("Is Tobias Quill?", "no_question"),
        ("Tobias Quill and Anna Harrow?", "no_question"),
    ],
)
def test_questions_that_answer_themselves_or_ask_nothing(question: str, reason: str | None) -> None:
    if reason is None:
        check_question(question, DRAFT, PARAGRAPH)
    else:
        with pytest.raises(Rejected) as caught:
            check_question(question, DRAFT, PARAGRAPH)
        assert caught.value.reason == reason


def test_two_values_in_a_question_are_no_answer() -> None:
    """However few values there are."""
    knowledge = (DRAFT.knowledge[0][:2],)
    few = grown(DRAFT, Draft, knowledge=knowledge)
    check_question("Which poet of Inkford was called Tobias Quill?", few, PARAGRAPH)


def extended(words: str) -> Any:
    return lambda text: {
        "paragraph": f"{part(text, 'PARAGRAPH')} {words.format(said(text), part(text, 'CITATION'))}"
    }


ODD_TEXTS: dict[str, tuple[str, str, Any]] = {
    "bell": ("control_characters", "extend", extended("Of \u0007her {0} is told {1}.")),
    "turned": ("control_characters", "extend", extended("Of \u202eher {0} is told {1}.")),
    "mark": ("echo", "extend", extended("Of her {0} is told {1}. === END PARAGRAPH")),
    "asked": ("control_characters", "general", {"question": "Who on earth was \u202eMira Quill?"}),
    "marked": ("echo", "general", {"question": "=== END PARAGRAPH Who on earth was Mira Quill?"}),
    "annotated": (
        "echo",
        "annotate",
        {"paragraph": f"=== BEGIN PARAGRAPH ===\n{ANNOTATED['Mira Quill learned']}"},
    ),
    "truth": (
        "gives_away",
        "general",
        lambda text: {"question": f"Is it true that {part(text, 'PARAGRAPH')[:-1]}?"},
    ),
    "name": ("no_question", "general", {"question": "Mira Quill?"}),
}


@pytest.mark.parametrize("name", ODD_TEXTS)
def test_odd_texts_fall_and_can_be_looked_at(tmp_path: Path, name: str) -> None:
    reason, kind, reply = ODD_TEXTS[name]
    with scripted(unless({(kind, "Mira Quill learned"): reply})) as server:
        made(tmp_path, server, [GOOD[0], GOOD[2]])
    assert reasons(tmp_path) == {"mira": reason}
    assert dropped(tmp_path)[0]["made"]
    assert [row["id"] for row in rows_of(tmp_path, "specific")] == ["quill"]


def test_what_was_shown_is_no_fault_of_the_text() -> None:
    assert find_form_error("a\u202eb", "a") == ("control_characters", "found U+202E at character 2")
    assert find_form_error("a\u202eb", "\u202e") is None
    assert find_form_error("=== END X", "=== BEGIN Y") is None
    assert find_form_error("می\u200cخواهم", "") is None  # joins letters
    assert find_form_error("a == b\nc", "") is None


def test_a_citation_behind_the_full_stop_counts_for_the_sentence_before(tmp_path: Path) -> None:
    start = "Tobias Quill, a poet"
    behind = GOOD[0]["paragraph"] + " [Q10, occupation: poet]"
    with scripted(unless({("annotate", start): {"paragraph": behind}})) as server:
        made(tmp_path, server, GOOD[:1])
    (row,) = rows_of(tmp_path, "specific")
    assert row["gold_knowledge"][0] == ["Q10", "occupation", "poet"]


def test_a_new_sentence_may_be_cited_behind_its_full_stop_and_not_before_it(
    tmp_path: Path,
) -> None:
    rules = {
        ("extend", "Tobias Quill, a poet"): extended("Of them {0} is told. {1}"),
        ("extend", "Mira Quill learned"): extended("{1} Of them {0} is told."),
    }
    with scripted(unless(rules)) as server:
        made(tmp_path, server, [GOOD[0], GOOD[2]])
    assert reasons(tmp_path) == {"mira": "not_one_sentence"}


def test_what_nobody_can_cite_is_in_no_pool_however_often_it_is_asked() -> None:
    """`[Q10, a: b: c]` can be one only of these."""
    odd = {"qid": "Q10", "name": "Tobias Quill", "a: b": "c", "a": "b: c", "child": "Mira"}
    draft = grown(DRAFT, Draft, graphs=(odd, DRAFT.graphs[1]))
    left = [("Q10", "a: b", "c"), ("Q10", "child", "Mira")]
    assert pool(draft, {"name"}) == pool(draft, {"name"}) == left
    assert pool(draft, {"name", "child"}) == left[:1]


def test_housekeeping_is_never_cited_by_default() -> None:
    keeping = {
        "topic's main infobox": "Infobox person",
        "topic's main category": "Category of it",
        "Commons category": "Ada Lund",
        "Commons gallery": "Ada Lund",
        "VIAF ID": "1",
        "ORCID iD": "0000-0001",
        "ISNI": "0000 0001",
        "Google Knowledge Graph identifier": "x",
        "X username": "ada",
        "official website": "https://a.b",
        "see also": "Category:Painters from Lund",
        "list of works": "list of works by Ada Lund",
        "given name": "Ada",
    }
    telling = {
        "archives at": "Lund University",
        "category of motorsport": "rally",
        "work": "Portal: A Play",
        "void": "1",
    }
    graph = {"qid": "Q1", "name": "Ada Lund", **keeping, **telling}
    draft = grown(DRAFT, Draft, graphs=(graph, DRAFT.graphs[1]))
    options = {option.name: option.default for option in BUILDER.options}
    found = {
        written: {name for _, name, _ in pool(draft, skipped_properties(written))}
        for written in ("trivial", "none")
    }
    assert options["skip-properties"] == "trivial"
    assert found["trivial"] == set(telling)
    # Whoever skips nothing still cites no ids and no addresses.
    assert found["none"] - found["trivial"] == {
        *("topic's main infobox", "topic's main category", "Commons category", "Commons gallery"),
        *("list of works", "given name"),
    }
