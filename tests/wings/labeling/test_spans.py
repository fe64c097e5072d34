"""Marks of unsupported words: what people type or send, what several make, and their agreement."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.wings.labeling.filling import fill, fill_sheet

from trueground.errors import InputError
from trueground.labels.files import LabelFiles
from trueground.records.reading import RecordSource
from trueground.studies.calibration.study import calibrate
from trueground.studies.validation.study import validate
from trueground.types import Record
from trueground.wings.labeling.answers import Answer, merge, parse_values
from trueground.wings.labeling.base import BadAnswer
from trueground.wings.labeling.files import ShownTask
from trueground.wings.labeling.kinds import KINDS, AnnotationTask, Tie
from trueground.wings.labeling.operations import export_tasks, import_answers, measure_agreement
from trueground.wings.labeling.spans import SpanMark, label_words

RESPONSE = "Lind Hall, built in 1912 by Per Holt, is of  brick. It was built well."
TYPES = ("contradiction", "not-in-contexts", "other")
YEAR = {"start": 20, "end": 24, "type": "contradiction", "text": "1912"}
PLAIN = {name: value for name, value in YEAR.items() if name != "text"}


def task(response: str = RESPONSE) -> ShownTask:
    shown = {"contexts": ["It was built in 1902."], "response": response}
    return ShownTask.of(AnnotationTask("span", "x", shown), KINDS["span"], "here")


def read(raw: Any, response: str = RESPONSE) -> list[tuple[int, int, str, str]]:
    values, wrong = parse_values(task(response), {"spans": raw})
    if wrong:
        raise BadAnswer(raw, wrong["spans"])
    return [(one.start, one.end, one.type, one.text) for one in values["spans"]]


@pytest.mark.parametrize(
    "raw",
    [
        [YEAR],
        [PLAIN],
        [SpanMark(20, 24, "contradiction")],
        [{**PLAIN, "start": 19, "end": 25}],  # white space at the ends
        "contradiction: 1912",
        ["contradiction: 1912"],
        " Contradiction @ 20 - 24 \r\n\r\n",
        "contradiction @20-24: 1912",
        'contradiction: "1912"',
    ],
)
def test_one_mark_in_all_its_forms(raw: Any) -> None:
    assert read(raw) == [(20, 24, "contradiction", "1912")]


def test_several_marks_stand_in_their_order() -> None:
    found = read("not in contexts: by Per Holt\ncontradiction: 1912\nother: of brick")
    assert [one[2:] for one in found] == [
        ("contradiction", "1912"),
        ("not-in-contexts", "by Per Holt"),
        ("other", "of  brick"),
    ]


@pytest.mark.parametrize("raw", ["none", " None ", [], ["none"]])
def test_nothing_is_marked(raw: Any) -> None:
    assert read(raw) == []


@pytest.mark.parametrize("raw", ["", "  ", None])
def test_a_task_that_is_not_done(raw: Any) -> None:
    assert parse_values(task(), {"spans": raw}) == ({}, {})


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("1912", r'found str "1912"; expected one mark per line, such as `contradiction: '),
        ("wrong: 1912", "expected one mark per line.*types: contradiction, not-in-contexts, other"),
        ("contradiction:", "expected one mark per line"),
        (7, "found int 7; expected one mark per line"),
        ([7], "found int 7; expected one mark per line"),
        ([{**YEAR, "note": 1}], r"found object \{start, end, type, text, note\}"),
        ([{**YEAR, "start": "20"}], "found object"),
        ([{**YEAR, "start": True}], "found object"),
        ([{**PLAIN, "type": "wrong"}], 'found str "wrong"; expected as type contradiction or not'),
        ("other: 1913", 'found str "other: 1913"; expected words of the text'),
        ("other: built", r"once; these occur at 11-16, 59-64: add the position, such as other @1"),
        ([{**PLAIN, "end": 71}], 'found str "contradiction @20-71"; expected a start before'),
        ([{**PLAIN, "end": 20}], "both from 0 to 70, the text's length"),
        ([{**PLAIN, "start": -1}], "found str \"contradiction @-1-24\""),
        ([{**YEAR, "text": "1902"}], '@20-24: 1902"; expected the text at this position: "1912"'),
        ([{**PLAIN, "start": 43, "end": 45}], "expected words; found only white space"),
        ([YEAR, {**PLAIN, "type": "other"}], "it overlaps with contradiction @"),
    ],
)  # fmt: skip
def test_parse_spans_invalid_mark_raises(raw: Any, words: str) -> None:
    with pytest.raises(BadAnswer, match=words):
        read(raw)


def test_words_within_others_are_meant_only_where_nowhere_else() -> None:
    assert read("other: art", "party of art")[0][:2] == (9, 12)
    assert read("other: art", "a party")[0][:2] == (3, 6)


def test_positions_are_code_points() -> None:
    assert read("other: 1912", "𝔏ind 🏛 1912") == [(7, 11, "other", "1912")]


def votes(*given: list[tuple[int, int, int]], response: str = RESPONSE) -> list[Answer]:
    shown = task(response)
    marks = [[{"start": a, "end": b, "type": TYPES[of]} for a, b, of in each] for each in given]
    return [
        Answer(shown, str(n), parse_values(shown, {"spans": each})[0], None, "", "here")
        for n, each in enumerate(marks)
    ]


def merged(
    *given: list[tuple[int, int, int]], tie: Tie = "open"
) -> tuple[list[tuple[str, str]] | None, str]:
    label = merge(votes(*given), tie)
    spans = label.values.get("spans")
    return spans and [(one.text, one.type) for one in spans], label.how["spans"]


def test_signs_beside_a_word_make_no_difference() -> None:
    assert merged([(20, 24, 0), (28, 36, 1)], [(20, 24, 0), (28, 37, 1)]) == (
        [("1912", "contradiction"), ("Per Holt", "not-in-contexts")],
        "agreed",
    )
    assert merged([(20, 24, 0)]) == ([("1912", "contradiction")], "single")


def test_words_that_more_than_half_mark() -> None:
    one, two, three = [(20, 36, 0)], [(25, 36, 0)], [(28, 31, 0), (38, 50, 1)]
    assert merged(one, two, three) == ([("by Per Holt", "contradiction")], "majority")
    assert merged([], [], three) == ([], "majority")


def test_the_type_has_the_most_votes_else_the_last() -> None:
    assert merged([(20, 24, 0)], [(20, 24, 1)], [(20, 24, 1)])[0] == [("1912", "not-in-contexts")]
    assert merged([(20, 24, 0)], [(20, 24, 1)]) == ([("1912", "other")], "majority")
    # Neighbors of two types are two marks.
    assert merged([(20, 27, 0)], [(20, 24, 0), (25, 27, 1)], [(20, 24, 0), (25, 27, 1)])[0] == [
        ("1912", "contradiction"),
        ("by", "not-in-contexts"),
    ]


@pytest.mark.parametrize(
    ("tie", "spans", "how"),
    [
        ("open", [("by", "contradiction")], "open"),
        ("drop", [("by", "contradiction")], "open"),
        ("first", [("1912 by", "contradiction")], "tie"),
        ("lowest", [("by", "contradiction")], "tie"),
    ],
)
def test_words_that_half_of_them_mark(tie: Tie, spans: Any, how: str) -> None:
    assert merged([(20, 27, 0)], [(25, 31, 0)], tie=tie) == (spans, how)


def test_nothing_is_decided_where_only_tied_words_are_marked() -> None:
    """Else the response would count as supported."""
    assert merged([(20, 24, 0)], []) == (None, "open")
    assert merged([(20, 24, 0)], [(28, 31, 0)]) == (None, "open")


def test_every_letter_belongs_to_a_word() -> None:
    random_ = random.Random(3)
    letters = "ab é字ไทย。—…'-. ,\n\u0301\u200d🏛٣"
    for _ in range(2_000):
        text = "".join(random_.choice(letters) for _ in range(12))
        for at, letter in enumerate(text):
            if letter.strip():
                assert 1 in label_words(text, TYPES, [SpanMark(at, at + 1, TYPES[0])]), text


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("built in 1912—which", 4),
        ("don’t pay 3,5 $", 4),
        ("«Per Holt».", 2),
        ("木造の館", 4),
        ("…", 1),
    ],
)
def test_words(text: str, n: int) -> None:
    assert len(label_words(text, TYPES, [])) == n


def exported(folder: Path, **more: Any) -> list[Path]:
    """Tasks of four records, for two people: marks of Ann; Ben's are those of Ann but for one."""
    lines = [
        {
            "id": f"r{n}",
            "question": "When was it built?",
            "contexts": ["Lind Hall was built of brick in 1902."],
            "response": f"  Lind Hall was built in {year}. ",
        }
        for n, year in enumerate((1902, 1912, 1902, 1922))
    ]
    folder.joinpath("records.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    export_tasks("span", [str(folder / "records.jsonl")], folder / "t.jsonl", csv=True, **more)
    marks = {"1902": [], "1912": ["contradiction: 1912"], "1922": ["contradiction: 1922"]}

    def ann(line: dict[str, Any]) -> dict[str, Any]:
        return {"spans": next(m for year, m in marks.items() if year in line["shown"]["response"])}

    def ben(row: dict[str, Any]) -> dict[str, Any]:
        if "1922" in row["response"]:
            return {"spans": "other: in 1922"}
        return {"spans": "contradiction: 1912" if "1912" in row["response"] else "none"}

    return [fill(folder / "t-1.jsonl", ann), fill_sheet(folder / "t-2.csv", ben, delimiter=";")]


def records_of(folder: Path) -> list[Record]:
    with RecordSource.open(str(folder / "records.jsonl")) as records:
        return [record for batch in records.batches() for record in batch]


def test_from_export_to_labels(tmp_path: Path) -> None:
    files = exported(tmp_path)
    done = import_answers(files, tmp_path / "labels.jsonl", third=tmp_path / "third.jsonl")
    assert (done.agreed, done.disputed, done.third) == (3, 1, 1)
    labels = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text().splitlines()]
    assert labels[1]["values"] == {
        "spans": [{"start": 25, "end": 29, "type": "contradiction", "text": "1912"}]
    }
    response = records_of(tmp_path)[1].response
    assert response[25:29] == "1912"  # positions are those of the record's own text
    third = json.loads((tmp_path / "third.jsonl").read_text())
    assert third["options"] == {"spans": list(TYPES)}
    third["answer"]["spans"] = [{"start": 25, "end": 29, "type": "contradiction"}]
    (tmp_path / "third.jsonl").write_text(json.dumps(third))
    import_answers([*files, tmp_path / "third.jsonl"], tmp_path / "all.jsonl")
    last = json.loads((tmp_path / "all.jsonl").read_text().splitlines()[-1])
    assert last["values"]["spans"][0]["text"] == "1922"
    assert last["values"]["spans"][0]["type"] == "contradiction"


def test_the_label_is_whether_all_is_supported(tmp_path: Path) -> None:
    files = exported(tmp_path)
    import_answers(files, tmp_path / "labels.jsonl", tie="first")
    records = records_of(tmp_path)
    found = LabelFiles(tmp_path / "labels.jsonl")
    assert (found.label, found.of_parts) == ("faithful", False)
    human = [next(found.labeled(record, 1)).human for record in records]
    assert human == [{"faithful": 1.0}, {"faithful": 0.0}, {"faithful": 1.0}, {"faithful": 0.0}]
    each = LabelFiles(files)
    assert next(each.labeled(records[3], 1)).human == {"faithful:1": 0.0, "faithful:2": 0.0}
    path = tmp_path / "records.jsonl"
    kept = {"labels": tmp_path / "labels.jsonl", "resamples": 50}
    (one,) = validate(path, metrics="support", **kept).raw["sets"]
    assert (one["n"], one["positives"]) == (4, 2)
    assert calibrate(path, "lexical", **kept).raw["n"] == 4


def test_a_record_with_labels_of_support_as_well(tmp_path: Path) -> None:
    files = exported(tmp_path)
    import_answers(files, tmp_path / "labels.jsonl", tie="first")
    records = tmp_path / "records.jsonl"
    export_tasks("support", [str(records)], tmp_path / "s.jsonl", annotators=1, sample=1)
    import_answers(
        [fill(tmp_path / "s-1.jsonl", lambda _: {"support": "partially"})], tmp_path / "s.jsonl"
    )
    found = LabelFiles([tmp_path / "labels.jsonl", tmp_path / "s.jsonl"])
    human = [next(found.labeled(one, 1)).human or {} for one in records_of(tmp_path)]
    assert sorted(each["faithful"] for each in human).count(0.5) == 1


def test_span_label_not_a_list_raises(tmp_path: Path) -> None:
    label = {"kind": "span", "id": "a~01234567", "values": {"spans": "none"}}
    (tmp_path / "labels.jsonl").write_text(json.dumps(label))
    with pytest.raises(InputError, match=r'says spans: str "none"; expected one mark per line'):
        LabelFiles(tmp_path / "labels.jsonl")


def test_agreement_counts_words(tmp_path: Path) -> None:
    """Of 24 words 22 have one label; of four sets of marks three are the same."""
    found = measure_agreement(exported(tmp_path), resamples=200).kinds["span"]
    field = found.fields["spans"]
    assert (field.unit, field.tasks, field.measure) == ("word", 4, "nominal")
    assert field.agreement.value == pytest.approx(22 / 24)
    assert field.same_set is not None
    assert field.same_set.value == 0.75
    assert field.mean is not None
    assert field.mean.value == pytest.approx((1 + 1.5) / 24)
    # One word is marked alike; Ann marks 2 (all contradiction), Ben 3 (1, and 2 other).
    chance = 22 / 24 * 21 / 24 + 2 / 24 * 1 / 24
    assert field.cohen_kappa is not None
    assert field.cohen_kappa.value == pytest.approx((22 / 24 - chance) / (1 - chance))
    (hard,) = found.hardest
    assert (hard.id.partition("~")[0], hard.disagreement) == ("r3", 1.0)


def test_span_text_with_changed_space_raises(tmp_path: Path) -> None:
    """Elsewhere it makes no difference; here positions would be of another text."""
    files = exported(tmp_path)
    text = files[1].read_text("utf-8-sig")
    files[1].write_text(text.replace("  Lind Hall", "Lind Hall"), "utf-8")
    with pytest.raises(InputError, match="what was shown is not what was exported"):
        measure_agreement(files)
    with pytest.raises(InputError, match="response differs from the text in another file"):
        measure_agreement(files, allow_edited=True)
    assert measure_agreement(files[1:], allow_edited=True).kinds["span"].tasks == 4
