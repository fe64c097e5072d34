"""Triples as sentences, by the part of speech of their relation."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from trueground.wings.papers.builders.kalma.paragraphs import speaks_of
from trueground.wings.papers.builders.kalma.wording import part_of_speech, relation_words, say

SHARED = Path(__file__).parents[6] / "shared/data/kalma/complex_question_graph.json"


@pytest.mark.parametrize(
    ("relation", "sentence"),
    [
        ("place of birth", "Ona Reed's place of birth is X."),
        ("date_of_birth", "Ona Reed's date of birth is X."),
        ("native language", "Ona Reed's native language is X."),
        ("award received", "Ona Reed's award received is X."),
        ("influenced by", "Ona Reed is influenced by X."),
        ("student of", "Ona Reed is student of X."),
        ("part of the series", "Ona Reed is part of the series X."),
        ("member of sports team", "Ona Reed is member of sports team X."),
        ("bornIn", "Ona Reed is born In X."),
        ("participated in", "Ona Reed participated in X."),
        ("succeeds", "Ona Reed succeeds X."),
        ("place of origin (Switzerland)", "Ona Reed's place of origin is X."),
        ("(only aside)", "Ona Reed's (only aside) is X."),
    ],
)
def test_the_three_templates(relation: str, sentence: str) -> None:
    assert say("Ona Reed", relation, "X") == sentence


def test_names_with_braces_stay_as_they_are() -> None:
    found = say("{value}", "child", "{name}")
    assert found == "{value}'s child is {name}."


@pytest.mark.skipif(not SHARED.exists(), reason="the published files are not here")
def test_parts_of_speech_of_the_published_properties() -> None:
    entries = json.loads(SHARED.read_text())
    names = {name for _, graphs in entries for graph in graphs for name in graph}
    found = Counter(part_of_speech(name) for name in names)
    verbs = {name for name in names if part_of_speech(name) == "verb"}
    assert verbs == VERBS
    assert found == COUNTS


VERBS = {"carries scientific instrument", "participated in", "succeeds", "commands", "commemorates"}
COUNTS = {"noun": 92, "verb": 5, "adjective": 20}


@pytest.mark.parametrize(
    ("sentence", "value", "spoken"),
    [
        ("She was born on 1 November 1871.", "1871-11-01", True),
        ("She was an Italian painter.", "Italy", True),
        ("She painted.", "painter", True),
        ("She was born in Rome.", "Naples", False),
        ("She was born in 1870.", "1871", False),
        ("Élodie came.", "Elodie Vast", True),
        ("彼女は東京で生まれた。", "東京", True),
        ("She is of it.", "Order of Salt", False),
        ("Anything.", "†", True),
    ],
)
def test_whether_a_sentence_speaks_of_a_value(sentence: str, value: str, spoken: bool) -> None:
    assert speaks_of(sentence, value) is spoken


def test_words_of_a_relation() -> None:
    assert relation_words("placeOfBirth") == ["place", "Of", "Birth"]
    assert relation_words("VIAF ID") == ["VIAF", "ID"]
