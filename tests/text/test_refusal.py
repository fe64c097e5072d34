"""Declining to answer: the labeled cases, and laws for any text."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from trueground.text.refusal import (
    _KINDS,
    REFUSAL_RULES,
)
from trueground.text.refusal_languages import find_languages

CASES = Path(__file__).parents[1] / "data" / "abstention_cases.jsonl"
LABELED = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
HELD = [
    json.loads(line)
    for line in CASES.with_name("abstention_held.jsonl").read_text("utf-8").splitlines()
]

MORE = """
1|The passage describes the bridge but does not say who built it.
1|The passage does not mention his birth date, but it does mention his death in 1950.
1|I don't know. The passage discusses cats. It also covers dogs.
1|The answer is "unknown".
1|The answer is unknown.
1|Answer: Unknown
1|**Unanswerable**
1|"I don't know."
1|As an AI language model, I don't have access to the documents.
1|Unfortunately, while the passage discusses ships, it doesn't mention sails.
1|I'm sorry, but there is no information in the provided context about the mayor of Lisbon.
1|The context provided does not contain information on this. Please provide more context.
1|Neither passage mentions the price.
1|The provided information is insufficient to answer the question.
1|Unfortunately, the requested information is not available.
1|Cannot be determined.
1|I dont know
1|Without more context, I cannot answer this.
0|Paris, but I don't know for sure.
0|I don't know, but I think it's Paris.
0|Paris, which is not mentioned in the passage.
0|There is no evidence that vaccines cause autism.
0|There was not enough evidence to convict him.
0|The species cannot be found in Europe.
0|The sex of the embryo cannot be determined before week 12.
0|The song is I Don't Know How to Love Him.
0|He was unknown before the film.
0|The Tomb of the Unknown Soldier
0|The name of the band is Unknown Mortal Orchestra.
0|The document does not allow photography.
0|If you do not know the password, ask the admin.
0|The passage says it is unknown who wrote it.
0|No, the passage does not mention a king.
0|It is difficult to find water in the desert.
0|I cannot provide instructions for making a bomb.
0|He was born in 1912 and his birthplace is not stated.
0|I'm not sure about the figure. More than 300 people took part.
"""


@pytest.mark.parametrize("case", LABELED, ids=lambda case: case["id"])
def test_labeled_cases(case):
    found = REFUSAL_RULES.find(case["response"], case.get("references") or ())
    assert (found is not None) is case["abstained"], found


@pytest.mark.parametrize("line", MORE.strip().splitlines())
def test_more_cases(line):
    declines, response = line.split("|")
    assert (REFUSAL_RULES.find(response) is not None) is (declines == "1"), REFUSAL_RULES.find(
        response
    )


@pytest.mark.parametrize(
    ("response", "words"),
    [
        ("I’m sorry, but I don’t know.", "I don't know"),
        ("Sadly, the  passage\tdoes not mention it.", "the passage does not mention"),
        ("The price is not stated in the text.", "The price is not stated in the text"),
        ("Unanswerable: both passages are about the older bridge.", "Unanswerable"),
        ("Leider kann ich die Frage nicht beantworten.", "kann ich die Frage nicht beantworten"),
    ],
)
def test_the_declining_words_come_back(response, words):
    assert REFUSAL_RULES.find(response) == words


def test_a_reference_that_says_the_same_makes_it_an_answer():
    assert REFUSAL_RULES.find("The painter is unknown.", ["Vermeer"]) == "The painter is unknown"
    assert REFUSAL_RULES.find("The painter is unknown.", ["unknown"]) is None
    assert REFUSAL_RULES.find("Unknown", ["It is not known."]) is None
    assert REFUSAL_RULES.find("I don't know.", ["unknown"]) == "I don't know"


def test_every_phrase_is_behind_a_cue():
    """The cheap first look must not hide what the patterns would find."""
    declining = [case["response"] for case in LABELED if case["abstained"]]
    declining += [line[2:] for line in MORE.strip().splitlines() if line.startswith("1")]
    for response in declining:
        lowered = response.lower().replace("’", "'")
        assert REFUSAL_RULES._has_cue(lowered) or find_languages(lowered), response


@pytest.mark.long
@given(st.from_regex(re.compile("|".join(REFUSAL_RULES._english[kind].pattern for kind in _KINDS))))
def test_whatever_matches_a_phrase_has_a_cue(text):
    assert REFUSAL_RULES._has_cue(text), text


def test_the_rules_are_named_after_their_file():
    assert re.fullmatch(r"rules-\d+", REFUSAL_RULES.name)
    data = Path(__file__).parents[2] / "src" / "trueground" / "text" / "data"
    folder = data / f"refusals_v{REFUSAL_RULES.name.removeprefix('rules-')}"
    assert (folder / "en.txt").is_file()


PIECES = (
    *(
        "I don't know",
        "I can't say",
        ". ",
        ", but ",
        "the passage ",
        "does not mention ",
        "unknown",
    ),
    *(" is ", "İ", "however ", "“", '"', "'", "\n", "- ", "it ", "Paris", "…", "\u00a0", "不知道"),
)
pieces = st.lists(st.sampled_from(PIECES), max_size=10).map("".join)


@given(st.one_of(st.text(max_size=80), pieces))
def test_any_text_is_read_and_outer_space_means_nothing(text):
    assert REFUSAL_RULES.find(f" \n\t{text}\u3000 ") == REFUSAL_RULES.find(text)


def test_documented_rates_equal_measured_rates():
    found = [REFUSAL_RULES.find(c["response"], c.get("references") or ()) is not None for c in HELD]
    right = sum(f and c["abstained"] for f, c in zip(found, HELD, strict=True))
    assert {
        "rules": REFUSAL_RULES.name,
        "labeled": len(HELD),
        "precision": round(right / sum(found), 3),
        "recall": round(right / sum(c["abstained"] for c in HELD), 3),
    } == REFUSAL_RULES.measured


SOURCES = (
    *("The passage", "The given context", "The information provided", "This Wikipedia article"),
    *("The text about Venus", "The two documents I was given", "The evidence you gave me"),
    "The information provided in the passage",
)
LACKS = (
    *("does not say", "doesn’t mention", "did not specify", "never tells", "has not revealed"),
    *("gives no information about", "fails to explain", "says nothing about", "cannot tell us"),
)
ASKED = ("the price", "who built the bridge", "the date of the battle")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("lacks", LACKS)
def test_a_source_that_does_not_tell_declines_whatever_it_is_called(source, lacks):
    for asked in ASKED:
        for after in (".", ". [1]", ". Reference: [1]", " (Document 2)."):
            assert REFUSAL_RULES.find(f"{source} {lacks} {asked}{after}"), (asked, after)
    assert REFUSAL_RULES.find(f"{source}, however, {lacks} that, so I don't know.")
    assert REFUSAL_RULES.find(f"{source} {lacks} the price, but it was 40 euros.") is None


@pytest.mark.parametrize(
    "who", ["The king", "Her brother", "The company", "The police", "Most visitors", "The law"]
)
@pytest.mark.parametrize("lacks", LACKS)
def test_anybody_else_who_does_not_tell_is_an_answer(who, lacks):
    for asked in ASKED:
        assert REFUSAL_RULES.find(f"{who} {lacks} {asked}.") is None


def test_statement_about_world_is_answer_unless_reference_abstains():
    for response in ("It is unknown who wrote it.", "The cause cannot be determined."):
        assert REFUSAL_RULES.find(response) is None
        assert REFUSAL_RULES.find(response, ["", " "]) is None
        assert REFUSAL_RULES.find(response, ["It is not known who wrote it"]) is None
        assert REFUSAL_RULES.find(response, ["Cynewulf"])
    assert REFUSAL_RULES.find("The cause of death could not be determined.", ["a fever"]) is None
    assert REFUSAL_RULES.find("The cause cannot be determined from the passage.")


def test_plain_phrases_are_found_anywhere():
    assert REFUSAL_RULES.find_phrase("Paris, but I don’t know for sure.") == "i don't know"
    assert REFUSAL_RULES.find_phrase("The  passage does\nnot mention it.") == "does not mention"
    assert REFUSAL_RULES.find_phrase("Paris.") is None
