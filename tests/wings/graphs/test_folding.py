"""Which names are equal: the same for looking them up and for finding them in a question."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from trueground.wings.graphs.base import KnowledgeGraph
from trueground.wings.graphs.json_graph import JsonGraph
from trueground.wings.graphs.names import fold, name_key, nfc

EQUAL = [
    ("Chiang Kai-shek", "chiang  kai shek"),
    ("Jean\u2010Luc", "JEAN-LUC"),
    ("O'Brien", "O\u2019brien"),
    ("O\u02bcDell", "O\uff07Dell"),
    ("Straße", "STRASSE"),
    ("\u00d3rla", "O\u0301rla"),
    ("Σίσυφος", "ΣΊΣΥΦΟΣ"),
    ("J\u030c", "\u01f0"),
]
DIFFERENT = [("Ólav", "Olav"), ("D'Anna", "DAnna"), ("Anna Ruck", "AnnaRuck"), ("Øre", "Ore")]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_names(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_names(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)


@pytest.mark.parametrize("name", ["", " ", "\n", "—", "- -"])
def test_names_of_nothing(name: str) -> None:
    assert name_key(name) == ""


ODD = st.text(st.sampled_from("aA ßẞİıǰΣςσ-–\u2212'’\t\u00a0\u2003é\u0301\u030c日ﬁ"))


@given(st.text() | ODD)
def test_folding_a_text_and_a_name_is_one_rule(text: str) -> None:
    folded = fold(nfc(text))
    assert " ".join(folded.text.split()) == name_key(text)
    assert name_key(unicodedata.normalize("NFD", text)) == name_key(text)
    if folded.places is not None:
        assert len(folded.places) == len(folded.text)
        assert folded.places == sorted(folded.places)


def test_a_letter_that_becomes_two_is_not_cut() -> None:
    folded = fold("Straße x")
    at = folded.text.index("ss")
    assert folded.place(at, at + 2) == (4, 5)
    assert folded.place(at + 1, at + 3) is None
    assert folded.place(0, at + 1) is None
    assert folded.place(at + 3, at + 5) == (6, 8)


def graphs(folder: Path) -> list[KnowledgeGraph]:
    """One file as graphs in memory and as a store on disk."""
    pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")
    from trueground.wings.graphs.folder import build_graph
    from trueground.wings.graphs.loading import Loading

    listed = [
        {"qid": f"Q{number}", "name": one, "p": "x"}
        for number, (one, _) in enumerate(EQUAL + DIFFERENT, 1)
    ]
    path = folder / "graphs.json"
    path.write_text(json.dumps(listed), encoding="utf-8")
    return [JsonGraph.read(path), build_graph([path], folder / "g", Loading())]


def test_all_graphs_find_names_alike(tmp_path: Path) -> None:
    pytest.importorskip("ahocorasick", reason="the graph extra is not installed")
    from trueground.wings.graphs.recognizers import Dictionary

    for graph in graphs(tmp_path):
        found = graph.find([other for _, other in EQUAL + DIFFERENT])
        qids = [[one.qid for one in some] for some in found]
        assert qids == [[f"Q{n}"] for n in range(1, len(EQUAL) + 1)] + [[]] * len(DIFFERENT)
        dictionary = Dictionary(graph)
        for number, (_, other) in enumerate(EQUAL, 1):
            [mentions] = dictionary.mentions([nfc(f"Was it {other.title()}?")])
            assert [one.qid for m in mentions for one in m.known or ()] == [f"Q{number}"], other
        graph.close()
