"""FaithEval's phrase sets and search on word boundaries."""

import re

import pytest
from hypothesis import given, strategies as st

from trueground.metrics.abstention import PHRASES, find_phrase
from trueground.text.normalize import Normalizer, contains_words


def test_strict_sets_are_single_words_and_part_of_the_loose_ones():
    assert PHRASES["unanswerable"]["strict"] == ("unknown",)
    assert PHRASES["inconsistent"]["strict"] == ("conflict",)
    for sets in PHRASES.values():
        assert set(sets["strict"]) <= set(sets["loose"])
    assert [len(sets["loose"]) for sets in PHRASES.values()] == [5, 10]


def test_phrases_are_already_normalized():
    rule = Normalizer.named("faitheval").rule
    for sets in PHRASES.values():
        assert all(rule(phrase) == phrase for phrase in sets["loose"])


@pytest.mark.parametrize(
    ("text", "words", "found"),
    [
        ("it is unknown", True, "unknown"),
        ("another notable case", False, "not"),
        ("another notable case", True, None),
        ("there is no answer here", True, "no answer"),
        ("no answers", False, "no answer"),
        ("no answers", True, None),
        ("", False, None),
        ("paris", False, None),
    ],
)
def test_has_phrase(text, words, found):
    assert find_phrase(text, PHRASES["unanswerable"]["loose"], words) == found


def test_phrases_are_tried_in_the_given_order():
    loose = PHRASES["inconsistent"]["loose"]
    assert find_phrase("conflicting sources", loose, False) == "conflict"
    assert find_phrase("conflicting sources", loose, True) == "conflicting"


@pytest.mark.parametrize(
    ("haystack", "needle", "found"),
    [
        ("i like cats", "cat", False),
        ("i like cats, not a cat", "cat", True),
        ("cat", "cat", True),
        ("the_cat", "cat", False),
        ("tc++x c++ y", "c++", True),
        ("écat", "cat", False),
        ("10 100", "100", True),
        ("anything", "", False),
        ("", "a", False),
    ],
)
def test_contains_words(haystack, needle, found):
    assert contains_words(haystack, needle) is found


words = st.text(alphabet="aé1_ .-", max_size=12)


@given(words, words.filter(bool))
def test_contains_words_is_the_same_as_looking_around(haystack, needle):
    pattern = re.compile(rf"(?<!\w){re.escape(needle)}(?!\w)")
    assert contains_words(haystack, needle) is (pattern.search(haystack) is not None)
