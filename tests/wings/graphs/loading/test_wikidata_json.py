"""Wikidata's entity dump: best ranks, classes, dates, quantities, languages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.wings.graphs.loading.files import (
    claim,
    dump,
    embedded,
    item,
    load,
    of_item,
    of_time,
    shown,
    triples,
    write,
)

from trueground.errors import GraphError

QUANTITY = "urn:trueground:quantity"


def metres(amount: str, unit: str = "Q11573") -> Any:
    value = {"amount": amount, "unit": f"http://www.wikidata.org/entity/{unit}"}
    return claim("P2048", "quantity", value)


def people() -> list[dict[str, Any]]:
    """Two humans, a town, what they name; the unit stands last."""
    return [
        item("P31", {"en": "instance of"}),
        item("P19", {"en": "place of birth", "de": "Geburtsort"}),
        item(
            "Q901",
            {"en": "Ada Brook", "de": "Ada Bach", "fr": "Ada Ruisseau"},
            [
                of_item("P31", "Q5"),
                of_item("P19", "Q903"),
                of_item("P106", "Q904"),
                of_item("P106", "Q905"),
                of_time("P569", "+1871-11-01T00:00:00Z", 11),
                of_time("P570", "+1900-06-00T00:00:00Z", 10),
                metres("+1.85"),
                metres("+6", "Q777"),
                claim("P214", "string", "12345", datatype="external-id"),
                claim("P1559", "monolingualtext", {"text": "Ada", "language": "en"}),
                claim("P1477", "somevalue", None),
            ],
            {"en": ["A. Brook", 'O\'Brook "the" \\ }'], "de": ["Bach"], "mul": ["ADA"]},
        ),
        item("Q902", {"mul": "Ben"}, [of_item("P31", "Q5"), of_item("P19", "Q903")]),
        item("Q903", {"en": "Newark", "de": "Neuwark"}, [of_item("P31", "Q515")]),
        item("Q904", {"en": "writer"}),
        item("Q905", {"mul": "poet"}),
        item("Q906", {"en": "nobody names me"}, [of_item("P31", "Q515")]),
        item("Q5", {"en": "human", "de": "Mensch"}),
        item("Q11573", {"en": "metre"}),
    ]


@pytest.mark.parametrize("name", ["d.json", "d.json.gz", "d.json.bz2", "d.json.zst"])
def test_humans_of_a_dump(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, dump(people()))
    store, counts = load(path, classes=("Q5",))
    assert counts.format == "wikidata-json"
    assert counts.entities == 2
    assert counts.left_out == {
        "a value for computers (external id, address, media file)": 1,
        "a value that nobody knows, or that there is none": 1,
    }
    found = triples(store)
    assert counts.triples == len(found)
    assert ("Q901", "P19", "Q903") in found
    assert {o for s, p, o in found if (s, p) == ("Q901", "P106")} == {"Q904", "Q905"}
    assert ("Q901", "P569", '"1871-11-01"^^<xsd:date>') in found
    assert ("Q901", "P570", '"1900-06"^^<xsd:gYearMonth>') in found
    assert ("Q901", "P2048", f'"1.85 metre"^^<{QUANTITY}>') in found
    assert ("Q901", "P2048", f'"6 Q777"^^<{QUANTITY}>') in found, "its unit is not in the dump"
    assert ("Q905", "label", '"poet"@mul') in found
    assert ("P19", "claim", "P19") in found
    assert not any(s == "Q906" for s, _, _ in found)
    assert not any((s, p) == ("Q903", "P31") for s, p, _ in found), "a town is no human"


def test_through_the_embedded_graph(tmp_path: Path) -> None:
    path = write(tmp_path / "d.json", dump(people()))
    [ada] = embedded(path, classes=("Q5",)).entities(["Q901"])
    assert ada is not None
    assert shown(ada) == {
        "qid": "Q901",
        "name": "Ada Brook",
        "P106": ["poet", "writer"],
        "P1559": "Ada",
        "P2048": ["1.85 metre", "6 Q777"],
        "P569": "1871-11-01",
        "P570": "1900-06",
        "instance of": "human",
        "place of birth": "Newark",
    }
    assert set(ada.aliases) == {"A. Brook", 'O\'Brook "the" \\ }', "ADA"}
    assert set(ada.types) == {"human", "Q5"}


def test_names_in_another_language_fall_back(tmp_path: Path) -> None:
    path = write(tmp_path / "d.json", dump(people()))
    ada, ben = embedded(path, lang="de", classes=("Q5",)).entities(["Q901", "Q902"])
    assert ada is not None
    assert ben is not None
    graph = shown(ada)
    assert (graph["name"], ben.name) == ("Ada Bach", "Ben")
    assert graph["Geburtsort"] == "Neuwark"
    assert graph["P106"] == ["poet", "writer"], "mul, and English where there is nothing else"


def test_all_entities_and_identifiers(tmp_path: Path) -> None:
    path = write(tmp_path / "d.json", dump(people()))
    store, counts = load(path, identifiers=True)
    found = triples(store)
    assert counts.entities == 8, "all items, the two properties not"
    assert ("Q901", "P214", '"12345"') in found
    assert ("Q906", "label", '"nobody names me"@en') in found


def test_best_rank(tmp_path: Path) -> None:
    claims = [
        of_item("P26", "Q1"),
        of_item("P26", "Q2", rank="preferred"),
        of_item("P26", "Q3", rank="preferred"),
        of_item("P40", "Q4", rank="deprecated"),
        of_item("P40", "Q6"),
        of_item("P31", "Q5", rank="deprecated"),
    ]
    path = write(tmp_path / "d.json", dump([item("Q9", {"en": "x"}, claims)]))
    found = triples(load(path)[0])
    assert {(p, o) for _, p, o in found if p[0] == "P"} == {
        ("P26", "Q2"),
        ("P26", "Q3"),
        ("P40", "Q6"),
    }
    with pytest.raises(GraphError, match="no entity of Q5"):
        load(path, classes=("Q5",))


@pytest.mark.parametrize(
    ("time", "precision", "literal"),
    [
        ("+1871-11-01T00:00:00Z", 11, '"1871-11-01"^^<xsd:date>'),
        ("+1871-11-01T12:30:00Z", 14, '"1871-11-01"^^<xsd:date>'),
        ("+1871-11-00T00:00:00Z", 10, '"1871-11"^^<xsd:gYearMonth>'),
        ("+1871-11-01T00:00:00Z", 9, '"1871"^^<xsd:gYear>'),
        ("+0300-00-00T00:00:00Z", 9, '"0300"^^<xsd:gYear>'),
        ("-0044-03-15T00:00:00Z", 11, '"-0043-03-15"^^<xsd:date>'),
        ("-13798000000-00-00T00:00:00Z", 9, '"-13797999999"^^<xsd:gYear>'),
        ("+1870-00-00T00:00:00Z", 8, '"1870s"'),
        ("+1801-00-00T00:00:00Z", 7, '"19th century"'),
        ("+1900-00-00T00:00:00Z", 7, '"19th century"'),
        ("+2000-00-00T00:00:00Z", 7, '"20th century"'),
        ("-0500-00-00T00:00:00Z", 7, '"5th century BCE"'),
        ("+1250-00-00T00:00:00Z", 7, '"13th century"'),
        ("+2100-00-00T00:00:00Z", 7, '"21st century"'),
        ("-1500-00-00T00:00:00Z", 6, '"2nd millennium BCE"'),
    ],
)
def test_times(tmp_path: Path, time: str, precision: int, literal: str) -> None:
    entity = item("Q9", {"en": "x"}, [of_time("P569", time, precision)])
    found = triples(load(write(tmp_path / "d.json", dump([entity])))[0])
    assert {o for _, p, o in found if p == "P569"} == {literal}


def test_odd_values_are_counted(tmp_path: Path) -> None:
    claims = [
        of_time("P569", "+0000-00-00T00:00:00Z", 9),
        of_time("P569", "tomorrow", 11),
        of_time("P569", "+100000-00-00T00:00:00Z", 3),
        claim("P1", "quantity", {"amount": "many", "unit": "1"}),
        claim("P1", "wikibase-entityid", {"id": "L5", "entity-type": "lexeme"}),
        claim("P1", "cubes", 3),
        claim("P2", "quantity", {"amount": "+12", "unit": "1"}),
        claim("P2", "quantity", {"amount": "+1.50", "unit": "1"}),
        claim("P625", "globecoordinate", {"latitude": 51.5, "longitude": -0.25}),
    ]
    path = write(tmp_path / "d.json", dump([item("Q9", {"en": "x"}, claims)]))
    store, counts = load(path)
    assert sum(counts.left_out.values()) == 6
    assert len(counts.examples) == 5
    assert all("d.json, line 2: " in one for one in counts.examples)
    found = {(p, o) for _, p, o in triples(store)}
    assert ("P2", '"12"^^<xsd:integer>') in found
    assert ("P2", f'"1.50"^^<{QUANTITY}>') in found, "as it is written"
    assert any("Point(-0.25 51.5)" in o for p, o in found if p == "P625")


def test_other_layouts(tmp_path: Path) -> None:
    entities = people()
    wanted = triples(load(write(tmp_path / "d.json", dump(entities)))[0])
    layouts = {
        "lines.jsonl": "\n".join(json.dumps(one) for one in entities),
        "compact.json": json.dumps(entities, separators=(",", ":")),
        "indented.json": json.dumps(entities, indent=2),
        "marked.json": "\ufeff" + dump(entities),
    }
    for name, text in layouts.items():
        store, counts = load(write(tmp_path / name, text))
        assert counts.format == "wikidata-json", name
        assert triples(store) == wanted, name


def test_damaged_dumps(tmp_path: Path) -> None:
    whole = dump(people())
    cut = write(tmp_path / "cut.json", whole[: whole.index('"Q903","labels"')])
    with pytest.raises(GraphError, match=r"cut\.json is truncated: .* before the closing \]"):
        load(cut)
    with pytest.raises(GraphError, match="before the closing ]"):
        load(write(tmp_path / "open.json", whole.rstrip().rstrip("]")))
    with pytest.raises(GraphError, match=r"line 2: .*expected one entity"):
        load(write(tmp_path / "odd.json", '[\n{"type":"item","id":5}\n]\n'))
    with pytest.raises(GraphError, match=r"line 2: "):
        load(write(tmp_path / "bytes.json", b'[\n{"type":"item","id":"Q1","labels":"\xff"}\n]\n'))
    with pytest.raises(GraphError, match="no entity"):
        load(write(tmp_path / "none.json", "[\n]\n"), format="wikidata-json")


def test_ids_and_years_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    """Digits that are none to `int`, and years of thousands of digits."""
    human = [of_item("P31", "Q5")]
    entities = [
        item("Q1", {"en": "Ada"}, [*human, of_time("P569", f"+{'9' * 5_000}-01-01T00:00:00Z", 9)]),
        *(item(f"Q{digits}", {"en": "Eve"}, human) for digits in ("²", "1²", "٣", "9" * 30)),
        item("Q5", {"en": "human"}),
    ]
    path = write(tmp_path / "d.json", dump(entities))
    for classes in ((), ("Q5",)):
        store, counts = load(path, classes=classes)
        assert counts.entities == 2 - bool(classes)
        assert {subject for subject, _, _ in triples(store) if subject[:1] == "Q"} <= {"Q1", "Q5"}
