"""Truly-Ground's sections in a real browser: they are there, they fit, they can be read."""

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
from tests.reports.truly_ground_fixture import OUTSIDE, four_versions, length_and_position

from trueground.reports.leaderboard.page import write_leaderboard

__all__ = ["browser", "opened"]  # fixtures
pytestmark = needs_a_browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grounding")
    runs = [four_versions(folder / "four"), length_and_position(folder / "sweep")]
    scores = folder / "scores.csv"
    scores.write_text(OUTSIDE)
    return write_leaderboard(
        runs, folder / "leaderboard.html", baseline="tulu-2-7b", outside=scores
    )


def test_every_section_is_there(opened: Chromium) -> None:
    script = "return [...document.querySelectorAll('h2')].map((h) => h.innerText)"
    assert opened.execute_script(script) == [
        "Task by task",
        "Score and model size",
        "Grounding from version to version",
        "Loss against allenai/tulu-2-7b",
        "Grounding and model size",
        "Earlier definitions beside the strict one",
        "Length of the context, position of the gold",
        "Scores elsewhere",
        "What each run was",
        "Notes",
    ]


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


def test_every_picture_has_words_and_a_table_beside_it(opened: Chromium) -> None:
    script = """return [...document.querySelectorAll('svg[role=img]')]
        .filter((svg) => !svg.getAttribute('aria-label')
          || !(svg.closest('figure')?.querySelector('table') ?? svg.closest('table')
            ?? svg.closest('section').querySelector('table'))).length"""
    assert opened.execute_script(script) == 0
    alone = """return [...document.querySelectorAll('section[aria-labelledby="sweeps"] figure')]
        .filter((figure) => !figure.querySelector('table')).length"""
    assert opened.execute_script(alone) == 0


def test_numbers_of_the_points_do_not_overlap(opened: Chromium) -> None:
    for width in (390, 1200):
        resize(opened, width)
        assert opened.execute_script(OVERLAP) == 0


def test_drops_sort_by_the_share_lost(opened: Chromium) -> None:
    table = opened.find_element("css selector", "section[aria-labelledby=versions] table.sortable")
    head = table.find_elements("css selector", "thead th")[-1]
    head.find_element("tag name", "button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    script = """return [...arguments[0].tBodies[0].rows]
        .map((row) => Number(row.cells[row.cells.length - 1].dataset.value))"""
    values = opened.execute_script(script, table)
    assert len(values) > 1
    assert values == sorted(values)


def test_print_fits_the_sheet(opened: Chromium) -> None:
    emulate(opened, media="print")
    resize(opened, 720)
    assert opened.execute_script(WIDE) == 0
    emulate(opened)
