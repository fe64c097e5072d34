"""KaLMA's sections of a leaderboard: which runs belong together, what stands beside them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.reports.kalma_fixture import (
    DRAWN,
    REMOVED,
    REPLACED,
    harmonic,
    kalma_run,
    measures,
    study_runs,
)
from tests.reports.payload import blocks, words
from tests.texts import leaderboard_text

from trueground.benchmarks.base import get_benchmark
from trueground.studies.leaderboard.page import leaderboard_page
from trueground.studies.leaderboard.study import leaderboard_data


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study_runs(tmp_path_factory.mktemp("kalma") / "runs")


@pytest.fixture(scope="module")
def board(runs: Path) -> dict[str, Any]:
    return leaderboard_data([runs])


def page_of(board: dict[str, Any]) -> str:
    return leaderboard_page(board).to_html()


def studies(board: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [table for table in board["studies"] if table["id"] == name]


def means(table: dict[str, Any], measure: str, row: int = 0) -> list[float | None]:
    """A row's means of a measure at all places."""
    cells = table["rows"][row]["cells"][table["measures"].index(measure)]
    return [cell["mean"] if cell else None for cell in cells]


def printed(metric: str, **options: str) -> float:
    """A published number of ChatGPT on specific questions."""
    (found,) = {
        score.value
        for table in get_benchmark("kalma").published
        for score in table.scores
        if (score.model, score.task, score.metric) == ("gpt-3.5-turbo", "specific", metric)
        and score.options == options
    }
    return found


def test_long_titles_are_a_legend_of_numbered_columns(
    board: dict[str, Any], tmp_path: Path
) -> None:
    shown = leaderboard_text(board)
    legend = next(part for part in shown.split("\n\n") if part.startswith("[1]  "))
    tables = shown.partition(legend)[0].partition("Scores\n")[2].strip().split("\n\n")
    assert all(len(line) <= 80 for table in tables for line in table.splitlines())
    heads = [head for table in tables for head in table.splitlines()[0].split()[1:]]
    assert heads == [f"[{number}]" for number in range(1, len(board["columns"]) + 1)]
    whole = " ".join(legend.split())
    for number, column in enumerate(board["columns"], 1):
        assert f"[{number}] {column['title']}" in whole


def test_removal_is_table_5_and_figure_4(board: dict[str, Any]) -> None:
    (table,) = studies(board, "removed")
    assert table["places"] == ["0", "1", "2", "3"]
    assert table['measures'] == [
        "correctness", "precision", "recall", "F1",
        "[NA] precision", "[NA] recall", "[NA] F1",
    ]  # fmt: skip
    assert [row["name"] for row in table["rows"]] == ["gpt-3.5-turbo", "our-own-model"]
    assert means(table, "precision") == pytest.approx([p - 0.02 for p, *_ in REMOVED.values()])
    assert all(cell and cell["ci"] for cell in table["rows"][0]["cells"][1])
    assert table["group"] == "specific"
    last = [means(table, measure)[-1] for measure in table["measures"][4:]]
    expected = [0.26, 0.15, harmonic(0.26, 0.15)]
    assert [mean + 0.02 for mean in last if mean is not None] == pytest.approx(expected)


def test_replacement_is_figure_5_from_right_to_wrong(board: dict[str, Any]) -> None:
    (table,) = studies(board, "replaced")
    assert table["places"] == list(REPLACED)
    (section,) = [s for s in blocks(page_of(board), "section") if s.get("id") == "replaced"]
    charts = blocks(section, "chart")
    assert [chart["title"] for chart in charts] == [
        f"specific: {measure}" for measure in table["measures"]
    ]
    assert charts[1]["x"]["ticks"] == ["100", "80", "60", "40", "20"]
    drawn = {one["name"]: one["y"] for one in charts[1]["series"]}
    assert drawn["gpt-3.5-turbo"] == means(table, "precision")


def test_temperatures_are_one_line_for_each_model(board: dict[str, Any]) -> None:
    (table,) = studies(board, "temperatures")
    assert table["metrics"] == [["citation_f1_micro"]]
    assert table["places"] == ["0.1", "0.5", "0.9"]
    cell = table["rows"][0]["cells"][0][0]
    assert cell is not None
    assert (cell["sd"], cell["repeats"]) == (0.012, 3)


def test_general_and_specific_differ(board: dict[str, Any]) -> None:
    (table,) = studies(board, "kinds")
    changes = [line[0]["difference"] for line in table["rows"][0]["changes"]]
    found = dict(zip(table["measures"], changes, strict=True))
    assert found["precision"] == pytest.approx(0.29 - 0.25)
    assert found["coherence"] == 0
    assert list(found)[:5] == ["alignment", "correctness", "precision", "recall", "F1"]


def test_tables_of_all_measures_leave_the_studies_out(board: dict[str, Any]) -> None:
    tables = studies(board, "citations")
    assert len(tables) == 4  # general, and specific at three temperatures
    assert not [table for table in tables if "remove" in table["group"]]
    assert tables[0]["measures"][5:8] == ["precision, macro", "recall, macro", "F1, macro"]


def test_published_numbers_stand_beside(runs: Path) -> None:
    board = leaderboard_data([runs], with_published=True)
    (table,) = studies(board, "removed")
    paper = next(k for k, row in enumerate(table["rows"]) if row["source"])
    assert means(table, "recall", paper) == [
        printed("citation_recall_micro", knowledge="gold", remove=str(k)) for k in range(4)
    ]
    (table,) = studies(board, "temperatures")
    line = next(k for k, row in enumerate(table["rows"]) if row["source"])
    assert means(table, "F1", line) == [
        printed("citation_f1_micro", **{"at-temperature": "0.1"}),
        printed("citation_f1_micro"),
        printed("citation_f1_micro", **{"at-temperature": "0.9"}),
    ]
    (table,) = studies(board, "kinds")
    assert {row["name"] for row in table["rows"] if row["source"]} == {"gpt-4", "gpt-3.5-turbo"}
    page = words(page_of(board))
    assert "section 5.2, Table 5" in page
    assert page.count("section 5.5, Table 7") == 1


def test_one_accuracy_study_stands_beside_its_own_figure(runs: Path) -> None:
    board = leaderboard_data([runs], with_published=True)
    (table,) = studies(board, "replaced")
    row = next(row for row in table["rows"] if row["source"])
    told = dict(zip(table["measures"], row["cells"], strict=True))
    assert [cell and cell["mean"] for cell in told["recall"]] == [0.571, 0.425, None, None, None]
    assert not any(told["F1"])  # Figure 5 has none, and Table 5 is of another study
    places = {cell["place"] for line in row["cells"] for cell in line if cell}
    assert len(places) == 1
    assert "Table 5" not in str(places)


def test_sets_by_chance_are_told_once_and_no_paper_is_the_best(runs: Path) -> None:
    board = leaderboard_data([runs], with_published=True)
    assert not [warning for warning in board["warnings"] if "minimum" in warning]
    assert list(board["notices"]) == [DRAWN]
    published_rows = [row for row in board["rows"] if row["source"]]
    assert any(row["cells"] for row in published_rows)
    assert not any(row["best"] for row in published_rows)
    why = "made with the paper's own minimum sets"
    assert all(set(row["apart"].values()) == {why} for row in published_rows)
    best = {key for row in board["rows"] for key in row["best"]}
    assert best == {column["id"] for column in board["columns"]}  # our two models are compared


def test_with_sets_of_ones_own_a_paper_may_be_the_best(tmp_path: Path) -> None:
    kalma_run(tmp_path / "one", "m", "specific", measures(0.01, 0.02), {"minimum": "a" * 64},
              notices=())  # fmt: skip
    board = leaderboard_data([tmp_path], with_published=True)
    assert any(row["best"] for row in board["rows"] if row["source"])


def judged(folder: Path, judge: str, rater: str) -> Path:
    for k in range(5):
        run = kalma_run(folder / f"run-{k}", f"m{k}", "specific", measures(0.3, 0.4))
        manifest = msgspec.json.decode((run / "manifest.json").read_bytes())
        manifest["judge"] = {"name": judge, "signature": f"{judge}|v:1"}
        manifest["rater"] = {"name": rater, "signature": f"llm:{rater}|v:1"}
        (run / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    return folder


def test_other_judges_and_raters_than_the_papers_are_warned_about(tmp_path: Path) -> None:
    folder = judged(tmp_path / "ours", "lexical", "gpt-4")
    told = leaderboard_data([folder], with_published=True)["warnings"]
    assert told == [
        "specific: the published alignment was judged by t5_xxl_true_nli_mixture, the runs "
        "otherwise: run-0, run-1 and 3 more by lexical. Two judges are two scales.",
        "specific: the published texts were rated by text-davinci-003, the runs otherwise: "
        "run-0, run-1 and 3 more by gpt-4. Two raters are two scales.",
    ]
    assert leaderboard_data([folder])["warnings"] == []
    same = judged(tmp_path / "same", "nli:google/t5_xxl_true_nli_mixture", "text-davinci-003")
    assert leaderboard_data([same], with_published=True)["warnings"] == []


def test_runs_with_a_limit_are_one_line(runs: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(runs, tmp_path / "runs")
    for path in folder.glob("*/manifest.json"):
        path.write_bytes(
            msgspec.json.encode(msgspec.json.decode(path.read_bytes()) | {"limit": 20})
        )
    told = leaderboard_data([folder], with_published=True)["warnings"]
    (line,) = (warning for warning in told if "limit" in warning)
    assert "more ran with a limit; the published numbers are over the whole task." in line


def test_general_and_specific_have_charts_with_both(runs: Path) -> None:
    board = leaderboard_data([runs], with_published=True)
    (section,) = [s for s in blocks(page_of(board), "section") if s.get("id") == "kinds"]
    charts = blocks(section, "chart")
    assert charts[0]["x"]["ticks"] == ["general", "specific"]
    ours = next(one for one in charts[0]["series"] if one["name"] == "our-own-model")
    assert ours["y"] == pytest.approx([0.81, 0.81])
    names = [one["name"] for one in charts[2]["series"] if one.get("dashed")]
    assert "gpt-4 (published)" in names
    (choice,) = blocks(section, "choice")
    labels = [name for name, _ in choice["options"]]
    assert labels[:2] == ["alignment", "correctness"]
    assert labels[-1] in ("coherence", "consistency", "fluency", "relevance")


def test_labels_that_are_numbers_are_told_with_their_folder(tmp_path: Path) -> None:
    folder = tmp_path / "temperature-sweep"
    for at in ("0", "0.5", "1"):
        kalma_run(folder / at, "m", "specific", measures(0.3, 0.4), {"at-temperature": at})
    found = [run["run"] for run in leaderboard_data([folder])["runs"]]
    assert sorted(found) == [f"temperature-sweep/{at}" for at in ("0", "0.5", "1")]


def test_without_minimum_sets_correctness_is_what_there_is(tmp_path: Path) -> None:
    for right in REPLACED:
        kalma_run(tmp_path / right, "m", "questions", measures(0, 0, sets=False),
                  {"retrieval-accuracy": right, "minimum": "none"}, notices=())  # fmt: skip
    for at in ("0.1", "0.9"):
        kalma_run(tmp_path / at, "m", "questions", measures(0, 0, sets=False),
                  {"at-temperature": at, "minimum": "none"}, notices=())  # fmt: skip
    board = leaderboard_data([tmp_path])
    assert studies(board, "replaced")[0]["measures"] == ["correctness"]
    assert studies(board, "temperatures")[0]["metrics"] == [["citation_correctness_micro"]]
    assert {table["id"] for table in board["studies"]} == {"citations", "replaced", "temperatures"}
    assert board["notices"] == {}


def test_sections_are_there_only_with_their_runs(tmp_path: Path) -> None:
    kalma_run(tmp_path / "one", "m", "specific", measures(0.3, 0.4))
    page = page_of(leaderboard_data([tmp_path]))
    names = {section["id"] for section in blocks(page, "section")}
    assert names == {"board", "citations", "runs", "notes"}


def test_other_options_make_other_studies(tmp_path: Path) -> None:
    for knowledge in ("gold", "linked"):
        for removed in ("0", "1"):
            kalma_run(tmp_path / f"{knowledge}-{removed}", "m", "specific", measures(0.3, 0.4),
                      {"knowledge": knowledge, "remove": removed})  # fmt: skip
    board = leaderboard_data([tmp_path])
    titles = [table["group"] for table in studies(board, "removed")]
    assert titles == ["specific, knowledge=gold", "specific, knowledge=linked"]


def test_notices_name_their_runs(board: dict[str, Any], runs: Path) -> None:
    assert list(board["notices"]) == [DRAWN]
    assert len(board["notices"][DRAWN]) == 26
    assert DRAWN in words(page_of(board))
    data: dict[str, Any] = leaderboard_data([runs])
    assert data["notices"] == board["notices"]
    assert msgspec.json.encode(data["studies"])


def test_a_scoring_run_has_a_column_for_each_number_of_the_run(tmp_path: Path) -> None:
    from tests.reports.citations_fixture import citation_run

    board = leaderboard_data([citation_run(tmp_path / "a"), citation_run(tmp_path / "b")])
    found = {column["metric"]: column["higher_is_better"] for column in board["columns"]}
    assert found["citation_f1_micro"] is True
    assert found["citation_f1"] is True
    assert "citation_f1_micro" in words(page_of(board))
