"""Links: found in texts, resolved, followed; on graphs made by hand."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from trueground.builders.grounding.links import (
    RawDocument,
    resolve_links,
    text_links,
    wiki_links,
)
from trueground.builders.grounding.sets import reach_by_hops


@pytest.mark.parametrize(
    ("text", "plain", "targets"),
    [
        ("On [[Orvane]] it rains.", "On Orvane it rains.", ["Orvane"]),
        ("[[Orvane|the island]], [[Kell Rock#Shape|rock]]", "the island, rock", None),
        ("See [the light](orvane-light.md) and [[Kell]].", "See the light and Kell.", None),
        ("![a picture](x.png) stays", "![a picture](x.png) stays", []),
        ("if [[ -f x ]]; then [[ ]] [[]]", "if [[ -f x ]]; then [[ ]] [[]]", []),
        ("[T](Low_Fen_(company))!", "T!", ["Low_Fen_(company)"]),
        ("a [b] (c)", "a [b] (c)", []),
        ("Call handlers[name](event) now.", "Call handlers[name](event) now.", []),
        ("rows[[0]] and f(x)[i](y)", "rows[[0]] and f(x)[i](y)", []),
        ("`[a](b.md)` and ``` [[x]]\n[a](b) ```", "`[a](b.md)` and ``` [[x]]\n[a](b) ```", []),
        ("参见[页](x.md)和[[巴黎]]", "参见页和巴黎", ["x.md", "巴黎"]),
        ("([T](t.md)), *[U](u.md)*", "(T), *U*", ["t.md", "u.md"]),
    ],
)
def test_links_in_text(text: str, plain: str, targets: list[str] | None) -> None:
    found = text_links(text)
    assert found[0] == plain
    if targets is not None:
        assert found[1] == targets


def test_targets_stand_in_the_order_of_the_text() -> None:
    assert text_links("[b](B) [[A|x]] [c](C)")[1] == ["B", "A", "C"]
    assert wiki_links("[[A|x]] [c](C)") == ("x [c](C)", ["A"])


def _raw(id_: str, title: str, *targets: str, names: tuple[str, ...] = ()) -> RawDocument:
    return RawDocument("", id_, title, "words", list(names), list(targets))


def test_what_links_mean() -> None:
    raws = [
        _raw("1", "Port Sellick", "Orvane_Light", "2", "orvane  light#Lamp", "1", "nowhere", "3"),
        _raw("2", "Orvane Light", "PORT SELLICK", "https://example.org/kell"),
        _raw("3", "Kell", "Port%20Sellick", names=("https://example.org/kell",)),
    ]
    assert resolve_links(raws, {}) == {"1": ("2", "3"), "2": ("1", "3"), "3": ("1",)}


def test_an_id_counts_before_a_title_and_the_first_before_others() -> None:
    raws = [_raw("a", "b", "b"), _raw("b", "Same"), _raw("c", "Same", "same")]
    assert resolve_links(raws, {}) == {"a": ("b",), "b": (), "c": ("b",)}


def test_a_double_lends_its_names() -> None:
    raws = [_raw("a", "One"), _raw("b", "B", "copy"), _raw("c", "C", "two")]
    found = resolve_links(raws, {"a": [_raw("copy", "Two")]})
    assert found == {"a": (), "b": ("a",), "c": ("a",)}


def within_hops(start: str, links: dict[str, tuple[str, ...]], most: int) -> dict[str, int]:
    """How many links lead to each document that is near enough."""
    layers = enumerate(islice(reach_by_hops(start, links), most), 1)
    return {one: hops for hops, layer in layers for one in layer}


RING = {"a": ("b",), "b": ("c",), "c": ("d",), "d": ("e",), "e": ("a",)}


@pytest.mark.parametrize(
    ("links", "start", "most", "expected"),
    [
        (RING, "a", 1, {"b": 1}),
        (RING, "a", 3, {"b": 1, "c": 2, "d": 3}),
        (RING, "a", 9, {"b": 1, "c": 2, "d": 3, "e": 4}),
        ({"a": ("a",)}, "a", 3, {}),
        ({"a": ("gone", "b"), "b": ("a", "gone")}, "a", 3, {"b": 1}),
        ({"a": ("b", "c"), "b": ("c",), "c": ("d",), "d": ()}, "a", 3, {"b": 1, "c": 1, "d": 2}),
        ({"a": (), "b": ("a",)}, "a", 3, {}),  # links lead one way
    ],
)
def test_hops(
    links: dict[str, tuple[str, ...]], start: str, most: int, expected: dict[str, int]
) -> None:
    assert within_hops(start, links, most) == expected


def test_hops_are_those_of_the_shortest_paths() -> None:
    """Against Floyd and Warshall on graphs drawn by chance."""
    for seed in range(30):
        dice = random.Random(seed)
        nodes = [str(n) for n in range(9)]
        links = {one: tuple(dice.sample([*nodes, "gone"], dice.randint(0, 3))) for one in nodes}
        far = {(a, b): 0 if a == b else 1 if b in links[a] else 99 for a in nodes for b in nodes}
        for mid in nodes:
            for a in nodes:
                for b in nodes:
                    far[a, b] = min(far[a, b], far[a, mid] + far[mid, b])
        for most in (1, 2, 3):
            for a in nodes:
                near = {b: far[a, b] for b in nodes if b != a and far[a, b] <= most}
                assert within_hops(a, links, most) == near
