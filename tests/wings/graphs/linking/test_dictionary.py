"""Names of a graph in questions: boundaries, case, overlaps, awkward characters."""

from __future__ import annotations

import unicodedata

import pytest

pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")
pytest.importorskip("ahocorasick", reason="the graph extra is not installed")

from tests.wings.graphs.linking.invented import HUMAN, PEOPLE, Counting, graph_of

from trueground.errors import GraphError, UsageError
from trueground.wings.graphs.names import fold, nfc
from trueground.wings.graphs.recognizers import Dictionary, Recognizer, stands_alone

GRAPH = graph_of(PEOPLE)
DICTIONARY = Dictionary(GRAPH)


def names(question: str, dictionary: Dictionary = DICTIONARY) -> list[str]:
    """The texts of the mentions; each stands where it says."""
    question = nfc(question)
    (found,) = dictionary.mentions([question])
    for one in found:
        assert question[one.start : one.end] == one.text
    return [one.text for one in found]


def test_it_is_a_recognizer() -> None:
    assert isinstance(DICTIONARY, Recognizer)
    assert DICTIONARY.name == "dictionary"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who was Anna Ruck?", ["Anna Ruck"]),
        ("What did Anna Ruck's husband Ede Holm build?", ["Anna Ruck", "Ede Holm"]),
        ("Was it Anna Ruck’s?", ["Anna Ruck"]),
        ("Is this the Rucks' or Anna Ruck' house?", ["Anna Ruck"]),
        ("Did Anna Rucker or Joanna Ruck sing?", []),
        ("Did Anna Ruck-Holm sing?", ["Holm"][:0]),
        ("Did D'Anna Ruck sing?", []),
        ("(Anna Ruck), “Ede Holm”.", ["Anna Ruck", "Ede Holm"]),
        ("Anna Ruck–Ede Holm letters", ["Anna Ruck", "Ede Holm"]),
        ("What is the Ede Holm Society?", ["Ede Holm Society"]),
        ("Who leads the Ede Holm Societyx?", ["Ede Holm"]),
        ("Where did Holm live?", ["Holm"]),
        ("anna ruck and ANNA RUCK", ["anna ruck", "ANNA RUCK"]),
        ("Where was Jean Luc O'Dell born?", ["Jean Luc O'Dell"]),
        ("Where was Jean-Luc O’Dell's house?", ["Jean-Luc O’Dell"]),
        ("What did Anna \n\t Ruck do?", ["Anna \n\t Ruck"]),
        ("What did Órla Brandt sail?", ["Órla Brandt"]),
        (unicodedata.normalize("NFD", "What did Órla Brandt sail?"), ["Órla Brandt"]),
        ("李安的电影", ["李安"]),
        ("", []),
    ],
)
def test_names_stand_on_word_boundaries(question: str, expected: list[str]) -> None:
    assert names(question) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How did he make art?", []),  # an alias "He", and a genre
        ("He was an explorer.", []),
        ("Who was it?", []),
        ("What does the WHO do?", ["WHO"]),
        ("WHAT DOES THE WHO DO?", []),
        ("Is Art her field?", ["Art"]),
        ("What is literary realism?", ["literary realism"]),
        ("where did holm live?", []),
    ],
)
def test_common_words_are_no_names(question: str, expected: list[str]) -> None:
    assert names(question) == expected


def test_a_mention_knows_all_entities_of_its_name() -> None:
    (found,) = DICTIONARY.mentions(["Who was Anna Ruck?"])
    assert [one.qid for one in found[0].known or ()] == ["Q2", "Q7", "Q10"]
    assert found[0].names == ("Anna Ruck",)


def test_with_types_only_their_names_are_known() -> None:
    people = Dictionary(GRAPH, ["Human"])
    assert names("What is the Ede Holm Society?", people) == ["Ede Holm"]
    (found,) = people.mentions(["Who was Anna Ruck?"])
    assert [one.qid for one in found[0].known or ()] == ["Q2", "Q10"]
    by_id = Dictionary(GRAPH, ["Q5"])
    assert names("Art of Anna Ruck", by_id) == ["Anna Ruck"]


def test_errors_name_the_next_step() -> None:
    with pytest.raises(GraphError, match=r"type humn; its types: .*human.*Name one of them"):
        Dictionary(GRAPH, ["humn"])
    with pytest.raises(GraphError, match="has no entity with a name"):
        Dictionary(graph_of([]))
    with pytest.raises(UsageError, match=r"can't list the names .*spacy:MODEL"):
        Dictionary(Counting(GRAPH))


def test_folded_places_lead_back() -> None:
    question = "İzmir –  Anna   Ruck"
    folded = fold(question)
    assert folded.text.endswith("anna ruck")
    start = folded.text.index("anna")
    place = folded.place(start, start + len("anna ruck"))
    assert question[slice(*place)] == "Anna   Ruck"


def test_a_name_may_be_any_text() -> None:
    odd = ["a\\b } \" '", "...", "—", "  ", "X", "C++", "42", "Ünï \U0001f600"]
    known = [(f"Q{i}", name, HUMAN, [], {"fact": "x"}) for i, name in enumerate(odd, 1)]
    dictionary = Dictionary(graph_of([*known, ("Q99", "Anna Ruck", HUMAN, [], {"fact": "x"})]))
    assert names("Is ... X — 42 or Anna Ruck?", dictionary) == ["Anna Ruck"]
    assert names("Does C++ know Ünï \U0001f600?", dictionary) == ["C++", "Ünï \U0001f600"]


def test_words_are_joined_by_hyphens_and_apostrophes() -> None:
    assert stands_alone("Obama", 0, 5)
    assert not stands_alone("Kim Il-sung", 0, 6)
    assert stands_alone("Kim Il - sung", 0, 6)
    assert not stands_alone("l'Anna", 2, 6)
    assert stands_alone("'Anna'", 1, 5)
