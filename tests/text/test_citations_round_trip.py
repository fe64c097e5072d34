"""What is formatted as a citation is read as it was, and no soup of brackets breaks a reader."""

from __future__ import annotations

import json
import random
import unicodedata
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from trueground.text.citations import CitedText, Sentence
from trueground.text.triples import GraphTriple, pairs_of, plain
from trueground.types import Graph

KALMA = Path(__file__).parents[3] / "shared" / "data" / "kalma"

LETTERS = "ab12,:;[]\"' \n_é\u0301.()\\"
LIKE_PARTS = (
    "NA",
    "N/A",
    "[NA]",
    "Q1",
    "Q22",
    "alice",
    "qid: Q1",
    "x, NA",
    "x [NA]",
    "x, Q1, p: q",
)
WORDS = st.one_of(
    st.text(st.sampled_from(LETTERS), min_size=1, max_size=12).filter(plain),
    st.sampled_from(LIKE_PARTS),
)
NAMES = st.text(st.sampled_from("pqr_ é"), min_size=1, max_size=6).filter(
    lambda name: bool(plain(name.replace("_", " ")))
)
GRAPHS = st.builds(
    lambda qid, rest: {"qid": qid, "name": "N", **rest},
    st.sampled_from(["Q1", "Q22", "urn:x", "alice", "id, 1"]),
    st.dictionaries(NAMES, st.lists(WORDS, min_size=1, max_size=3), max_size=4),
)


def cite(qid: str, pairs: Iterable[tuple[str, str]]) -> str:
    """`[qid, property: value, property: value]`."""
    return f"[{', '.join([qid, *(f'{name}: {value}' for name, value in pairs)])}]"


def triples(sentences: tuple[Sentence, ...]) -> list[tuple[str, str, str]]:
    return [(c.qid, c.property, c.value) for s in sentences for c in s.citations]


@given(GRAPHS, WORDS.filter(lambda name: bool(plain(name.replace("_", " ")))), WORDS)
def test_any_triple_comes_back(graph: Graph, name: str, value: str) -> None:
    graph = {"qid": graph["qid"], name: value}
    text = f"It is {cite(graph['qid'], [(name, value)])}. Next"
    assert triples(CitedText(text, [graph]).triple_sentences())[0] == (graph["qid"], name, value)
    assert [s.text for s in CitedText(text, [graph]).triple_sentences()] == ["It is.", "Next"]


@given(GRAPHS, st.data())
def test_formatted_graph_citations_are_parsed_back(graph: Graph, data: st.DataObject) -> None:
    """Several triples may have a common text; whichever are read, the graph has them."""
    several = data.draw(st.lists(st.sampled_from(list(pairs_of(graph))), min_size=1, max_size=4))
    written = cite(graph["qid"], several)
    read = CitedText(f"It is {written}.", [graph]).triple_sentences()
    known = {GraphTriple(graph["qid"], *pair).key for pair in pairs_of(graph)}
    assert {GraphTriple(*t).key for t in triples(read)} <= known
    assert len(read) == 1
    assert plain(read[0].text)[:5] == "It is"


@given(
    st.text(st.sampled_from("[]Q1qidname:,; NA/.-a\n2é\u0301_\\"), max_size=80), st.lists(GRAPHS)
)
def test_soup_is_read_without_a_fault(text: str, graphs: list[Graph]) -> None:
    whole = unicodedata.normalize("NFC", text)
    for read in (CitedText(text, graphs).triple_sentences(), CitedText(text).numbered_sentences()):
        end = 0
        for sentence in read:
            assert end <= sentence.start < sentence.end <= len(whole)
            end = sentence.end
            assert sentence.text == plain(sentence.text)
            for c in sentence.citations:
                assert sentence.start <= c.start < c.end <= sentence.end
                bracket = whole[c.start : c.end].lstrip("\\")
                assert (bracket[0], bracket[-1]) == ("[", "]")
    assert (
        CitedText(text, graphs).without_citations() == CitedText(whole, graphs).without_citations()
    )


@pytest.mark.skipif(not KALMA.is_dir(), reason=f"the published graphs are not in {KALMA}")
def test_every_triple_of_the_published_graphs_comes_back() -> None:
    rng, graphs = random.Random(6), {}
    for kind in ("simple", "complex"):
        rows = json.loads((KALMA / f"{kind}_question_graph.json").read_text(encoding="utf-8"))
        graphs |= {graph["qid"]: found for _, found in rows for graph in found}
    seen = 0
    for qid, given_ in graphs.items():
        (graph,) = islice((g for g in given_ if g["qid"] == qid), 1)
        pairs = list(pairs_of(graph))
        cited = [[pair] for pair in pairs] + [rng.sample(pairs, min(5, len(pairs)))]
        text = " ".join(f"And this {cite(qid, some)}." for some in cited)
        read = CitedText(text, given_).triple_sentences()
        assert [triples((sentence,)) for sentence in read] == [
            [(qid, *pair) for pair in some] for some in cited
        ]
        seen += len(pairs)
    assert (len(graphs), seen) == (1076, 19311)
