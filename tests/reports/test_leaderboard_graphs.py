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

from trueground.benchmarks.published import published
from trueground.reports.leaderboard import terminal
from trueground.reports.leaderboard.data import Leaderboard, leaderboard, leaderboard_data
from trueground.reports.leaderboard.graphs.draw import pair_plots, study_plots
from trueground.reports.leaderboard.page import render
from trueground.reports.leaderboard.plot import nice


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return study_runs(tmp_path_factory.mktemp("kalma") / "runs")


@pytest.fixture(scope="module")
def board(runs: Path) -> Leaderboard:
    return leaderboard([runs])


def printed(metric: str, **options: str) -> float:
    """A published number of ChatGPT on specific questions."""
    (found,) = {
        score.value
        for table in published("kalma")
        for score in table.scores
        if (score.model, score.task, score.metric) == ("gpt-3.5-turbo", "specific", metric)
        and score.options == options
    }
    return found


def test_long_titles_are_a_legend_of_numbered_columns(board: Leaderboard, tmp_path: Path) -> None:
    shown = terminal.render(board, tmp_path / "leaderboard.html")
    *tables, legend, _page = shown.split("\n\n")
    assert all(len(line) <= terminal.WIDEST for table in tables for line in table.splitlines())
    heads = [head for table in tables for head in table.splitlines()[0].split()[1:]]
    assert heads == [f"[{number}]" for number in range(1, len(board.columns) + 1)]
    assert legend.splitlines() == [f"[{n}]  {c.title}" for n, c in enumerate(board.columns, 1)]


def test_removal_is_table_5(board: Leaderboard) -> None:
    (study,) = board.graphs.removals
    assert study.values == ["0", "1", "2", "3"]
    assert study.measures == ["correctness", "precision", "recall", "F1"]
    assert [row.name for row in study.rows] == ["gpt-3.5-turbo", "our-own-model"]
    for cell, (p, _, *_na) in zip(study.rows[0].cells[1], REMOVED.values(), strict=True):
        assert cell is not None
        assert cell.mean == pytest.approx(p - 0.02)
        assert cell.ci is not None
    assert study.title == "specific"


def test_marks_are_figure_4(board: Leaderboard) -> None:
    (study,) = board.graphs.marks
    assert study.measures == ["[NA] precision", "[NA] recall", "[NA] F1"]
    last = [line[-1] for line in study.rows[0].cells]
    expected = [0.26, 0.15, harmonic(0.26, 0.15)]
    assert [c.mean + 0.02 for c in last if c and c.mean is not None] == pytest.approx(expected)


def test_replacement_is_figure_5_from_right_to_wrong(board: Leaderboard) -> None:
    (study,) = board.graphs.replacements
    assert study.values == list(REPLACED)
    plots = study_plots(study)
    assert all(plot is not None for plot in plots)
    first = plots[0]
    assert first is not None
    assert [words for _, words in first.x_ticks] == ["100", "80", "60", "40", "20"]
    xs = [x for x, _ in first.x_ticks]
    assert xs == sorted(xs)
    assert plots[1] is not None
    assert first.y_ticks == plots[1].y_ticks  # one scale for all models
    assert sorted(p.number for p in first.points if p.number) == [1, 2, 3, 4]


def test_temperatures_are_one_line_for_each_model(board: Leaderboard) -> None:
    (sweep,) = board.graphs.temperatures
    assert sweep.metric == "citation_f1_micro"
    assert sweep.values == ["0.1", "0.5", "0.9"]
    cell = sweep.rows[0].cells[0]
    assert cell is not None
    assert (cell.sd, cell.repeats) == (0.012, 3)


def test_general_and_specific_differ(board: Leaderboard) -> None:
    (pairs,) = board.graphs.pairs
    model = pairs.models[0]
    found = {row.measure: row.difference for row in model.rows}
    assert found["precision"] == pytest.approx(0.29 - 0.25)
    assert found["coherence"] == 0
    assert list(found)[:5] == ["alignment", "correctness", "precision", "recall", "F1"]


def test_tables_of_all_measures_leave_the_studies_out(board: Leaderboard) -> None:
    titles = [table.title for table in board.graphs.qualities]
    assert len(titles) == 4  # general, and specific at three temperatures
    assert not [title for title in titles if "remove" in title]
    assert board.graphs.qualities[0].measures[5:8] == [
        "precision, macro",
        "recall, macro",
        "F1, macro",
    ]


def test_published_numbers_stand_beside(runs: Path) -> None:
    board = leaderboard([runs], with_published=True)
    (study,) = board.graphs.removals
    row = next(row for row in study.rows if row.source)
    means = [[cell.mean if cell else None for cell in line] for line in row.cells]
    assert means[2] == [printed("citation_recall_micro", knowledge="gold", remove=str(k))
                        for k in range(4)]  # fmt: skip
    (sweep,) = board.graphs.temperatures
    line = next(row for row in sweep.rows if row.source)
    assert [cell.mean for cell in line.cells if cell] == [
        printed("citation_f1_micro", **{"at-temperature": "0.1"}),
        printed("citation_f1_micro"),
        printed("citation_f1_micro", **{"at-temperature": "0.9"}),
    ]
    (pairs,) = board.graphs.pairs
    assert {model.name for model in pairs.models if model.source} == {"gpt-4", "gpt-3.5-turbo"}
    page = render(board)
    assert "section 5.2, Table 5" in page
    assert page.count("section 5.5, Table 7") == 1


def test_one_accuracy_study_stands_beside_its_own_figure(runs: Path) -> None:
    board = leaderboard([runs], with_published=True)
    (study,) = board.graphs.replacements
    row = next(row for row in study.rows if row.source)
    told = dict(zip(study.measures, row.cells, strict=True))
    assert [cell and cell.mean for cell in told["recall"]] == [0.571, 0.425, None, None, None]
    assert not any(told["F1"])  # Figure 5 has none, and Table 5 is of another study
    places = {cell.place for line in row.cells for cell in line if cell}
    assert len(places) == 1
    assert "Table 5" not in str(places)


def test_sets_by_chance_are_told_once_and_no_paper_is_the_best(runs: Path) -> None:
    board = leaderboard([runs], with_published=True)
    assert not [warning for warning in board.warnings if "minimum" in warning]
    assert list(board.notices) == [DRAWN]
    published_rows = [row for row in board.rows if row.source]
    assert any(row.cells for row in published_rows)
    assert not any(row.best for row in published_rows)
    best = {key for row in board.rows for key in row.best}
    assert best == {column.id for column in board.columns}  # our two models are compared


def test_with_sets_of_ones_own_a_paper_may_be_the_best(tmp_path: Path) -> None:
    kalma_run(tmp_path / "one", "m", "specific", measures(0.01, 0.02), {"minimum": "a" * 64},
              notices=())  # fmt: skip
    board = leaderboard([tmp_path], with_published=True)
    assert any(row.best for row in board.rows if row.source)


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
    told = leaderboard([folder], with_published=True).warnings
    assert told == [
        "specific: the published alignment was judged by t5_xxl_true_nli_mixture, the runs "
        "otherwise: run-0, run-1 and 3 more by lexical. Two judges are two scales.",
        "specific: the published texts were rated by text-davinci-003, the runs otherwise: "
        "run-0, run-1 and 3 more by gpt-4. Two raters are two scales.",
    ]
    assert leaderboard([folder]).warnings == []
    same = judged(tmp_path / "same", "nli:google/t5_xxl_true_nli_mixture", "text-davinci-003")
    assert leaderboard([same], with_published=True).warnings == []


def test_runs_with_a_limit_are_one_line(runs: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(runs, tmp_path / "runs")
    for path in folder.glob("*/manifest.json"):
        path.write_bytes(
            msgspec.json.encode(msgspec.json.decode(path.read_bytes()) | {"limit": 20})
        )
    told = leaderboard([folder], with_published=True).warnings
    (line,) = (warning for warning in told if "limit" in warning)
    assert "more ran with a limit; the published numbers are over the whole task." in line


def test_general_and_specific_have_pictures_on_the_same_axes(runs: Path) -> None:
    board = leaderboard([runs], with_published=True)
    (pairs,) = board.graphs.pairs
    ours = next(model for model in pairs.models if model.name == "our-own-model")
    shares, ratings = pair_plots(pairs, ours)
    assert [words for _, words in shares.x_ticks] == ["general", "specific"]
    assert [p.words for p in shares.points[:2]] == [
        "alignment, general: 0.8100", "alignment, specific: 0.8100",
    ]  # fmt: skip
    assert [p.number for p in shares.points if p.number] == [1, 2, 3, 4, 5]
    assert [p.number for p in ratings.points if p.number] == [6]  # the row of the table
    assert len(shares.lines) == 5
    other = next(model for model in pairs.models if model.source)
    assert pair_plots(pairs, other)[0].y_ticks == shares.y_ticks
    assert "section" in render(board)


def test_labels_that_are_numbers_are_told_with_their_folder(tmp_path: Path) -> None:
    folder = tmp_path / "temperature-sweep"
    for at in ("0", "0.5", "1"):
        kalma_run(folder / at, "m", "specific", measures(0.3, 0.4), {"at-temperature": at})
    found = [run.run for run in leaderboard([folder]).runs]
    assert sorted(found) == [f"temperature-sweep/{at}" for at in ("0", "0.5", "1")]


@pytest.mark.parametrize(
    ("values", "ends"), [([0.0, 0.0], (0, 0.2)), ([1.0], (0.8, 1)), ([0.5], (0.4, 0.6)),
                         ([0.0, 0.02], (0, 0.02)), ([-1.0, 1.0], (-1, 1)), ([0.0, 1.0], (0, 1))],
)  # fmt: skip
def test_an_axis_of_shares_keeps_to_them(values: list[float], ends: tuple[float, float]) -> None:
    scale, ticks = nice(values)
    assert (scale.low, scale.high) == pytest.approx(ends)
    assert (ticks[0], ticks[-1]) == pytest.approx(ends)


def test_without_minimum_sets_correctness_is_what_there_is(tmp_path: Path) -> None:
    for right in REPLACED:
        kalma_run(tmp_path / right, "m", "questions", measures(0, 0, sets=False),
                  {"retrieval-accuracy": right, "minimum": "none"}, notices=())  # fmt: skip
    for at in ("0.1", "0.9"):
        kalma_run(tmp_path / at, "m", "questions", measures(0, 0, sets=False),
                  {"at-temperature": at, "minimum": "none"}, notices=())  # fmt: skip
    board = leaderboard([tmp_path])
    assert board.graphs.replacements[0].measures == ["correctness"]
    assert board.graphs.temperatures[0].metric == "citation_correctness_micro"
    assert board.graphs.pairs == board.graphs.removals == []
    assert board.notices == {}
    assert "role=" in render(board)


def test_sections_are_there_only_with_their_runs(tmp_path: Path) -> None:
    kalma_run(tmp_path / "one", "m", "specific", measures(0.3, 0.4))
    page = render(leaderboard([tmp_path]))
    assert 'id="citations"' in page
    for name in ("removed", "replaced", "temperatures", "kinds"):
        assert f'id="{name}"' not in page


def test_other_options_make_other_studies(tmp_path: Path) -> None:
    for knowledge in ("gold", "linked"):
        for removed in ("0", "1"):
            kalma_run(tmp_path / f"{knowledge}-{removed}", "m", "specific", measures(0.3, 0.4),
                      {"knowledge": knowledge, "remove": removed})  # fmt: skip
    board = leaderboard([tmp_path])
    titles = [study.title for study in board.graphs.removals]
    assert titles == ["specific (knowledge=gold)", "specific (knowledge=linked)"]


def test_notices_name_their_runs(board: Leaderboard, runs: Path) -> None:
    assert list(board.notices) == [DRAWN]
    assert len(board.notices[DRAWN]) == 26
    assert DRAWN in render(board).partition("<h2")[0]
    data: dict[str, Any] = leaderboard_data([runs])
    assert data["notices"] == board.notices
    assert msgspec.json.encode(data["graphs"])


def test_a_scoring_run_has_a_column_for_each_number_of_the_run(tmp_path: Path) -> None:
    from tests.reports.citations_fixture import citation_run

    board = leaderboard([citation_run(tmp_path / "a"), citation_run(tmp_path / "b")])
    found = {column.metric: column.higher_is_better for column in board.columns}
    assert found["citation_f1_micro"] is True
    assert found["citation_f1"] is True
    assert "citation_f1_micro" in render(board)
