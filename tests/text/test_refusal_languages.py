"""Refusals in other languages: labeled cases, and how a rule file is read."""

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from trueground.text.refusal import REFUSAL_RULES
from trueground.text.refusal_languages import (
    _WORD,
    Language,
    _words,
    find_languages,
    fold,
    languages,
)

CASES = Path(__file__).parents[1] / "data" / "abstention_languages.jsonl"
LABELED = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
DEVELOPMENT = [case for case in LABELED if case["split"] == "dev"]
HELD = [case for case in LABELED if case["split"] == "held"]
NAMES = [language.name for language in languages()]


@pytest.mark.parametrize("case", DEVELOPMENT, ids=lambda case: case["id"])
def test_find_refusal_labeled_case_agrees(case):
    assert (REFUSAL_RULES.find(case["response"]) is not None) is case["abstained"]


def test_labeled_cases_cover_each_language():
    counts = Counter((case["lang"], case["abstained"]) for case in LABELED)
    assert len(NAMES) >= 17
    for name in NAMES:
        assert counts[name, True] >= 12, name
        assert counts[name, False] >= 12, name


@pytest.mark.parametrize("name", NAMES)
def test_rule_file_is_reached_by_its_cues(name):
    """The cheap first look must not hide what the patterns would find."""
    declining = [c["response"] for c in DEVELOPMENT if c["lang"] == name and c["abstained"]]
    for response in declining:
        found = [language.name for language in find_languages(response.lower())]
        assert name in found, response


@pytest.mark.parametrize(
    ("with_marks", "without"),
    [
        ("Não há informações no contexto.", "Nao ha informacoes no contexto."),
        ("Không thể xác định điều này từ văn bản.", "Khong the xac dinh dieu nay tu van ban."),
        ("Nie można tego ustalić z tekstu.", "Nie mozna tego ustalic z tekstu."),
        ("لا أعرف.", "لا اعرف."),
        ("Je ne connais pas la réponse.", "Je ne connais pas la reponse."),
    ],
    ids=["pt", "vi", "pl", "ar", "fr"],
)
def test_find_refusal_diacritics_do_not_matter(with_marks, without):
    assert REFUSAL_RULES.find(with_marks)
    assert REFUSAL_RULES.find(without)


def test_find_refusal_returns_words_as_written():
    assert (
        REFUSAL_RULES.find("Désolé, je ne connais pas la réponse.")
        == "je ne connais pas la réponse"
    )
    assert REFUSAL_RULES.find("لم يُذكر السعر في المقال.") == "لم يُذكر السعر في المقال"


def test_find_refusal_bare_unknown_is_an_answer_if_a_reference_says_so():
    assert REFUSAL_RULES.find("Unbekannt.") == "Unbekannt"
    assert REFUSAL_RULES.find("Unbekannt.", ["Unbekannt."]) is None
    assert REFUSAL_RULES.find("Inconnu.", ["inconnu"]) is None


RULES = """# A comment.
[cues]
nope

[words]
TEXT = (?:tekst|kontekst)

[refusal]
<TEXT> nope

[anaphor]
nope

[whole]
nope nope

[contrast]
men

[source]
<TEXT> er
"""


@pytest.mark.parametrize(
    ("sentence", "span"),
    [
        ("tekst nope", (0, 10)),
        ("  tekst nope.", (2, 12)),
        ("nope nope", (0, 9)),
        ("nope", None),
        ("tekst er kort men nope", (18, 22)),
        ("tekst er kort", None),
        ("tekst nope men 1903", None),
        ("1903 men tekst nope", None),
        ("1903, tekst nope", None),
        ("kontekst er kort, tekst nope", (18, 28)),
        ("hypertekst nope", None),
        ("", None),
    ],
)
def test_language_find_refusal_reads_clauses(sentence, span):
    assert Language("xx", RULES).find_refusal(sentence) == span


def test_language_unspaced_matches_inside_a_word():
    unspaced = Language("xx", RULES + "[unspaced]\n")
    assert unspaced.find_refusal("hypertekst nope") == (5, 15)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("déjà", "deja"),
        ("łódź", "lodz"),
        ("ısı", "isi"),
        ("بُني", "بني"),
        ("が한", "が한"),
        ("x", "x"),
    ],
)
def test_fold(text, folded):
    assert fold(text) == folded


@given(st.text(max_size=60), st.sampled_from(languages()))
def test_language_any_text_is_read(text, language):
    span = language.find_refusal(text.lower(), after_source=True)
    assert span is None or 0 <= span[0] < span[1] <= len(text.lower())
    language.is_aside(text)


@given(st.text() | st.text(st.characters(max_codepoint=127)))
def test_words_are_the_runs_of_letters(text: str) -> None:
    assert _words(text) == _WORD.findall(text)
