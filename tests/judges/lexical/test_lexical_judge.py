"""What the lexical judge says, and why."""

from __future__ import annotations

import pytest

from trueground.components.specs import ComponentSpec
from trueground.judges.calibrated import with_threshold_option
from trueground.judges.lexical.judge import LexicalJudge
from trueground.types import JudgeRequest, ReasonKind, Verdict


def judge(claim: str, *texts: str) -> Verdict:
    return LexicalJudge().judge([JudgeRequest(claim, texts)])[0]


@pytest.mark.parametrize(
    ("claim", "text", "reason"),
    [
        (
            "It has 1,194 seats.",
            "It has 1,149 seats.",
            "not in the context: 1,194 (nearest number 1,149)",
        ),
        ("He left on 2 May 2020.", "He left on 1 May 2020.", "nearest date 1 May 2020"),
        ("Anna Frey sang there.", "Lena Voss sang there.", "not in the context: 'Anna Frey'"),
        ("He was born in Rome.", "He was not born in Rome.", "the context denies"),
        ("He was not born in Rome.", "He was born in Rome.", "the claim denies"),
        ("They banned cars.", "They are considering to ban cars.", "only says 'considering'"),
        ("All boats sank.", "Some boats sank.", "'All' in the claim, 'Some' in its place"),
        ("Prices fell sharply in Oslo.", "Prices rose sharply in Oslo.", "in the claim"),
        ("He died in Rome.", "He was born in Rome and died in Oslo.", "'Oslo' in its place"),
        ("The lawyers paid farmers.", "The farmers paid lawyers.", "changed places"),
        ("It has 45 kW.", "It has 45 W.", "not in the context: 45 kW (nearest number 45 W)"),
        ("桥长210米。", "桥长120米,建于1990年。", "not in the context: 210 (nearest number 120)"),
        ("Anna came first.", "Anna came third.", "first (nearest number third)"),
        ("It is on the second floor.", "It is on the third floor.", "second (nearest"),
        ("Yes, it sells cars.", "It sells tea.", "not in the context: 'cars'"),
        ("Trains run from Oslo.", "Trains run to Oslo.", "'from Oslo' in the claim"),
        ("Only guests may enter.", "Guests may enter.", "'Only' is not in the context"),
    ],
)
def test_reasons(claim: str, text: str, reason: str) -> None:
    verdict = judge(claim, text)
    assert verdict.supported is False
    assert any(reason in why for why in verdict.reasons), verdict.reasons


@pytest.mark.parametrize(
    ("claim", "text", "kind", "line"),
    [
        (
            "Ida Rosen of Silicon Valley sold 12 boats in 1990.",
            "Boats were sold in 1985.",
            "number",
            "not in the context: 12, 1990 (nearest date 1985), 'Ida Rosen', 'Silicon Valley'",
        ),
        (
            "Oda thanked Karl for the old piano.",
            "Lena thanked Karl for the old piano.",
            "name",
            "'Oda' in the claim, 'Lena' in its place in the context",
        ),
        ("Lena thanked Karl Voss.", "Lena thanked Karl.", "name", "not in the context: 'Voss'"),
        (
            "He died in Rome.",
            "He was born in Rome and died in Oslo.",
            "contradicted",
            "'Rome' in the claim, 'Oslo' in its place in the context",
        ),
        (
            "The mill grinds rye and oats every winter.",
            "The mill grinds wheat every winter.",
            "contradicted",
            "'rye and oats' in the claim, 'wheat' in its place in the context",
        ),
        (
            "The mill grinds rye and oats every winter.",
            "The mill grinds every winter.",
            "words",
            "not in the context: 'rye', 'oats'",
        ),
        (
            "The mill was popular with tourists.",
            "The mill has four floors.",
            "low_overlap",
            "not in the context: 'popular', 'tourists'",
        ),
        (
            "Only guests may enter.",
            "Guests may enter.",
            "words",
            "'Only' is not in the context",
        ),
        ("I don't know.", "It rained.", "declines", "the claim declines to answer"),
        ("???", "It rained.", "no_words", "the claim has no words of its own"),
        ("It rained.", "", "no_context", "no context"),
    ],
)
def test_the_reason_is_one_line_of_one_kind(claim: str, text: str, kind: str, line: str) -> None:
    verdict = judge(claim, text)
    assert (verdict.kind, verdict.reasons) == (kind, (line,))
    assert kind in list(ReasonKind)


def test_a_reason_names_the_text_by_what_it_is() -> None:
    claim, text = "It was finished in 1913.", "It was finished in 1931."
    (verdict,) = LexicalJudge().judge([JudgeRequest(claim, (text,), source="response")])
    assert verdict.reasons == ("not in the response: 1913 (nearest date 1931)",)
    (verdict,) = LexicalJudge().judge([JudgeRequest(claim, ("",), source="response")])
    assert verdict.reasons == ("no response",)


def test_words_of_different_places_are_apart() -> None:
    text = "Rosen built a bridge. " + "It rained. " * 5 + "The harbour froze in winter."
    verdict = judge("Rosen built a harbour in winter.", text)
    assert verdict.kind is ReasonKind.APART
    assert "elsewhere in the context, not with the rest of the claim" in verdict.reasons[0]


def test_a_supported_claim_has_no_kind_and_no_doubt() -> None:
    assert judge("It rained in Oslo.", "It rained in Oslo.").kind is None
    paraphrase = judge("In Oslo it rained.", "It rained in Oslo.")
    assert (paraphrase.supported, paraphrase.kind) == (True, None)
    assert paraphrase.reasons == ("all its words are in the context",)


@pytest.mark.parametrize(
    ("threshold", "claim", "supported", "kind", "line"),
    [
        (0.1, "It has 12 rooms.", True, None, "above 0.1, though not in the con"),
        (0.9, "Rooms: it has 10.", False, "below_threshold", "not above 0.9, though all its words"),
        (0.9, "It has 12 rooms.", False, "number", "not in the context: 12 (nearest number 10)"),
    ],
)
def test_another_threshold_says_so(
    threshold: float, claim: str, supported: bool, kind: str | None, line: str
) -> None:
    """A verdict that it turns round does not stand beside the reason of the opposite."""
    found = with_threshold_option(
        LexicalJudge(), ComponentSpec.parse("judge", f"lexical(threshold={threshold})")
    )
    (verdict,) = found.judge([JudgeRequest(claim, ("It has 10 rooms.",))])
    assert (verdict.supported, verdict.kind) == (supported, kind)
    assert len(verdict.reasons) == 1
    assert line in verdict.reasons[0]


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("He was born in Rome.", "He was not born in Oslo but in Rome."),
        ("The walk is about 8 km long.", "The walk is 5 miles long."),
        ("It was built in the 19th century.", "It was built in 1871."),
        ("He left in 2020.", "He left on 1 May 2020."),
        ("Anna Ruck was born in November 1871.", "Anna Ruck: date of birth: 1871-11"),
        ("Anna Ruck was born in 1871.", "Anna Ruck: date of birth: 1871-11"),
        ("Anna Ruck was born in 1871.", "Anna Ruck: date of birth: 1871"),
        ("Anna Ruck died in June 1900.", "Anna Ruck: date of death: 1900-06"),
        ("Caius died in 44 BC.", "Caius: date of death: -0044-03-15"),
        ("Ida won in 1903 [2].", "Ida won in 1903."),
        ("Kim is 35 years old.", "Kim, aged 35, is old."),
        ("1956", "She was born in 1956."),
        ("Warsaw", "She was born in Warsaw."),
        ("Curie died in 1934.", "Marie Curie was a chemist. She died in 1934."),
        ("人口は約1400万人です", "東京は日本の首都です。人口は約1400万人です。"),
    ],
)
def test_supported(claim: str, text: str) -> None:
    verdict = judge(claim, text)
    assert verdict.supported, verdict.reasons


HARBOUR = (
    "Harbour Lights was founded in 1974 by Maria Velez in Lisbon. It employs 320 people, sells "
    "lamps and cables, and closed its factory in Porto on 3 March 2019."
)


@pytest.mark.parametrize(
    "claim",
    [
        "First, Harbour Lights was founded in Lisbon; second, it sells lamps.",
        "Firstly, it sells lamps, and second, it sells cables.",
        "Yes, absolutely: it sells lamps.",
        "No, it sells lamps.",
        "Yes - it sells cables.",
        "Fortunately, it employs 320 people.",
        "It sells things, e.g. lamps, cables, etc.",
        "Once the factory closed in 2019, it employs 320 people.",
        "Harbour Lights closed its factory.",
    ],
)
def test_lexical_judge_ignores_lead_ins_and_actors(claim: str) -> None:
    verdict = judge(claim, HARBOUR)
    assert verdict.supported, verdict.reasons


@pytest.mark.parametrize("place", ["factory in Lisbon", "Lisbon factory"])
def test_a_place_has_a_place_as_its_rival_and_not_who_acts(place: str) -> None:
    (line,) = judge(f"Harbour Lights closed its {place}.", HARBOUR).reasons
    assert line == "'Lisbon' in the claim, 'Porto' in its place in the context"


def test_words_of_neighbors_are_said_to_be_spread() -> None:
    line = "its words are in the context, but spread over several sentences"
    assert judge("Harbour Lights has 320 employees.", HARBOUR).reasons == (line,)


def test_the_deciding_window_is_named() -> None:
    texts = ("Nothing here.", "It rained. Anna Frey wrote the opera in 1950. It snowed.")
    verdict = judge("The opera was written by Anna Frey.", *texts)
    assert verdict.supported
    assert verdict.text == 1
    assert texts[1][verdict.start : verdict.end] == "Anna Frey wrote the opera in 1950."


def test_a_year_more_precise_than_the_context_is_not_supported() -> None:
    assert not judge("It opened in 1994.", "It opened in the 1990s.").supported
    assert not judge("It opened on 1 May 1994.", "It opened in 1994.").supported


def test_numbers_in_other_scripts_do_not_crash() -> None:
    assert judge("²³", "x² + ³").supported in (True, False)
    assert judge("___", "___ ___").supported in (True, False)


@pytest.mark.parametrize(
    ("text", "claim", "supported"),
    [
        ("The rocket launch was on Monday.", "The rocket launch failed.", False),
        ("The rocket launch failed on Monday.", "The rocket launch failed.", True),
        ("The company expanded.", "The company planned to expand.", False),
        ("In 1999 the plan failed.", "The plan failed.", True),
        ("Yes, they will be there.", "They will be there.", True),
        ("Some believe the earth is flat.", "The earth is flat.", False),
        ("Rumours say Apple will buy Netflix.", "Apple will buy Netflix.", False),
        ("It is false that dogs can fly.", "Dogs can fly.", False),
        ("Children over 12 may enter.", "Children over 12 may enter.", True),
    ],
)
def test_lexical_judge_reads_verb_and_frame(text: str, claim: str, supported: bool) -> None:
    (verdict,) = LexicalJudge().judge([JudgeRequest(claim, (text,))])
    assert verdict.supported is supported, verdict.reasons


def test_the_month_of_may_hedges_nothing() -> None:
    text = "Flowers bloom in May. Flowers bloom in June."
    assert judge("Flowers bloom in June.", text).supported
    assert not judge("It closes in 1990.", "It may close in 1990.").supported


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("Anna Ruck was born in December 1871.", "Anna Ruck: date of birth: 1871-11"),
        ("Anna Ruck was born on 2 November 1871.", "Anna Ruck: date of birth: 1871-11"),
        ("Anna Ruck was born in 1811.", "Anna Ruck: date of birth: 1871-11"),
        ("Anna Ruck died in 1906.", "Anna Ruck: date of death: 1900-06"),
        ("Caius died in 43 BC.", "Caius: date of death: -0044-03-15"),
    ],
)
def test_another_month_is_not_supported(claim: str, text: str) -> None:
    assert judge(claim, text).supported is False


@pytest.mark.parametrize("piece", ["1, ", "0 ", "-1 ", "1. ", "$1 ", "not ", "1/2 ", "2020-01-01 "])
def test_a_long_row_of_signs_has_a_probability(piece: str) -> None:
    """So many numbers without a match: the log-odds are beyond what `exp` takes."""
    request = JudgeRequest(piece * 753, ("The tower is tall, 3 m.",))
    (verdict,) = LexicalJudge().judge([request])
    assert verdict.supported is False
    assert verdict.probability is not None
    assert 0 <= verdict.probability < 0.5
