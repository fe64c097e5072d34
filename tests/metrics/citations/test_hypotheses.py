"""What a judge is asked about a triple, and what the lexical judge makes of it."""

from __future__ import annotations

import pytest
from tests.metrics.citations.entailment_pairs import PAIRS

from trueground.judges.lexical import LexicalJudge
from trueground.text.triples import GraphTriple
from trueground.wings.papers.kalma.entailment import entailment_request, find_value

# Known mistakes of the lexical judge: two places in one sentence, dates of a life in brackets,
# other forms of a word, "never".
MISJUDGED = {
    ("date of birth", "1842-05-03"),
    ("date of death", "1911-06-09"),
    ("place of death", "Helsinki"),
    ("country of citizenship", "Finland"),
    ("religion", "Catholic Church"),
    ("place of birth", "Naples"),
    ("place of death", "Siena"),
    ("date of death", "1900-06"),
    ("movement", "realism"),
    ("country of citizenship", "United States"),
    ("father", "Orlando Corsi"),
}


def test_the_statement() -> None:
    assert GraphTriple("", "date_of  birth", " 1801 ").statement == "date of birth: 1801"
    asked = entailment_request("She came.", "place_of_birth", "Siena")
    assert (asked.claim, asked.texts, asked.asked) == (
        "place of birth: Siena",
        ("She came.",),
        "What is the place?",
    )
    assert (
        entailment_request("She came.", "occupation", "painter").asked == "What is the occupation?"
    )
    assert entailment_request("She came.", "birth", "1801").asked == ""


@pytest.mark.parametrize(
    ("value", "sentence", "stands"),
    [
        ("Jena", "He taught in JENA.", True),
        ("art", "He went to a party.", False),
        ("1801", "Born 1801-05-02.", True),
        ("180", "Born 1801.", False),
        ("The Book: A, B (C)", "He wrote the book: a,  B.", False),
        ("The Book: A, B (C)", "He wrote the book: a, B\n(C).", True),
        ("C++", "She taught C++.", True),
        (" ", "Anything.", False),
        ("Zoë", "ZOË came.", True),
    ],
)
def test_where_a_value_stands(value: str, sentence: str, stands: bool) -> None:
    place = find_value(value, sentence)
    assert (place is not None) == stands
    if place:
        found = " ".join(sentence[slice(*place)].split())
        assert found.casefold() == value.casefold()


def test_the_lexical_judge_on_sentences_and_triples() -> None:
    requests = [entailment_request(sentence, name, value) for sentence, name, value, _ in PAIRS]
    verdicts = LexicalJudge().judge(requests)
    wrong = {
        (name, value)
        for (_, name, value, entailed), verdict in zip(PAIRS, verdicts, strict=True)
        if verdict.supported != entailed
    }
    never = ("member of political party", "Liberal Party")  # right with one sentence, not the other
    assert wrong <= MISJUDGED | {never}
    assert len(wrong) <= 0.15 * len(PAIRS)
