"""Corpora as they are published, and as users have them."""

from __future__ import annotations

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import zstandard
from tests.wings.search.corpus_files import write_bz2, write_tsv

from trueground.errors import InputError, UsageError
from trueground.records.data_path import DataPath
from trueground.wings.search.corpus import CorpusReading, corpus_files, read_corpus, read_entries
from trueground.wings.search.store import PassageEntry, PassageStore

DPR = [
    ("1", 'Aaron ("the Exalted")\nis a prophet.', "Aaron"),
    ("2", '"Quoted" from the start, with a\ttab', '"Weird Al" Yankovic'),
    ("3", "Ægir & 海", ""),
]
DPR_ENTRIES = [
    PassageEntry('Aaron ("the Exalted")\nis a prophet.', "1", "Aaron", "Aaron"),
    PassageEntry('"Quoted" from the start, with a\ttab', "2", *('"Weird Al" Yankovic',) * 2),
    PassageEntry("Ægir & 海", "3", None, None),
]
USUAL = CorpusReading()


def read(path: Path, reading: CorpusReading = USUAL) -> list[PassageEntry]:
    return list(read_entries(path, reading))


def noted(path: Path, reading: CorpusReading = USUAL) -> tuple[list[PassageEntry], list[str]]:
    notes: list[str] = []
    return list(read_entries(path, reading, notes.append)), notes


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A folder of documents with links of all kinds, within it and out of it."""
    docs, outside = tmp_path / "docs", tmp_path / "outside"
    (docs / "sub").mkdir(parents=True)
    (outside / "deep").mkdir(parents=True)
    (docs / "a.md").write_text("# A\n\nA text.")
    (docs / "sub" / "b.md").write_text("# B\n\nB text.")
    for name in ("secret.md", "deep/key.md", "deep/key.bin"):
        (outside / name).write_text(f"# Secret\n\nThe text of {name}.")
    (docs / "same.md").symlink_to("a.md")
    (docs / "around.md").symlink_to(outside / ".." / "docs" / "a.md")
    (docs / "within").symlink_to("sub")
    (docs / "loop").symlink_to(".")
    (docs / "self.md").symlink_to("self.md")
    (docs / "gone.md").symlink_to(outside / "gone.md")
    (docs / "odd.bin").symlink_to(outside / "deep" / "key.bin")
    (docs / "leak.md").symlink_to("../outside/secret.md")
    (docs / "twice.md").symlink_to("leak.md")
    (docs / "deep").symlink_to(outside / "deep")
    (docs / "up").symlink_to(tmp_path)
    return docs


def test_links_out_of_a_folder_are_followed_only_where_that_is_asked(linked: Path) -> None:
    inside = ["a.md", "around.md", "same.md", "sub/b.md"]

    def names(files: list[Path]) -> list[str]:
        return [file.relative_to(linked).as_posix() for file in files]

    assert names(corpus_files(linked)) == inside
    entries, [told] = noted(linked)
    assert {entry.page for entry in entries} == set(inside)
    assert told.startswith(f"left out 4 links out of {linked}, first {linked}/deep;")
    assert "--follow-links" in told
    followed = CorpusReading(follow_links=True)
    entries, notes = noted(linked, followed)
    pages = {entry.page for entry in entries}
    assert {"leak.md", "twice.md", "deep/key.md", *inside} <= pages
    assert notes == []
    # Each folder once, whichever way leads there.
    assert names(corpus_files(linked, followed)).count("sub/b.md") == 1
    assert sum("key.md" in page for page in pages if page) == 1
    # What the user names is meant, be it a link.
    (linked.parent / "shelf").symlink_to(linked / "deep")
    assert [entry.page for entry in read(linked.parent / "shelf")] == ["key.md"]
    assert [entry.page for entry in read(linked / "leak.md")] == ["leak.md"]


def test_a_folder_of_links_alone_says_so(tmp_path: Path) -> None:
    (tmp_path / "snapshot").mkdir()
    (tmp_path / "blob").write_text('{"text": "A text."}\n')
    (tmp_path / "snapshot" / "rows.jsonl").symlink_to(tmp_path / "blob")
    with pytest.raises(
        InputError, match=r"no files of a corpus.*left out 1 link out of.*--follow-links"
    ):
        read(tmp_path / "snapshot")
    assert len(read(tmp_path / "snapshot", CorpusReading(follow_links=True))) == 1
    with pytest.raises(InputError, match=r"rows.jsonl is a link that leads out of the folder"):
        read_corpus(tmp_path / "snapshot")
    # Copies of data, such as those of a hub, are made of links.
    assert len(DataPath(tmp_path / "snapshot").files()) == 1


@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_dpr(tmp_path: Path, packing: str) -> None:
    path = write_tsv(tmp_path / "psgs_w100.tsv", DPR)
    if packing:
        pack = gzip.compress if packing == ".gz" else zstandard.compress
        packed = path.with_name(path.name + packing)
        packed.write_bytes(pack(path.read_bytes()))
        path = packed
    assert read(path) == DPR_ENTRIES


def test_dpr_as_its_own_code_reads_loose_quotes(tmp_path: Path) -> None:
    path = tmp_path / "psgs.tsv"
    path.write_text('id\ttext\ttitle\n1\t"So" he said "x"\t5" gun\n\n2\tb\tT\n')
    assert [entry[:3] for entry in read(path)] == [
        ('So he said "x"', "1", '5" gun'),
        ("b", "2", "T"),
    ]


def test_topiocqa_pages_are_what_stands_before_the_separator(tmp_path: Path) -> None:
    path = write_tsv(
        tmp_path / "full_wiki_segments.tsv",
        [("5", "Text.", "Byzantine Empire [SEP] Early history"), ("6", "More.", "Rome [SEP] ")],
    )
    assert read(path) == [
        PassageEntry("Text.", "5", "Byzantine Empire [SEP] Early history", "Byzantine Empire"),
        PassageEntry("More.", "6", "Rome [SEP]", "Rome"),
    ]
    store = PassageStore.write(tmp_path / "s", read_entries(path))
    assert store.number("wiki:6") == 1
    assert store.numbers_of_title("byzantine empire") == [0]
    assert store.numbers_of_title("Byzantine Empire [SEP] Early history") == [0]


HEADER = b"id\ttext\ttitle\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            HEADER + b"1\ta\tT\n2\tb",
            r"p\.tsv, row 2: found 2 cells; expected 3, separated by tabs: id",
        ),
        (HEADER + b"1\ta\xff\tT\n", r"p\.tsv, row 1, field 'text': .*broken UTF-8; expected UTF-8"),
        (HEADER + b"1\ta\0\tT\n", r"p\.tsv, row 1, field 'text': found a NUL character"),
        (HEADER + b"1\t \tT\n", r"p\.tsv, row 1, field 'text': found blank text; expected some"),
        (
            HEADER + b"1\ta\t\n2\tb\t\n1\tc\t\n",
            r"row 3, field 'id': found '1' as in .*p\.tsv, row 1",
        ),
        (
            HEADER + b'1\t"a\tT\n2\tb\tT\n',
            r"p\.tsv, row 1: found 2 cells; .*quotation mark not clo",
        ),
        (b"", r"p\.tsv is empty"),
    ],
)
def test_wrong_rows_of_dpr(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "p.tsv"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        read(path)


def test_a_cut_off_archive(tmp_path: Path) -> None:
    path = tmp_path / "p.tsv.gz"
    path.write_bytes(gzip.compress(HEADER + b"1\ta\tT\n" * 9)[:-9])
    with pytest.raises(InputError, match=r"p\.tsv\.gz is cut off"):
        read(path)


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "tsv", "parquet"])
def test_rows_of_every_format(tmp_path: Path, ending: str) -> None:
    rows = [
        {"docid": "d1", "contents": "One.", "title": "First page"},
        {"docid": "d2", "contents": "Two, 2.", "title": "Second page"},
    ]
    path = tmp_path / f"p.{ending}"
    if ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif ending == "json":
        path.write_text(json.dumps(rows))
    elif ending == "parquet":
        pl.DataFrame(rows).write_parquet(path)
    else:
        pl.DataFrame(rows).write_csv(path, separator="\t" if ending == "tsv" else ",")
    assert read(path) == [
        PassageEntry("One.", "d1", "First page", "First page"),
        PassageEntry("Two, 2.", "d2", "Second page", "Second page"),
    ]


def test_beir_and_the_names_that_win(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    rows = [
        {"_id": "M-10", "title": "", "text": "Text.", "metadata": {"text": "x"}},
        {"_id": "no", "id": 5, "text": "T.", "contents": "no", "docid": "no"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read(path) == [PassageEntry("Text.", "M-10"), PassageEntry("T.", "5")]


def test_ids_are_numbers_through_a_folder_where_rows_have_none(tmp_path: Path) -> None:
    for name in ("b/x", "a"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.jsonl").write_text(f'{{"text": "{name}"}}\n{{"text": "y"}}\n')
    (tmp_path / ".hidden.jsonl").write_text("{}")
    (tmp_path / "README").write_text("about")
    assert [entry[:2] for entry in read(tmp_path)] == [
        ("a", "0"),
        ("y", "1"),
        ("b/x", "2"),
        ("y", "3"),
    ]
    assert corpus_files(tmp_path) == [tmp_path / "a.jsonl", tmp_path / "b" / "x.jsonl"]


HOTPOT = [
    {
        "id": "12",
        "url": "https://en.wikipedia.org/wiki?curid=12",
        "title": "Anarchism",
        "text": ["Anarchism is a philosophy.", " It holds the state to be harmful."],
        "charoffset": [[[0, 9]], []],
    },
    {"id": "25", "url": "u", "title": "Empty", "text": []},
    {"id": "26", "url": "u", "title": "Blank", "text": [" ", ""]},
    {"id": "39", "url": "u", "title": "Albedo", "text": ["Albedo is a share.", "No blank before."]},
]
WHOLE = {
    "id": "40",
    "url": "u",
    "title": "Whole",
    "text": [["Whole"], [" "], ["First.", " Introduction."], ["Later."]],
}


def test_hotpot_wikipedia(tmp_path: Path) -> None:
    write_bz2(tmp_path / "AB" / "wiki_00.bz2", [WHOLE])
    write_bz2(tmp_path / "AA" / "wiki_07.bz2", HOTPOT)
    entries, notes = noted(tmp_path)
    assert entries == [
        PassageEntry(
            "Anarchism is a philosophy. It holds the state to be harmful.",
            "12",
            *("Anarchism",) * 2,
        ),
        PassageEntry("Albedo is a share. No blank before.", "39", "Albedo", "Albedo"),
        PassageEntry("First. Introduction.", "40", "Whole", "Whole"),
    ]
    place = tmp_path / "AA" / "wiki_07.bz2"
    assert notes == [f"{tmp_path}: left out 2 pages without text, first {place}, line 2"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            bz2.compress(b'{"id": "1"}\n'),
            r"wiki_00\.bz2, line 1: found object \{id\}; expected id,",
        ),
        (bz2.compress(b'{"text": 5}\n'), r"line 1, field 'text': found int 5"),
        (
            bz2.compress(b'{"text": ["a", 5]}\n'),
            r"line 1, field 'text': found list of 2, \[\"a\", 5\]",
        ),
        (bz2.compress(b'{"text": \n'), r"wiki_00\.bz2, line 1: found a JSON syntax error"),
        (bz2.compress(b'{"text": "x"}\n' * 99)[:-9], r"wiki_00\.bz2 is cut off"),
        (b"no archive", r"wiki_00\.bz2 is not a sound bzip2 archive: Invalid data stream"),
        (
            bz2.compress(b'{"id": 1, "text": "x"}\n' * 2),
            r"line 2, field 'id': found '1' as in .*line 1",
        ),
    ],
)
def test_wrong_files_of_hotpot(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "wiki_00.bz2").write_bytes(data)
    with pytest.raises(InputError, match=message):
        read(tmp_path)


MAP = {
    "0": {"title": "A [b] {c}", "text": 'With "quotes", ] and } \\ in it.'},
    "1": {"title": "B", "text": " "},
    "2": {"title": "C", "text": "x" * 600_000},
    "3": ["D", "As a list."],
}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("packing", ["", ".gz"])
def test_map_of_multi_hop_dense_retrieval(tmp_path: Path, indent: int | None, packing: str) -> None:
    path = tmp_path / f"wiki_id2doc.json{packing}"
    data = ("\n" + json.dumps(MAP, indent=indent)).encode()
    path.write_bytes(gzip.compress(data) if packing else data)
    entries, notes = noted(path)
    assert entries == [
        PassageEntry('With "quotes", ] and } \\ in it.', "0", "A [b] {c}", "A [b] {c}"),
        PassageEntry("x" * 600_000, "2", "C", "C"),
        PassageEntry("As a list.", "3", "D", "D"),
    ]
    assert notes == [f"{path}: left out 1 page without text, first {path}, entry '1'"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"0": {"text": "a"}, "1": {"text": 5}}',
            r"m\.json, entry '1', field 'text': found int 5",
        ),
        ('{"0": {"text": "a"}, "1": "b"}', r"m\.json, entry '1': found str \"b\"; expected an obj"),
        ('{"0": {"text": "a"}, "1": {"te', r"m\.json, entry 2: found .*middle of a record"),
        (
            '{"0": {"text": "a"}, "1": {"text": "b"}',
            r"m\.json, entry 2: found the file ends in the middle of a record",
        ),
        ('{"0": {"text": "a"}} {}', r"m\.json: found .* after the end"),
        ('{"0": {"text": "a"}, "0": {"text": "b"}}', r"field 'id': found '0' as in"),
    ],
)
def test_wrong_maps(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read(path)


def test_json_lines_in_a_json_file_are_rows(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text('{"text": "a", "id": "x"}\n{"text": "b", "id": "y"}\n')
    assert read(path) == [PassageEntry("a", "x"), PassageEntry("b", "y")]


def files(*names: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        for name in names:
            (folder / name).write_text('{"text": "x"}\n')
        return folder

    return make


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            files("a.jsonl", "b.md"),
            r"both documents \(.*b\.md\) and data files \(.*a\.jsonl\); put",
        ),
        (files("a.bz2", "b.txt"), r"both documents \(.*b\.txt\) and data files \(.*a\.bz2\)"),
        (files("a.docx", ".b.txt"), r"has no files of a corpus; expected names that end in \.txt"),
        (lambda folder: folder / "no", r"no does not exist"),
    ],
)
def test_folders_that_cannot_be_meant(
    tmp_path: Path, make: Callable[[Path], Path], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        corpus_files(make(tmp_path))


def test_an_unknown_ending(tmp_path: Path) -> None:
    path = tmp_path / "corpus"
    path.write_text('{"text": "x"}\n')
    assert read(path) == [PassageEntry("x", "0")]
    path.write_text("Plain words.")
    with pytest.raises(InputError, match=r"unknown format; expected a name .*\.pdf \(docu"):
        read(path)


@pytest.mark.parametrize(("words", "overlap"), [(0, 0), (5, -1)])
def test_readings_that_cannot_be_meant(words: int, overlap: int) -> None:
    with pytest.raises(UsageError, match="expected"):
        CorpusReading(words, overlap)


def test_signatures_differ_where_passages_may() -> None:
    readings = [
        CorpusReading(),
        CorpusReading(words=50),
        CorpusReading(overlap=1),
        CorpusReading(skip_unreadable=True),
    ]
    assert len({reading.signature for reading in readings}) == 4
    assert CorpusReading().signature == "reading-1:words=100,overlap=0"
