"""Exported, filled in, saved by all sorts of programs, read again."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.wings.labeling.filling import GOLD, VALID, build_of, fill, fill_sheet

from trueground.errors import InputError, OutputError, UsageError
from trueground.records.formulas import guard, unguard
from trueground.wings.labeling.answers import read_answers
from trueground.wings.labeling.base import Label, item_of
from trueground.wings.labeling.kinds import AnnotationTask
from trueground.wings.labeling.operations import export_tasks, import_answers

YES = {"if": "yes", "only_if": "no"}


def exported(folder: Path, **more: Any) -> Path:
    """Tasks of both kinds: v-1.jsonl, v-1.csv …, g-1.jsonl … in `folder`."""
    built = build_of(folder / "built", [*VALID, *GOLD])
    export_tasks("validity", [str(built)], folder / "v.jsonl", csv=True, **more)
    export_tasks("gold-facts", [str(built)], folder / "g.jsonl", csv=True, **more)
    return folder


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("lineterminator", ["\r\n", "\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_a_sheet_comes_back_from_any_program(
    tmp_path: Path, delimiter: str, lineterminator: str, encoding: str, quoting: int
) -> None:
    exported(tmp_path)
    save: dict[str, Any] = {
        "delimiter": delimiter,
        "lineterminator": lineterminator,
        "encoding": encoding,
        "quoting": quoting,
    }
    fill_sheet(tmp_path / "v-1.csv", lambda _: {"if": "YES", "only_if": " 0 "}, **save)
    fill_sheet(tmp_path / "g-1.csv", lambda _: {"gold": "1; 3", "seconds": "12,5"}, **save)
    found = read_answers([tmp_path / "v-1.csv", tmp_path / "g-1.csv"])
    assert found.edited == []
    assert set(found.tasks) == {(task.kind, task.id) for task in (*VALID, *GOLD)}
    assert all(a.values == YES for task in VALID for a in found.tasks["validity", task.id])
    (answer,) = found.tasks["gold-facts", "q1"]
    assert (answer.values, answer.seconds, answer.annotator) == ({"gold": ("1", "3")}, 12.5, "1")


def test_nothing_in_a_sheet_runs_or_turns_into_something_else(tmp_path: Path) -> None:
    exported(tmp_path)
    text = (tmp_path / "v-1.csv").read_bytes().decode("utf-8-sig")
    cells = [cell for row in csv.reader(text.splitlines(keepends=True)) for cell in row]
    assert not [cell for cell in cells if cell.startswith(tuple("=+-@\t\r"))]
    assert {"'=HYPERLINK(1)", "'+49 30", "'May 2007", "'1-2", "'007", "'TRUE", "'3/4", "''tis"} <= (
        set(cells)
    )


@pytest.mark.parametrize(
    "text",
    [
        *("=1", "+1", "-1", "@a", "\t=1", "'a", "1-2", "1.5", "1e5", "007", "May 2007", "3 pm"),
        *("true", "12", "0", "nq-12", "in 1931", "", "a=b", "٣", "＝1", "1234567890123456", "1:30"),
    ],
)
def test_guards_come_off_again(text: str) -> None:
    assert unguard(guard(text)) == text


def test_formula_guard_keeps_harmless_text() -> None:
    for text in ("12", "0", "nq-12", "in 1931", "", "a=b", "Mayor", "two"):
        assert guard(text) == text


def test_json_lines_and_sheets_of_two_people_meet(tmp_path: Path) -> None:
    exported(tmp_path)
    fill(tmp_path / "g-1.jsonl", lambda _: {"gold": ["1"]}, seconds=30)
    fill_sheet(tmp_path / "g-2.csv", lambda row: {"gold": "1" if row["id"] != "q2" else "1 2"})
    done = import_answers(
        [tmp_path / "g-1.jsonl", tmp_path / "g-2.csv", tmp_path / "g-2.jsonl"],
        tmp_path / "labels.jsonl",
        third=tmp_path / "third.jsonl",
    )
    assert (done.tasks, done.agreed, done.disputed, done.open, done.third) == (4, 3, 1, 1, 1)
    assert {who: (p.done, p.unfinished, p.seconds) for who, p in done.annotators.items()} == {
        "1": (4, 0, 30),
        "2": (4, 4, None),  # the JSON lines of the second are not filled in
    }
    assert [line["id"] for line in read(tmp_path / "labels.jsonl")] == ["q1", "q2", "q3", "q4"]
    (again,) = read(tmp_path / "third.jsonl")
    assert (again["id"], again["annotator"], again["answer"]) == ("q2", "third", {"gold": None})

    fill(tmp_path / "third.jsonl", lambda _: {"gold": ["1", "2"]})
    done = import_answers(
        [tmp_path / "g-1.jsonl", tmp_path / "g-2.csv", tmp_path / "third.jsonl"],
        tmp_path / "labels.jsonl",
        third=tmp_path / "fourth.jsonl",
        overwrite=True,
    )
    assert (done.majority, done.disputed, done.third_file) == (1, 0, None)
    assert not (tmp_path / "fourth.jsonl").exists()
    label = Label.read(tmp_path / "labels.jsonl", "gold-facts")["q2"]
    assert (label.values, label.how, label.annotators) == (
        {"gold": ["1", "2"]},
        {"gold": "majority"},
        3,
    )
    assert Label.read(tmp_path / "labels.jsonl", "validity") == {}


def test_a_third_from_sheets_alone_is_a_sheet(tmp_path: Path) -> None:
    exported(tmp_path)
    sheets = [tmp_path / "v-1.csv", tmp_path / "v-2.csv"]
    fill_sheet(sheets[0], lambda _: YES)
    fill_sheet(sheets[1], lambda row: YES | {"if": "no"} if row["id"] == "'007" else YES)
    with pytest.raises(UsageError, match=r"--third .*third\.csv"):
        import_answers(sheets, tmp_path / "l.jsonl", third=tmp_path / "third.jsonl")
    assert not (tmp_path / "l.jsonl").exists()
    import_answers(sheets, tmp_path / "l.jsonl", third=tmp_path / "third.csv")
    fill_sheet(tmp_path / "third.csv", lambda _: YES)
    done = import_answers([*sheets, tmp_path / "third.csv"], tmp_path / "l2.jsonl")
    assert (done.tasks, done.agreed, done.majority) == (4, 3, 1)
    assert Label.read(tmp_path / "l2.jsonl", "validity")["007"].values == YES


def test_ties_as_the_user_says(tmp_path: Path) -> None:
    exported(tmp_path)
    fill(tmp_path / "v-1.jsonl", lambda _: {"if": True, "only_if": True})
    fill(tmp_path / "v-2.jsonl", lambda line: {"if": True, "only_if": line["id"] == "c"})
    files = [tmp_path / "v-1.jsonl", tmp_path / "v-2.jsonl"]
    done = import_answers(files, tmp_path / "a.jsonl", tie="drop")
    assert (done.disputed, done.dropped, done.open) == (3, 3, 0)
    assert [line["id"] for line in read(tmp_path / "a.jsonl")] == ["c"]
    done = import_answers(files, tmp_path / "b.jsonl", tie="lowest")
    assert (done.tied, done.open) == (3, 0)
    assert Label.read(tmp_path / "b.jsonl", "validity")["007"].values == YES


def broken(tmp_path: Path, change: Any) -> str:
    """What is said of v-1.jsonl after `change(lines)`; nothing may be written."""
    exported(tmp_path)
    path = fill(tmp_path / "v-1.jsonl", lambda _: YES)
    lines = read(path)
    change(lines)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    with pytest.raises(InputError) as error:
        import_answers([path], tmp_path / "labels.jsonl")
    assert not (tmp_path / "labels.jsonl").exists()
    return str(error.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": "nobody"}, "no task of this id and kind was exported with the check"),
        ({"kind": "vality"}, "unknown kind of task 'vality'; known: validity"),
        ({"annotator": " "}, 'annotator is str " "; expected a name or a number'),
        ({"annotator": None}, "annotator is null; expected a name or a number"),
        ({"seconds": -3}, "seconds: found int -3; expected seconds between 0 and 86,400"),
        ({"seconds": 1e9}, "expected seconds between 0 and 86,400 (a day)"),
        ({"check": ""}, "`check` is missing; keep the columns"),
        ({"shown": {"task": "x"}}, "lacks shown.question"),
        (
            {"answer": {"if": "perhaps", "only_if": "no"}},
            'if: found str "perhaps"; expected yes or',
        ),
        ({"answer": {"if": "yes", "only_if": None}}, "only_if: not filled in; expected yes or no"),
        (
            {"answer": {"fi": "yes"}},
            "unknown field 'fi' in answer; tasks of kind validity have if,",
        ),
        ({"answer": "yes"}, "not a line that `trueground annotate export` wrote"),
    ],
)
def test_read_answers_bad_line_reports_location(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    told = broken(tmp_path, lambda lines: lines[1].update(change))
    assert said in told
    assert "v-1.jsonl, line 2" in told


def test_all_bad_lines_are_counted(tmp_path: Path) -> None:
    def change(lines: list[dict[str, Any]]) -> None:
        for line in lines:
            line["answer"] = {"if": "x", "only_if": "z"}

    told = broken(tmp_path, change)
    assert told.count("found str") == 8
    assert told.endswith("4 answers are wrong; nothing was written. Fix them.")


def test_a_changed_text_stops_the_import(tmp_path: Path) -> None:
    def change(lines: list[dict[str, Any]]) -> None:
        lines[0]["shown"]["context"] += " And more."

    assert "what was shown is not what was exported" in broken(tmp_path, change)
    done = import_answers([tmp_path / "v-1.jsonl"], tmp_path / "l.jsonl", allow_edited=True)
    assert (done.tasks, len(done.edited)) == (4, 1)


def test_one_person_with_two_answers(tmp_path: Path) -> None:
    exported(tmp_path)
    one = fill(tmp_path / "v-1.jsonl", lambda _: YES)
    two = fill(tmp_path / "v-2.jsonl", lambda _: YES, annotator="1")
    assert read_answers([one, two]).annotators == ["1"]
    assert all(len(each) == 1 for each in read_answers([one, two]).tasks.values())
    fill(two, lambda _: {"if": "no"})
    with pytest.raises(InputError, match=r"annotator '1' has another answer in .*v-1\.jsonl"):
        read_answers([one, two])
    with pytest.raises(InputError, match="is listed twice"):
        read_answers([one, one])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (
            b"a,b\n1,2\n",
            "no column 'kind', 'id', 'annotator', 'check': looked for kind, id, annotator, check "
            "and those of the kind of task, found a, b. Give",
        ),
        (
            "kind;id;annotator;check\nvalidity;M\u00fc;1;t\n".encode("latin-1"),
            "is not UTF-8 (saved",
        ),
        (b"kind,id,annotator,check\nmatrix,1,1,t\n", "row 2: unknown kind of task 'matrix'"),
        (b"kind,id,annotator,check\nvalidity,1,1,t\n", "has no column 'task', 'question',"),
        (b"kind,id,annotator,check\nvalidity,1,1,t\n", "found kind, id, annotator, check. One"),
        (b'kind,id,annotator,check\n"validity,1,1,t\n', "isn't a valid table"),
        (b"kind,id,id,annotator,check\n", "two columns are named 'id'"),
        (b"\xff\xfe\x00", "is not UTF-8"),
        (b"kind,id\rvalidity,1\r", "has no column 'annotator'"),
    ],
)
def test_broken_sheets(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(InputError) as error:
        read_answers([tmp_path / "a.csv"])
    assert said in str(error.value)


def test_brackets_without_end(tmp_path: Path) -> None:
    exported(tmp_path)
    path = tmp_path / "v-1.jsonl"
    line = path.read_bytes().splitlines()[0]
    for depth, said in ((900, "nested too deeply"), (50_000, "line 1: not a line that")):
        deep = b"[" * depth + b"]" * depth
        path.write_bytes(line.replace(b'"task":"inconsistent"', b'"task":' + deep))
        with pytest.raises(InputError, match=said):
            read_answers([path])


def test_a_row_with_too_many_cells(tmp_path: Path) -> None:
    exported(tmp_path)
    path = tmp_path / "v-1.csv"
    path.write_bytes(path.read_bytes().rstrip() + b",more,cells\r\n")
    with pytest.raises(InputError, match=r"row 5 has \d+ cells, the first row \d+; quote texts"):
        read_answers([path])


def test_columns_of_ones_own_and_blank_rows_are_passed_over(tmp_path: Path) -> None:
    exported(tmp_path)
    path = fill_sheet(tmp_path / "v-1.csv", lambda _: YES)
    text = path.read_bytes().decode("utf-8-sig")
    path.write_bytes(("sep=,\r\n" + text + ",,,,\r\n\r\n").encode())
    assert len(read_answers([path]).tasks) == 4


def test_long_texts_are_read_and_warned_of(tmp_path: Path) -> None:
    long = type(VALID[0])("validity", "long", VALID[0].shown | {"context": "word " * 60_000})
    built = build_of(tmp_path / "built", [long])
    done = export_tasks("validity", [str(built)], tmp_path / "v.jsonl", csv=True)
    assert "1 task with a text of more than 32,767 characters" in done.warnings[0]
    before = csv.field_size_limit(10**9)
    fill_sheet(tmp_path / "v-1.csv", lambda _: YES)
    csv.field_size_limit(before)
    assert read_answers([tmp_path / "v-1.csv"]).edited == []
    assert csv.field_size_limit() == before


def test_each_annotator_has_another_order_and_all_the_same_tasks(tmp_path: Path) -> None:
    built = build_of(tmp_path / "built", GOLD)
    export_tasks("gold-facts", [str(built)], tmp_path / "a.jsonl", annotators=3)
    orders = [[line["id"] for line in read(tmp_path / f"a-{n}.jsonl")] for n in (1, 2, 3)]
    assert len({tuple(order) for order in orders}) > 1
    assert {tuple(sorted(order)) for order in orders} == {("q1", "q2", "q3", "q4")}
    export_tasks("gold-facts", [str(built)], tmp_path / "b.jsonl", order="same")
    assert [line["id"] for line in read(tmp_path / "b-2.jsonl")] == ["q1", "q2", "q3", "q4"]


def test_a_sample_depends_on_seed_and_id_alone(tmp_path: Path) -> None:
    one = build_of(tmp_path / "one", GOLD)
    two = build_of(tmp_path / "two", GOLD[::-1])
    for name, built, seed in (("a", one, 0), ("b", two, 0), ("c", one, 4)):
        export_tasks("gold-facts", [str(built)], tmp_path / f"{name}.jsonl", sample=2, seed=seed)
    first, second, third = (
        {line["id"] for line in read(tmp_path / f"{name}-1.jsonl")} for name in "abc"
    )
    assert first == second
    assert first != third
    with pytest.raises(InputError, match="a sample of 5 tasks was requested, but there are only 4"):
        export_tasks("gold-facts", [str(one)], tmp_path / "d.jsonl", sample=5)


def test_existing_files_are_not_overwritten(tmp_path: Path) -> None:
    exported(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.glob("*.*")}
    with pytest.raises(OutputError, match=r"v-1\.jsonl exists, and may hold answers"):
        export_tasks("validity", [str(tmp_path / "built")], tmp_path / "v.jsonl", seed=1)
    assert before == {path: path.read_bytes() for path in tmp_path.glob("*.*")}
    export_tasks(
        "validity", [str(tmp_path / "built")], tmp_path / "v.jsonl", seed=3, overwrite=True
    )
    assert (tmp_path / "v-export.json").read_bytes() != before[tmp_path / "v-export.json"]
    with pytest.raises(OutputError, match="is one of the files to read"):
        import_answers([tmp_path / "v-1.jsonl"], tmp_path / "v-1.jsonl", overwrite=True)
    with pytest.raises(UsageError, match=r"must end in \.jsonl"):
        export_tasks("validity", [str(tmp_path / "built")], tmp_path / "v.csv")


def test_an_export_for_fewer_leaves_no_file_of_the_earlier_one(tmp_path: Path) -> None:
    exported(tmp_path, annotators=3)
    built = str(tmp_path / "built")
    (tmp_path / "v-4.jsonl").write_text("my own\n")
    with pytest.raises(OutputError, match="may hold answers"):
        export_tasks("validity", [built], tmp_path / "v.jsonl", annotators=1)
    done = export_tasks("validity", [built], tmp_path / "v.jsonl", annotators=1, overwrite=True)
    left = {path.name for path in tmp_path.glob("v-*")}
    assert left == {"v-1.jsonl", "v-4.jsonl", "v-instructions.md", "v-export.json"}
    (told,) = done.warnings
    assert told.startswith("removed files of the earlier export: ")
    assert [Path(name).name for name in told.partition(": ")[2].split(", ")] == [
        *("v-1.csv", "v-2.csv", "v-2.jsonl", "v-3.csv", "v-3.jsonl")
    ]
    assert len(list(tmp_path.glob("g-*"))) == 8
    again = export_tasks("validity", [built], tmp_path / "v.jsonl", annotators=1, overwrite=True)
    assert again.warnings == []


@pytest.mark.parametrize("content", [b"", b"[1]", b'{"files": {"1": ["../built/annotate"]}}'])
def test_the_earlier_export_is_not_trusted(tmp_path: Path, content: bytes) -> None:
    exported(tmp_path)
    (tmp_path / "v-export.json").write_bytes(content)
    export_tasks("validity", [str(tmp_path / "built")], tmp_path / "v.jsonl", overwrite=True)
    assert (tmp_path / "built" / "annotate" / "validity.jsonl").is_file()
    assert (tmp_path / "v-2.csv").is_file()


def test_a_source_is_not_written_over(tmp_path: Path) -> None:
    exported(tmp_path)
    source = tmp_path / "v-2.jsonl"
    before = source.read_bytes()
    for annotators in (1, 2):
        with pytest.raises(OutputError, match=r"v-2\.jsonl is one of the sources"):
            export_tasks(
                *("validity", [str(source)], tmp_path / "v.jsonl"),
                annotators=annotators,
                overwrite=True,
            )
    assert source.read_bytes() == before


def test_a_sample_is_of_the_same_items_whatever_the_answers(tmp_path: Path) -> None:
    sampled = []
    for word in ("first", "second"):
        tasks = [
            AnnotationTask.of("contains", f"q{n}#gold-1", {"text": f"{word} {n}", "fact": "f"})
            for n in range(9)
        ]
        built = build_of(tmp_path / word, tasks)
        export_tasks("contains", [str(built)], tmp_path / f"{word}.jsonl", sample=4)
        sampled.append([item_of(line["id"]) for line in read(tmp_path / f"{word}-1.jsonl")])
    assert sampled[0] == sampled[1]
    assert len(set(sampled[0])) == 4


def test_ids_with_a_digest_go_there_and_back(tmp_path: Path) -> None:
    tasks = [
        AnnotationTask.of("alignment", n, {"sentence": n, "citation": "c"})
        for n in ("=a", "1-2", "x~y")
    ]
    built = build_of(tmp_path / "built", tasks)
    export_tasks("alignment", [str(built)], tmp_path / "a.jsonl", csv=True)
    fill(tmp_path / "a-1.jsonl", lambda _: {"aligned": "yes"})
    fill_sheet(tmp_path / "a-2.csv", lambda _: {"aligned": "no"})
    import_answers(
        [tmp_path / "a-1.jsonl", tmp_path / "a-2.csv"], tmp_path / "labels.jsonl", tie="first"
    )
    labels = Label.read(tmp_path / "labels.jsonl", "alignment")
    assert labels.keys() == {task.id for task in tasks}
    assert {task.item for task in tasks} == {"=a", "1-2", "x~y"}


def test_labels_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with pytest.raises(InputError, match="cannot be read"):
        Label.read(path, "validity")
    path.write_text('\ufeff{"kind":"validity","id":"a"}\r\n\r\n{"kind":"validity","id":"a"}\n')
    with pytest.raises(InputError, match=r"line 3: task 'a' already has a label in line 1"):
        Label.read(path, "validity")
    path.write_bytes(b'{"kind":"validity","id":"\xff"}\n')
    with pytest.raises(InputError, match="line 1: not a label"):
        Label.read(path, "validity")
    path.write_text('{"kind":"contains","id":"a"}\n')
    assert Label.read(path, "validity") == {}


_CELLS = st.text(st.sampled_from([*"ab1 =+-@'\";,|\t\r\n\x0b", "\u2028"]), max_size=14)


@given(st.lists(_CELLS, min_size=1, max_size=4))
def test_no_program_finds_a_formula_however_it_splits(cells: list[str]) -> None:
    """Cells are in quotes, and no sign that some program splits at has a formula behind it."""
    assert [unguard(guard(cell)) for cell in cells] == cells
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["kind", *map(guard, cells)])
    text = out.getvalue()
    for sign in ",;\t|":
        rows = [*csv.reader(io.StringIO(text, newline=""), delimiter=sign)]
        rows += [*csv.reader(text.splitlines(), delimiter=sign)]
        rows += [line.split(sign) for line in text.splitlines() if sign != ","]
        for cell in (cell for row in rows for cell in row):
            assert not cell.strip().strip('"').strip().startswith(("=", "+", "-", "@")), text
