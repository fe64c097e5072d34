"""Windows cover their text, keep to the room, and are cut where sentences end."""

from __future__ import annotations

from hypothesis import example, given, strategies as st
from tests.judges.small import tokens

from trueground.judges.windows import Span, cut_heads, cut_windows
from trueground.text.sentences import split_sentences

TEXT = st.text(
    st.sampled_from("ab c.\n\u2003é東!?-1") | st.characters(exclude_categories=["Cs"]), max_size=120
) | st.lists(
    st.sampled_from(["One two three.", "Go!", "a" * 40, "x " * 30, "It is 3.5 m.", "- item", "\n"]),
    max_size=12,
).map(" ".join)


def letters(texts: list[str] | tuple[str, ...]) -> list[int]:
    """The strictest count: windows are cut inside words too."""
    return [len(text.replace(" ", "")) for text in texts]


def words(texts: list[str] | tuple[str, ...]) -> list[int]:
    return [len(tokens(text)) for text in texts]


def windows(text: str, room: int) -> list[str]:
    return [text[a:b] for a, b in cut_windows([(text, room)], words)[text, room]]


@example(text="00\r000000000000 00.A", room=17, count=letters)
@given(text=TEXT, room=st.integers(1, 40), count=st.sampled_from([letters, words]))
def test_windows_cover_the_text_and_keep_to_the_room(text: str, room: int, count) -> None:
    spans: list[Span] = cut_windows([(text, room)], count)[text, room]
    covered: set[int] = set()
    for start, end in spans:
        assert start < end
        assert count([text[start:end]])[0] <= room or end - start == 1
        covered.update(range(start, end))
    assert all(place in covered for place, char in enumerate(text) if not char.isspace())
    assert spans == sorted(set(spans))
    ends = [end for _, end in spans]
    assert ends == sorted(set(ends)), "a window that brings nothing new"


@given(texts=st.lists(st.tuples(TEXT, st.integers(1, 30)), max_size=5))
def test_texts_do_not_change_each_others_windows(texts: list[tuple[str, int]]) -> None:
    together = cut_windows(texts, letters)
    assert together == {key: cut_windows([key], letters)[key] for key in texts}


@given(text=TEXT, room=st.integers(1, 30))
def test_windows_begin_and_end_with_sentences_that_fit(text: str, room: int) -> None:
    spans = split_sentences(text)
    if any(count > room // 3 for count in words([text[a:b] for a, b in spans])) or not spans:
        return
    begins = {start for start, _ in spans[1:]}
    if sum(words([text])) > sum(words([text[a:b] for a, b in spans])):
        return  # marks between sentences
    for start, _ in cut_windows([(text, room)], words)[text, room][1:]:
        assert start in begins


def test_one_sentence_is_in_both_windows() -> None:
    text = "Anna is a cook. Ben is a baker. Cleo is a judge. Dan is ill."
    assert windows(text, 10) == [
        "Anna is a cook. Ben is a baker.",
        "Ben is a baker. Cleo is a judge.",
        "Cleo is a judge. Dan is ill.",
    ]
    assert windows(text, 100) == [text]


def test_no_overlap_where_it_would_leave_no_room() -> None:
    text = "Anna is a very good cook. Ben is not a good baker."
    assert windows(text, 8) == ["Anna is a very good cook.", "Ben is not a good baker."]


def test_a_long_sentence_is_cut_between_words() -> None:
    text = "Short one. " + " ".join(f"word{n}" for n in range(30)) + "."
    found = windows(text, 12)
    assert " ".join(found).split() == text.split()
    assert all(len(tokens(window)) <= 12 for window in found)


def test_cut_windows_keeps_text_between_sentences() -> None:
    text = "- First item.\n***\n- Second item.\n- Third."
    assert "***" in "".join(windows(text, 6))
    assert windows("!!! ??", 3) == ["!!!", "??"]
    assert windows(" \n", 3) == []


def test_heads_are_cut_off_after_the_last_word_that_fits() -> None:
    text = "  One two three four. Five."
    found = cut_heads([(text, 3), (text, 50), (" ", 4), ("a" * 9, 4)], letters)
    assert text[slice(*found[text, 50])] == text.strip()
    assert found["a" * 9, 4] == (0, 4)
    assert (" ", 4) not in found
    (start, end) = cut_heads([(text, 3)], words)[text, 3]
    assert text[start:end] == "One two three"
