"""Several people's answers to one task → one label: majority, and a rule for ties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import Any, Literal, NamedTuple

from trueground.annotation.answers import Answer, is_asked
from trueground.annotation.base import Field, Label
from trueground.annotation.given import Given
from trueground.annotation.values import unlike

Tie = Literal["open", "drop", "first", "lowest"]
_YES_NO = ("yes", "no")  # no is the lower one


class Merged(NamedTuple):
    """A label. `disputed` are the fields without a majority, whatever the tie rule made of them."""

    label: Label
    disputed: tuple[str, ...]


class _Decided(NamedTuple):
    value: Any
    how: str


def merge(answers: Sequence[Answer], tie: Tie = "open") -> Merged:
    """The label of one task. `answers`, at least one, each of another annotator, in a fixed order.

    A value holds that more than half of those give who answered the field; of several values
    (`choices`) each is voted on by itself. Where no value does, the tie rule decides: `open` leaves
    the field out, `first` takes the first annotator's value, `lowest` the least of the values with
    most votes (no before yes; of a list of options the later is the lower one; of several values
    those without a majority go), and where there is no order leaves it open. `drop` is `open`, for
    the caller to leave the task out. Texts are united, of a single text the first is taken, of
    grades on a scale the mean; none of these is ever disputed.
    """
    given = answers[0].given
    label = Label(given.kind.name, given.id, {}, {}, len(answers), given.drawn)
    disputed = []
    for field in given.kind.fields:
        if field.when is not None and field.when[0] not in label.values:
            continue  # whether it is asked is open itself
        if not is_asked(field, label.values):
            continue
        votes = [a.values[field.name] for a in answers if field.name in a.values]
        if not votes:
            continue
        decided = _decide(field, given, votes, tie)
        label.how[field.name] = decided.how
        if decided.value is not None:
            value = decided.value
            label.values[field.name] = list(value) if isinstance(value, tuple) else value
        if not _has_majority(field, votes):
            disputed.append(field.name)
    return Merged(label, tuple(disputed))


def _decide(field: Field, given: Given, votes: Sequence[Any], tie: Tie) -> _Decided:
    if field.form == "texts":
        together = unlike(text for vote in votes for text in vote)
        return _Decided(together, _how_of_texts(votes, "united"))
    if field.form == "text":
        return _Decided(votes[0], _how_of_texts(votes, "first"))
    if len(votes) == 1:
        return _Decided(votes[0], "single")
    if all(vote == votes[0] for vote in votes):
        return _Decided(votes[0], "agreed")
    if field.form == "scale":
        return _Decided(fmean(votes), "mean")
    if _has_majority(field, votes):
        return _Decided(_majority(field, given, votes), "majority")
    if tie == "first":
        return _Decided(_first(field, given, votes), "tie")
    if tie == "lowest" and (value := _lowest(field, given, votes)) is not None:
        return _Decided(value, "tie")
    return _Decided(None, "open")


def _how_of_texts(votes: Sequence[Any], otherwise: str) -> str:
    if len(votes) == 1:
        return "single"
    return "agreed" if all(vote == votes[0] for vote in votes) else otherwise


def _counts(votes: Sequence[Any]) -> Counter[str]:
    """How many chose each of several values."""
    return Counter(part for vote in votes for part in vote)


def _has_majority(field: Field, votes: Sequence[Any]) -> bool:
    if field.measure is None or field.form == "scale":
        return True
    if field.form == "choices":
        return all(2 * count != len(votes) for count in _counts(votes).values())
    return 2 * max(Counter(votes).values()) > len(votes)


def _majority(field: Field, given: Given, votes: Sequence[Any]) -> Any:
    """The value with more than half; of several values those that more than half chose."""
    if field.form != "choices":
        return Counter(votes).most_common(1)[0][0]
    counts = _counts(votes)
    return tuple(part for part in given.options(field) if 2 * counts[part] > len(votes))


def _first(field: Field, given: Given, votes: Sequence[Any]) -> Any:
    """The first one's value; of several values the first one's word counts on those tied."""
    if field.form != "choices":
        return votes[0]
    counts, n = _counts(votes), len(votes)
    return tuple(
        part
        for part in given.options(field)
        if 2 * counts[part] > n or (2 * counts[part] == n and part in votes[0])
    )


def _lowest(field: Field, given: Given, votes: Sequence[Any]) -> Any:
    """The least of the values with most votes; None where they have no order."""
    if field.form == "choices":
        return _majority(field, given, votes)
    counts = Counter(votes)
    most = [value for value, count in counts.items() if count == max(counts.values())]
    if field.measure != "ordinal" and field.options != _YES_NO:
        return None
    return max(most, key=field.options.index)
