"""Truly-Ground's files: layouts, fields, answers, and errors that name the place."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.truly_ground_files import (
    META,
    NEEDS_SHARED,
    ORIGINAL,
    SHARED,
    VARN,
    data_folder,
    entries,
    url,
    write,
)

from trueground.benchmarks.data import fetch_data
from trueground.benchmarks.datasets import get_dataset
from trueground.errors import InputError, UsageError
from trueground.types import Passage
from trueground.wings.papers.truly_ground.source import (
    VersionQuestion,
    format_context,
    parse_context,
    parse_references,
    read_items,
)


def find_json(name: str, data: Path | None) -> Path:
    return get_dataset("truly-ground").find_json(name, data)


def read(folder: Path, version: str = "original_version") -> list[VersionQuestion]:
    return read_items(
        find_json(version, folder),
        find_json("qId2metaInfo", folder),
    )


def test_items_of_both_versions_in_the_same_order(tmp_path: Path) -> None:
    folder = data_folder(tmp_path)
    items = read(folder)
    assert [item.id for item in items] == ["Q2", "Q3", "Q10"]
    assert [item.id for item in read(folder, "revised_version")] == ["Q2", "Q3", "Q10"]
    assert items[0] == VersionQuestion(
        id="Q2",
        question="Who built the lighthouse of Varn?",
        references=("Ede Holm", "Holm"),
        facts=("Ede Holm built the lighthouse of Varn.", "It was built in 1871"),
        gold=(Passage(VARN, title="Varn", gold=True, source=url("Varn")),),
        popularity="high",
        contexts="single",
        answer="definite",
    )
    assert items[1].question == "Describe the mill of Ulmen."
    assert (items[1].references, items[1].answer) == ((), "free-form")
    assert items[2].references == ("four & Oster", "4 & Oster")
    assert (items[2].contexts, items[2].popularity) == ("multi", "low")
    revised = read(folder, "revised_version")
    assert revised[1].gold[0].title is None
    assert revised[2].references == ("six & Oster", "6 & Oster")


@pytest.mark.parametrize("metadata", [".", "metadata"])
def test_files_are_found_as_the_publisher_keeps_them(tmp_path: Path, metadata: str) -> None:
    data = data_folder(tmp_path / "clone" / "data", metadata)
    assert read(data) == read(data.parent)
    with pytest.raises(InputError, match=r"has no qId2distractor.json; found .*revised_version"):
        find_json("qId2distractor", data)
    with pytest.raises(InputError, match="is a file; expected the folder"):
        find_json("original_version", data / "original_version.json")
    with pytest.raises(InputError, match="does not exist"):
        find_json("original_version", tmp_path / "gone")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("", []),
        (" \n ", []),
        ("celluloid ", ["celluloid"]),
        ("19% | 19 percent| Nineteen percent", ["19%", "19 percent", "Nineteen percent"]),
        ("a & b", ["a & b"]),
        ("AT&T", ["AT&T"]),
        ("zero & four \n zero | 0 \n four | 4", ["zero & four", "zero & 4", "0 & four", "0 & 4"]),
        (r"one & two \n two | 2", ["one & two", "one & 2"]),
        ("yes | y & no", ["yes & no", "y & no"]),
        ("a | a", ["a"]),
    ],
)
def test_answers(answer: str, expected: list[str]) -> None:
    assert parse_references(answer) == expected


def test_answers_that_cannot_be_read() -> None:
    with pytest.raises(ValueError, match=r"'five \| 5', which isn't a part of 'four & Oster'"):
        parse_references("four & Oster \n five | 5")
    many = " & ".join(f"a{i} | b{i}" for i in range(11))
    with pytest.raises(ValueError, match="more than 1,000"):
        parse_references(many)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Title: A [https://x.org/A_(b)]\n\n\nT.", Passage("T.", None, "A", True, "https://x.org/A_(b)")),
        ("Title: A: B [http://x/A]\nT.\n\nU.", Passage("T.\n\nU.", None, "A: B", True, "http://x/A")),
        ("Title: A (x)\nT.", Passage("T.", None, "A (x)", True, None)),
        ("No title: a text.", Passage("No title: a text.", None, None, True, None)),
        ("Title: A [http://x/A]\n \n", None),
        ("Title: A [http://x/A]", None),
        ("", None),
    ],
)  # fmt: skip
def test_contexts(text: str, expected: Passage | None) -> None:
    found = parse_context(text, gold=True)
    assert found == expected
    if found is not None and found.title:
        assert format_context(found).startswith(f"Title: {found.title}")
        assert parse_context(format_context(found), gold=True) == found


def change(path: Path, key: str, **fields: Any) -> None:
    found = json.loads(path.read_bytes())
    found[key] = {k: v for k, v in {**found[key], **fields}.items() if v is not ...}
    write(path, found)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"qText": None}, "field 'qText': found null; expected a str"),
        ({"qText": "  "}, r"field 'qText': found str .*expected a str that is not blank"),
        ({"qText": ...}, "field 'qText': found no such field in object"),
        ({"qId": "Q9"}, "field 'qId': found str \"Q9\"; expected 'Q2'"),
        ({"answer": 5}, "field 'answer': found int 5"),
        ({"answer": "a & b \n c | d"}, "field 'answer': found alternatives of"),
        ({"atomic_texts": "x"}, "field 'atomic_texts': found str"),
        ({"atomic_texts": ["a", 1]}, r"field 'atomic_texts\[1\]': found int 1"),
        ({"atomic_texts": ["", " "]}, "field 'atomic_texts': found only blanks"),
        ({"context_list": []}, "field 'context_list': found only"),
        ({"context_list": ["Title: A [u]\n"]}, r"'context_list\[0\]': found a context without"),
    ],
)  # fmt: skip
def test_errors_name_file_question_and_field(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    folder = data_folder(tmp_path)
    change(folder / "original_version.json", "Q2", **fields)
    with pytest.raises(InputError, match=message) as error:
        read(folder)
    assert "original_version.json, qId 'Q2'" in str(error.value)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pop": "middling"}, "field 'pop': found str \"middling\"; expected high or low"),
        ({"has_multi": "no"}, "field 'has_multi': found str"),
        ({"has_answer": ...}, "field 'has_answer': found no such field"),
    ],
)
def test_factors_are_checked(tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    folder = data_folder(tmp_path)
    change(folder / "qId2metaInfo.json", "Q2", **fields)
    with pytest.raises(InputError, match=f"qId2metaInfo.json, qId 'Q2', {message}"):
        read(folder)
    write(folder / "qId2metaInfo.json", {key: META[key] for key in ("Q2", "Q10")})
    with pytest.raises(InputError, match="qId 'Q3': found no such entry"):
        read(folder)


def test_a_free_form_question_has_no_answer(tmp_path: Path) -> None:
    folder = data_folder(tmp_path)
    change(folder / "original_version.json", "Q3", answer="oats")
    with pytest.raises(InputError, match="qId 'Q3', field 'answer': found str \"oats\"; expected"):
        read(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "found the end of the file before the closing }"),
        (b"[]", "found no JSON object; expected a JSON object"),
        (b"{}", "found an empty object"),
        (b'{"Q1": NaN}', "entry 1: found NaN; expected a finite number"),
        (b'{"Q1": {}, "Q1": {}}', "found the entry 'Q1' twice; expected it once"),
        (b'{"Q1": {"a": 1, "a": 2}}', 'entry 1: found the key "a" twice in one object'),
        (b'{"Q1": "\xff"}', "entry 1: found invalid UTF-8"),
        (b'{"Q1": ' + b"[" * 100_000, "ends in the middle of a record|nested too deeply"),
        (b'{"Q1": "a\\ud800"}', "entry 1: found a lone surrogate"),
        (b'{"Q1": []}', "qId 'Q1': found list of 0; expected an object"),
        (b'{" ": {}}', "qId ' ', field 'qId': found no such field"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, content: bytes, message: str) -> None:
    folder = data_folder(tmp_path)
    (folder / "original_version.json").write_bytes(content)
    with pytest.raises(InputError, match=message) as error:
        read(folder)
    assert "original_version.json" in str(error.value)


def test_fetch_takes_a_clone_from_disk_and_never_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRUEGROUND_HOME", str(tmp_path / "home"))
    with pytest.raises(InputError, match="not fetched yet"):
        find_json("original_version", None)
    with pytest.raises(UsageError, match=r"GitHub.*--from PATH"):
        fetch_data("truly-ground")
    assert not (tmp_path / "home").exists()
    clone = data_folder(tmp_path / "How-Well-Do-LLMs-Truly-Ground" / "data", "metadata").parent
    found = fetch_data("truly-ground", from_path=clone)
    assert found.missing == ("qId2distractor",)
    assert len(found.files) == len(get_dataset("truly-ground").files) - 1
    fetched = read_items(
        find_json("original_version", None),
        find_json("qId2metaInfo", None),
    )
    assert fetched == read(clone)
    write(tmp_path / "flat" / "original_version.json", entries(ORIGINAL))
    assert [
        file.record.local for file in fetch_data("truly-ground", from_path=tmp_path / "flat").files
    ] == ["original_version.json"]


def test_the_declaration_is_light() -> None:
    code = (
        "import sys; from trueground.benchmarks.datasets import all_datasets; all_datasets(); "
        "print(sorted({'torch', 'tokenizers', 'bm25s', 'polars', 'aiohttp'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.skipif(not SHARED.exists(), reason=NEEDS_SHARED)
@pytest.mark.parametrize("version", ["original_version", "revised_version"])
def test_the_published_files(version: str) -> None:
    items = read(SHARED, version)
    assert len(items) == len({item.id for item in items}) == 480
    # Appendix A.7: 53.3 % high, 54.1 % definite (the nearest is 54.2), 16.7 % multi.
    assert Counter(item.popularity for item in items) == {"high": 256, "low": 224}
    assert Counter(item.answer for item in items) == {"definite": 260, "free-form": 220}
    assert Counter(item.contexts for item in items) == {"multi": 80, "single": 400}
    assert sum(len(item.gold) for item in items) == 682
    original = version == "original_version"
    assert sum(len(item.facts) for item in items) == (1970 if original else 2017)
    unanswered = [i.id for i in items if i.answer == "definite" and not i.references]
    assert unanswered == ([] if original else ["Q102", "Q111"])
    untitled = [item.id for item in items for one in item.gold if one.source is None]
    assert untitled == ([] if original else ["Q36", "Q36"])
    assert sum(any(" & " in r for r in item.references) for item in items) == (
        61 if original else 59
    )
    assert max(len(item.references) for item in items) <= 20
    assert all(ord(c) >= 32 for item in items for c in item.question)
