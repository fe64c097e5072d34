"""Citations of triples in answers: which brackets cite, what they cite, and whose they are."""

from __future__ import annotations

import time

import pytest
from tests.marks import mostly_long

from trueground.text.citations import CitedText
from trueground.types import Graph

PIANO = "The Last Pianist: Rise and Fall of a Friend, Confidant of Kings, Enemy of None"
GRAPHS: list[Graph] = [
    {
        "qid": "Q1",
        "name": "Ann Bell",
        "depicted by": [PIANO, "Foo [bar], baz: qux"],
        "occupation": ["writer", "poet"],
        "alma mater": "Hill School",
        "motto": "half [open",
        "reply": "half] closed",
        "date_of_birth": "1871-11-01",
        "works: first": "One",
        "height": 1.7,
        "living": False,
    },
    {"qid": "Q2", "name": "Carl, Count of D", "father": "C, D: E", "occupation": "king"},
    {"qid": "urn:x", "knows": "Q1"},
    {"qid": "alice", "a": "b"},
]


def cited(text: str) -> list[tuple[str, str, str]]:
    return [
        (c.qid, c.property, c.value)
        for sentence in CitedText(text, GRAPHS).triple_sentences()
        for c in sentence.citations
    ]


@pytest.mark.parametrize(
    ("bracket", "pairs"),
    [
        ("[Q1, occupation: poet]", [("occupation", "poet")]),
        ("[Q1, occupation: poet, alma mater: Hill School]", 2),
        (
            "[ qid : Q1 ,name: Ann Bell,occupation:poet ]",
            [("name", "Ann Bell"), ("occupation", "poet")],
        ),
        ("[qid: Q1, Ann Bell, occupation: poet]", [("occupation", "poet")]),
        ("[Q1; occupation: poet; living: false]", [("occupation", "poet"), ("living", "false")]),
        ("[Q1 occupation: poet]", [("occupation", "poet")]),
        ("[name: Ann Bell, qid: Q1, height: 1.7]", [("name", "Ann Bell"), ("height", "1.7")]),
        ("[Name: Ann Bell, Q1, height: 1.7]", [("name", "Ann Bell"), ("height", "1.7")]),
        ("[QID: Q1, NAME: Ann Bell]", [("name", "Ann Bell")]),
        # Markdown
        (r"\[Q1, occupation: poet\]", [("occupation", "poet")]),
        (r"\[Q1, depicted by: Foo \[bar\], baz: qux\]", [("depicted by", "Foo [bar], baz: qux")]),
        (r"\[Q1, x: \[y\]\]", [("x", "[y]")]),
        (
            f"[Q1, depicted by: {PIANO}, occupation: poet]",
            [("depicted by", PIANO), ("occupation", "poet")],
        ),
        ("[Q1, depicted by: Foo [bar], baz: qux]", [("depicted by", "Foo [bar], baz: qux")]),
        ("[Q1, motto: half [open]", [("motto", "half [open")]),
        ("[Q1, reply: half] closed, a b: c]", [("reply", "half] closed"), ("a b", "c")]),
        ("[Q1, works: first: One]", [("works: first", "One")]),
        # spelled otherwise than in the graph
        ("[Q1, date of birth: 1871-11-01]", [("date_of_birth", "1871-11-01")]),
        ("[Q1, alma_mater:  Hill\n School]", [("alma mater", "Hill School")]),
        # several values of one property
        ("[Q1, occupation: writer, poet]", [("occupation", "writer"), ("occupation", "poet")]),
        # words by themselves after a value that the graph has are a value that it has not
        ("[Q1, occupation: writer, cook]", [("occupation", "writer"), ("occupation", "cook")]),
        (
            "[Q1, alma mater: Hill School, Rome]",
            [("alma mater", "Hill School"), ("alma mater", "Rome")],
        ),
        (
            "[Q1, occupation: poet, one [of] many, a b: c]",
            [("occupation", "poet"), ("occupation", "one [of] many"), ("a b", "c")],
        ),
        # what no graph has, by the plain rule
        ("[Q1, alma mater: Hill Schools, Rome]", [("alma mater", "Hill Schools, Rome")]),
        (
            "[Q1, occupation: cook, in Rome, x y: z]",
            [("occupation", "cook, in Rome"), ("x y", "z")],
        ),
        ("[Q1, father: C, D: E]", [("father", "C, D: E")]),
        ("[Q1, x: a [b, c: d] e]", [("x", "a [b, c: d] e")]),
        ("[Q1, x: http://y, z]", [("x", "http://y, z")]),
        ("[Q1, occupation: ]", [("occupation", "")]),
        ("[Q1, : poet]", [("", "poet")]),
        # an id, and nothing that can be read
        ("[Q1]", [("", "")]),
        ("[Q1, poet]", [("", "")]),
        ("[qid: Q1]", [("", "")]),
        ("[Q1, Ann Bell]", [("", "")]),
    ],
)
def test_one_bracket(bracket: str, pairs: list[tuple[str, str]] | int) -> None:
    if isinstance(pairs, int):
        pairs = [("occupation", "poet"), ("alma mater", "Hill School")]
    text = f"She was {bracket}. He too."
    first, second = CitedText(text, GRAPHS).triple_sentences()
    assert [(c.property, c.value) for c in first.citations] == pairs
    assert {c.qid for c in first.citations} == {"Q1"}
    assert [c.complete for c in first.citations] == [bool(p and v) for p, v in pairs]
    assert {text[c.start : c.end] for c in first.citations} == {bracket}
    assert (first.text, second.text, second.citations) == ("She was.", "He too.", ())


@pytest.mark.parametrize(
    ("bracket", "citations"),
    [
        ("[Q9, a: b]", [("Q9", "a", "b")]),
        ("[urn:x, knows: Q1]", [("urn:x", "knows", "Q1")]),
        ("[alice, a: b]", [("alice", "a", "b")]),
        ("[alice]", [("alice", "", "")]),
        ("[qid: bob, a: b]", [("bob", "a", "b")]),
        ("[qid: , a: b]", [("", "a", "b")]),
        ("[name: Ann Bell]", [("", "name", "Ann Bell")]),
        ("[Q2, Carl, Count of D, father: C, D: E]", [("Q2", "father", "C, D: E")]),
        # several in one bracket
        (
            "[Q1, alma mater: Hill School, Q2, occupation: king]",
            [("Q1", "alma mater", "Hill School"), ("Q2", "occupation", "king")],
        ),
        (
            "[Q1, occupation: cook; Q2, Carl, Count of D, occupation: king]",
            [("Q1", "occupation", "cook"), ("Q2", "occupation", "king")],
        ),
        (
            "[qid: Q2, name: Carl, Count of D, qid: Q1, occupation: poet]",
            [("Q2", "name", "Carl, Count of D"), ("Q1", "occupation", "poet")],
        ),
        ("[Q8, a: b, Q9, a: c, Q8]", [("Q8", "a", "b"), ("Q9", "a", "c")]),
        (
            "[Q1, occupation: poet, qid: x y, a: b]",
            [("Q1", "occupation", "poet"), ("x y", "a", "b")],
        ),
        ("[Q1, Q2]", [("Q1", "", ""), ("Q2", "", "")]),
        ("[Q1, occupation: poet, Q2]", [("Q1", "occupation", "poet"), ("Q2", "", "")]),
        ("[Q1, occupation: poet, Q9, Q1]", [("Q1", "occupation", "poet")]),
        (
            "[urn:x, knows: Q1, Q2, occupation: king]",
            [("urn:x", "knows", "Q1"), ("Q2", "occupation", "king")],
        ),
    ],
)
def test_ids(bracket: str, citations: list[tuple[str, str, str]]) -> None:
    assert cited(f"So {bracket}.") == citations


@pytest.mark.parametrize(
    "bracket",
    [
        *("[sic]", "[1]", "[Alice]", "[alice said]", "[Q3 2024]", "[Q1x, x: b]", "[]", "[ ]"),
        *("[Q9]", "[Q9, poet]", "[Q1](http://a.b)", "[Q1, poet](c)", r"\[sic\]", r"\[NA, a\]"),
        *("[NA, a]", "[N A]", "[NAN]", "[Q1, occupation: poet", "[[[", "[Q1"),
    ],
)
def test_other_brackets_are_text(bracket: str) -> None:
    (sentence,) = CitedText(f"She was {bracket} a poet", GRAPHS).triple_sentences()
    assert sentence.text == f"She was {bracket} a poet"
    assert (sentence.citations, sentence.missing) == ((), 0)


@pytest.mark.parametrize(
    ("bracket", "name", "pairs"),
    [
        ("[Ann Bell, occupation: poet]", "Ann Bell", [("occupation", "poet")]),
        ("[ann bell; occupation: cook]", "ann bell", [("occupation", "cook")]),
        ("[Ann Bell: occupation: poet]", "Ann Bell", [("occupation", "poet")]),
        ("[Ann Bell, occupation:poet]", "Ann Bell", [("occupation", "poet")]),
        ("[212657, occupation: poet]", "212657", [("occupation", "poet")]),
        ("[q1, occupation: poet]", "q1", [("occupation", "poet")]),
        ("[unknown, occupation: poet]", "unknown", [("occupation", "poet")]),
        ("[Q1x, a: b]", "Q1x", [("a", "b")]),
        ("[occupation: poet]", "", [("occupation", "poet")]),
        ("[Occupation: poet]", "", [("Occupation", "poet")]),
        (
            "[date_of birth: 1871-11-01, height: 2]",
            "",
            [("date_of_birth", "1871-11-01"), ("height", "2")],
        ),
        ("[Carl, Count of D, father: C, D: E]", "Carl, Count of D", [("father", "C, D: E")]),
        ("[carl, count of d, occupation: king]", "carl, count of d", [("occupation", "king")]),
        (
            "[Anna, depicted by: Foo [bar], baz: qux]",
            "Anna",
            [("depicted by", "Foo [bar], baz: qux")],
        ),
        (
            f"[Ann Bell, depicted by: {PIANO}, occupation: writer, poet]",
            "Ann Bell",
            [("depicted by", PIANO), ("occupation", "writer"), ("occupation", "poet")],
        ),
        ("[NA, occupation: poet]", "", [("occupation", "poet")]),
        ("[occupation: ]", "", [("occupation", "")]),
        # beside a pair of a graph every pair is cited
        (
            "[unknown, hobby: chess, occupation: poet]",
            "unknown",
            [("hobby", "chess"), ("occupation", "poet")],
        ),
        # behind a number or a name every property will do
        ("[Ann Bell, hobby: chess]", "Ann Bell", [("hobby", "chess")]),
        ("[Bell, hobby: chess, pet: cat]", "Bell", [("hobby", "chess"), ("pet", "cat")]),
        ("[212657, hobby: chess]", "212657", [("hobby", "chess")]),
        ("[Dora van Eck, hobby: chess]", "Dora van Eck", [("hobby", "chess")]),
        (r"\[Ann Bell, hobby: chess\]", "Ann Bell", [("hobby", "chess")]),
    ],
)
def test_citations_without_an_id(bracket: str, name: str, pairs: list[tuple[str, str]]) -> None:
    (sentence,) = CitedText(f"She was {bracket} a poet", GRAPHS).triple_sentences()
    assert sentence.text == "She was a poet"
    assert [(c.property, c.value) for c in sentence.citations] == pairs
    assert {(c.qid, c.name, c.complete) for c in sentence.citations} == {("", name, False)}
    without_graphs = CitedText(f"She was {bracket} a poet", []).triple_sentences()
    assert not any(one.citations for one in without_graphs)


@pytest.mark.parametrize(
    "bracket",
    [
        *("[Note: she ran]", "[Note, however: she ran]", "[12:30]", "[12, 14:30]", "[12, 14: 30]"),
        *("[Table 3: results]", "[Table 3, row: 4]", "[a thing, x: c]", "[see Smith, 2020: 45]"),
        *(
            "[1, http://a.b/c]",
            "[Rome, Italy: 2019]",
            "[Smith et al., 2019: p. 4]",
            "[he said: no]",
        ),
        *("[Warning: occupation: poet]", "[Ann Bell]", "[Ann Bell, poet]", "[occupation]"),
        *("[Ann Bell](http://a.b)", "[Foo: [12:30] x: y]", "[occupation: poet", "[unknown, x: y]"),
    ],
)
def test_text_that_is_like_a_citation_without_an_id(bracket: str) -> None:
    (sentence,) = CitedText(f"She was {bracket} a poet", GRAPHS).triple_sentences()
    assert sentence.text == f"She was {bracket} a poet"
    assert (sentence.citations, sentence.missing) == ((), 0)


def test_one_word_is_a_name_where_the_answer_has_it_as_one() -> None:
    for text, said in (
        ("Titian wed [Titian, spouse: Cecilia].", "Titian"),
        ("A note was left [Note, see: x].", None),
        ("Note it, a note [Note, see: x].", None),
    ):
        (sentence,) = CitedText(text, GRAPHS).triple_sentences()
        assert [one.name for one in sentence.citations] == ([said] if said else [])


def test_a_property_without_a_value_is_cited_too() -> None:
    (sentence,) = CitedText(
        "He died [date of death: 1980].", [{"qid": "Q1", "date_of_death": ""}]
    ).triple_sentences()
    assert [(c.property, c.value) for c in sentence.citations] == [("date of death", "1980")]


def test_names_within_a_bracket() -> None:
    text = "So [Ann Bell, occupation: poet, Carl, Count of D, occupation: king, name: Eva, a: b]."
    (sentence,) = CitedText(text, GRAPHS).triple_sentences()
    assert [(c.name, c.property, c.value) for c in sentence.citations] == [
        ("Ann Bell", "occupation", "poet"),
        ("Carl, Count of D", "occupation", "king"),
        ("Eva", "name", "Eva"),
        ("Eva", "a", "b"),
    ]
    # An id in the bracket is the entity, wherever it stands.
    for bracket in ("[Ann Bell, Q1, occupation: poet]", "[Ann Bell, occupation: poet, Q1]"):
        assert cited(bracket) == [("Q1", "occupation", "poet")]
    (sentence,) = CitedText("She wed [Ann Bell, spouse: NA].", GRAPHS).triple_sentences()
    assert (sentence.citations, sentence.missing) == ((), 1)


def test_missing_knowledge() -> None:
    text = "One [NA]. Two [na][ NA ] and [N/A]. Three [n/a, x]."
    assert [s.missing for s in CitedText(text, GRAPHS).triple_sentences()] == [1, 3, 0]
    assert cited(text) == []


@pytest.mark.parametrize(
    ("bracket", "citations"),
    [
        ("[Q1, occupation: writer, NA]", [("Q1", "occupation", "writer")]),
        ("[Q1, occupation: cook; N/A]", [("Q1", "occupation", "cook")]),
        ("[NA, Q1, occupation: poet]", [("Q1", "occupation", "poet")]),
        ("[[NA], Q1, occupation: poet]", [("Q1", "occupation", "poet")]),
        ("[Q1, occupation: poet, [NA]]", [("Q1", "occupation", "poet")]),
        (
            "[Q1, occupation: cook [na]; height: 1.7]",
            [("Q1", "occupation", "cook"), ("Q1", "height", "1.7")],
        ),
        ("[Q1, occupation: NA, height: 1.7]", [("Q1", "height", "1.7")]),
        ("[Q1, occupation: poet, NA, cook]", [("Q1", "occupation", "poet")]),
        ("[Q1, spouse: [NA]]", []),
        ("[Q1, occupation: NA]", []),
        ("[Q1, NA]", []),
        ("[Q9, NA]", []),
        (r"\[NA\]", []),
        ("[Q1, NA; Q2]", [("Q2", "", "")]),
    ],
)
def test_missing_knowledge_within_a_bracket(
    bracket: str, citations: list[tuple[str, str, str]]
) -> None:
    (sentence,) = CitedText(f"She was {bracket}.", GRAPHS).triple_sentences()
    assert (sentence.text, sentence.missing) == ("She was.", 1)
    assert [(c.qid, c.property, c.value) for c in sentence.citations] == citations


def test_values_of_graph_are_not_marks_or_ids() -> None:
    graphs: list[Graph] = [{"qid": "Q1", "symbol": ["NA", "b, NA"], "child": ["Q2"]}, {"qid": "Q2"}]
    (sentence,) = CitedText("[Q1, symbol: NA, b, NA, child: Q2]", graphs).triple_sentences()
    assert [c.value for c in sentence.citations] == ["NA", "b, NA", "Q2"]
    assert sentence.missing == 0


def test_brackets_belong_to_the_sentence_that_they_follow() -> None:
    text = (
        "[Q1] He was Sir J. Doe [Q1, occupation: king of S.S. Lazio. Twice]. Then "
        "he left.[Q2] [NA] He came [Q1, occupation: poet] back [Q1, occupation: poet] .\n[Q1]\n"
        "- [Q2, occupation: king] She ruled."
    )
    first, second, third, fourth = CitedText(text, GRAPHS).triple_sentences()
    assert first.text == "He was Sir J. Doe."
    assert (first.start, text[first.end :][:5]) == (0, " Then")
    assert [c.value for c in first.citations] == ["", "king of S.S. Lazio. Twice"]
    assert (second.text, len(second.citations), second.missing) == ("Then he left.", 1, 1)
    assert text[second.start : second.end].endswith("left.[Q2] [NA]")
    assert third.text == "He came back."
    assert [c.value for c in third.citations] == ["poet", "poet", ""]
    assert (fourth.text, [c.value for c in fourth.citations]) == ("She ruled.", ["king"])
    assert text[fourth.start :] == "[Q2, occupation: king] She ruled."


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("She ran. [Q1]. He too.", ["She ran.", "He too."]),
        ("In Mo. [Q1] . He too.", ["In Mo.", "He too."]),
        ("She ran! [Q1]. He too.", ["She ran!", "He too."]),
        ("“She ran.” [Q1]. He too.", ["“She ran.”", "He too."]),
        ("She ran. [Q1]. [Q1]. He too.", ["She ran.", "He too."]),
        ("She ran ([Q1]). [Q1]", ["She ran."]),
        ("She ran, etc. [Q1], and he.", ["She ran, etc., and he."]),
        ("She ran (etc.) [Q1].", ["She ran (etc.)."]),
    ],
)
def test_a_sentence_has_one_stop(text: str, read: list[str]) -> None:
    sentences = CitedText(text, GRAPHS).triple_sentences()
    assert [s.text for s in sentences] == read
    assert sentences[0].citations
    assert CitedText(text, GRAPHS).without_citations() == " ".join(read)


def test_nothing_but_brackets_and_nothing_at_all() -> None:
    text = " [Q1, occupation: poet] [NA]"
    (sentence,) = CitedText(text, GRAPHS).triple_sentences()
    assert (sentence.text, sentence.start, sentence.end) == ("", 1, len(text))
    assert (len(sentence.citations), sentence.missing) == (1, 1)
    assert CitedText("", GRAPHS).triple_sentences() == () == CitedText(" \n", []).triple_sentences()
    assert CitedText("[", GRAPHS).triple_sentences() == ()


def test_offsets_are_those_of_the_composed_answer() -> None:
    decomposed = "Cafe\u0301  owner [Q1, occupation:  poet]."
    (sentence,) = CitedText(decomposed, GRAPHS).triple_sentences()
    assert (sentence.text, sentence.start, sentence.end) == ("Café owner.", 0, 36)
    assert (sentence.citations[0].start, sentence.citations[0].end) == (12, 35)
    composed: Graph = {"qid": "é", "prope\u0301": "vale\u0301ur"}
    (sentence,) = CitedText("[e\u0301, propé: valéur]", [composed]).triple_sentences()
    assert sentence.citations[0].value == "vale\u0301ur"


def test_the_reading_that_explains_most() -> None:
    graph: Graph = {"qid": "Q1", "a": ["x", "x, b: y"], "b": ["y, c: z", "w"]}
    read = {
        "[Q1, a: x, b: y]": [("a", "x, b: y")],
        "[Q1, a: x, b: w]": [("a", "x"), ("b", "w")],
        "[Q1, a: x, b: y, c: z]": [("a", "x"), ("b", "y, c: z")],
        "[Q1, a: x, b: y, d: z]": [("a", "x, b: y"), ("d", "z")],
    }
    for bracket, pairs in read.items():
        (sentence,) = CitedText(bracket, [graph]).triple_sentences()
        assert [(c.property, c.value) for c in sentence.citations] == pairs


def test_a_bracket_taken_out_leaves_words_apart() -> None:
    text = 'A [Q1]b[Q1]c ("d [Q1]" [Q1], e [Q1] : f) [Q1] "g"'
    (sentence,) = CitedText(text, GRAPHS).triple_sentences()
    assert sentence.text == 'A b c ("d", e: f) "g"'
    assert (
        CitedText("One [1]\n[2] two [sic] [Q1, a: b]\n\n[NA]").without_citations()
        == "One\ntwo [sic]"
    )
    assert CitedText("It [Q7, a: [1]] is [1].").without_citations() == "It is."


@pytest.mark.parametrize(
    "text",
    mostly_long(
        5,
        [
            "[" * 50_000,
            "[Q1, a: " * 10_000,
            "[Q1, a: x, " * 9_000,
            "[Q1, a: x, [Q1" * 7_000,
            "[Q1, a: " * 10_000 + "]" * 9_999,
            "[Q1, a: x" + ", b" * 30_000 + ", c]",
            "[Q1" + ", a: x, b, b" * 7_000 + "]",
            "[name: " * 14_000,
            "[qid: " * 14_000,
            "[ " * 50_000,
            "One [Q1, a: x]. " * 6_000,
            "One. [Q1, a: x]. " * 6_000,
            "[Q1" + ", a: x, Q2, NA" * 7_000 + "]",
            "[Q1, a: x" + ", c" * 30_000 + ", [NA" * 2_000 + "]" * 2_001,
            "[Q1, a: x, c, " * 7_000,
            "[" + "".join(f"Q{i}, a: x, " for i in range(7_000)) + "]",
            "[Q1, a: x" + "\\" * 90_000 + "]",
            "\n- [NA]" * 14_000,
            "[a: x, " * 14_000,
            "[c, a: x " * 11_000 + "]" * 11_000,
            "[c: x " * 16_000 + "]" * 16_000,
            "[12, c: x " * 10_000 + "]" * 9_999,
            "[b: a: x " * 11_000,
            "[b, " * 25_000 + "a: x]",
            "[c [c, a: x] " * 7_000,
            "[c, c, " * 14_000 + "a: x]",
            "[A B [A B, c: x " * 6_000 + "]" * 6_000,
        ],
    ),
    ids=lambda text: text[:16],
)
def test_long_answers_are_read_in_their_stride(text: str) -> None:
    graph: Graph = {"qid": "Q1", "name": "b", "a": ["x", "b", "x, [Q1"], "b": ["b", "x"]}
    before = time.process_time()
    for sentence in CitedText(text, [graph]).triple_sentences():
        assert 0 <= sentence.start < sentence.end <= len(text)
    assert time.process_time() - before < 5


def test_large_graphs_are_read_in_their_stride() -> None:
    many = {f"property {i}": f"value {i}" for i in range(1_000)}
    graph: Graph = {"qid": "Q1", "a": [f"value {i}" for i in range(1_000)], **many}
    before = time.process_time()
    for pair in ("a: value 500", "property 500: value 500"):
        (sentence,) = CitedText("[Q1" + f", {pair}" * 5_000 + "]", [graph]).triple_sentences()
        assert len(sentence.citations) == 5_000
    assert time.process_time() - before < 5
