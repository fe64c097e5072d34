"""Step 1: which documents stand together."""

from __future__ import annotations

from typing import Any

import pytest

from trueground.errors import UsageError
from trueground.options.parsing import parse_options
from trueground.wings.papers.builders.base import Rejected
from trueground.wings.papers.builders.grounding import GroundingBuildOptions, sets as sets_module
from trueground.wings.papers.builders.grounding.items import DocumentSet, SourceDocument
from trueground.wings.papers.builders.grounding.sets import (
    choose_passage,
    cut_passages,
    set_id,
    sets_stage,
)


def _documents(links: dict[str, tuple[str, ...]]) -> list[SourceDocument]:
    """Ten documents a to j of rising popularity: a, b, c are low, h, i, j high."""
    return [
        SourceDocument(one, f"Title {one}", f"Text of {one}.", float(n), links.get(one, ()))
        for n, one in enumerate("abcdefghij")
    ]


def _made(
    documents: list[SourceDocument], seed: int = 0, **options: Any
) -> tuple[dict[str, DocumentSet], list[Rejected]]:
    given = {key.replace("_", "-"): value for key, value in options.items()}
    settled = parse_options(GroundingBuildOptions, "build grounding", given)
    stage = sets_stage(settled, seed)
    found = list(stage.work(documents))
    dropped = [one for one in found if isinstance(one, Rejected)]
    assert {one.reason for one in dropped} <= set(stage.reasons)
    return {one.id: one for one in found if isinstance(one, DocumentSet)}, dropped


def test_sets_of_a_small_graph() -> None:
    """h reaches j over d; c links only to popular ones; b and a are a circle; i has a dead link."""
    links = {"h": ("d",), "d": ("j",), "c": ("h", "i"), "a": ("b",), "b": ("a",), "i": ("zz",)}
    sets, dropped = _made(_documents(links))
    assert {one: (s.popularity, s.hops) for one, s in sets.items()} == {
        "a": ("low", 0),
        "b": ("low", 0),
        "c": ("low", 0),
        "a+b": ("low", 1),
        "h": ("high", 0),
        "i": ("high", 0),
        "j": ("high", 0),
        "h+j": ("high", 2),
    }
    assert [c.document for c in sets["h+j"].contexts] == ["h", "j"]
    assert sorted((one.id, one.reason) for one in dropped) == [
        ("b+a", "same_set"),
        ("c", "no_linked_document"),
        ("d", "middling"),
        ("e", "middling"),
        ("f", "middling"),
        ("g", "middling"),
        ("i", "no_linked_document"),
        ("j", "no_linked_document"),
    ]


def test_hops_bound_the_way() -> None:
    documents = _documents({"h": ("d",), "d": ("e",), "e": ("j",)})
    assert "h+j" in _made(documents)[0]
    assert _made(documents)[0]["h+j"].hops == 3
    assert "h+j" not in _made(documents, hops="2")[0]


def test_documents_without_a_number_lead_on_but_are_not_asked_about() -> None:
    documents = [*_documents({"h": ("x",)}), SourceDocument("x", "X", "Text of x.", None, ("j",))]
    sets, dropped = _made(documents)
    assert sets["h+j"].hops == 2
    assert ("x", "no_popularity") in {(one.id, one.reason) for one in dropped}


def test_the_order_of_the_documents_changes_nothing() -> None:
    links = {one: tuple("abchij") for one in "abchij"}
    documents = _documents(links)
    assert repr(_made(documents)) == repr(_made(documents[::-1]))


def test_the_seed_draws_among_all_that_are_near() -> None:
    documents = _documents({"a": ("b", "c")})
    drawn = {next(one for one in _made(documents, seed)[0] if "+" in one) for seed in range(30)}
    assert drawn == {"a+b", "a+c"}
    assert repr(_made(documents, 7)) == repr(_made(documents, 7))


def test_all_distances_are_drawn_alike() -> None:
    """One document at one hop, many at two: both distances come up."""
    many = [SourceDocument(f"m{n:02}", f"M{n}", "Text.", -1.0 - n) for n in range(20)]
    one, *rest = _documents({"a": ("b",), "b": tuple(d.id for d in many)})
    documents = [one, *rest, *many]
    hops = []
    for seed in range(40):
        sets, _ = _made(documents, seed, popularity_share="0.5", hops="2")
        hops += [s.hops for s in sets.values() if s.id.startswith("a+")]
    assert 8 < hops.count(1) < 32
    assert len(hops) == 40


def test_so_many_sets_of_each_class() -> None:
    links = {"a": ("b",), "b": ("c",), "c": ("a",), "h": ("i",), "i": ("j",), "j": ("h",)}
    documents = _documents(links)
    everything, _ = _made(documents)
    sets, dropped = _made(documents, sets="2")
    classes = [(s.popularity, len(s.contexts)) for s in sets.values()]
    assert sorted(classes) == [
        ("high", 1), ("high", 1), ("high", 2), ("high", 2),
        ("low", 1), ("low", 1), ("low", 2), ("low", 2),
    ]  # fmt: skip
    undrawn = {one.id for one in dropped if one.reason == "not_drawn"}
    assert undrawn == set(everything) - set(sets)
    assert any(set(_made(documents, seed, sets="2")[0]) != set(sets) for seed in range(1, 9))


@pytest.mark.parametrize(
    ("one", "other"),
    [(("a", "+b"), ("a+", "b")), (("a+b",), ("a", "b")), (("%2B",), ("+",))],
)
def test_ids_of_sets_differ(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert set_id(*one) != set_id(*other)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("popularity-share", "0.6", "0.5 at most"),
        ("popularity-share", "0", "above 0"),
        ("hops", "0", "1 or more"),
        ("min-quality", "6", "1 to 5"),
        ("candidates", "1000", "1 to 50"),
        ("context-words", "3", "20 or more"),
    ],
)
def test_options_that_cannot_be_meant(name: str, value: str, expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        parse_options(GroundingBuildOptions, "build grounding", {name: value})


WORDS = " ".join(f"Sentence {n} has exactly six words." for n in range(100))


def test_passages_are_whole_sentences_and_nothing_is_lost() -> None:
    found = cut_passages(SourceDocument("d", "D", f"{WORDS}\n\nA last one on Kell Rock."), 60)
    assert all(one.text.endswith(".") for one in found)
    assert max(len(one.text.split()) for one in found) <= 75
    assert " ".join(" ".join(one.text for one in found).split()).startswith(WORDS)
    assert {one.document for one in found} == {"d"}


def test_the_passage_that_names_the_other_document() -> None:
    document = SourceDocument(
        "d", "D", f"{WORDS}\n\n{WORDS} Then Kell Rock came into sight.\n\n{WORDS}"
    )
    found = cut_passages(document, 60)
    assert choose_passage(document, 60) == found[0]
    assert "Kell Rock" in choose_passage(document, 60, "kell rock").text
    assert choose_passage(document, 60, "Nowhere") == found[0]


def test_a_directly_linked_set_has_the_passage_with_the_link() -> None:
    documents = _documents({"h": ("j",)})
    long = f"{WORDS} This is about Title j."
    documents[7] = SourceDocument("h", "Title h", long, 7.0, ("j",))
    sets, _ = _made(documents, context_words="60")
    assert "Title j" in sets["h+j"].contexts[0].text
    assert "Title j" not in sets["h"].contexts[0].text


def test_what_links_lead_to_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many distances are tried: no document's links are followed twice for one other."""
    documents = _documents({"a": ("d",), "d": ("e",), "e": ("b",)})
    followed: list[str] = []

    class Watched(dict[str, tuple[str, ...]]):
        def __getitem__(self, key: str) -> tuple[str, ...]:
            followed.append(key)
            return super().__getitem__(key)

    reach = sets_module.reach_by_hops
    monkeypatch.setattr(
        sets_module, "reach_by_hops", lambda start, links: reach(start, Watched(links))
    )
    for seed in range(6):
        followed.clear()
        assert "a+b" in _made(documents, seed)[0]
        assert followed.count("d") == 1
        assert followed.count("e") == 1
