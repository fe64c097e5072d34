"""KaLMA's sections in a real browser: they are there, they fit, they can be read."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.chromium import Chromium
from tests.reports.browser import (
    CONTRAST,
    OVERLAP,
    STICKING_OUT,
    WIDE,
    browser,
    emulate,
    needs_a_browser,
    opened,
    resize,
)
from tests.reports.kalma_fixture import study_runs

from trueground.reports.leaderboard.page import write_leaderboard

__all__ = ["browser", "opened"]  # fixtures
pytestmark = needs_a_browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kalma")
    return write_leaderboard(
        [study_runs(folder / "runs")], folder / "leaderboard.html", with_published=True
    )


def test_every_section_is_there(opened: Chromium) -> None:
    script = "return [...document.querySelectorAll('h2')].map((h) => h.innerText)"
    assert opened.execute_script(script)[2:7] == [
        "Citations and text, measure by measure",
        "Knowledge removed",
        "Graphs replaced",
        "Temperature",
        "General and specific questions",
    ]
    note = opened.find_element("css selector", ".notices")
    assert "drawn by chance" in note.text
    assert note.is_displayed()


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_only_tables_scroll_sideways(opened: Chromium, width: int) -> None:
    resize(opened, width)
    assert opened.execute_script(WIDE) == 0
    assert opened.execute_script(STICKING_OUT) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough_in_both_themes(opened: Chromium, scheme: str) -> None:
    emulate(opened, scheme)
    assert opened.execute_script(CONTRAST) >= 4.5
    emulate(opened)


def test_every_picture_has_a_table_beside_it(opened: Chromium) -> None:
    script = """return [...document.querySelectorAll('svg.scatter')].filter((svg) =>
        !svg.getAttribute('aria-label') || !(svg.closest('figure')?.querySelector('table')
          ?? svg.closest('section').querySelector('table'))).length"""
    assert opened.execute_script(script) == 0


def test_numbers_of_the_lines_do_not_overlap(opened: Chromium) -> None:
    for width in (390, 1200):
        resize(opened, width)
        assert opened.execute_script(OVERLAP) == 0


def test_a_line_is_told_by_shape_and_number_as_in_the_table(opened: Chromium) -> None:
    script = """const figure = document.querySelector('section[aria-labelledby=removed] figure');
        const marks = [...figure.querySelectorAll('svg.scatter use')].map((e) => e.getAttribute('href'));
        const heads = [...figure.querySelectorAll('thead use')].map((e) => e.getAttribute('href'));
        return [[...new Set(marks)], heads,
          [...figure.querySelectorAll('.number')].map((e) => e.textContent).sort()]"""  # noqa: E501
    marks, heads, numbers = opened.execute_script(script)
    assert marks == heads == ["#m0", "#m1", "#m2", "#m3"]
    assert numbers == ["1", "2", "3", "4"]
