"""Reading a text takes time in proportion to its length, whatever it holds."""

from __future__ import annotations

import csv
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from time import process_time

import msgspec
import pytest

import trueground as tg
from trueground.claims.registry import get_decomposer
from trueground.errors import TruegroundError
from trueground.judges.lexical.values import find_values
from trueground.judges.registry import get_judge
from trueground.judges.replies import read_score, read_verdict
from trueground.metrics.choices import chosen_label
from trueground.models.openai_replies import split_thinking
from trueground.text.citations import CitedText
from trueground.text.normalize import Normalizer, contains_words
from trueground.text.refusal import REFUSAL_RULES
from trueground.text.sentences import split_sentences
from trueground.types import Choice, JudgeRequest
from trueground.wings.papers.builders.checks import contains_phrase, count_other_words
from trueground.wings.papers.builders.grounding.sets import text_links, wiki_links
from trueground.wings.papers.builders.json_reply import read_object
from trueground.wings.search.documents import Document

SHORT, TIMES = 10_000, 4  # characters
LONG = 400_000
MORE_METRICS = ["correct_support", "context_entails", "passage_citation_f1"]
FLOOR = 0.05  # seconds below which a measurement says nothing
CLAIM = "The tower was finished in 1931 by Ada Holm."
GRAPHS = [{"qid": "Q7", "name": "Ina Falk", "occupation": ["smith", "bell, founder"]}]
# Pieces that differ, so that nothing is read once for all of them.
SERIES: dict[str, Callable[[int], str]] = {
    "numbers": lambda i: f"{7 * i + 11} ",
    "numbers in a list": lambda i: f"{7 * i + 11}, ",
    "decimals": lambda i: f"{i}.{i % 97} kg, ",
    "dates": lambda i: f"{i % 28 + 1} May {1800 + i % 300}, ",
    "ISO dates": lambda i: f"{1800 + i % 300}-{i % 12 + 1:02}-{i % 28 + 1:02} ",
    "table": lambda i: f"| row{i} | {3 * i} | {5 * i} |\n",
    "numbers in sentences": lambda i: f"Unit {3 * i} costs {13 * i + 7} dollars. ",
    "almost the same sentence": lambda i: f"The tower in Paris was built in 1889 by Ada{i}. ",
    "names": lambda i: f"Ada{i} ",
    "names in sentences": lambda i: f"Ada{i} met Bo{i % 97} in Oslo{i % 31}. ",
    "capitals": lambda i: f"NATO{i} ",
    "words": lambda i: f"word{i} ",
    "one word": lambda i: f"word{i}",
    "sentences of one word": lambda i: f"Word{i}. ",
    "one sentence": lambda i: f"and the word{i} was part{3 * i} ",
    "members": lambda i: f"Ada cat{i}, ",
    "denials": lambda i: f"It is not word{i}. ",
    "bounds": lambda i: f"at least {i} ",
    "opposites": lambda i: f"gain{i} loss gain un{i}happy ",
    "citations": lambda i: f"Ada{i} ran [{i % 9 + 1}]. ",
    "quotes": lambda i: f'"word{i} ',
    "characters": lambda i: chr(0x4E00 + 37 * i % 20_000),
}
CHOICES = [Choice("A", "red cat"), Choice("B", "blue dog"), Choice("1", "2")]
PIECES = (
    *"字`'\"[({<>.,;:!?-_*#&%$|\\/~^=+1xX\n\t \u00a0\u2028“”‘’…。、é\u0301\u200b",
    *(
        "字。",
        "'a' ",
        "“a” ",
        "(a) ",
        "(a",
        "a) ",
        "[[",
        "]]",
        "[a",
        "[1]",
        "[1, ",
        "[NA]",
        "[Q7, ",
    ),
    *("[Q7, occupation: smith]", "[x, occupation: ", ": a, ", "{}", '{"a":1', '{"a":1}', "![a]("),
    *(
        "<!--",
        "<b",
        "<b/",
        '<b a="',
        "<b a b c ",
        "<?",
        "</",
        "<div>",
        "<p>",
        "<nav>",
        "<table><tr><td>",
    ),
    *(
        "<ul><li>",
        "<script>",
        "<think>",
        "</think>",
        "```\n",
        "~~~\n",
        "# a\n",
        "- a\n",
        "|a|\n",
        "> ",
    ),
    *(
        "a ",
        "a, ",
        "a and ",
        "A.",
        "A. ",
        "Mr. ",
        "e.g. ",
        "1, ",
        "1. ",
        "1) a\n",
        "(A) ",
        "A) ",
        "1-",
    ),
    *(
        "2020-01-01 ",
        "1 January 2020 ",
        "five hundred ",
        "one ",
        "1/5 ",
        "50 % ",
        "$1",
        "5 km ",
        "http://",
    ),
    *(
        "I don't know. ",
        "is not stated ",
        "does not mention ",
        "the context ",
        "not ",
        "no answer ",
    ),
    *(
        "Answer: ",
        "the answer is ",
        "option ",
        "True ",
        "Rating: ",
        "who was ",
        "which, ",
        "born in ",
    ),
    *("\r\n", "a\n\n", "\n ", " \n", "a\nb ", "and a, ", "a; b, c and d ", "a'b", "a.b", "a@b.c "),
)


class _Reply(msgspec.Struct):
    a: int


def _object(text: str) -> None:
    with suppress(Exception):  # what is no object falls; here only the time counts
        read_object(text, _Reply)


def _readers(folder: Path) -> dict[str, Callable[[str], object]]:
    def document(ending: str) -> Callable[[str], object]:
        def read(text: str) -> object:
            path = folder / f"text{ending}"
            path.write_text(text, encoding="utf-8", newline="")
            try:
                return list(Document.read(path).cut("text", 100, 0))
            except TruegroundError:
                return None

        return read

    judge, rules = get_judge("lexical"), get_decomposer("rules")
    normalize = Normalizer.named("faitheval").rule
    readers: dict[str, Callable[[str], object]] = {
        "sentences": split_sentences,
        "values": find_values,
        "refusal": lambda text: REFUSAL_RULES.find(f"I don't know. {text}", ("Paris",)),
        "choice": lambda text: chosen_label(text, CHOICES, normalize),
        "words": lambda text: contains_words(text, text[: len(text) // 2]),
        "triples": lambda text: CitedText(text, GRAPHS).triple_sentences(),
        "numbers": lambda text: CitedText(text).numbered_sentences(),
        "claims": lambda text: rules.decompose([text]),
        "judge, context": lambda text: judge.judge([JudgeRequest(CLAIM, (text,))]),
        "judge, claim": lambda text: judge.judge([JudgeRequest(text, (CLAIM,))]),
        "judge, both": lambda text: judge.judge([JudgeRequest(text, (text,))]),
        "verdict": read_verdict,
        "rating": read_score,
        "object": _object,
        "thinking": split_thinking,
        "text links": text_links,
        "wiki links": wiki_links,
        "says": lambda text: contains_phrase(text, "red cat"),
        "words without": lambda text: count_other_words(text, ["red cat"]),
        "text": document(".txt"),
        "markdown": document(".md"),
        "html": document(".html"),
        "f1": lambda text: tg.metrics.f1([text], references=[[text[::2]]]),
        "k_precision": lambda text: tg.metrics.k_precision([text], contexts=[[text]]),
        "abstained": lambda text: tg.metrics.abstained([text]),
    }
    for side in ("answer", "context", "both", "references"):
        readers[f"score, {side}"] = partial(_score, side)
    for name in Normalizer.NAMES:
        readers[name] = Normalizer.named(name).rule
    return readers


def _score(side: str, text: str) -> None:
    """Score one record whose answer and context are long, or its references are many."""
    words = text.split(" ")
    Random(3).shuffle(words)
    long, other = text, " ".join(words)
    references = [other if side == "both" else CLAIM]
    if side == "references":
        references = [other[at : at + 20] for at in range(0, len(other), 20)]
    record = {
        "response": CLAIM if side == "context" else long,
        "question": "When was the tower finished?",
        "contexts": [CLAIM if side in ("answer", "references") else other],
        "references": references,
    }
    for metrics in (None, MORE_METRICS):
        summary = tg.score([record], metrics=metrics).summary
        assert not any("error" in metric.unscored for metric in summary.values())


READERS = tuple(_readers(Path()))


def _seconds(read: Callable[[str], object], text: str) -> float:
    begin = process_time()
    read(text)
    return process_time() - begin


def _text(piece: str | Callable[[int], str], length: int) -> str:
    if isinstance(piece, str):
        return (piece * (length // len(piece) + 1))[:length]
    pieces: list[str] = []
    size = 0
    while size < length:
        pieces.append(piece(len(pieces)))
        size += len(pieces[-1])
    return "".join(pieces)[:length]


def _grows(read: Callable[[str], object], piece: str | Callable[[int], str]) -> float | None:
    """How many times as long a text takes that is TIMES as long; None where that is no time."""
    short, long = _text(piece, SHORT), _text(piece, SHORT * TIMES)
    if (longer := _seconds(read, long)) < FLOOR:
        return None
    return longer / max(min(_seconds(read, short) for _ in range(3)), FLOOR / TIMES**2)


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_time_grows_with_the_text(name: str, tmp_path: Path) -> None:
    read = _readers(tmp_path)[name]
    read(CLAIM)
    limit = TIMES**1.5
    slow = {}
    for piece in PIECES:
        # Twice, since the machine may have paused; then far on, since a reader may have a bound.
        if all((_grows(read, piece) or 0) > limit for _ in range(2)):
            near, far = (_seconds(read, piece * (n // len(piece))) for n in (LONG // 10, LONG))
            if far > max(1, 10**1.5 * near):
                slow[piece] = far
    assert not slow


@pytest.mark.long
@pytest.mark.parametrize("side", ["answer", "context", "both", "references"])
def test_score_time_grows_with_texts_that_do_not_repeat(side: str) -> None:
    read = partial(_score, side)
    read(CLAIM)
    slow = [
        name
        for name, piece in SERIES.items()
        if all((_grows(read, piece) or 0) > TIMES**1.5 for _ in range(2))
    ]
    assert not slow


def test_score_long_response_with_many_references_compares_each_word_once() -> None:
    words = [f"word{i}" for i in range(8_000)]
    record = {"response": " ".join(words), "references": words}
    begin = process_time()
    result = tg.score([record], metrics=["f1", "answer_accuracy", "rouge_1", "rouge_2", "rouge_l"])
    assert process_time() - begin < 5  # seconds; minutes before
    assert result.summary["answer_accuracy"].mean == 1


@pytest.mark.parametrize("piece", ["字。", "`", "'", "“", "<!--"])
def test_a_megabyte_of_marks_is_cut_into_sentences(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    begin = process_time()
    spans = split_sentences(text)
    assert process_time() - begin < 5  # seconds; minutes before
    assert (len(spans) > 60_000) == (piece == "字。")


@pytest.mark.parametrize("piece", ["<!--", "<b", "<b/", '<b a="'])
def test_html_that_never_closes(piece: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text("<p>Seen.</p>" + piece * 250_000)
    begin = process_time()
    document = Document.read(path)
    assert process_time() - begin < 10  # seconds; many minutes before
    assert document.sections[0].paragraphs[0] == "Seen."


def test_a_table_of_a_hundred_thousand_columns(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["response", *(f"c{i}" for i in range(100_000))])
        rows.writerow(["It is tall.", *("1" for _ in range(100_000))])
    begin = process_time()
    result = tg.score(str(path), metrics=["abstained"])
    assert process_time() - begin < 10  # seconds; minutes before
    assert result.summary["abstained"].scored == 1
