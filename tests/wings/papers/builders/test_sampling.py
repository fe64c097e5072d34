"""Seeded choices: the same whatever the order and the others."""

from __future__ import annotations

from collections import Counter

import pytest

from trueground.wings.papers.builders.sampling import choose, shuffle_key

IDS = [f"q{number}" for number in range(3000)]


def test_the_order_does_not_matter() -> None:
    assert [choose(1, one, "abc") for one in IDS] == [choose(1, one, "cab") for one in IDS]
    assert {shuffle_key(1, one) for one in IDS} == {shuffle_key(1, one) for one in reversed(IDS)}


def test_seed_and_id_matter_and_all_choices_come() -> None:
    first = [choose(1, one, "abc") for one in IDS]
    assert first != [choose(2, one, "abc") for one in IDS]
    assert all(900 < count < 1100 for count in Counter(first).values())
    assert shuffle_key("a", "b/c") != shuffle_key("a/b", "c")
    assert shuffle_key(0, "\ud800") != shuffle_key(0, "?")


def test_another_choice_takes_from_the_others_only() -> None:
    before = [choose(1, one, "abc") for one in IDS]
    after = [choose(1, one, "abcd") for one in IDS]
    changed = [new for old, new in zip(before, after, strict=True) if new != old]
    assert set(changed) == {"d"}
    assert 650 < len(changed) < 850


def test_choices_are_told_apart_by_name() -> None:
    options = [{"label": "A", "text": "one"}, {"label": "B", "text": "two"}]
    chosen = {choose(0, one, options, lambda option: option["label"])["label"] for one in IDS[:50]}
    assert chosen == {"A", "B"}
    with pytest.raises(ValueError, match="empty"):
        choose(0, "q", [])
