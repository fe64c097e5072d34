"""Random choices by a seed that do not depend on the order or number of other items."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from trueground.text import draw_number

T = TypeVar("T")


def shuffle_key(seed: object, id_: object) -> str:
    """Return the sort key of an id in the random order of the seed: 64 hexadecimal digits.

    The first n of the sorted ids are a sample of size n. If ids are added or removed, the sample
    changes as little as possible. Use a separate seed for each purpose, such as
    `f"order/{seed}"`, to make the orders independent.
    """
    return f"{draw_number(seed, id_):064x}"


def choose(seed: object, id_: object, choices: Iterable[T], name: Callable[[T], object] = str) -> T:
    """Return a random choice for an id.

    Args:
        seed: The seed.
        id_: The id of the item.
        choices: The choices, in any order. If one is added, the others keep most of their ids.
        name: Returns the name that identifies a choice.

    Raises:
        ValueError: There are no choices.
    """
    key = shuffle_key(seed, id_)
    return min(choices, key=lambda choice: draw_number(key, name(choice)))
