"""Corpora from the files they come in."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from trueground.errors import InputError
from trueground.types import Passage
from trueground.wings.search.corpus import read_corpus, read_title
from trueground.wings.search.store import PassageStore, page_key

LISZT = "https://en.wikipedia.org/wiki/Lisztomania"
SHARED = Path(__file__).parents[4] / "shared" / "data" / "truly-ground"


def save(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def published(tmp_path: Path, texts: object, titles: object) -> PassageStore:
    return read_corpus(save(tmp_path / "t.json", texts), save(tmp_path / "n.json", titles))


def test_the_published_files(tmp_path: Path) -> None:
    corpus = published(
        tmp_path,
        {"L_DOC0": "A frenzy.", "L_DOC1": "Ein Rausch."},
        {"L_DOC1": "Plain", "L_DOC0": f"Title: Lisztomania [{LISZT}]\n"},
    )
    assert len(corpus) == 2
    assert corpus[0] == Passage("A frenzy.", id="L_DOC0", title="Lisztomania", source=LISZT)
    assert corpus[1] == Passage("Ein Rausch.", id="L_DOC1", title="Plain", source="Plain")
    assert corpus.page_keys(0) == {page_key(LISZT), "lisztomania"}


@pytest.mark.parametrize(
    ("texts", "titles", "message"),
    [
        ({"a": "x", "b": "y"}, {"a": "T"}, r"n\.json has no entry 'b'.*same ids"),
        ({"a": "x"}, {"a": "T", "b": "T"}, r"t\.json has no entry 'b'.*same ids"),
        ({"a": " "}, {"a": "T"}, r"t\.json, entry 'a': found blank text; expected a text"),
        ({"a": "x"}, {"a": 5}, r"n\.json, entry 'a': found int 5; expected a text"),
        (["x"], {"a": "T"}, r"t\.json: found list of 1; expected a JSON object"),
    ],
)
def test_published_files_that_are_wrong(
    tmp_path: Path, texts: object, titles: object, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        published(tmp_path, texts, titles)


def test_published_files_that_cannot_be_read(tmp_path: Path) -> None:
    good = save(tmp_path / "t.json", {"a": "x"})
    with pytest.raises(InputError, match=r"can't read .*none\.json: No such file"):
        read_corpus(good, tmp_path / "none.json")
    broken = tmp_path / "n.json"
    broken.write_text('{"a": ')
    with pytest.raises(InputError, match=r"n\.json isn't valid JSON"):
        read_corpus(good, broken)


ROWS = [
    {"text": "One.", "title": "First page", "id": "p1", "page": "https://host/First_page"},
    {"text": "Two.", "title": "First page", "id": "p2"},
    {"text": "Three.", "id": "p3"},
]
PASSAGES = [
    Passage("One.", id="p1", title="First page", source="https://host/First_page"),
    Passage("Two.", id="p2", title="First page", source="First page"),
    Passage("Three.", id="p3"),
]


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "parquet"])
def test_plain_rows(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"passages.{ending}"
    if ending == "jsonl":
        file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif ending == "json":
        save(file, ROWS)
    elif ending == "csv":
        pl.DataFrame(ROWS).write_csv(file)
    else:
        pl.DataFrame(ROWS).write_parquet(file)
    corpus = read_corpus(file)
    assert list(corpus) == PASSAGES
    assert corpus.page_keys(2) == frozenset()


def test_rows_without_ids_are_numbered_through_all_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text('{"text": "x"}\n{"text": "y"}\n')
    assert [one.id for one in read_corpus(tmp_path)] == ["0", "1", "2", "3"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({}, r"p\.jsonl, line 2: found no field 'text'; expected the passage's text"),
        ({"text": " "}, r"p\.jsonl, line 2, field 'text': found blank text"),
        ({"text": 5}, r"p\.jsonl, line 2, field 'text': found int 5; expected a text"),
        ({"text": "x", "title": ["T"]}, r"line 2, field 'title': found list of 1"),
        ({"text": "x", "id": True}, r"line 2, field 'id': found bool true; expected a text or"),
        ({"text": "x", "id": 7}, r"line 2, field 'id': found '7' as in .*p\.jsonl, line 1; "),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, row: dict[str, object], message: str) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text(json.dumps({"text": "x", "id": "7"}) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(InputError, match=message):
        read_corpus(file)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Title: Lisztomania [{LISZT}]\n", ("Lisztomania", LISZT)),
        ("Title: Holden Commodore (VX)\n", ("Holden Commodore (VX)", "Holden Commodore (VX)")),
        ("Title: Vowel [disambiguation]", ("Vowel [disambiguation]",) * 2),
        ("NPR ", ("NPR", "NPR")),
        ("", (None, None)),
    ],
)
def test_titles(text: str, expected: tuple[str | None, str | None]) -> None:
    assert read_title(text) == expected


def test_pages_are_compared_without_case_and_underscores() -> None:
    assert page_key("Lady_Xian ") == page_key("lady xian") != page_key("Lady Xi")


@pytest.mark.skipif(not SHARED.exists(), reason="the published Truly-Ground files are not here")
def test_the_real_corpus() -> None:
    corpus = read_corpus(SHARED / "localDocId2localDocText.json", SHARED / "localDocId2title.json")
    assert len(corpus) == 2620
    assert corpus[0].title == "Lisztomania"
    assert all(str(one.source).startswith("https://") for one in corpus)
