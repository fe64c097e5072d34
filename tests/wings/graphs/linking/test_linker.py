"""Questions to entities: candidates, types, re-ranking, batches; and the scores."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

pytest.importorskip("pyoxigraph", reason="the graph extra is not installed")
pytest.importorskip("ahocorasick", reason="the graph extra is not installed")

from tests.wings.graphs.linking.invented import PEOPLE, Counting, graph_of

from trueground.errors import UsageError
from trueground.wings.graphs.linking import (
    EntityCandidate,
    FoundEntity,
    LinkedQuestion,
    Linker,
    RankedQuestion,
    retrieval,
)
from trueground.wings.graphs.recognizers import Mention, get_recognizer

GRAPH = graph_of(PEOPLE)
LINKER = Linker(GRAPH)


def one(question: str, linker: Linker = LINKER) -> LinkedQuestion:
    (linked,) = linker.link([question])
    return linked


def test_the_entity_with_most_values_in_the_question_is_chosen() -> None:
    explorer = one("When did the explorer Anna Ruck leave KORVIK?")
    assert [(f.name, f.qid, f.matched, f.candidates) for f in explorer.found] == [
        ("Anna Ruck", "Q10", ("explorer", "Korvik"), 3)
    ]
    assert one("What did the singer Anna Ruck play, the lute?").qids == ("Q2",)
    assert one("Which shipyard in Ulm built Anna Ruck, 40 metres long?").qids == ("Q7",)


def test_a_tie_goes_to_more_triples_and_then_to_the_smaller_id() -> None:
    # Each has a class besides its five or three facts: Q7 and Q10 have six triples, Q2 five.
    assert one("Who was Anna Ruck?").qids == ("Q7",)
    assert one("Who was Anna Ruck?", Linker(GRAPH, types=["human"])).qids == ("Q10",)


def test_what_is_part_of_the_name_tells_nothing() -> None:
    (entity,) = GRAPH.entities(["Q10"])
    assert entity is not None
    question = "Was Anna Ruck an explorers' friend?"
    assert RankedQuestion(question).matched(EntityCandidate(entity), [(4, 13)]) == ("explorer",)[:0]
    question = "Did Anna Ruck meet another Anna in Korvik-Nord, or in Korvik?"
    assert RankedQuestion(question).matched(EntityCandidate(entity), [(4, 13)]) == (
        "Anna",
        "Korvik",
    )


def test_a_name_has_one_entity_and_an_entity_stands_once() -> None:
    # The spouse of one of the three stands in the question.
    linked = one("Did Holm, that is Ede Holm, know anna ruck? Did Anna Ruck know Ede Holm?")
    assert [(f.name, f.qid) for f in linked.found] == [("Holm", "Q20"), ("anna ruck", "Q10")]
    assert linked.found[0].start == 4
    assert linked.question[linked.found[1].start : linked.found[1].end] == "anna ruck"


def test_an_entity_of_which_nothing_is_said_is_no_candidate() -> None:
    linked = one("Where is Korvik?")
    assert (linked.qids, linked.unlinked) == ((), ("Korvik",))


def test_graphs_are_as_records_hold_them() -> None:
    (graph,) = one("Who was Ede Holm?").graphs()
    assert graph["qid"] == "Q20"
    assert graph["name"] == "Ede Holm"
    assert graph["occupation"] == "architect"


class Given:
    """A recognizer that finds what it was told to."""

    name = "given"

    def __init__(self, *mentions: Mention) -> None:
        self.given = mentions

    def mentions(self, questions: Sequence[str]) -> list[list[Mention]]:
        return [[m for m in self.given if m.text in q] for q in questions]


def test_the_graph_is_asked_for_each_name_once() -> None:
    graph = Counting(GRAPH)
    recognizer = Given(
        Mention("Anna Ruck", 0, 9, ("Anna Ruck",), ("human", "Q5")),
        Mention("Ede Holm", 14, 22, ("Ede Holm", "Holm")),
        Mention("Ull Nord", 23, 31, ("Ull Nord",)),
    )
    questions = ["Anna Ruck and Ede Holm Ull Nord", "Anna Ruck sang"] * 1500
    linked = Linker(graph, recognizer).link(questions)
    assert graph.found == [["Anna Ruck", "Ede Holm", "Holm", "Ull Nord"]]
    assert graph.read == [["Q2", "Q10", "Q20"]]
    assert linked[0].qids == ("Q10", "Q20")
    assert linked[0].unlinked == ("Ull Nord",)
    assert linked[-1].qids == ("Q10",)
    assert len(linked) == 3000


def test_many_names_are_asked_for_in_parts() -> None:
    graph = Counting(GRAPH)
    recognizer = Given(*(Mention(f"name {i};", 0, 7, (f"name {i}",)) for i in range(2500)))
    (linked,) = Linker(graph, recognizer).link([" ".join(f"name {i};" for i in range(2500))])
    assert [len(names) for names in graph.found] == [1000, 1000, 500]
    assert len(linked.unlinked) == 2500


def test_a_label_rules_out_only_what_is_known_to_be_something_else() -> None:
    unknown = graph_of([("Q1", "Ull Nord", ("Q5", "human"), [], {})])
    person = Given(Mention("Ede Holm Society", 0, 16, ("Ede Holm Society",), ("human",)))
    assert Linker(GRAPH, person).link(["Ede Holm Society"])[0].qids == ()
    anything = Given(Mention("Ede Holm Society", 0, 16, ("Ede Holm Society",)))
    assert Linker(GRAPH, anything).link(["Ede Holm Society"])[0].qids == ("Q22",)
    assert Linker(GRAPH, anything, ["human"]).link(["Ede Holm Society"])[0].qids == ()
    assert unknown.find(["Ull Nord"])[0][0].types == ()


def test_questions_alone_and_among_others_are_linked_alike() -> None:
    questions = ["Who was Anna Ruck?", "", "The singer Anna Ruck?", "Holm's house?", "Nobody"]
    assert LINKER.link(questions) == [one(question) for question in questions]
    assert LINKER.link([]) == []
    seen: list[tuple[str, int, int | None]] = []
    LINKER.link(questions, lambda *told: seen.append(told))
    assert seen == [("link", 0, 5), ("link", 5, 5)]


def test_recognizers_are_known_by_name() -> None:
    assert get_recognizer("dictionary", GRAPH).name == "dictionary"
    with pytest.raises(UsageError, match="Did you mean 'dictionary'"):
        get_recognizer("dictionry", GRAPH)
    with pytest.raises(UsageError, match="write spacy:FOLDER"):
        get_recognizer("spacy", GRAPH)
    with pytest.raises(UsageError, match="takes no model"):
        get_recognizer("dictionary:en", GRAPH)


def linked_as(*qids: str) -> LinkedQuestion:
    (entity,) = GRAPH.entities(["Q20"])
    assert entity is not None
    from msgspec.structs import replace

    return LinkedQuestion(
        "", tuple(FoundEntity("", 0, 0, replace(entity, qid=qid)) for qid in qids)
    )


def test_retrieval_counts_entities() -> None:
    linked = [linked_as("Q1", "Q2"), linked_as("Q3"), linked_as(), linked_as(), linked_as("Q9")]
    got = retrieval(linked, [["Q1"], ["Q3", "Q4", "Q5"], ["Q6"], [], None])
    assert (got.questions, got.correct, got.found, got.gold, got.exact) == (4, 2, 3, 5, 1)
    assert got.precision == pytest.approx(2 / 3)
    assert got.recall == pytest.approx(2 / 5)
    assert got.f1 == pytest.approx(0.5)
    assert got.macro_precision == pytest.approx((1 / 2 + 1) / 2)
    assert got.macro_recall == pytest.approx((1 + 1 / 3 + 0) / 3)
    assert got.macro_f1 == pytest.approx(2 * 0.75 * (4 / 9) / (0.75 + 4 / 9))


def test_a_share_of_nothing_is_none() -> None:
    nothing = retrieval([linked_as()], [[]])
    assert (nothing.precision, nothing.recall, nothing.f1, nothing.macro_f1) == (None,) * 4
    assert nothing.exact == 1
    wrong = retrieval([linked_as("Q1")], [["Q2"]])
    assert (wrong.precision, wrong.recall, wrong.f1) == (0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="zip"):
        retrieval([linked_as()], [])
