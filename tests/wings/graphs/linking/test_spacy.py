"""Names by a spaCy pipeline, which the test trains."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("spacy", reason="the ner extra is not installed")
pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")

import spacy
from tests.wings.graphs.linking.invented import PEOPLE, Counting, graph_of

from trueground.errors import UsageError
from trueground.wings.graphs.linking import Linker
from trueground.wings.graphs.recognizers import Recognizer, SpacyRecognizer

PERSONS = ["Anna Ruck", "Ede Holm", "Orla Brandt", "Mia Lund", "Tor Sund", "Ida Vik"]
ORGS = ["Ede Holm Society", "Korvik Club", "Ulm Society", "Brenta Club"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline that has learned a few sentences by heart."""
    from spacy.training import Example
    from spacy.util import fix_random_seed, minibatch

    fix_random_seed(0)
    pipeline = spacy.blank("en")
    ner = pipeline.add_pipe("ner")
    ner.add_label("PERSON")
    ner.add_label("ORG")
    examples = []
    for frame in ("Who was {}?", "What did {} build?", "Where was {} born?", "Tell me about {}."):
        for label, names in (("PERSON", PERSONS), ("ORG", ORGS)):
            for name in names:
                start = frame.index("{")
                text = frame.format(name)
                spans = {"entities": [(start, start + len(name), label)]}
                examples.append(Example.from_dict(pipeline.make_doc(text), spans))
    optimizer = pipeline.initialize(lambda: examples)
    for _ in range(12):
        for batch in minibatch(examples, size=4):
            pipeline.update(batch, sgd=optimizer, drop=0.0)
    target = tmp_path_factory.mktemp("pipeline") / "tiny"
    pipeline.to_disk(target)
    return target


def test_names_get_the_type_of_their_label(folder: Path) -> None:
    recognizer = SpacyRecognizer(str(folder))
    assert isinstance(recognizer, Recognizer)
    assert recognizer.name == f"spacy:{folder}"
    questions = ["Who was Anna Ruck?", "What did Ede Holm Society build?"]
    (person,), (society,) = recognizer.mentions(questions)
    assert (person.text, person.types) == ("Anna Ruck", ("human", "Q5"))
    assert questions[0][person.start : person.end] == "Anna Ruck"
    assert (society.text, society.types) == ("Ede Holm Society", ())


def test_persons_are_linked_to_humans(folder: Path) -> None:
    graph = Counting(graph_of(PEOPLE))  # it cannot list its names, and need not
    linker = Linker(graph, f"spacy:{folder}")
    linked = linker.link(["Who was Anna Ruck?", "Tell me about Ede Holm Society."])
    # The ship Anna Ruck would win with its triples; a person is none.
    assert [one.qids for one in linked] == [("Q10",), ("Q22",)]
    assert linked[0].found[0].candidates == 2
    assert graph.found == [["Anna Ruck", "Ede Holm Society"]]


def ruled(folder: Path, *patterns: str) -> SpacyRecognizer:
    """A pipeline that finds just these, so that what follows can be seen exactly."""
    pipeline = spacy.blank("en")
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "PERSON", "pattern": one} for one in patterns])
    pipeline.to_disk(folder)
    return SpacyRecognizer(str(folder))


def test_possessives_quotes_and_articles_are_set_apart(tmp_path: Path) -> None:
    recognizer = ruled(
        tmp_path / "rules", "Anna Ruck's", "“Ede Holm”", "The Beacons", "1871", "Lys'"
    )
    question = "Did Anna Ruck's “Ede Holm” hear The Beacons in 1871 at Lys' house?"
    (found,) = recognizer.mentions([question])
    assert [one.text for one in found] == ["Anna Ruck", "Ede Holm", "The Beacons", "Lys"]
    assert all(question[one.start : one.end] == one.text for one in found)
    assert found[2].names == ("The Beacons", "Beacons")


def test_what_is_no_pipeline_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"neither a folder nor an installed package.*download"):
        SpacyRecognizer("no_such_pipeline_here")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UsageError, match=r"isn't a spaCy pipeline: .*Name a folder with"):
        SpacyRecognizer(str(empty))
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "meta.json").write_text("{")
    (broken / "config.cfg").write_text("[nlp\n")
    with pytest.raises(UsageError, match="isn't a spaCy pipeline"):
        SpacyRecognizer(str(broken))
    plain = tmp_path / "plain"
    spacy.blank("en").to_disk(plain)
    with pytest.raises(UsageError, match="finds no names: its components are none"):
        SpacyRecognizer(str(plain))
