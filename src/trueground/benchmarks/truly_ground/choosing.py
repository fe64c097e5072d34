"""How many distractors a question gets: what the budget and the prompt's cap leave room for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from trueground.benchmarks.truly_ground.contexts import shown
from trueground.benchmarks.truly_ground.lengths import TokenCounter
from trueground.benchmarks.truly_ground.source import VersionQuestion
from trueground.errors import UsageError
from trueground.retrieval.distractors import fill
from trueground.types import Passage

Chosen = list[Sequence[Passage]]
Written = Callable[[VersionQuestion, Sequence[Passage]], str]
_SHOWN = 5
_BETWEEN = 8  # tokens between two contexts, at most


def within_budget(
    items: Sequence[VersionQuestion], ranked: Chosen, budget: int, counter: TokenCounter
) -> Chosen:
    """The nearest distractors that fit; `budget` holds all contexts, and the gold ones always stay.

    A context's tokens are those of its title line and text.
    """
    pairs = list(zip(items, ranked, strict=True))
    tokens = _tokens((one for item, others in pairs for one in (*item.gold, *others)), counter)
    chosen: Chosen = []
    for item, others in pairs:
        room = budget - sum(tokens[shown(one)] for one in item.gold)
        lengths = [tokens[shown(one)] for one in others]
        chosen.append([others[i] for i in fill(range(len(others)), lengths, room)])
    return chosen


def within_cap(
    items: Sequence[VersionQuestion],
    chosen: Chosen,
    cap: int,
    counter: TokenCounter,
    written: Written,
) -> Chosen:
    """The farthest distractors taken away until every prompt, as `written`, has `cap` tokens.

    UsageError where a prompt is longer even without any distractor.
    """
    bare = counter.count([written(item, ()) for item in items])
    if too_long := [item.id for item, length in zip(items, bare, strict=True) if length > cap]:
        raise _too_long(too_long, cap, counter)
    found = [list(others) for others in chosen]
    long = dict.fromkeys(range(len(items)), 0)
    tokens: dict[str, int] = {}
    while long:
        lengths = counter.count([written(items[i], found[i]) for i in long])
        long = {i: n - cap for i, n in zip(long, lengths, strict=True) if n > cap}
        tokens = tokens or _tokens((one for i in long for one in found[i]), counter)
        for i, over in long.items():
            _shorten(found[i], over, tokens)
    return [*found]


def _shorten(others: list[Passage], over: int, tokens: Mapping[str, int]) -> None:
    """Take one away, and as many more as surely must go; the prompt is counted again afterwards."""
    over -= tokens[shown(others.pop())] + _BETWEEN
    while others and over > 0:
        over -= tokens[shown(others.pop())] + _BETWEEN


def _tokens(passages: Iterable[Passage], counter: TokenCounter) -> dict[str, int]:
    """The tokens of each context as it is shown."""
    texts = list(dict.fromkeys(map(shown, passages)))
    return dict(zip(texts, counter.count(texts), strict=True))


def _too_long(ids: Sequence[str], cap: int, counter: TokenCounter) -> UsageError:
    first = ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
    return UsageError(
        f"--input-cap {cap}: {len(ids)} prompts are longer even without distractors ({first}; "
        f"tokens: {counter.name}). Gold contexts are never cut: raise the cap, or leave it out"
    )
