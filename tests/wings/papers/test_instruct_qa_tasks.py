"""The QA benchmark's questions: settings, prompts, contexts, gold flags, metrics, refusals."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.wings.papers.instruct_qa_files import (
    ID,
    NQ,
    NQ_GOLD,
    PASSAGES,
    PEOPLE,
    QUESTIONS,
    RIVERS,
    TEXT,
    TOWNS,
    chain,
    documents,
    founder,
    hotpot,
    jsonl,
    parquet,
    river,
    single,
    talk,
    topiocqa,
    whole,
    world,
)

from trueground.benchmarks.base import Question, Sources, Task, get_benchmark
from trueground.errors import InputError, UsageError
from trueground.metrics.registry import METRICS
from trueground.models.base import Params
from trueground.types import Passage
from trueground.wings.search.building import build_index
from trueground.wings.search.corpus import CorpusReading


def task(
    data: Path | None, name: str = "questions", prompt: Path | None = None, **options: Any
) -> Task:
    given = {key.replace("_", "-"): value for key, value in options.items()}
    return get_benchmark("instruct_qa").prepare(name, given, Sources(data, prompt))


def ask(data: Path, name: str = "questions", **options: Any) -> dict[str, Question]:
    found = list(task(data, name, **options).questions())
    return {one.record.id: one for one in found}


def text(question: Question) -> str:
    assert [message.role for message in question.messages] == ["user"]
    return question.messages[0].content


def titles(question: Question) -> list[str | None]:
    return [one.title for one in question.record.contexts or ()]


V1 = "Below you find passages and a question. Please answer the question, given the passages."
V2 = (
    V1 + " Where the answer does not stand in the passages and cannot be inferred from them, "
    'respond with "I don\'t know".'
)
TALK = (
    "Below you find passages and a conversation. Please answer the user's last question, given the "
    "passages and what was said before."
)


@pytest.mark.parametrize("instruction", ["v1", "v2"])
def test_gold_passages_and_their_prompts(tmp_path: Path, instruction: str) -> None:
    data, corpus = world(tmp_path)
    asked = ask(data, setting="gold", instruction=instruction, corpus=str(corpus))
    assert list(asked) == [row["id"] for row in QUESTIONS]
    town, name = TOWNS[2], RIVERS[river(2)]
    question = asked["c2"]
    assert question.record.contexts == [
        Passage(TEXT[town], id=ID[town], title=town, gold=True, source=town),
        Passage(TEXT[name], id=ID[name], title=name, gold=True, source=name),
    ]
    assert question.record.answerable is True
    assert question.record.references == chain(2)["references"]
    assert question.record.meta == {"hops": 2, "dataset": "questions", "setting": "gold"}
    told = V1 if instruction == "v1" else V2
    assert text(question) == (
        f"{told}\n\n- Title: {town}\n{TEXT[town]}\n\n- Title: {name}\n{TEXT[name]}\n\n"
        f"Question: {chain(2)['question']}\nAnswer:"
    )
    person = PEOPLE[founder(4)]
    told = TALK + told.removeprefix(V1)
    assert text(asked["t4"]) == (
        f"{told}\n\n- Title: {person}\n{TEXT[person]}\n\n"
        f"User: Who founded the town of {TOWNS[4]}?\nAgent: {person}\n"
        "User: What was this person's craft?\nAgent:"
    )
    assert asked["t4"].record.group == "talk 4"
    assert [turn.content for turn in asked["t4"].record.history or ()][1] == person


def test_closed_book_shows_nothing(tmp_path: Path) -> None:
    data, _ = world(tmp_path)
    for instruction in ("v1", "v2"):
        made = task(data, setting="closed-book", instruction=instruction)
        assert made.options["instruction"] == "none"
        asked = {one.record.id: one for one in made.questions()}
        assert text(asked["s0"]) == (
            f"Please answer the following question.\n\nQuestion: {single(0)['question']}\nAnswer:"
        )
        assert text(asked["t4"]).startswith(
            "Please answer the user's last question, given what was said before.\n\nUser: Who"
        )
        assert asked["s0"].record.contexts is None
        assert asked["s0"].record.answerable is None
        assert not [m for m in made.metrics if m.startswith(("k_", "p_"))]


def test_retrieved_passages_with_their_flags(tmp_path: Path) -> None:
    data, corpus = world(tmp_path)
    asked = ask(data, corpus=str(corpus), passages="3")
    for row in QUESTIONS:
        record = asked[row["id"]].record
        contexts, meta = record.contexts or [], record.meta or {}
        assert len(contexts) == 3
        gold = [row["gold"]] if isinstance(row["gold"], str) else row["gold"]
        flags = [one.title in gold or one.id in gold for one in contexts]
        assert [one.gold for one in contexts] == flags
        assert meta["gold_retrieved"] is any(flags)
        assert meta["gold_rank"] == (flags.index(True) + 1 if any(flags) else None)
        assert record.answerable is (True if any(flags) else None)
        assert meta["setting"] == "retrieved"
    # The question names the town; the town's passage comes first.
    assert titles(asked["s5"])[0] == TOWNS[5]
    assert text(asked["s5"]).count("- Title: ") == 3
    # What was said before names the person, the question itself does not.
    assert PEOPLE[founder(4)] in titles(asked["t4"])


def test_all_gold_passages_may_be_needed(tmp_path: Path) -> None:
    data, corpus = world(tmp_path)
    for needed, top, rank in (("any", 1, 1), ("all", 1, None), ("all", 20, 2)):
        asked = ask(data, corpus=str(corpus), passages=str(top), gold_needed=needed)
        meta = asked["c2"].record.meta or {}
        assert meta["gold_retrieved"] is (rank is not None)
        assert meta["gold_rank"] == rank


def test_an_irrelevant_passage_comes_after_the_rank(tmp_path: Path) -> None:
    data, corpus = world(tmp_path)
    ranked = ask(data, corpus=str(corpus), passages="60")
    asked = ask(data, corpus=str(corpus), setting="irrelevant", irrelevant_rank="20")
    for id_, question in asked.items():
        record, order = question.record, titles(ranked[id_])
        assert record.answerable is False
        assert len(record.contexts or ()) == 1
        assert (record.contexts or [])[0].gold is False
        meta = record.meta or {}
        if len(order) > 20:
            assert (meta["irrelevant_rank"], meta["irrelevant_found"]) == (21, True)
            assert titles(question) == [order[20]]
        else:
            assert (meta["irrelevant_rank"], meta["irrelevant_found"]) == (None, False)
            assert titles(question)[0] not in order


def test_a_gold_passage_is_never_the_irrelevant_one(tmp_path: Path) -> None:
    """Ranked second, and asked for what comes after the first: the third is taken."""
    rows = [{**single(3), "gold": []}]
    _, corpus = world(tmp_path)
    plain = jsonl(tmp_path / "plain.jsonl", rows)
    order = titles(ask(plain, corpus=str(corpus), passages="5")["s3"])
    second = jsonl(tmp_path / "second.jsonl", [{**single(3), "gold": [order[1]]}])
    found = ask(second, corpus=str(corpus), setting="irrelevant", irrelevant_rank="1")["s3"]
    assert titles(found) == [order[2]]
    assert (found.record.meta or {})["irrelevant_rank"] == 3


def test_other_retrievers(tmp_path: Path) -> None:
    """What is written reaches the retriever, and is part of the run's identity."""
    data, corpus = world(tmp_path)
    kinds = ("bm25", "bm25(k1=0.9,b=0.4)", 'hybrid:"bm25 + bm25(k1=0.9)"', 'multi-hop:"bm25"')
    signatures = []
    for retriever in kinds:
        made = task(data, corpus=str(corpus), retriever=retriever, passages="4")
        signatures.append(made.options["retriever"])
        found = {one.record.id: one.record.meta or {} for one in made.questions()}
        assert found["s5"]["gold_rank"] == 1
    assert len(set(signatures)) == len(kinds)
    with pytest.raises(UsageError, match=r"unknown retriever 'bm2'.*'bm25'"):
        task(data, corpus=str(corpus), retriever="bm2")


def test_an_index_is_a_corpus_too(tmp_path: Path) -> None:
    from trueground.wings.search.building import build_index

    data, corpus = world(tmp_path)
    build_index(corpus, tmp_path / "index", ["bm25"])
    of_index = task(data, corpus=str(tmp_path / "index"))
    of_corpus = task(data, corpus=str(corpus))
    assert of_index.options == of_corpus.options
    assert list(of_index.questions()) == list(of_corpus.questions())


def test_many_questions_are_searched_for_in_blocks(tmp_path: Path) -> None:
    """Each has its own passages, also beyond the first block, and however far one reads."""
    _, corpus = world(tmp_path)
    rows = [{**single(i % 80), "id": str(i)} for i in range(600)]
    made = task(jsonl(tmp_path / "many.jsonl", rows), corpus=str(corpus), passages="1")
    few = list(islice(made.questions(), 3))
    every = list(made.questions())
    assert every[:3] == few
    assert [titles(one)[0] for one in every] == [TOWNS[i % 80] for i in range(600)]


def test_a_users_documents_and_index_names(tmp_path: Path) -> None:
    """Gold passages by file, by passage and by heading; an index may be cut finer."""
    folder = documents(tmp_path / "docs")
    golds = [f"{TOWNS[0]}.md", f"{TOWNS[0]}.md#0", TOWNS[0]]
    rows = [{**single(0), "id": str(i), "gold": gold} for i, gold in enumerate(golds)]
    data = jsonl(tmp_path / "mine.jsonl", rows)
    for question in ask(data, corpus=str(folder), passages="2").values():
        assert (question.record.meta or {})["gold_rank"] == 1
    fine = build_index(folder, tmp_path / "fine", ["bm25"], CorpusReading(words=8)).path
    gold = ask(data, corpus=str(fine), setting="gold")
    assert len(gold["0"].record.contexts or ()) > 1
    assert len(gold["1"].record.contexts or ()) == 1


def test_gold_texts_need_no_corpus(tmp_path: Path) -> None:
    """Contexts that are flagged are the gold passages; in a corpus they are found by their text."""
    contexts = [
        {"text": TEXT[TOWNS[7]], "title": "Anything", "gold": True, "id": 0},
        {"text": TEXT[TOWNS[8]], "gold": False},
    ]
    row = {**single(7), "gold": None, "contexts": contexts, "response": "old", "model": "older"}
    data = jsonl(tmp_path / "mine.jsonl", [row])
    record = ask(data, setting="gold")["s7"].record
    assert record.contexts == [Passage(TEXT[TOWNS[7]], title="Anything", gold=True)]
    assert record.response == ""
    assert record.model is None
    _, corpus = world(tmp_path)
    record = ask(data, corpus=str(corpus), passages="4")["s7"].record
    assert [one.title for one in record.contexts or () if one.gold] == [TOWNS[7]]


def test_query_of_question_with_history_uses_turns(tmp_path: Path) -> None:
    """All turns, and never a sign between them that a corpus may have as a word."""
    person = PEOPLE[founder(4)]
    turns = ["Hello.", "Hi.", "Thanks.", "Sure."] * 2
    row = {**talk(4), "history": [*turns, f"Tell me of {person}.", "Gladly."]}
    other = {**row, "id": "mine", "retrieval_query": f"{TOWNS[30]} market town"}
    dates = [{"id": f"d{n}", "text": f"Sep 2021, page {n}. Sep! Sep!"} for n in range(9)]
    both = jsonl(tmp_path / "both.jsonl", [*PASSAGES, *dates])
    data = jsonl(tmp_path / "talks.jsonl", [row, other])
    found = {
        form: {key: titles(one)[:1] for key, one in ask(
            data, corpus=str(both), passages="4", retrieval_query=form).items()}
        for form in ("auto", "all", "last")
    }  # fmt: skip
    assert found["auto"] == {"t4": [person], "mine": [TOWNS[30]]}
    assert found["all"] == {"t4": [person], "mine": [person]}
    assert found["last"]["t4"] == found["last"]["mine"] != [person]
    made = task(data, corpus=str(both))
    assert made.options["retrieval-query"] == "auto"
    assert "retrieval-query" not in task(data, corpus=str(both), setting="gold").options
    assert task(data, setting="closed-book", retrieval_query="last").unused == ("retrieval-query",)


def test_passages_that_were_retrieved_elsewhere(tmp_path: Path) -> None:
    """With a corpus, and without one where the results hold the passages."""
    _, corpus = world(tmp_path)
    rows = [single(0), {**talk(4), "gold": [{"text": TEXT[PEOPLE[founder(4)]]}]}]
    rows[0]["gold"] = [{"text": TEXT[TOWNS[0]]}]
    data = jsonl(tmp_path / "mine.jsonl", rows)
    found = {"s0": [TOWNS[3], TOWNS[0]], "t4": [PEOPLE[founder(4)], TOWNS[3]]}
    said = [rows[0]["question"], " [SEP] ".join([*rows[1]["history"], rows[1]["question"]])]
    passages = {name: {"id": ID[name], "title": name, "text": TEXT[name]} for name in TEXT}
    results = [
        {
            "question": question,
            "answers": [],
            "ctxs": [passages[name] for name in found[str(row["id"])]],
        }
        for question, row in zip(said, rows, strict=True)
    ]
    dpr = whole(tmp_path / "dpr.json", results)
    trec = tmp_path / "run.trec"
    lines = [
        f"{key} Q0 {ID[name]} {rank} {-rank} x\n"
        for key, names in found.items()
        for rank, name in enumerate(names)
    ]
    trec.write_text("".join(lines))
    for path, options in (
        (dpr, {}),
        (dpr, {"corpus": str(corpus)}),
        (trec, {"corpus": str(corpus)}),
    ):
        asked = ask(data, retriever=f"file:{path}", **options)
        assert {key: titles(one) for key, one in asked.items()} == found
        ranks = [(one.record.meta or {})["gold_rank"] for one in asked.values()]
        assert ranks == [2, 1]
    made = task(data, retriever=f"file:{dpr}", passages="1")
    assert str(made.options["retriever"]).startswith("file:")
    assert [titles(one) for one in made.questions()] == [names[:1] for names in found.values()]
    with pytest.raises(UsageError, match=r"needs passages to search.*file:RESULTS"):
        task(data, retriever=f"file:{trec}")
    torn = [*results, {"question": "Why?", "ctxs": [{**passages[TOWNS[0]], "text": "Another."}]}]
    with pytest.raises(InputError, match="a second text for the id"):
        task(data, retriever=f"file:{whole(tmp_path / 'torn.json', torn)}")


def test_a_gold_passage_is_shown_once(tmp_path: Path) -> None:
    """By its text, its id and its title: as the corpus has it, at its first place."""
    texts = [TEXT[TOWNS[8]], TEXT[TOWNS[7]].upper()]
    contexts = [{"text": one, "title": "Mine", "gold": True} for one in texts]
    row = {**single(7), "gold": [ID[TOWNS[7]], TOWNS[7]], "contexts": [*contexts, contexts[1]]}
    _, corpus = world(tmp_path)
    record = ask(jsonl(tmp_path / "q.jsonl", [row]), corpus=str(corpus), setting="gold")["s7"]
    assert [(one.title, one.text, one.gold) for one in record.record.contexts or ()] == [
        ("Mine", TEXT[TOWNS[8]], True),
        (TOWNS[7], TEXT[TOWNS[7]], True),
    ]


def test_questions_without_gold(tmp_path: Path) -> None:
    rows = [single(1), {"id": "bare", "question": "Is anything true?"}]
    _, corpus = world(tmp_path)
    data = jsonl(tmp_path / "mine.jsonl", rows)
    with pytest.raises(InputError, match=r"1 questions \(bare\) have no gold.*--without-gold skip"):
        ask(data, setting="gold", corpus=str(corpus))
    assert list(ask(data, setting="gold", corpus=str(corpus), without_gold="skip")) == ["s1"]
    with pytest.raises(InputError, match=r"1 questions \(s1\) have gold .* names only. Add --corp"):
        ask(data, setting="gold")
    record = ask(data, corpus=str(corpus))["bare"].record
    assert (record.meta or {})["gold_retrieved"] is None
    assert record.answerable is None
    assert {one.gold for one in record.contexts or ()} == {None}
    assert record.references is None
    typo = jsonl(tmp_path / "typo.jsonl", [{**single(1), "gold": ["Nowhere"]}])
    with pytest.raises(
        InputError, match=r"line 1: the gold passage 'Nowhere' is not in the corpus"
    ):
        ask(typo, corpus=str(corpus))


def test_questions_keep_declared_answerability(tmp_path: Path) -> None:
    rows = [{"question": f"Who founded {TOWNS[1]}?", "answerable": False}]
    _, corpus = world(tmp_path)
    data = jsonl(tmp_path / "mine.jsonl", rows)
    assert ask(data, corpus=str(corpus))["0"].record.answerable is False
    assert ask(data, setting="closed-book")["0"].record.answerable is False


def test_unanswerable_question_stays_unanswerable_with_gold(tmp_path: Path) -> None:
    _, corpus = world(tmp_path)
    data = jsonl(tmp_path / "mine.jsonl", [{**single(1), "answerable": False}])
    for setting in ("gold", "retrieved"):
        record = ask(data, corpus=str(corpus), setting=setting)["s1"].record
        assert record.answerable is False
    rows = topiocqa(True)
    for number, answer in enumerate(["UNANSWERABLE", " Unanswerable\n", "It is unanswerable"]):
        rows[number]["Answer"] = answer
    data = jsonl(tmp_path / "topiocqa_dev.jsonl", rows)
    for setting, known in (("gold", True), ("retrieved", True), ("closed-book", None)):
        options = {} if setting == "closed-book" else {"corpus": str(corpus)}
        asked = ask(data, "topiocqa", setting=setting, **options)
        said = [question.record.answerable for question in asked.values()]
        assert said == [False, False, known]


def test_questions_keep_meta_of_user(tmp_path: Path) -> None:
    """`meta` is the user's; a name under which the run tells what it found cannot be shared."""
    meta = {"dataset": "staff", "setting": "morning", "note": [1]}
    data = jsonl(tmp_path / "mine.jsonl", [{**single(1), "meta": meta}])
    _, corpus = world(tmp_path)
    record = ask(data, corpus=str(corpus))["s1"].record
    assert record.meta == {**meta, "gold_retrieved": True, "gold_rank": 1}
    for setting, name in (
        ("retrieved", "gold_retrieved"),
        ("retrieved", "gold_rank"),
        ("irrelevant", "irrelevant_rank"),
        ("irrelevant", "irrelevant_found"),
    ):
        rows = [single(0), {**single(1), "meta": {name: None}}]
        data = jsonl(tmp_path / "mine.jsonl", rows)
        with pytest.raises(InputError, match=rf"line 2, field 'meta.{name}'.*{setting} writes"):
            ask(data, corpus=str(corpus), setting=setting, irrelevant_rank="20")
        assert ask(data, setting="closed-book")["s1"].record.meta == {
            "dataset": "questions",
            "setting": "closed-book",
            name: None,
        }


def test_own_prompts(tmp_path: Path) -> None:
    data, corpus = world(tmp_path)
    prompt = tmp_path / "mine.txt"
    prompt.write_text("{history}\n{passages}\n{question}!", encoding="utf-8")
    made = task(data, prompt=prompt, corpus=str(corpus), instruction="v2", passages="1")
    assert made.options["instruction"] == "none but what the prompt says"
    asked = {one.record.id: one for one in made.questions()}
    assert text(asked["s5"]) == f"- Title: {TOWNS[5]}\n{TEXT[TOWNS[5]]}\n{single(5)['question']}!"
    assert text(asked["t4"]).startswith(f"User: Who founded the town of {TOWNS[4]}?\nAgent: ")
    prompt.write_text("{passages} {question}", encoding="utf-8")
    with pytest.raises(
        UsageError, match=r"line 6: the question has a history.*no placeholder \{history\}"
    ):
        list(task(data, prompt=prompt, corpus=str(corpus)).questions())
    topics = whole(tmp_path / "topiocqa_dev.json", topiocqa(True))
    with pytest.raises(UsageError, match=r"no placeholder \{history\}"):
        task(topics, "topiocqa", prompt=prompt, setting="gold")


@pytest.mark.parametrize("publisher", [True, False])
@pytest.mark.parametrize("fullwiki", [True, False])
def test_hotpotqa(tmp_path: Path, publisher: bool, fullwiki: bool) -> None:
    rows = [hotpot(town, publisher, fullwiki) for town in (2, 9)]
    variant = "fullwiki" if fullwiki else "distractor"
    if publisher:
        data = whole(tmp_path / f"hotpot_dev_{variant}_v1.json", rows)
    else:
        data = jsonl(tmp_path / f"{variant}.jsonl", rows)
    _, corpus = world(tmp_path / "world")
    options = {"variant": variant, "corpus": str(corpus)}
    asked = ask(data, "hotpotqa", setting="gold", **options)
    town, name = TOWNS[9], RIVERS[river(9)]
    record = asked["hp9"].record
    assert [one.title for one in record.contexts or ()] == [town, name]
    assert [one.text for one in record.contexts or ()] == [TEXT[town], TEXT[name]]
    assert record.references == [chain(9)["references"][0]]
    assert record.meta == {
        "type": "bridge",
        "level": "hard",
        "dataset": "hotpotqa",
        "setting": "gold",
    }
    if fullwiki:
        with pytest.raises(InputError, match=r"names only.*--corpus.*--variant distractor"):
            ask(data, "hotpotqa", setting="gold", variant=variant)
    made = task(data, "hotpotqa", passages="2", **options)
    assert made.options["gold-needed"] == "all"
    assert made.by == ("meta.gold_retrieved", "meta.type")
    found = {one.record.id: one.record.meta or {} for one in made.questions()}
    assert found["hp9"]["gold_rank"] == 2
    assert found["hp9"]["gold_retrieved"] is True


@pytest.mark.parametrize("publisher", [True, False])
def test_topiocqa(tmp_path: Path, publisher: bool) -> None:
    rows = topiocqa(publisher)
    data = whole(tmp_path / "topiocqa_dev.json", rows)
    asked = ask(data, "topiocqa", setting="gold")
    assert list(asked) == ["1_1", "2_1", "2_2"]
    person = PEOPLE[founder(22)]
    last = asked["2_2"]
    assert last.record.references == [rows[2]["Answer"], rows[2]["Answer"].upper()]
    assert last.record.group == "2"
    assert (last.record.meta or {})["turn"] == 2
    assert [one.title for one in last.record.contexts or ()] == [f"{person} [SEP] Introduction"]
    assert text(last).endswith(
        f"User: who founded the town of {TOWNS[22]}?\nAgent: {person}\n"
        "User: What was this person’s craft?\nAgent:"
    )
    # The first turn of a conversation is one too.
    assert text(asked["1_1"]).endswith(f"\n\nUser: {rows[0]['Question']}\nAgent:")
    _, corpus = world(tmp_path)
    made = task(data, "topiocqa", corpus=str(corpus))
    assert made.options["passages"] == "4"
    for question in made.questions():
        assert (question.record.meta or {})["gold_retrieved"] is True


def test_a_blank_gold_passage_is_none(tmp_path: Path) -> None:
    blank = {"id": "", "title": None, "text": " "}
    data = whole(tmp_path / "dev.json", [topiocqa(True)[0] | {"Gold_passage": blank}])
    assert list(ask(data, "topiocqa", setting="closed-book")) == ["1_1"]
    with pytest.raises(InputError, match=r"1 questions \(1_1\) have no gold passage"):
        ask(data, "topiocqa", setting="gold")


def test_long_conversations_are_cut_in_the_prompt_only(tmp_path: Path) -> None:
    said = [f"utterance {i}" for i in range(14)]
    row = topiocqa(True)[0] | {"Context": said}
    data = whole(tmp_path / "dev.json", [row])
    question = ask(data, "topiocqa", setting="gold")["1_1"]
    shown = [i for i in range(14) if f"utterance {i}\n" in text(question)]
    assert shown == [0, 1, 2, 3, 8, 9, 10, 11, 12, 13]
    assert len(question.record.history or ()) == 14
    none = ask(data, "topiocqa", setting="gold", history_turns="0")["1_1"]
    assert "utterance" not in text(none)


def test_nq_and_its_gold_file(tmp_path: Path) -> None:
    data = jsonl(tmp_path / "NQ-open.dev.jsonl", NQ)
    _, corpus = world(tmp_path / "world")
    plain = task(data, "nq", corpus=str(corpus))
    assert plain.by == ()
    assert "p_g" not in plain.metrics
    assert plain.options["passages"] == "8"
    with pytest.raises(InputError, match=r"3 questions \(0, 1, 2\) have no gold.*--gold FILE"):
        ask(data, "nq", setting="gold")
    gold = whole(tmp_path / "nq-test_gold_info.json", NQ_GOLD)
    with pytest.raises(InputError, match=r"1 questions \(2\) have no gold passage.*skip"):
        ask(data, "nq", setting="gold", gold=str(gold))
    asked = ask(data, "nq", setting="gold", gold=str(gold), without_gold="skip")
    assert list(asked) == ["0", "1"]
    assert asked["1"].record.contexts == [Passage(TEXT[TOWNS[1]], title=TOWNS[1], gold=True)]
    made = task(data, "nq", corpus=str(corpus), gold=str(gold))
    assert made.by == ("meta.gold_retrieved",)
    flags = [(one.record.meta or {})["gold_retrieved"] for one in made.questions()]
    assert flags == [True, True, None]
    names = [Path(file.path).name for file in made.files]
    assert names == ["NQ-open.dev.jsonl", "nq-test_gold_info.json"]
    lines = [{"question": row["question"], "text": "x y"} for row in NQ]
    other = jsonl(tmp_path / "lines.jsonl", lines)
    assert len(ask(data, "nq", setting="gold", gold=str(other))) == 3


BROKEN: list[tuple[str, Any, str]] = [
    ("questions", {"references": ["x"]}, r"field 'question': found no such field"),
    ("questions", {"question": " "}, r"field 'question': found str.*not blank"),
    ("questions", {"question": "q", "references": [""]}, r"'references\[0\]': found str"),
    ("questions", {"question": "q", "references": [3]}, r"'references\[0\]': found int 3"),
    ("questions", {"question": "q", "gold": {"key": 1}}, r"field 'gold': found object"),
    ("questions", {"question": "q", "gold": [1.5]}, r"'gold\[0\]': found float 1.5"),
    ("questions", {"question": "q", "history": "x"}, r"field 'history': found str"),
    ("questions", {"question": "q", "contexts": [{"gold": True}]}, r"contexts\[0\].text"),
    ("nq", {"question": "q"}, r"field 'answer': found no such field.*expected a list of str"),
    ("nq", {"question": "q", "answer": []}, r"field 'answer': found list of 0"),
    ("nq", {"question": "q", "answer": ["a", " "]}, r"'answer\[1\]'"),
    ("hotpotqa", hotpot(2, True) | {"answer": None}, r"field 'answer': found null"),
    ("hotpotqa", hotpot(2, True) | {"_id": None}, r"field '_id': found null"),
    ("hotpotqa", hotpot(2, True) | {"supporting_facts": []}, r"'supporting_facts': found none"),
    ("hotpotqa", hotpot(2, True) | {"supporting_facts": [["a"]]}, r"found list of 1"),
    ("hotpotqa", hotpot(2, True) | {"context": [["a", "b"]]}, r"'context\[0\]\[1\]': found str"),
    (
        "hotpotqa",
        hotpot(2, True) | {"context": {"title": ["a"]}},
        r"'context.sentences': found no such field in object",
    ),
    ("topiocqa", topiocqa(True)[0] | {"Turn_no": None}, r"field 'Turn_no': found null"),
    ("topiocqa", topiocqa(True)[0] | {"Context": [1]}, r"'Context\[0\]': found int 1"),
    ("topiocqa", topiocqa(True)[0] | {"Gold_passage": "x"}, r"'Gold_passage': found str"),
    (
        "topiocqa",
        topiocqa(True)[0] | {"Gold_passage": {"id": "1"}},
        r"field 'Gold_passage.text': found no",
    ),
    ("topiocqa", topiocqa(True)[0] | {"Additional_answers": 3}, r"'Additional_answers': found int"),
    ("topiocqa", topiocqa(True)[0] | {"Additional_answers": [{}]}, r"answers\[0\].Answer'"),
]


@pytest.mark.parametrize(("name", "row", "message"), BROKEN)
def test_broken_rows_are_named(tmp_path: Path, name: str, row: Any, message: str) -> None:
    data = jsonl(tmp_path / "dev.jsonl", [row])
    with pytest.raises(InputError, match=rf"dev.jsonl, line 1.*{message}"):
        ask(data, name, setting="closed-book")


def test_make_task_invalid_files_raise_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--data FILE .* and --corpus PATH .*instruct-qa/nq"):
        task(None)
    with pytest.raises(
        InputError,
        match=r"of nq-open is not fetched yet\. Fetch it with: trueground data fetch nq-open",
    ):
        task(None, "nq", setting="closed-book")
    twice = jsonl(tmp_path / "twice.jsonl", [single(1), single(1)])
    with pytest.raises(
        InputError, match=r"line 2 \(id 's1'\): found this id a second time, first in .*line 1"
    ):
        ask(twice, setting="closed-book")
    empty = whole(tmp_path / "empty.json", [])
    with pytest.raises(InputError, match="found no questions"):
        ask(empty, setting="closed-book")
    folder = tmp_path / "hotpot"
    folder.mkdir()
    for variant in ("distractor", "fullwiki"):
        whole(folder / f"hotpot_dev_{variant}_v1.json", [hotpot(2, True)])
    whole(folder / "hotpot_train_v1.1.json", [hotpot(9, True)])
    assert list(ask(folder, "hotpotqa", setting="closed-book")) == ["hp2"]
    (folder / "hotpot_dev_fullwiki_v1.json").unlink()
    with pytest.raises(InputError, match=r"expected one file.*with fullwiki and dev or validation"):
        task(folder, "hotpotqa", setting="closed-book", variant="fullwiki")


REFUSED: list[tuple[str, dict[str, str], str]] = [
    ("questions", {}, r"--setting retrieved needs passages to search. Add --corpus"),
    ("questions", {"setting": "irrelevant"}, r"--setting irrelevant needs passages"),
    ("questions", {"gold": "x.json"}, r"--gold is for the task nq, not for questions"),
    ("nq", {"variant": "fullwiki"}, r"--variant is for the task hotpotqa, not for nq"),
    ("questions", {"passages": "0"}, r"--passages 0: expected a whole number, 1 or more"),
    ("questions", {"irrelevant_rank": "x"}, r"--irrelevant-rank x: expected"),
    ("questions", {"history_turns": "-1"}, r"--history-turns -1: expected a whole number, 0 or"),
    ("questions", {"setting": "both"}, r"--setting both: expected one of retrieved, gold"),
    ("questions", {"instruction": "v3"}, r"--instruction v3: expected one of v1, v2"),
    ("questions", {"corpus": " "}, r"--corpus is empty"),
]


@pytest.mark.parametrize(("name", "options", "message"), REFUSED)
def test_make_task_invalid_options_raise_error(
    tmp_path: Path, name: str, options: dict[str, str], message: str
) -> None:
    data, corpus = world(tmp_path)
    given = options if "needs" in message else {"corpus": str(corpus), **options}
    with pytest.raises(UsageError, match=message):
        task(data, name, **given)


def test_a_corpus_that_is_too_small(tmp_path: Path) -> None:
    data, corpus = world(tmp_path)
    said = rf"--irrelevant-rank 1000: the corpus .* has {len(PASSAGES)} passages.*at most 227"
    with pytest.raises(UsageError, match=said):
        task(data, corpus=str(corpus), setting="irrelevant")
    assert len(PASSAGES) == 228
    assert task(data, corpus=str(corpus), setting="irrelevant", irrelevant_rank="227")


def test_the_scheme_of_a_run(tmp_path: Path) -> None:
    data, corpus = world(tmp_path)
    made = task(data, corpus=str(corpus), instruction="v2", post_process="turns")
    assert made.params == Params(temperature=0.95, top_p=0.95, seed=0, min_tokens=1, max_tokens=500)
    assert made.trim is not None
    assert made.trim("Paris\nQuestion: x") == "Paris"
    assert made.headline == "recall"
    assert "k_precision(abstention_passage=true)" in made.metrics
    assert made.by == ("meta.gold_retrieved",)
    assert {"p_g", "abstained", "k_precision"} <= set(made.metrics)
    for setting in ("gold", "irrelevant", "closed-book", "retrieved"):
        options = {"setting": setting, "corpus": str(corpus), "irrelevant_rank": "30"}
        options["preset"] = "greedy"
        one = task(data, **options)
        assert [METRICS.parse(name).key for name in one.metrics] == list(one.metrics)
        assert one.headline == ("p_ir" if setting == "irrelevant" else "recall")
        assert one.params == Params(temperature=0.0, max_tokens=500)
        assert one.trim is None
        assert "k_precision(abstention_passage=true)" not in one.metrics
    assert made.options["retriever"].startswith("bm25")
    assert json.dumps(dict(made.options))
    prompts = [prompt.id for prompt in made.prompts]
    assert prompts == ["instruct_qa/qa-v2-1", "instruct_qa/conversation-v2-1"]


def test_own_questions_in_every_format(tmp_path: Path) -> None:
    """JSON lines, CSV with lists as JSON, and Parquet; a lone text is a list of one."""
    row = {"question": "Who?", "references": ["A", "B"], "gold": [TOWNS[0], TOWNS[1]], "group": "g"}
    _, corpus = world(tmp_path)
    cells = {name: json.dumps(v) if isinstance(v, list) else v for name, v in row.items()}
    pl.DataFrame([cells]).write_csv(tmp_path / "mine.csv")
    files = [jsonl(tmp_path / "mine.jsonl", [row]), tmp_path / "mine.csv"]
    files.append(parquet(tmp_path / "mine.parquet", [row]))
    found = [ask(file, corpus=str(corpus), setting="gold")["0"].record for file in files]
    assert found[0] == found[1] == found[2]
    assert [one.title for one in found[0].contexts or ()] == TOWNS[:2]
    lone = jsonl(tmp_path / "lone.jsonl", [{**row, "references": "A", "gold": TOWNS[0]}])
    record = ask(lone, corpus=str(corpus), setting="gold")["0"].record
    assert record.references == ["A"]
    assert [one.title for one in record.contexts or ()] == TOWNS[:1]


def test_names_of_benchmarks_may_be_written_with_either_line() -> None:
    for name in ("instruct-qa", "truly-ground"):
        assert get_benchmark(name.replace("-", "_")) is get_benchmark(name)
        assert get_benchmark(name).name == name
    with pytest.raises(UsageError, match=r"unknown benchmark 'instruct_q'.*'instruct-qa'"):
        get_benchmark("instruct_q")


def test_the_same_questions_every_time(tmp_path: Path) -> None:
    data, corpus = world(tmp_path)
    made = task(data, corpus=str(corpus))
    first = list(made.questions())
    assert list(made.questions()) == first
    assert list(task(data, corpus=str(corpus)).questions()) == first
