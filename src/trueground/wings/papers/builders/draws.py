"""Choices by a seed: the same for the same id, whatever the order or the number of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from trueground.text import draw_number

T = TypeVar("T")


def draw_key(seed: object, id_: object) -> str:
    """Where an id stands in the order that the seed gives: 64 digits to sort by.

    The first n of the sorted ids are a sample of n that stays where others come or go. A seed of
    its own for each purpose, such as `f"order/{seed}"`, keeps two draws apart.
    """
    return f"{draw_number(seed, id_):064x}"


def draw(seed: object, id_: object, choices: Iterable[T], name: Callable[[T], object] = str) -> T:
    """One of the choices for this id; their order does not matter. ValueError: there are none.

    `name` tells the choices apart. A choice that is added only wins some ids over from the others.
    """
    of_id = draw_key(seed, id_)
    return min(choices, key=lambda one: draw_number(of_id, name(one)))
