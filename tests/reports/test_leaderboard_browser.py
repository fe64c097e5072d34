"""The leaderboard in a real browser: all papers on one page, sorted, on a phone and on a desk."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.chromium import Chromium
from tests.reports.browser import CONTRAST, WIDE, emulate, needs_a_browser, resize
from tests.reports.instruct_qa_fixture import retriever_study, study
from tests.reports.kalma_fixture import study_runs
from tests.reports.leaderboard_fixture import MODELS, benchmark_run, sweep
from tests.reports.truly_ground_fixture import OUTSIDE, four_versions, length_and_position
from tests.texts import leaderboard_text

import trueground as tg
from trueground.studies.leaderboard.study import leaderboard_data, write_leaderboard

pytestmark = needs_a_browser
# Texts of the first table's column: the number, or "" where there is none.
COLUMN = """return [...document.querySelectorAll('#board tbody tr')].map((row) =>
    [row.className, parseFloat(row.cells[arguments[0]].innerText), row.cells[0].innerText])"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """FaithEval with a row that stands apart."""
    folder = tmp_path_factory.mktemp("leaderboard")
    sweep(folder / "runs")
    benchmark_run(folder / "more", "gpt-4o", "unanswerable", 0.99, limit=10, n=10)
    runs = [folder / "runs", folder / "more"]
    return write_leaderboard(runs, folder / "leaderboard.html", with_published=True)


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every declared study of every paper."""
    folder = tmp_path_factory.mktemp("papers")
    (folder / "scores.csv").write_text(OUTSIDE)
    runs = [
        sweep(folder / "faitheval"),
        four_versions(folder / "versions"),
        length_and_position(folder / "lengths"),
        study(folder / "qa"),
        retriever_study(folder / "retrievers"),
        study_runs(folder / "kalma"),
    ]
    return write_leaderboard(
        runs,
        folder / "leaderboard.html",
        with_published=True,
        baseline="tulu-2-7b",
        outside=folder / "scores.csv",
    )


@pytest.mark.parametrize("width", [320, 1200])
def test_all_papers_fit_and_no_script_fails(browser: Chromium, papers: Path, width: int) -> None:
    resize(browser, width)
    browser.get("about:blank")
    browser.requests()
    browser.get(papers.as_uri())
    assert browser.requests() == [papers.as_uri()]
    assert browser.execute_script(WIDE) == 0  # only tables scroll sideways
    opening = "document.querySelectorAll('details').forEach((e) => { e.open = true; })"
    browser.execute_script(opening)
    counts = "return ['section', 'canvas', 'table'].map((e) => document.querySelectorAll(e).length)"
    sections, canvases, tables = browser.execute_script(counts)
    assert (sections, canvases > 30, tables > 60) == (26, True, True)
    assert browser.messages() == []


def test_another_measure_is_shown_when_it_is_chosen(browser: Chromium, papers: Path) -> None:
    browser.get(papers.as_uri())
    choose = """const menu = document.querySelector('#removed select');
        menu.value = [...menu.options].find((one) => one.text === 'recall').value;
        menu.dispatchEvent(new Event('change', {bubbles: true}));"""
    browser.execute_script(choose)
    title = "return document.querySelector('#removed figcaption').innerText"
    assert browser.execute_script(title) == "specific: recall"
    assert browser.messages() == []


def test_a_click_sorts_and_rows_apart_stay_below(opened: Chromium) -> None:
    head = opened.find_element("css selector", "#board th:nth-child(2)")
    button = head.find_element("tag name", "button")
    for order in ("descending", "ascending"):
        button.click()
        assert head.get_attribute("aria-sort") == order
        rows = opened.execute_script(COLUMN, 1)
        assert rows[-1][0] == "apart"
        assert "over 10 questions" in rows[-1][2]
        values = [value for tone, value, _ in rows if tone != "apart" and value is not None]
        assert len(values) > len(MODELS)
        assert values == sorted(values, reverse=order == "descending")


def test_models_sort_by_name_with_the_keyboard(opened: Chromium) -> None:
    opened.find_element("css selector", "#board th button").press("Enter")
    names = [
        name.casefold() for tone, _, name in opened.execute_script(COLUMN, 1) if tone != "apart"
    ]
    assert names[0].startswith("claude")
    assert len(opened.find_elements("css selector", "#board th[aria-sort]")) == 1


def test_a_section_is_closed_by_its_heading(opened: Chromium) -> None:
    heading = opened.find_element("css selector", "#matches summary")
    shown = "return document.querySelector('#matches table').checkVisibility()"
    assert opened.execute_script(shown)
    heading.click()
    assert not opened.execute_script(shown)


def test_heads_and_names_stay_in_sight(opened: Chromium) -> None:
    resize(opened, 390)
    script = """const frame = document.querySelector('#board .scroll');
        frame.scrollLeft = 150; frame.scrollTop = 200;
        const of = (e) => e.getBoundingClientRect(), at = of(frame);
        return [frame.scrollTop, of(frame.querySelector('tbody th')).left - at.left,
                of(frame.querySelector('thead th')).top - at.top]"""
    assert opened.execute_script(script) == [200, 0, 0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough_in_both_themes(opened: Chromium, scheme: str) -> None:
    emulate(opened, scheme)
    assert opened.execute_script(CONTRAST) >= 4.5
    emulate(opened)


def test_print_fits_the_sheet(opened: Chromium) -> None:
    emulate(opened, media="print")
    resize(opened, 720)
    assert opened.execute_script(WIDE) == 0
    emulate(opened)


def test_answers_that_were_scored_rank_by_how_many_are_grounded(
    browser: Chromium, tmp_path: Path
) -> None:
    text = "The tower was finished in 1931 by Ada Voss."
    rows = [{"id": str(k), "response": text, "contexts": [text]} for k in range(4)]
    wrong = [row | {"response": "It fell in 1913."} for row in rows]
    runs = []
    for name, own in (("a", wrong), ("b", rows), ("few", rows[:2])):
        tg.score(own, out=tmp_path / name, resamples=10)
        runs.append(tmp_path / name)
    data = leaderboard_data(runs)
    assert [column["metric"] for column in data["columns"]][:2] == ["grounded", "support"]
    assert [row["name"] for row in data["rows"]] == ["b", "a", "few"]
    assert data["rows"][0]["cells"]["c1"]["mean"] == 1
    assert len(data["warnings"]) == 1
    more = len(data["columns"]) - 2
    why = f"over 2 questions, other runs are over 4: grounded, support and {more} more"
    assert leaderboard_text(data).count("not ranked: ") == 1
    assert f"few: not ranked: {why}" in " ".join(leaderboard_text(data).split())
    resize(browser, 390)
    browser.get("about:blank")
    browser.get(write_leaderboard(runs, tmp_path / "l.html").as_uri())
    name, note = browser.find_element("css selector", "#board tr.apart th").text.split("\n", 1)
    assert (name, note.replace("\n", " ")) == ("few", f"not ranked: {why}")
    top = "return document.querySelector('#board tbody tr').getBoundingClientRect().bottom"
    assert browser.execute_script(top) < 800  # on the first screen
    resize(browser, 1200)


def test_hostile_text_stays_text(browser: Chromium, tmp_path: Path) -> None:
    name = '</script><script>hit=1</script><img src=x onerror="hit=1">'
    for k, mean in enumerate((0.4, 0.6)):
        benchmark_run(
            tmp_path / str(k),
            name + str(k),
            "unanswerable",
            mean,
            prompts=[{"id": name, "sha256": name}],
            params={name: name},
            outcomes={name: 1},
        )
    browser.get(write_leaderboard([tmp_path], tmp_path / "l.html").as_uri())
    browser.find_element("css selector", "#board th button").click()
    safe = "return [window.hit, document.images.length]"
    assert browser.execute_script(safe) == [None, 0]
    assert name in browser.find_element("css selector", "#board").text
    assert browser.messages() == []
