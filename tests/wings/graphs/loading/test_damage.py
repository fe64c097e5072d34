"""Files of every format with random damage: loaded or refused, never anything else."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tests.wings.graphs.loading.files import dump, item, load, nt, of_item, of_time, write

from trueground.errors import GraphError

GRAPH = {"qid": "Q1", "name": "Ada", "p": ["a, b: c", "d"], "n": 1.5}
FILES = {
    "a.nt": nt("Q1", "P1", "Q2") + nt("Q1", "label", '"Ada \\u00e9"@en'),
    "a.ttl": "@prefix x: <http://example.org/> .\nx:a x:b [ x:c 'd'@en ; x:e 1.5 ] .\n",
    "a.rdf": '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://e.org/">'
    '<r:Description r:about="http://e.org/a"><x:b>c</x:b></r:Description></r:RDF>',
    "truthy.nt": nt("Q1", "P31", "Q5") + nt("Q1", "label", '"Ada"@en') + nt("Q5", "label", '"x"'),
    "d.json": dump(
        [
            item(
                "Q1",
                {"en": "Ada"},
                [of_item("P31", "Q5"), of_time("P569", "+1871-11-01T00:00:00Z", 11)],
                {"en": ["A"]},
            ),
            item("Q5", {"en": "human"}),
        ]
    ),
    "k.json": json.dumps([["Who?", [GRAPH]], ["What?", []]]),
    "g.json": json.dumps([GRAPH, GRAPH]),
    "g.jsonl": json.dumps(GRAPH) + "\n" + json.dumps(GRAPH) + "\n",
    "t.csv": 'qid,property,value,type,lang\nQ1,p,"a, b",text,en\nQ1,born,1871,date,\n',
    "t.csv.gz": "subject,predicate,object\nQ1,p,Q2\n",
    "a.nt.bz2": nt("Q1", "P1", "Q2"),
    "a.nt.zst": nt("Q1", "P1", "Q2"),
}


@pytest.mark.parametrize("name", FILES)
def test_damage_never_goes_further_than_an_error(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, FILES[name])
    whole = path.read_bytes()
    assert load(path)[1].triples > 0
    rng = random.Random(name)
    refused = []
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(data))
            what = rng.randrange(4)
            if what == 0:
                del data[at : at + rng.randint(1, 20)]
            elif what == 1:
                data[at] = rng.randrange(256)
            elif what == 2:
                data[at:at] = rng.choice([b'"', b"[", b"}", b"\n", b"\x00", b"\xff", b"null", b"%"])
            else:
                data = data[: max(at, 1)]
            if not data:
                data = bytearray(b" ")
        path.write_bytes(bytes(data))
        try:
            load(path)
        except GraphError as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert all(str(path) in told for told in refused)
