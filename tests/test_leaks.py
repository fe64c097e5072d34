"""The search that every page and screen of the suite passes finds what it is for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import leaks

from trueground.reports.blocks import Block, Head, Row, Table, Text, Tile, Tiles
from trueground.reports.page import Page


@pytest.fixture
def noted() -> Iterator[list[str]]:
    """The leaks that the test makes on purpose."""
    yield leaks.leaks
    leaks.leaks.clear()


@pytest.mark.parametrize(
    "text",
    [
        "support_min{'value': 0.39, 'ci': None}",
        "AUROC None; 30 scored",
        "mean nan",
        "<class 'int'>",
        "<trueground.Judge object at 0x7f2a>",
        "<function judge at 0x7f2a>",
    ],
)
def test_find_leaks_python_value_is_found(text: str) -> None:
    assert leaks.find_leaks(text)


@pytest.mark.parametrize(
    "text", ["None of 12 answers could be judged", "a banana", "{a}--{b}.html", "none", "NaN found"]
)
def test_find_leaks_words_are_not_found(text: str) -> None:
    assert leaks.find_leaks(text) == []


@pytest.mark.parametrize(
    "block",
    [
        Text("mean None"),
        Tiles([Tile("grounded", "nan")]),
        Table([Head("Metric")], [Row(["{'value': 1}"])]),
    ],
    ids=["text", "tile", "cell"],
)
def test_pages_are_searched_when_they_are_written(
    noted: list[str], block: Block, tmp_path: Path
) -> None:
    page = Page("run", "mark", "Title", [block])
    page.to_html()
    page.write(tmp_path / "page.html")
    assert len(noted) == 2
    assert all(leak.startswith("page: ") for leak in noted)


def test_screens_are_searched(noted: list[str]) -> None:
    leaks.check_screen("score x", "support  None", "found NaN; got <class 'str'>")
    assert [leak.split(": ")[0] for leak in noted] == ["score x", "score x"]
