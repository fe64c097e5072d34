"""The parts of the QA benchmark that need neither data nor a corpus."""

from __future__ import annotations

from dataclasses import replace

import pytest

from trueground.types import Passage, Turn
from trueground.wings.papers.instruct_qa.source import QaQuestion
from trueground.wings.papers.instruct_qa.task import (
    cut_turns,
    first_line,
    format_passages,
    format_turns,
    own_turn,
    query_of,
)
from trueground.wings.search.gold import same_text

# How many turns there are, how many may stay, and which do: taken out of the middle by twos.
CUTS: list[tuple[int, int, list[int]]] = [
    (0, 10, []),
    (10, 10, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    (12, 10, [0, 1, 2, 3, 6, 7, 8, 9, 10, 11]),
    (14, 10, [0, 1, 2, 3, 8, 9, 10, 11, 12, 13]),
    (16, 10, [0, 1, 2, 3, 10, 11, 12, 13, 14, 15]),
    (11, 10, [0, 1, 2, 3, 6, 7, 8, 9, 10]),
    (4, 2, [2, 3]),
    (3, 1, [2]),
    (2, 1, []),
    (1, 0, []),
    (6, 0, []),
]


@pytest.mark.parametrize(("count", "most", "kept"), CUTS)
def test_the_middle_of_a_long_history_is_cut(count: int, most: int, kept: list[int]) -> None:
    turns = [Turn(str(i)) for i in range(count)]
    assert [int(turn.content) for turn in cut_turns(turns, most)] == kept
    assert len(turns) == count


@pytest.mark.parametrize("count", range(0, 60, 2))
def test_cut_turns_removes_whole_exchanges(count: int) -> None:
    """Every question is followed by its own answer, and the last exchange stays."""
    kept = [int(turn.content) for turn in cut_turns([Turn(str(i)) for i in range(count)], 10)]
    assert len(kept) == min(count, 10)
    assert kept[1::2] == [number + 1 for number in kept[::2]]
    if count:
        assert kept[-1] == count - 1


def test_turns_are_written_with_their_speakers() -> None:
    """As the role says, else by turns; who speaks is settled before the middle is cut."""
    said = [Turn(" a "), Turn("b"), Turn("c", "user"), Turn("d", "Assistant"), Turn("e", "human")]
    assert format_turns(said, 10) == "User: a\nAgent: b\nUser: c\nAgent: d\nUser: e"
    assert format_turns([Turn("a"), Turn("b"), Turn("c")], 1) == "User: c"


def test_queries_join_all_turns() -> None:
    said = (Turn("Who’s There?"), Turn(" "), Turn("Nobody (?)"))
    item = QaQuestion("line 1", "q7", " Why?? ", (), said)
    assert query_of(item, "auto", plain=True) == "who's there nobody (?) why"
    found = query_of(item, "auto", plain=False)
    assert (found, found.turns) == (
        "Who’s There? Nobody (?) Why??",
        ("Who’s There?", "Nobody (?)", "Why??"),
    )
    assert found.id == "q7"
    assert query_of(item, "last", plain=False).turns == ("Why??",)
    rewritten = replace(item, retrieval_query="Why is Nobody there?")
    assert query_of(rewritten, "auto", plain=False).turns == ("Why is Nobody there?",)
    assert query_of(rewritten, "all", plain=False) == found
    assert query_of(rewritten, "last", plain=False) == "Why??"


@pytest.mark.parametrize(
    ("reply", "first", "turn"),
    [
        ("Paris", "Paris", "Paris"),
        ("\n\nParis\nis it", "Paris", "Paris\nis it"),
        ("", "", ""),
        ("\n", "", ""),
        ("Paris\n\n \nQuestion: And now?\nAnswer: x", "Paris", "Paris"),
        ("Paris\nUser: and?\nAgent: no", "Paris", "Paris"),
        ("Answer: Paris\nAnswer: Rome", "Answer: Paris", "Answer: Paris"),
        ("Agent: Paris\n- Title: Rome\nRome is", "Agent: Paris", "Agent: Paris"),
        (" user: hm\nassistant: x\nParis", " user: hm", " user: hm"),
        ("User: hm", "User: hm", ""),
    ],
)
def test_replies_are_trimmed(reply: str, first: str, turn: str) -> None:
    assert first_line(reply) == first
    assert own_turn(reply) == turn


@pytest.mark.parametrize(
    ("gold", "passage", "same"),
    [
        ("The town of Varn.", "the town of VARN", True),
        ("Varn was founded in 1100.", "Long ago Varn was founded in 1100, people say.", True),
        ("in 1100", "It was founded in 11000.", False),
        ("One two three four five six seven eight nine", "two three four five", False),
        (
            "One two three four five six seven eight nine",
            "two three four five six seven eight nine",
            True,
        ),
        ("One", "Another", False),
        ("…", "anything at all", False),
    ],
)
def test_texts_are_the_same_if_one_stands_in_the_other(gold: str, passage: str, same: bool) -> None:
    assert same_text(gold, passage) is same


def test_passages_are_a_titled_list() -> None:
    passages = [Passage("One.\n", title="A"), Passage(" Two. ")]
    assert format_passages(passages) == "- Title: A\nOne.\n\n- Two."
    assert format_passages([]) == "(The search found no passage.)"
