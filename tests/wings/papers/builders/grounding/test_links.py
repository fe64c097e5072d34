"""Links between files, as texts write them: what they name below the folder."""

from __future__ import annotations

import pytest

from trueground.wings.papers.builders.grounding.sets import path_below, text_links


@pytest.mark.parametrize(
    ("target", "page", "names"),
    [
        ("b.md", "a.md", "b.md"),
        ("../b.md#top", "in/a.md", "b.md"),
        ("./c/d.html?x=1", "in/a.md", "in/c/d.html"),
        ("two%20words.md", "a.md", "two words.md"),
        ("../../out.md", "in/a.md", "../out.md"),
        ("https://host/b.md", "a.md", "https://host/b.md"),
        ("http://[bad", "a.md", "http://[bad"),
        ("#top", "a.md", "#top"),
    ],
)
def test_what_a_link_names(target: str, page: str, names: str) -> None:
    assert path_below(target, page) == names


def test_links_in_a_text() -> None:
    plain, targets = text_links("See [[Oak|the oak]], [the elm](elm.md) and `[[no]]`; rows[[0]].")
    assert plain == "See the oak, the elm and `[[no]]`; rows[[0]]."
    assert targets == ["Oak", "elm.md"]
