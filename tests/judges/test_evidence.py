"""Which sentences a claim is compared with."""

from __future__ import annotations

from hypothesis import given, strategies as st

from trueground.judges.evidence import EvidenceFinder

MILL = "The mill was built in 1903. It burned down in 1950. A bakery stands there today."
FARM = "The farm lies by the river. Cows graze there."
TEXT = st.text(alphabet="ab .\n", max_size=40)


def test_the_sentences_that_say_most_of_it_in_their_order() -> None:
    found = EvidenceFinder([MILL, FARM]).find("The bakery stands where the mill was built.")
    assert found == "The mill was built in 1903. A bakery stands there today."


def test_endings_do_not_part_words() -> None:
    assert EvidenceFinder([FARM]).find("A cow grazed") == "Cows graze there."


def test_never_more_words_than_asked_for() -> None:
    finder = EvidenceFinder(["one two three four five six. " * 30])
    assert len(finder.find("one six", max_words=4).split()) == 4
    assert len(EvidenceFinder(["word " * 300]).find("word").split()) == 70


def test_where_nothing_is_shared_the_first_sentence_stands() -> None:
    assert EvidenceFinder([FARM]).find("Prague") == "The farm lies by the river."
    assert EvidenceFinder([]).find("Prague") == EvidenceFinder([" "]).find("Prague") == ""


@given(texts=st.lists(TEXT, max_size=4), claim=TEXT)
def test_the_order_of_texts_is_no_matter(texts: list[str], claim: str) -> None:
    assert EvidenceFinder(texts).find(claim) == EvidenceFinder(texts[::-1]).find(claim)
