"""Documents of every kind of file: what is kept, and under which reason the rest is left out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from trueground.errors import InputError
from trueground.options.parsing import parse_options
from trueground.wings.papers.builders.base import Rejected
from trueground.wings.papers.builders.flow import read_source
from trueground.wings.papers.builders.grounding import GroundingBuildOptions
from trueground.wings.papers.builders.grounding.documents import REASONS, DocumentLibrary
from trueground.wings.papers.builders.grounding.items import SourceDocument
from trueground.wings.papers.builders.settings import Material


def _library(
    *paths: Path, limit: int | None = None, notes: Any = None, **options: Any
) -> DocumentLibrary:
    given = {key.replace("_", "-"): str(value) for key, value in options.items()}
    note = notes.append if notes is not None else lambda _: None
    settled = parse_options(GroundingBuildOptions, "build grounding", given)
    return DocumentLibrary(Material(paths=paths, limit=limit, note=note), settled)


def _read(library: DocumentLibrary) -> tuple[dict[str, SourceDocument], dict[str, str]]:
    """(documents by id, reasons by id)."""
    found = list(library.source.read())
    dropped = [one for one in found if isinstance(one, Rejected)]
    assert {one.reason for one in dropped} <= set(REASONS)
    assert all(one.detail for one in dropped)
    kept = {one.id: one for one in found if isinstance(one, SourceDocument)}
    return kept, {one.id: one.reason for one in dropped}


def _rows(path: Path, *rows: Any) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


GOOD = (
    {"id": "a", "title": "Kell", "text": "Kell is a rock.", "views": 10, "links": ["Orvane", "a"]},
    {"title": "Orvane", "text": "Orvane is an island by [[Kell|the rock]].", "views": "1,200"},
    {"id": 7, "text": "Words without a title.\r\n\r\nAnd more.", "views": 3, "links": []},
)
A, ORVANE, SEVEN = (
    SourceDocument("a", "Kell", "Kell is a rock.", 10.0, ("Orvane",)),
    SourceDocument("Orvane", "Orvane", "Orvane is an island by the rock.", 1200.0, ("a",)),
    SourceDocument("7", "7", "Words without a title.\n\nAnd more.", 3.0, ()),
)


def test_rows_good_and_bad(tmp_path: Path) -> None:
    """Each bad row falls under its reason; the good ones are as they were without them."""
    bad: dict[str, tuple[Any, str]] = {
        "no-text": ({"id": "no-text", "title": "T", "views": 1}, "empty"),
        "blank": ({"id": "blank", "text": " \n\t ", "views": 1}, "empty"),
        "dots": ({"id": "dots", "text": "… — !", "views": 1}, "empty"),
        "long": ({"id": "long", "text": "word " * 31, "views": 1}, "too_long"),
        "Orvane": ({"id": "Orvane", "text": "Another text.", "views": 1}, "duplicate_id"),
        "copy": ({"id": "copy", "text": "KELL is\n a  rock.", "views": 1}, "duplicate_text"),
        "list": ({"id": "list", "text": ["x"], "views": 1}, "bad_field"),
        "links": ({"id": "links", "text": "Some text.", "links": {"a": 1}}, "bad_field"),
        "many": ({"id": "many", "text": "Other text.", "views": "many"}, "bad_field"),
        "true": ({"id": "true", "text": "More text.", "views": True}, "bad_field"),
        "odd": ({"id": "odd", "text": "\x01\x02\x03\x04 abc", "views": 1}, "binary"),
        "nul": ('{"id": "nul", "text": "a\\u0000b"}', "binary"),
    }
    rows = [*GOOD, *(row for row, _ in bad.values()), "{not JSON", "[1, 2]", '"text"']
    kept, reasons = _read(_library(_rows(tmp_path / "d.jsonl", *rows), max_document_words=30))
    assert list(kept.values()) == [A, ORVANE, SEVEN]
    broken = {"d.jsonl:16", "d.jsonl:17", "d.jsonl:18"}
    named = {name if name not in ("list", "links", "odd") else None for name in reasons}
    assert named >= {*broken, *(set(bad) - {"list", "links", "odd"})}
    assert {reasons[one] for one in broken} == {"unreadable"}
    for name, (_, reason) in bad.items():
        place = f"d.jsonl:{4 + list(bad).index(name)}"
        assert reasons.get(name) == reason or reasons.get(place) == reason, name
    assert len(kept) + len(reasons) == len(rows)


@pytest.mark.parametrize("ending", ["json", "csv", "parquet"])
def test_the_same_documents_in_other_formats(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"d.{ending}"
    if ending == "json":
        path.write_text(json.dumps(GOOD), encoding="utf-8")
    else:
        table = pl.DataFrame(
            {
                "id": ["a", None, "7"],
                "title": ["Kell", "Orvane", None],
                "text": [row["text"] for row in GOOD],
                "views": [10, 1200, 3],
                "links": ['["Orvane", "a"]', "a|nowhere", "[]"],
            }
        )
        table.write_csv(path) if ending == "csv" else table.write_parquet(path)
    kept, reasons = _read(_library(path))
    assert list(kept.values()) == [A, ORVANE, SEVEN]
    assert reasons == {}


def test_a_file_cut_off_in_the_middle_gives_what_stands_before(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps(GOOD)[:-40], encoding="utf-8")
    kept, reasons = _read(_library(path))
    assert list(kept) == ["a", "Orvane"]
    assert list(reasons.values()) == ["unreadable"]


def _folder(root: Path) -> Path:
    (root / "deep").mkdir(parents=True)
    (root / "kell.md").write_text(
        "---\ntitle: Kell Rock\n---\n# Kell\n\nA rock by [the light](deep/light.html#top), "
        "[nothing](gone.md) and [[Orvane|an island]].\n\n```\n[x](deep/light.html)\n```\n"
    )
    (root / "deep" / "light.html").write_text(
        "<html><head><title>The Light</title></head><body><nav><a href='../plain.txt'>home</a>"
        "</nav><p>It stands on <a href='../kell.md'>Kell</a>, <a href='https://example.org'>or</a>"
        " elsewhere.</p></body></html>"
    )
    (root / "plain.txt").write_text("See [the rock](kell.md) and [[The Light]].\n")
    (root / "orvane.txt").write_text("Orvane is an island.\n")
    return root


META = (
    {"path": "kell.md", "views": 10},
    {"title": "the light", "views": 20},
    {"id": "orvane.txt", "views": 30, "links": ["kell"]},
)


def test_a_folder_of_documents(tmp_path: Path) -> None:
    root, notes = _folder(tmp_path / "docs"), []
    meta = _rows(root / "meta.jsonl", *META, {"path": "gone.md", "views": 1})
    (root / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    (root / "noise.txt").write_bytes(os.urandom(64) + b"\0\xff")
    (root / "wide.md").write_text("# Heading\n\0")
    (root / "blank.md").write_text("\n")
    (root / ".hidden.txt").write_text("Not read.")
    (root / "copy.txt").write_text("Orvane is an\nisland.")
    (root / "bad.txt").write_text("[x](http://[bad) [y](javascript:z) [[]] [[#a]] [z](%00%ff)")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.txt")).write_text("Its name is no text.")
    library = _library(root, meta=meta, notes=notes)
    kept, reasons = _read(library)
    assert {one: (d.title, d.popularity, d.links) for one, d in kept.items()} == {
        "bad.txt": ("bad", None, ()),
        "copy.txt": ("copy", None, ()),
        "deep/light.html": ("The Light", 20.0, ("kell.md",)),
        "kell.md": ("Kell Rock", 10.0, ("deep/light.html", "copy.txt")),
        "plain.txt": ("plain", None, ("kell.md", "deep/light.html")),
    }
    assert kept["kell.md"].text.startswith("A rock by the light, nothing and an island.")
    assert kept["plain.txt"].text == "See the rock and The Light."
    assert reasons == {
        "orvane.txt": "duplicate_text",
        "noise.txt": "binary",
        "wide.md": "binary",
        "blank.md": "empty",
        "picture.png": "other_kind",
        "\\udcff.txt": "unreadable",
    }
    assert any("gone.md" not in note and "1 row is about no document" in note for note in notes)
    names = {Path(info.path).name for info in library.files}
    assert {"meta.jsonl", "kell.md", "light.html", "noise.txt"} <= names
    assert not names & {"picture.png", ".hidden.txt"}


def test_links_of_the_side_file_replace_those_of_the_text(tmp_path: Path) -> None:
    root = _folder(tmp_path / "docs")
    kept, _ = _read(_library(root, meta=_rows(tmp_path / "meta.jsonl", *META)))
    assert kept["orvane.txt"].links == ("kell.md",)
    assert kept["orvane.txt"].popularity == 30.0


def test_a_side_file_that_cannot_be_meant(tmp_path: Path) -> None:
    root = _folder(tmp_path / "docs")
    for row, said in (
        ({"views": 3}, "names no document"),
        ({"path": ["x"]}, "field 'path'"),
        ({"path": "kell.md", "links": 3}, "field 'links'"),
        ({"path": "kell.md", "views": "many"}, "m.jsonl, line 1, field 'views': found str"),
        ({"path": "gone.md", "pageviews": [1]}, "m.jsonl, line 1, field 'pageviews'"),
        ("{", "syntax error"),
    ):
        with pytest.raises(InputError, match=said):
            _read(_library(root, meta=_rows(tmp_path / "m.jsonl", row)))
    with pytest.raises(InputError, match="does not exist"):
        _read(_library(root, meta=tmp_path / "nowhere.jsonl"))


def test_links_as_popularity(tmp_path: Path) -> None:
    kept, _ = _read(_library(_folder(tmp_path / "docs"), popularity_field="links"))
    assert {one: d.popularity for one, d in kept.items()} == {
        "deep/light.html": 2.0,
        "kell.md": 2.0,
        "orvane.txt": 1.0,
        "plain.txt": 0.0,
    }


def test_no_number_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--popularity-field links"):
        _read(_library(_folder(tmp_path / "docs")))


def test_several_folders_keep_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text(f"The text of {name}. See [b](b.txt).")
        (tmp_path / name / "b.txt").write_text(f"The other text of {name}.")
    library = _library(tmp_path / "one", tmp_path / "two", popularity_field="links")
    kept, reasons = _read(library)
    assert kept["one/a.txt"].links == ("one/b.txt",)
    assert kept["two/a.txt"].links == ("two/b.txt",)
    assert reasons == {}


def test_enormous_files_are_not_even_opened(tmp_path: Path) -> None:
    rows = _rows(tmp_path / "d.jsonl", *GOOD)
    (tmp_path / "docs").mkdir()
    with (tmp_path / "docs" / "large.txt").open("wb") as file:
        file.truncate((100 << 20) + 1)
    kept, reasons = _read(_library(rows, tmp_path / "docs"))
    assert len(kept) == 3
    assert reasons == {"docs/large.txt": "enormous"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_files_and_folders(tmp_path: Path) -> None:
    root = _folder(tmp_path / "docs")
    (root / "kell.md").chmod(0)
    _, reasons = _read(_library(root, popularity_field="links"))
    assert reasons["kell.md"] == "unreadable"
    (root / "deep").chmod(0)
    try:
        with pytest.raises(InputError, match="deep cannot be read: Permission denied"):
            _read(_library(root, popularity_field="links"))
    finally:
        (root / "deep").chmod(0o700)


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    root = _folder(tmp_path / "docs")
    os.mkfifo(root / "pipe.txt")
    (root / "dangling.txt").symlink_to(root / "nowhere.txt")
    _, reasons = _read(_library(root, popularity_field="links"))
    assert {Path(one).name for one in reasons} == {"pipe.txt", "dangling.txt"}


def test_nothing_left(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"can be used \(2 empty, 1 unreadable; .*line 1"):
        _read(_library(_rows(tmp_path / "d.jsonl", {"text": ""}, {"text": "?"}, "{")))
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="found no document"):
        _read(_library(tmp_path / "none"))
    with pytest.raises(InputError, match="does not exist"):
        _read(_library(tmp_path / "nowhere"))
    (tmp_path / "noise").write_bytes(b"\x7fELF\0\0\xff")
    with pytest.raises(InputError, match="found no document"):
        _read(_library(tmp_path / "noise"))


def test_the_limit_is_the_frames_and_counts_what_it_leaves_out(tmp_path: Path) -> None:
    path = _rows(tmp_path / "d.jsonl", {"text": ""}, *GOOD)
    library = _library(path, limit=2)
    kept, account, left_out = read_source(library.source, 2)
    assert [one.id for one in kept] == ["a", "Orvane"]
    assert [one.reason for one in account.rejected] == ["empty"]
    assert left_out == 1
    assert len(library.passages) == 3, "all of them can be distractors"


def test_what_is_said_of_documents_without_use(tmp_path: Path) -> None:
    path = _rows(tmp_path / "d.jsonl", *GOOD, {"text": "word " * 31}, {"text": "—"}, {"id": "n"})
    found = list(_library(path, max_document_words=30).source.read())
    assert [one.detail.partition("line ")[2] for one in found if isinstance(one, Rejected)] == [
        "4: 31 words; 30 at most",
        "5: found 1 characters without a letter or digit",
        "6: found no text",
    ]


def test_a_number_is_no_text(tmp_path: Path) -> None:
    path = _rows(tmp_path / "d.jsonl", *GOOD, {"id": "x", "text": 12}, {"text": "T.", "url": 5})
    _, reasons = _read(_library(path))
    assert reasons == {"d.jsonl:4": "bad_field", "d.jsonl:5": "bad_field"}


def test_a_long_title_is_cut_and_still_linked_to(tmp_path: Path) -> None:
    long = "Orvane " * 4_000
    rows = [
        {"title": long, "text": "An island.", "views": 1},
        {"id": "b", "title": "B", "text": "By the island.", "views": 2, "links": [long]},
    ]
    kept, _ = _read(_library(_rows(tmp_path / "d.jsonl", *rows)))
    first, second = kept.values()
    assert len(first.title) <= 200
    assert first.title.startswith("Orvane Orvane")
    assert first.title.endswith("…")
    assert second.links == (first.id,)


def test_links_of_the_file_system(tmp_path: Path) -> None:
    """A link to a file there is that file; one out of the folder, or to a folder, is only named."""
    root = _folder(tmp_path / "docs")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "far.txt").write_text("A text from afar.")
    (root / "far.txt").symlink_to(tmp_path / "other" / "far.txt")
    (root / "others").symlink_to(tmp_path / "other")
    (root / "hidden").mkdir()
    (root / "hidden" / ".text").write_text("A text from near.")
    (root / "near.txt").symlink_to("hidden/.text")
    kept, reasons = _read(_library(root, popularity_field="links"))
    assert kept["near.txt"].text == "A text from near."
    assert "far.txt" not in kept
    assert reasons == {"far.txt": "other_kind", "others": "other_kind"}


def test_the_source_is_the_plans(tmp_path: Path) -> None:
    path = _rows(tmp_path / "d.jsonl", *GOOD)
    source = _library(path).source
    assert source.output_type is SourceDocument
    assert list(source.read()) == list(source.read()) == [A, ORVANE, SEVEN]


def test_the_example_documents() -> None:
    root = Path(__file__).parents[5] / "src/trueground/wings/papers/builders/examples/grounding"
    kept, reasons = _read(_library(root / "documents.jsonl"))
    assert len(kept) == 10
    assert reasons == {"low-fen-company-2": "duplicate_text", "kell-rock": "empty"}
    assert all(one.links for one in kept.values())
