"""Wikidata's truthy dump: classes, languages, lines out of order, memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.wings.graphs.loading.files import (
    ONTOLOGY,
    dump,
    embedded,
    item,
    load,
    nt,
    of_time,
    shown,
    triples,
    write,
)

from trueground.errors import GraphError, UsageError
from trueground.wings.graphs.base import PropertyValue
from trueground.wings.graphs.wikidata_rdf import IdSet

XSD = "http://www.w3.org/2001/XMLSchema#"
BORN = f'"1871-11-01T00:00:00Z"^^<{XSD}dateTime>'
UNKNOWN = "<http://www.wikidata.org/.well-known/genid/abc>"
COMPUTERS = "a value for computers (external id, address, media file)"


def people() -> list[str]:
    """Two humans and a town. What a human names stands before and behind it."""
    return [
        nt("Q903", "label", '"Newark"@en'),
        nt("Q903", "label", '"Neuwark"@de'),
        nt("Q903", "P31", "Q515"),
        nt("Q901", "label", '"Ada Brook"@en'),
        nt("Q901", "http://schema.org/name", '"Ada Brook"@en'),
        nt("Q901", "http://schema.org/description", '"made up"@en'),
        nt("Q901", "label", '"Ada Bach"@de'),
        nt("Q901", "alias", '"O\'Brook \\"the\\" \\\\ }"@en'),
        nt("Q901", "alias", '"Bach"@de'),
        nt("Q901", "P19", "Q903"),
        nt("Q901", "P106", "Q904"),
        nt("Q901", "P106", "Q905"),
        nt("Q901", "P569", BORN),
        nt("Q901", "P570", UNKNOWN),
        nt("Q901", "P214", '"12345"'),
        nt("Q901", "P856", "<http://example.org/a b>"),
        nt("Q901", "P31", "Q5"),
        nt("Q902", "label", '"Ben"@mul'),
        nt("Q902", "P31", "Q5"),
        nt("Q904", "label", '"writer"@en'),
        nt("Q905", "label", '"poet"@en-gb'),
        nt("Q905", "label", '"poet"@mul'),
        nt("Q5", "label", '"human"@en'),
        nt("Q906", "label", '"nobody names me"@en'),
        nt("P19", "label", '"place of birth"@en'),
        nt("P19", ONTOLOGY + "directClaim", "<http://www.wikidata.org/prop/direct/P19>"),
        nt("P214", ONTOLOGY + "propertyType", f"<{ONTOLOGY}ExternalId>"),
    ]


@pytest.mark.parametrize("name", ["x-truthy.nt", "d.nt.gz", "d.nt.bz2", "d.nt.zst"])
def test_humans_of_a_dump(tmp_path: Path, name: str) -> None:
    store, counts = load(write(tmp_path / name, "".join(people())), classes=("Q5",))
    found = triples(store)
    assert (counts.format, counts.entities) == ("wikidata-rdf", 2)
    assert counts.left_out.pop(COMPUTERS) == 1
    assert counts.left_out.pop("a value that nobody knows") == 1
    assert counts.left_out == {"no valid triple": 1}
    assert counts.examples[0].startswith(f"{tmp_path / name}, line 16: no valid triple (")
    assert found == {
        ("Q903", "label", '"Newark"@en'),
        ("Q901", "label", '"Ada Brook"@en'),
        ("Q901", "alias", '"O\'Brook \\"the\\" \\\\ }"@en'),
        ("Q901", "P19", "Q903"),
        ("Q901", "P106", "Q904"),
        ("Q901", "P106", "Q905"),
        ("Q901", "P569", '"1871-11-01T00:00:00Z"^^<xsd:dateTime>'),
        ("Q901", "P31", "Q5"),
        ("Q902", "label", '"Ben"@mul'),
        ("Q902", "P31", "Q5"),
        ("Q904", "label", '"writer"@en'),
        ("Q905", "label", '"poet"@mul'),
        ("Q5", "label", '"human"@en'),
        ("P19", "label", '"place of birth"@en'),
        ("P19", "claim", "P19"),
    }
    assert counts.triples == len(found)


def test_a_text_too_large_for_the_parser_is_left_out(tmp_path: Path) -> None:
    large = nt("Q901", "P1477", f'"{"x" * 17_000_000}"')
    _, counts = load(write(tmp_path / "d-truthy.nt", large + "".join(people())))
    assert counts.left_out["no valid triple"] == 2
    assert counts.examples[0].endswith("line 1: no valid triple (too large)")


def test_through_the_embedded_graph(tmp_path: Path) -> None:
    graph = embedded(write(tmp_path / "d.nt", "".join(people())), classes=("Q5",))
    [ada] = graph.entities(["Q901"])
    assert ada is not None
    assert shown(ada) == {
        "qid": "Q901",
        "name": "Ada Brook",
        "P106": ["poet", "writer"],
        "P31": "human",
        "P569": "1871-11-01",
        "place of birth": "Newark",
    }
    [[named]] = graph.find(['o\'brook "the" \\ }'])
    assert named.qid == "Q901"


@pytest.mark.parametrize(
    ("json", "rdf", "text"),
    [("-0044-03-15", "-0043-03-15", "-0044-03-15"), ("-0001-05-02", "0000-05-02", "-0001-05-02")],
)
def test_all_formats_give_years_before_our_era_alike(
    tmp_path: Path, json: str, rdf: str, text: str
) -> None:
    entity = item("Q9", {"en": "x"}, [of_time("P569", f"{json}T00:00:00Z", 11)])
    time = f'"{rdf}T00:00:00Z"^^<{XSD}dateTime>'
    said = nt("Q9", "label", '"x"@en') + nt("Q9", "P569", time)
    files = {
        "d.json": dump([entity]),
        "x-truthy.nt": said,
        "plain.nt": said,
        "t.csv": f"qid,name,property,value,type\nQ9,x,P569,{text},date\n",
        "g.json": f'[{{"qid": "Q9", "name": "x", "date_of_birth": "{text}"}}]',
    }
    for name, content in files.items():
        [one] = embedded(write(tmp_path / name, content)).entities(["Q9"])
        assert one is not None
        assert [v for values in one.properties.values() for v in values] == [
            PropertyValue(text, "date")
        ]


def test_another_language_falls_back_to_english(tmp_path: Path) -> None:
    path = write(tmp_path / "d.nt", "".join(people()))
    found = triples(load(path, classes=("Q5",), lang="de")[0])
    assert ("Q901", "label", '"Ada Bach"@de') in found
    assert ("Q901", "alias", '"Bach"@de') in found
    assert ("Q904", "label", '"writer"') in found, "English only: marked as no language's"


def test_all_entities(tmp_path: Path) -> None:
    path = write(tmp_path / "d.nt", "".join(people()))
    store, counts = load(path, format="wikidata-rdf", identifiers=True)
    found = triples(store)
    assert counts.entities == 3
    assert ("Q906", "label", '"nobody names me"@en') in found
    assert ("Q901", "P214", '"12345"') in found
    assert COMPUTERS not in counts.left_out


def test_lines_of_an_entity_need_not_stand_together(tmp_path: Path) -> None:
    lines = people()
    wanted = triples(load(write(tmp_path / "d.nt", "".join(lines)), classes=("Q5",))[0])
    for step in (2, 5, 7):
        mixed = "".join(line for start in range(step) for line in lines[start::step])
        store, _ = load(write(tmp_path / "mixed.nt", mixed), classes=("Q5",))
        assert triples(store) == wanted


def test_damaged_dumps(tmp_path: Path) -> None:
    text = "".join(people())
    with pytest.raises(GraphError, match=r"line 27: found .*expected a triple"):
        load(write(tmp_path / "cut.nt", text[:-30]), classes=("Q5",))
    packed = write(tmp_path / "a.nt.gz", text).read_bytes()
    (tmp_path / "cut.nt.gz").write_bytes(packed[:-40])
    with pytest.raises(GraphError, match=r"cut\.nt\.gz is cut off"):
        load(tmp_path / "cut.nt.gz", classes=("Q5",))
    packed = write(tmp_path / "a.nt.bz2", text).read_bytes()
    (tmp_path / "cut.nt.bz2").write_bytes(packed[:-40])
    with pytest.raises(GraphError, match=r"cut\.nt\.bz2 is cut off"):
        load(tmp_path / "cut.nt.bz2", classes=("Q5",))
    (tmp_path / "odd.nt.bz2").write_bytes(packed[:20] + b"xxxx" + packed[24:])
    with pytest.raises(GraphError, match=r"odd\.nt\.bz2 is not a sound bzip2"):
        load(tmp_path / "odd.nt.bz2", classes=("Q5",))
    with pytest.raises(GraphError, match="no entity of Q4242"):
        load(write(tmp_path / "b.nt", text), classes=("Q4242",))
    with pytest.raises(GraphError, match="line 1: found 'hello'"):
        load(write(tmp_path / "c.nt", "hello\n"), classes=("Q5",))


def test_classes_are_ids() -> None:
    with pytest.raises(UsageError, match="class 'human'; expected the id"):
        load(Path("x.nt"), classes=("human",))


_MEASURED = """
import resource, sys
from pathlib import Path
from pyoxigraph import Store
from trueground.wings.graphs.folder import load_into
from trueground.wings.graphs.loading import Loading
class Nowhere:
    def bulk_extend(self, quads):
        for _ in quads: pass
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
counts = load_into(Nowhere(), Path(sys.argv[1]), Loading(classes=("Q5",)))
print(counts.entities, counts.triples, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def _generated(path: Path, people: int) -> Path:
    """Ten lines for each person; every second one is a dog."""
    with path.open("w") as out:
        for number in range(1_000, 1_000 + people):
            qid = f"Q{number}"
            for tag in ("en", "de", "fr", "ja"):
                out.write(nt(qid, "label", f'"person {number}"@{tag}'))
            out.write(nt(qid, "P31", "Q144" if number % 2 else "Q5"))
            for place in range(4):
                out.write(nt(qid, "P19", f"Q{number * 7 % people + 500 + place}"))
            out.write(nt(qid, "P569", BORN))
    return path


@pytest.mark.long
def test_a_larger_dump_takes_no_more_memory(tmp_path: Path) -> None:
    """The readers alone, without a store: 20,000 lines and 200,000."""
    used = []
    for people in (2_000, 20_000):
        path = _generated(tmp_path / f"{people}-truthy.nt", people)
        done = subprocess.run(
            [sys.executable, "-c", _MEASURED, str(path)], capture_output=True, text=True, check=True
        )
        entities, triples, grown = map(int, done.stdout.split())
        assert entities == people // 2
        assert triples > 7 * entities
        used.append(grown)
    assert used[1] < used[0] + 4_000, f"KiB: {used}"


def test_ids() -> None:
    ids = IdSet()
    for one in (5, 5, 0, 1 << 40, 77_000_000, 77_000_000):
        ids.add(one)
    assert len(ids) == 4
    assert all(one in ids for one in (0, 5, 77_000_000, 1 << 40))
    assert not any(one in ids for one in (1, 4, 6, 77_000_001, (1 << 40) + 1, 1 << 50))
