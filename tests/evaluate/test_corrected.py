"""Labels of some answers correct the rate of all: `score` and `run` with `labels`."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from tests.evaluate.questions_file import write_questions
from tests.texts import overview_text
from tests.wings.labeling.filling import fill

import trueground as tg
from trueground.errors import InputError
from trueground.runs.directory import MANIFEST, REPORT, SUMMARY
from trueground.wings.labeling.operations import export_tasks, import_answers

N = 200


def answers(n: int = N) -> list[dict[str, Any]]:
    """Answers, of which two thirds stand in their context; people take some of these back."""
    rows = []
    for i in range(n):
        said = f"The bridge number {i} has {i % 7 + 2} arches."
        context = said if i % 3 else f"The bridge number {i} is made of slate."
        rows.append({"id": f"q{i}", "question": "?", "contexts": [context], "response": said})
    return rows


def people(i: int) -> int:
    return int(i % 3 > 0 and i % 10 > 0)


def label_lines(ids: Sequence[int], **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"q{i}", "human": {"faithful": people(i)}, **more} for i in ids]


def write(path: Path, lines: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


@pytest.fixture
def drawn() -> list[int]:
    return random.Random(4).sample(range(N), 80)


def test_a_random_slice_corrects_the_rate(tmp_path: Path, drawn: list[int]) -> None:
    labels = write(tmp_path / "labels.jsonl", label_lines(drawn))
    result = tg.score(
        answers(),
        metrics="support,k_precision",
        labels=[labels],
        labels_drawn="random",
        out=tmp_path / "run",
    )
    found = result.summary.corrected
    assert list(found) == ["support", "k_precision"]
    one = found["support"]
    truth = sum(map(people, range(N))) / N
    assert one["ci"][0] <= truth <= one["ci"][1]
    assert (one["label"], one["labels"], one["n"]) == ("faithful", 80, N)
    assert (one["method"], one["drawn"], one["notes"]) == ("ppi", "random", [])
    assert one["judge_mean"] == pytest.approx(result.summary["support"].mean)
    assert one["ci"][1] - one["ci"][0] < one["labels_ci"][1] - one["labels_ci"][0]
    assert json.loads((tmp_path / "run" / SUMMARY).read_text())["corrected"]["support"] == {
        **one, "ci": list(one["ci"]), "ci_new": list(one["ci_new"]),
        "labels_ci": list(one["labels_ci"]),
    }  # fmt: skip
    assert json.loads((tmp_path / "run" / MANIFEST).read_text())["labels"][0]["path"] == str(labels)
    told = f"People would call {100 * one['mean']:.0f} % ["
    page = (tmp_path / "run" / REPORT).read_text("utf-8")
    verdicts = result.summary.raw["verdicts"]
    assert sum(n for n, _ in verdicts["labeled"].values()) == 80
    assert sum(bad for _, bad in verdicts["labeled"].values()) == 80 - sum(map(people, drawn))
    of, times = verdicts["labeled"]["not_grounded"]
    trust = f"On your 80 labels, answers called not grounded were unsupported {times} times of {of}"
    mean = f"the mean of the judge's probabilities, {100 * one['judge_mean']:.0f} % (support)"
    alone = f"The judge alone calls {100 * verdicts['grounded']['share']:.0f} % grounded"
    box = overview_text(result.summary.raw, None).replace("│", " ")
    for text in (page, repr(result), unescape(result._repr_html_()), box):
        words = " ".join(text.split())
        assert all(said in words for said in (told, trust, mean, alone))
    assert box.index("by people") < box.index("by the judge")
    assert '"grounded, by people"' in page


def test_a_plain_table_of_labels_is_read(tmp_path: Path, drawn: list[int]) -> None:
    path = tmp_path / "l.csv"
    path.write_text("id,faithful,note\n" + "".join(f"q{i},{people(i)},x\n" for i in drawn))
    found = tg.score(answers(), metrics="support", labels=path, labels_drawn="random")
    lines = write(tmp_path / "l.jsonl", label_lines(drawn, drawn="random"))
    assert (
        found.summary.corrected
        == tg.score(answers(), metrics="support", labels=lines).summary.corrected
    )
    path.write_text("id,faithful\nq1,perhaps\n")
    with pytest.raises(
        InputError, match=r"l.csv, line 2: no label .*expected an id, and 1 or 0 und"
    ):
        tg.score(answers(), metrics="support", labels=path)
    path.write_text("id,verdict\nq1,1\n")
    with pytest.raises(InputError, match=r"a table \(.csv\) with the columns id and faithful"):
        tg.score(answers(), metrics="support", labels=path)


def test_a_draw_that_is_labeled_in_part_says_what_is_left_to_do(tmp_path: Path) -> None:
    some = write(tmp_path / "l.jsonl", label_lines(range(0, 80, 2), probability=0.5))
    with pytest.raises(InputError) as met:
        tg.score(answers(), metrics="support", labels=some)
    told = "about 60 of about 100 sampled answers are not labeled yet. "
    assert told in str(met.value)
    assert "others" not in str(met.value).partition(". Label the others")[0]


def test_answers_without_a_score_are_named_beside_the_rate(tmp_path: Path) -> None:
    rows = [*answers(100), {"id": "e", "question": "?", "contexts": ["c"], "response": ""}]
    labels = write(tmp_path / "labels.jsonl", label_lines(range(60)))
    result = tg.score(rows, metrics="support", labels=labels, labels_drawn="random")
    words = " ".join(repr(result).split())
    assert "of 100 answers grounded (60 labels; left out of 101: 1 nothing to check)." in words


def test_a_judge_fitted_to_labels_tells_what_its_file_says(tmp_path: Path) -> None:
    rows = [{**row, "human": {"faithful": people(i)}} for i, row in enumerate(answers())]
    fit = tg.calibrate(rows, "lexical")
    fit.write(path := tmp_path / "own.json")
    held = fit.raw["chosen"]["cross_validated"]["balanced_accuracy"]
    result = tg.score(answers(9), metrics="support", judge=str(path))
    words = " ".join(repr(result).split())
    assert "This judge was fitted to 200 human labels (faithful). On held-out labels:" in words
    assert f"balanced accuracy {held:.2f}, AUROC {fit.raw['auroc']['value']:.2f} (0.5 is g" in words
    assert "not measured" not in words
    # With another threshold only the ranking is as the file says.
    other = tg.score(answers(9), metrics="support", judge=f"{path}(threshold=0.9)")
    assert "On held-out labels: AUROC" in " ".join(repr(other).split())


def test_without_labels_nothing_is_corrected() -> None:
    result = tg.score(answers(3), metrics="support")
    assert not result.summary.corrected
    assert "corrected" not in result.summary.raw


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"drawn": None}, "do not say how they were drawn.*--labels-drawn random"),
        ({"drawn": "the worst"}, "was drawn 'the worst'.*picked say nothing"),
        ({"probability": 0}, "was drawn {'probability': 0.0}.*above 0 and at most 1"),
        ({"probability": 0.05}, "represent about 1,600 answers, but 200 are scored"),
        ({"run": "another"}, "no label .* of an answer that is scored here"),
    ],
)
def test_what_is_no_draw_is_refused(
    tmp_path: Path, drawn: list[int], change: dict[str, Any], message: str
) -> None:
    labels = write(tmp_path / "labels.jsonl", label_lines(drawn, **change))
    with pytest.raises(InputError, match=message):
        tg.score(answers(), metrics="support", labels=[labels])


def test_few_labels_are_refused_before_anything_is_judged(tmp_path: Path) -> None:
    labels = write(tmp_path / "labels.jsonl", label_lines(range(29), drawn="random"))

    class Judge:
        name, threshold, signature = "none", 0.5, "none-1"

        def judge(self, requests: Sequence[Any]) -> list[Any]:
            raise AssertionError("asked")

    with pytest.raises(InputError, match=r"found 29 labeled answers.*at least 30"):
        tg.score(answers(), metrics="support", judge=Judge(), labels=[labels])
    more = write(tmp_path / "more.jsonl", label_lines(range(40), drawn="random"))
    with pytest.raises(InputError, match="no metric of this run predicts the label 'faithful'"):
        tg.score(answers(), metrics="f1", labels=[more])


def test_unknown_ids_ties_and_several_people(tmp_path: Path, drawn: list[int]) -> None:
    lines = label_lines(drawn, drawn="random")
    lines += [{"id": f"x{i}", "human": {"faithful": 1}} for i in range(5)]
    lines[0]["human"] = {"faithful:ann": 1, "faithful:ben": 0}
    lines[1]["human"] = {"faithful:ann": 1, "faithful:ben": 0, "faithful:eve": 1}
    labels = write(tmp_path / "labels.jsonl", lines)
    one = tg.score(
        answers(), metrics="support", labels=[labels], labels_drawn="random"
    ).summary.corrected["support"]
    assert one["labels"] == len(drawn) - 1
    assert "5 labeled ids are not among the answers" in one["notes"][0]
    assert "(x0, x1, x2, …)" in one["notes"][0]
    assert "1 labels are tied" in one["notes"][1]
    write(labels, [*lines, lines[3]])
    with pytest.raises(InputError, match=r"line 86: 'q\d+' has a label already"):
        tg.score(answers(), metrics="support", labels=[labels])


def test_a_slice_that_was_picked_is_a_warning(tmp_path: Path) -> None:
    worst = [i for i in range(N) if i % 3 == 0 or i < 40]
    labels = write(tmp_path / "labels.jsonl", label_lines(worst))
    one = tg.score(
        answers(), metrics="support", labels=[labels], labels_drawn="random"
    ).summary.corrected["support"]
    assert "differ from those of all" in one["notes"][0]


def test_labels_of_annotate_tell_how_they_were_drawn(tmp_path: Path) -> None:
    source = write(tmp_path / "answers.jsonl", answers())
    export_tasks("support", [str(source)], tmp_path / "t.jsonl", csv=True, annotators=1, sample=70)
    fill(
        tmp_path / "t-1.jsonl",
        lambda line: {"support": "fully" if people(int(line["id"][1:].split("~")[0])) else "not"},
    )
    import_answers([tmp_path / "t-1.jsonl"], tmp_path / "labels.jsonl")
    one = tg.score(str(source), metrics="support", labels=[tmp_path / "labels.jsonl"])
    entry = one.summary.corrected["support"]
    assert (entry["labels"], entry["drawn"], entry["notes"]) == (70, "random", [])
    changed = [{**row, "response": f"{row['response']} Indeed."} for row in answers()]
    told = r"of an answer that is scored here; 70 labels are of another text than .* now, 'q\d+'"
    with pytest.raises(InputError, match=told):
        tg.score(changed, metrics="support", labels=[tmp_path / "labels.jsonl"])
    labeled = json.loads((tmp_path / "labels.jsonl").read_text().splitlines()[0])["id"]
    some = [
        changed[int(row["id"][1:])] if labeled.startswith(f"{row['id']}~") else row
        for row in answers()
    ]
    one = tg.score(some, metrics="support", labels=[tmp_path / "labels.jsonl"])
    (note,) = one.summary.corrected["support"]["notes"]
    assert note.startswith("1 label is of another text than the answer has now, ")


def test_a_model_is_asked_then_labeled_then_corrected(tmp_path: Path) -> None:
    data = write_questions(tmp_path / "data.jsonl", 60)

    def run(**labeled: Any) -> tg.Result:
        return tg.run(
            "faitheval/unanswerable", "fake:unknown", data=data, out=tmp_path / "run",
            also=["k_precision"], **labeled,
        )  # fmt: skip

    ids = [line["id"] for line in run().evidence]
    lines = [{"id": id_, "human": {"faithful": int(i % 2)}} for i, id_ in enumerate(ids[:40])]
    labels = write(tmp_path / "labels.jsonl", lines)
    found = run(labels=[labels], labels_drawn="random").summary.corrected
    assert {one["label"] for one in found.values()} == {"faithful"}
    assert all(one["labels"] == 40 for one in found.values())
    assert all(one["labels_mean"] == pytest.approx(0.5) for one in found.values())


def test_where_all_are_labeled_nothing_is_estimated(tmp_path: Path) -> None:
    labels = write(tmp_path / "labels.jsonl", label_lines(range(N)))
    result = tg.score(answers(), metrics="support", labels=labels)
    one = result.summary.corrected["support"]
    assert (one["drawn"], one["mean"]) == ("all", pytest.approx(sum(map(people, range(N))) / N))
    assert one["ci"] == (one["mean"], one["mean"])
    assert one["ci_new"][0] < one["mean"] < one["ci_new"][1]
    assert "People call 60 % of 200 answers grounded (all labeled)." in repr(result)
