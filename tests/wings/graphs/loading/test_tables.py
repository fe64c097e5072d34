"""Triples in CSV and TSV tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.wings.graphs.loading.files import embedded, load, shown, triples, write

from trueground.errors import GraphError

PLAIN = """subject,predicate,object
Q901,label,Ada Brook
Q901,alias,A. Brook
Q901,occupation,"writer, and ""poet"": both"
Q901,P19,Q903
Q901,born,1871-11-01
Q903,name,Newark

Q901,note,"two
lines"
"""
TYPED = "\t".join(("qid", "name", "property", "property_label", "value", "value_label"))
TYPED += "\ttype\tunit\tlang\n" + "\n".join(
    "\t".join(row)
    for row in (
        ("ada", "Ada Brook", "P19", "place of birth", "Q903", "Newark", "entity", "", ""),
        ("ada", "Ada Brook", "height", "", "1.50", "", "quantity", "metre", ""),
        ("ada", "Ada Brook", "died", "", "1900-06", "", "date", "", ""),
        ("ada", "Ada Brook", "motto", "", "Q5", "", "text", "", ""),
        ("ada", "Ada Brook", "motto", "", "Immer weiter", "", "", "", "de"),
        ("ada", "Ada Brook", "knows", "", "ben", "Ben", "entity", "", ""),
        ("ada", "Ada Brook", "nothing", "", "", "", "", "", ""),
    )
)


@pytest.mark.parametrize("packing", ["", ".gz", ".bz2", ".zst"])
def test_a_plain_table(tmp_path: Path, packing: str) -> None:
    path = write(tmp_path / f"t.csv{packing}", PLAIN)
    store, counts = load(path)
    assert (counts.format, counts.entities) == ("csv", 2)
    assert counts.triples == len(triples(store))
    assert ("Q901", "P19", "Q903") in triples(store)
    [ada] = embedded(path).entities(["Q901"])
    assert ada is not None
    assert shown(ada) == {
        "qid": "Q901",
        "name": "Ada Brook",
        "P19": "Newark",
        "born": "1871-11-01",
        "note": "two\nlines",
        "occupation": 'writer, and "poet": both',
    }
    assert ada.aliases == ("A. Brook",)


def test_a_table_with_types(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", "\ufeff" + TYPED)
    [ada] = embedded(path).entities(["ada"])
    assert ada is not None
    assert shown(ada) == {
        "qid": "ada",
        "name": "Ada Brook",
        "died": "1900-06",
        "height": "1.50 metre",
        "knows": "Ben",
        "motto": "Q5",
        "place of birth": "Newark",
    }
    assert ada.properties["height"][0].unit == "metre"
    assert ada.properties["knows"][0].id == "ben"
    assert ("urn:trueground:entity:ada", "urn:trueground:property:motto", '"Immer weiter"@de') in (
        triples(load(path)[0])
    )


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('"Weird Al" Yankovic', '"Weird Al" Yankovic'),
        ('the 5" disc', 'the 5" disc'),
        ('"', '"'),
        ('"Heroes', '"Heroes'),
        ('"in all"', "in all"),
        ('"with\ta tab and ""marks"""', 'with\ta tab and "marks"'),
        ('"a""', '"a""'),
        ('""', None),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_marks_in_a_table_of_tabs(
    tmp_path: Path, written: str, value: str | None, end: str
) -> None:
    for cells, header in (
        (("Q1", "p", written), "subject\tpredicate\tobject"),
        ((written, "Q1", "p"), "object\tsubject\tpredicate"),
    ):
        first = "\t".join(
            {"subject": "Q1", "predicate": "q", "object": "x"}[c] for c in header.split()
        )
        text = f"{header}\n{first}\n\n" + "\t".join(cells) + end
        [one] = embedded(write(tmp_path / "t.tsv", text)).entities(["Q1"])
        wanted = {"qid": "Q1", "name": "Q1", "q": "x"} | ({"p": value} if value else {})
        assert shown(one) == wanted


def test_rows_of_tabs_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "t.tsv", 'subject\tpredicate\tobject\nQ1\tp\t"two\nlines"\n')
    with pytest.raises(GraphError, match=r"row 2 \(line 3\): found 1 columns; expected 3"):
        load(path)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (PLAIN + "Q901,note\n", r"row 9 \(line 11\): found 2 columns; expected 3"),
        (PLAIN + "Q901,note,a,b\n", r"row 9 \(line 11\): found 4 columns; expected 3"),
        (PLAIN + ",note,a\n", r"row 9 \(line 11\), column subject: found nothing"),
        (PLAIN + "Q901, ,a\n", r"column predicate: found nothing"),
        (PLAIN + "http://x/%zz,note,a\n", r"column subject: found 'http://x/%zz', which isn't"),
        (PLAIN + 'Q901,note,"a\n', r"row 9 .*invalid CSV .*Fix the row"),
        (PLAIN + 'Q901,note,"a"b\n', r"row 9 .*invalid CSV"),
        (PLAIN.encode() + b"Q901,note,\xff\n", r"invalid CSV .*utf-8"),
        ("subject,predicate,object\n", r"found a header but no rows"),
        ("a,b,c\nQ1,P1,Q2\n", r"header: found the column 'a'; known are subject, qid"),
        ("subject,object\nQ1,Q2\n", r"header: found no column predicate; expected subject"),
        ("subject,qid,object\nQ1,Q2,Q3\n", r"header: found the column 'qid' twice"),
        ("qid,property,value,type\nQ1,p,a,thing\n", r"column type: found 'thing'; expected one of"),
        ("qid,property,value,type\nQ1,p,May,date\n", r"column object: found 'May'; expected a dat"),
        ("qid,property,value,lang\nQ1,p,a,toolongtag1\n", r"column lang: found 'toolongtag1'"),
    ],
)
def test_what_is_no_table_of_triples(tmp_path: Path, text: str | bytes, found: str) -> None:
    with pytest.raises(GraphError, match=found):
        load(write(tmp_path / "t.csv", text))
