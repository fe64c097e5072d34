"""The user's own documents: their text, their titles, and where they are cut."""

from __future__ import annotations

import builtins
import logging
import re
from pathlib import Path
from types import ModuleType

import pypdf
import pytest
from hypothesis import given, strategies as st
from tests.wings.search.corpus_files import pdf

from trueground.errors import InputError, MissingExtraError
from trueground.wings.search.corpus import CorpusReading, read_entries
from trueground.wings.search.documents import Document
from trueground.wings.search.pdf_files import join_broken_words
from trueground.wings.search.sections import Section, split_paragraphs
from trueground.wings.search.store import PassageEntry

MARKDOWN = """\
# The guide

Intro with a [link](http://host/x), *emphasis* and `code`. It wraps
over two lines. <!-- not this -->

## Install

1. First do this.
2. Then that:
   - nested

```sh
pip install x  # comment
```

<script>var no = 1;</script>

### Table of parts

| part | price |
|------|-------|
| nut  | 1 €   |
| bolt | **2** |

![A bolt](bolt.png)

## Empty
"""
HTML = """\
<!DOCTYPE html>
<html><head><meta charset="utf-8"><title>Site – Page</title><style>p { color: red }</style></head>
<body><nav><a href="/">Home</a></nav><div role="navigation">Menu</div>
<script>var secret = "no";</script>
<h1>The <em>page</em></h1>
<p>Hello<br>world, this is <b>bo</b>ld &amp; <a href="x">linked</a>.
   Second sentence.<!-- hidden --></p>
<ul><li>one</li><li><p>two</p></li></ul>
<h2>Data</h2>
<table><tr><th>Part</th><th>Price</th></tr><tr><td>nut</td><td>1 <i>€</i></td></tr></table>
<pre>def f():
    return 1</pre>
<p hidden>unseen</p>Loose text.
<footer>Imprint</footer></body></html>
"""
USUAL = CorpusReading()


def read(path: Path, reading: CorpusReading = USUAL) -> list[PassageEntry]:
    return list(read_entries(path, reading))


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_markdown(tmp_path: Path) -> None:
    assert read(write(tmp_path / "guide.md", MARKDOWN)) == [
        PassageEntry(
            "Intro with a link, emphasis and code. It wraps over two lines.",
            "guide.md#0",
            "The guide",
            "guide.md",
        ),
        PassageEntry(
            "1. First do this.\n2. Then that:\n- nested\npip install x  # comment",
            "guide.md#1",
            "The guide › Install",
            "guide.md",
        ),
        PassageEntry(
            "part | price\nnut | 1 €\nbolt | 2\nA bolt",
            "guide.md#2",
            "The guide › Install › Table of parts",
            "guide.md",
        ),
    ]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: 'Front: matter'\nx: 1\n---\n# Head\n\nText.", "Front: matter › Head"),
        ("---\nx: 1\n---\nText.", "doc"),
        ("Title\n=====\n\nText.", "Title"),
        ("## Second\n\nText.", "Second"),
        ("# A\n## B\n# C\nText.", "A › C"),
        ("Text.\n", "doc"),
    ],
)
def test_titles_of_markdown(tmp_path: Path, text: str, title: str) -> None:
    entry = read(write(tmp_path / "doc.markdown", text))[-1]
    assert (entry.title, entry.text) == (title, "Text.")


def test_html(tmp_path: Path) -> None:
    assert read(write(tmp_path / "page.html", HTML)) == [
        PassageEntry(
            "Hello\nworld, this is bold & linked. Second sentence.\n- one\n- two",
            "page.html#0",
            "The page",
            "page.html",
        ),
        PassageEntry(
            "Part | Price\nnut | 1 €\ndef f():\n    return 1\nLoose text.",
            "page.html#1",
            "The page › Data",
            "page.html",
        ),
    ]


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>Named\n page</title><h2>Head</h2><p>Text.", "Named page › Head"),
        ("<h2>Head</h2><p>Text.", "Head"),
        ("<p>Text.", "doc"),
        ("<p>Site</p><main><h1>M</h1>Text.</main><p>More</p>", "M"),
        ("<p>Site</p><article>Text.</article>", "doc"),
        (
            '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><p>Text.</p></html>',
            "doc",
        ),
    ],
)
def test_titles_of_html(tmp_path: Path, html: str, title: str) -> None:
    entry = read(write(tmp_path / "doc.htm", html))[-1]
    assert (entry.title, entry.text) == (title, "Text.")


def test_a_page_within_a_form_is_read(tmp_path: Path) -> None:
    html = """
        <form id="aspnetForm"><p>The body of the page.</p>
        <label for="q">Your name</label><input value="x"><select><option>Red</option></select>
        <textarea>Write here</textarea><button>Send</button></form>
        <form role="search"><p>Search this site</p></form>
    """
    assert [entry.text for entry in read(write(tmp_path / "p.html", html))] == [
        "The body of the page."
    ]


def test_html_in_its_own_encoding(tmp_path: Path) -> None:
    html = '<meta charset="iso-8859-1"><p>Größe.</p>'.encode("latin-1")
    assert read(write(tmp_path / "p.html", html))[0].text == "Größe."


@pytest.mark.long
def test_html_that_is_nested_too_deeply(tmp_path: Path) -> None:
    deep = "<div>" * 50_000 + "x"
    with pytest.raises(InputError, match=r"p\.html: its elements are nested too deeply"):
        read(write(tmp_path / "p.html", deep))


def test_text_files(tmp_path: Path) -> None:
    text = (
        "\ufeffA paragraph that was wrapped at the end of its line, so\r\nthat it goes on. End.\r\n"
        "\r\nRoses are red,\nviolets are blue.\n"
    )
    assert read(write(tmp_path / "notes.txt", text)) == [
        PassageEntry(
            "A paragraph that was wrapped at the end of its line, so that it goes on. End.\n"
            "Roses are red,\nviolets are blue.",
            "notes.txt#0",
            "notes",
            "notes.txt",
        )
    ]
    assert read(write(tmp_path / "u.txt", "Größe.".encode("utf-16")))[0].text == "Größe."


LONG = "A line as long as those that an editor wraps"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([LONG, "Paris is."], f"{LONG} Paris is."),
        ([LONG + ".", LONG, "end", "Next"], f"{LONG}. {LONG} end\nNext"),
        ([LONG, "- item"], f"{LONG}\n- item"),
        ([LONG, "2) item"], f"{LONG}\n2) item"),
        ([LONG, "    code"], f"{LONG}\n    code"),
        ([f"{LONG} | x", LONG], f"{LONG} | x\n{LONG}"),
        ([f"{LONG}   x", LONG], f"{LONG}   x\n{LONG}"),
        ([LONG, LONG * 2, "end"], f"{LONG}\n{LONG * 2} end"),
    ],
)
def test_wrapped_lines_are_joined(lines: list[str], expected: str) -> None:
    assert split_paragraphs("\n".join(lines)) == [expected]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"a\xffb",
            r"n\.txt: found invalid UTF-8 \(byte 0xff at byte 2\); expected text\. Save it",
        ),
        (b"abc\0", r"n\.txt: found a NUL byte at character 4; expected text"),
        (b"\xff\xfea", r"n\.txt: found invalid UTF-16"),
        (b" \n", r"none of its documents has text"),
    ],
)
def test_files_that_are_no_text(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(write(tmp_path / "n.txt", data))


PAGES = [
    "The measure-\nment of rivers is well-known\nto those who (often) measure them.",
    "A well-\nknown river. The end of a page is no end of a sen-",
    "tence.",
]


def test_pdf(tmp_path: Path) -> None:
    assert read(write(tmp_path / "r.pdf", pdf(PAGES, "On rivers"))) == [
        PassageEntry(
            "The measurement of rivers is well-known\nto those who (often) measure them.\n"
            "A well-known river. The end of a page is no end of a sentence.",
            "r.pdf#0",
            "On rivers",
            "r.pdf",
        )
    ]
    assert read(write(tmp_path / "plain.pdf", pdf(["Text."])))[0].title == "plain"


def test_what_pypdf_logs_is_not_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It names no file."""
    wrong = re.sub(rb"startxref\s+\d+", b"startxref 7", pdf(["Text."]))
    assert [one.text for one in read(write(tmp_path / "w.pdf", wrong))] == ["Text."]
    assert caplog.records == []
    logging.getLogger("pypdf").warning("mine")
    assert [one.message for one in caplog.records] == ["mine"]


def test_pdf_pages_without_text_are_noted(tmp_path: Path) -> None:
    path = write(tmp_path / "s.pdf", pdf(["One.", None, "Three.", None]))
    notes: list[str] = []
    assert [entry.text for entry in read_entries(path, note=notes.append)] == ["One.\nThree."]
    assert notes == [f"{path}, pages 2, 4: no text layer (blank, or a scan that needs OCR)"]


def encrypted(path: Path, password: str) -> Path:
    with pypdf.PdfWriter() as writer:
        writer.append(write(path.with_suffix(".open"), pdf(["Secret."])))
        writer.encrypt(user_password=password, owner_password="owner", algorithm="RC4-128")
        writer.write(path)
    return path


def test_pdf_with_a_password(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"e\.pdf is encrypted; save it without a password"):
        read(encrypted(tmp_path / "e.pdf", "word"))
    assert read(encrypted(tmp_path / "f.pdf", ""))[0].text == "Secret."


BROKEN = {
    "scan.pdf": (pdf([None, None]), r"scan\.pdf: none of its 2 pages has a text layer .*OCR"),
    "junk.pdf": (b"no pdf at all", r"junk\.pdf: the PDF file is damaged \(\w+: .*save it again"),
    "empty.pdf": (b"", r"empty\.pdf: the PDF file is damaged"),
    "cut.pdf": (pdf(["x"])[:300], r"cut\.pdf: the PDF file is damaged"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_pdf_files_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    data, message = BROKEN[name]
    path = write(tmp_path / name, data)
    with pytest.raises(InputError, match=message):
        read(path)


def test_unreadable_documents_are_noted_and_left_out_where_that_is_asked(tmp_path: Path) -> None:
    for name, (data, _) in BROKEN.items():
        write(tmp_path / name, data)
    write(tmp_path / "good.txt", "Good.")
    write(tmp_path / "blank.md", "<!-- nothing -->")
    notes: list[str] = []
    entries = list(read_entries(tmp_path, CorpusReading(skip_unreadable=True), notes.append))
    assert entries == [PassageEntry("Good.", "good.txt#0", "good", "good.txt")]
    assert [note.split(":")[0] for note in notes] == [
        f"{tmp_path / 'blank.md'} has no text",
        *["left out"] * 4,
    ]
    (tmp_path / "good.txt").unlink()
    with pytest.raises(InputError, match="none of its documents has text"):
        read(tmp_path, CorpusReading(skip_unreadable=True))


@pytest.mark.parametrize(("name", "package"), [("a.pdf", "pypdf"), ("a.html", "bs4")])
def test_missing_packages_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    real = builtins.__import__

    def refuse(asked: str, *args: object, **more: object) -> ModuleType:
        if asked == package:
            raise ImportError(asked)
        return real(asked, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)
    path = write(tmp_path / name, pdf(["x"]) if name == "a.pdf" else "<p>x")
    with pytest.raises(MissingExtraError, match=r'trueground\[documents\]"'):
        read(path, CorpusReading(skip_unreadable=True))


def test_a_mixed_and_nested_folder(tmp_path: Path) -> None:
    write(tmp_path / "b" / "deep" / "x.html", "<p>Deep.")
    write(tmp_path / "b" / "guide.md", "Guide.")
    write(tmp_path / "a.txt", "First. Second.")
    write(tmp_path / "b" / "r.pdf", pdf(["Paper."]))
    write(tmp_path / "picture.png", b"\x89PNG")
    write(tmp_path / ".git" / "x.txt", "hidden")
    entries = read(tmp_path, CorpusReading(words=1))
    assert [(entry.id, entry.text) for entry in entries] == [
        ("a.txt#0", "First."),
        ("a.txt#1", "Second."),
        ("b/deep/x.html#0", "Deep."),
        ("b/guide.md#0", "Guide."),
        ("b/r.pdf#0", "Paper."),
    ]


def passages(paragraphs: list[str], words: int, overlap: int = 0) -> list[str]:
    document = Document(sections=[Section(paragraphs=paragraphs)])
    return [text for _, text in document.cut("n", words, overlap)]


def test_passages_end_where_sentences_do() -> None:
    text = "One two three. Four five six. Seven eight nine. Ten eleven twelve."
    assert passages([text], 6) == [
        "One two three. Four five six.",
        "Seven eight nine. Ten eleven twelve.",
    ]
    assert passages([text], 5) == [
        "One two three.",
        "Four five six.",
        "Seven eight nine.",
        "Ten eleven twelve.",
    ]


def test_overlap_repeats_sentences() -> None:
    assert passages(["One two. Three four.", "Five six."], 2, overlap=1) == [
        "One two.",
        "One two. Three four.",
        "Three four.\nFive six.",
    ]


def test_a_short_rest_goes_to_the_passage_before() -> None:
    text = "One two three four five six seven eight nine. Ten."
    assert passages([text], 9) == [text]
    assert passages([text + " Eleven twelve thirteen."], 9) == [
        text[:-5],
        "Ten. Eleven twelve thirteen.",
    ]


def test_endless_sentences_are_cut_at_words() -> None:
    endless = " ".join(f"w{i}" for i in range(25))
    assert [len(part.split()) for part in passages([endless], 10)] == [10, 10, 5]
    assert len(passages([endless], 13)) == 1


def test_scripts_without_spaces_are_counted_by_character() -> None:
    parts = passages(["河川は長い。" * 40], 60)
    assert len(parts) == 4
    assert "".join(parts) == "河川は長い。" * 40


def test_sections_are_never_mixed() -> None:
    document = Document(
        "T", [Section((), ["A."]), Section(("T", "S"), ["B."]), Section(("U", "S"), ["C."])]
    )
    assert list(document.cut("n", 100, 3)) == [("T", "A."), ("T › S", "B."), ("T › U › S", "C.")]


@given(st.lists(st.text(min_size=1), max_size=4), st.integers(1, 12))
def test_nothing_is_lost(paragraphs: list[str], words: int) -> None:
    kept = "".join("".join(passages(paragraphs, words)).split())
    assert kept == "".join("".join(paragraphs).split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("inter-\nnational", "international"),
        ("inter\u00ad\nnational co\u00adop", "international coop"),
        ("pre-\nWar", "pre-\nWar"),
        ("a self-made man, self-\nmade", "a self-made man, self-made"),
        ("1990-\n2000", "1990-\n2000"),
        ("the ﬁrst oﬃce", "the first office"),
    ],
)
def test_words_broken_at_line_ends(text: str, expected: str) -> None:
    assert join_broken_words(text) == expected
