"""instruct-qa's sections in a real browser: they are there, they fit, they can be read."""

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
from tests.reports.instruct_qa_fixture import retriever_study, study

from trueground.reports.leaderboard.page import write_leaderboard

__all__ = ["browser", "opened"]  # fixtures
pytestmark = needs_a_browser

SECTIONS = ("plane", "abstention", "retrievers", "instructions")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("qa")
    runs = [study(folder / "nq"), retriever_study(folder / "retrievers")]
    return write_leaderboard(runs, folder / "leaderboard.html", with_published=True)


def test_every_section_is_there(opened: Chromium) -> None:
    script = """return [...document.querySelectorAll('section')]
        .map((section) => section.getAttribute('aria-labelledby'))"""
    assert set(SECTIONS) <= set(opened.execute_script(script))


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


def test_every_picture_has_words_and_a_table_in_its_section(opened: Chromium) -> None:
    script = """return [...document.querySelectorAll('svg[role=img]')]
        .filter((svg) => !svg.getAttribute('aria-label')
          || !svg.closest('section').querySelector('table')).length"""
    assert opened.execute_script(script) == 0


def test_marks_stand_inside_their_pictures(opened: Chromium) -> None:
    script = """return [...document.querySelectorAll('svg.scatter')].flatMap((chart) => {
          const box = chart.getBoundingClientRect();
          return [...chart.querySelectorAll('.point, .spread, circle, text')]
            .map((mark) => mark.getBoundingClientRect())
            .filter((mark) => mark.left < box.left - 1 || mark.right > box.right + 1
              || mark.top < box.top - 1 || mark.bottom > box.bottom + 1);
        }).length"""
    for width in (320, 1200):
        resize(opened, width)
        assert opened.execute_script(script) == 0


def test_numbers_of_the_points_do_not_overlap(opened: Chromium) -> None:
    for width in (390, 1200):
        resize(opened, width)
        assert opened.execute_script(OVERLAP) == 0


def test_tables_sort(opened: Chromium) -> None:
    table = opened.find_element("css selector", "section[aria-labelledby=plane] table.sortable")
    table.find_elements("css selector", "thead th")[3].find_element("tag name", "button").click()
    script = """return [...arguments[0].tBodies[0].rows]
        .map((row) => Number(row.cells[3].dataset.value))"""
    values = opened.execute_script(script, table)
    assert len(values) > 3
    assert values == sorted(values, reverse=True)


def test_print_fits_the_sheet(opened: Chromium) -> None:
    emulate(opened, media="print")
    resize(opened, 720)
    assert opened.execute_script(WIDE) == 0
    emulate(opened)
