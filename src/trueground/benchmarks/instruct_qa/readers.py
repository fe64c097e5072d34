"""The rows of the three datasets → items, every field checked.

Each field may stand as the publisher's own files have it, or as the Hub does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trueground.benchmarks.instruct_qa.fields import QaFields
from trueground.benchmarks.instruct_qa.items import Gold, QaQuestion
from trueground.records.problems import describe
from trueground.retrieval.questions import own_query
from trueground.types import Turn

Rows = Iterable[tuple[str, dict[str, Any]]]
# TopiOCQA's answer where Wikipedia holds none.
_UNANSWERABLE = "UNANSWERABLE"
_HINT = {
    "nq": '; a row is {"question": "…", "answer": ["…"]}',
    "hotpotqa": "; a row is one of hotpot_dev_distractor_v1.json, or of hotpotqa/hotpot_qa",
    "topiocqa": "; a row is one of topiocqa_dev.json, or of McGill-NLP/TopiOCQA",
}


def read_nq(rows: Rows) -> Iterator[QaQuestion]:
    """Natural Questions open: a question and a list of answers; the id is the row's number."""
    for number, (place, row) in enumerate(rows):
        fields = QaFields(place, row, _HINT["nq"])
        yield QaQuestion(place, str(number), fields.text("question"), fields.texts("answer"))


def read_hotpotqa(rows: Rows) -> Iterator[QaQuestion]:
    """HotpotQA: the gold passages are the paragraphs that hold a supporting fact."""
    for place, row in rows:
        fields = QaFields(place, row, _HINT["hotpotqa"])
        texts = _paragraphs(fields)
        titles = dict.fromkeys(_pairs(fields, "supporting_facts", ("title", "sent_id")))
        if not titles:
            raise fields.wrong("supporting_facts", "none", "one fact or more")
        yield QaQuestion(
            place,
            fields.label("id", "_id"),
            fields.text("question"),
            (fields.text("answer"),),
            gold=tuple(Gold(texts.get(t), title=t, page=True) for t in titles),
            meta={"type": fields.maybe("type"), "level": fields.maybe("level")},
        )


def read_topiocqa(rows: Rows) -> Iterator[QaQuestion]:
    """TopiOCQA: a turn of a conversation, with the utterances before it."""
    for place, row in rows:
        fields = QaFields(place, row, _HINT["topiocqa"])
        conversation, turn = fields.label("Conversation_no"), fields.label("Turn_no")
        before = fields.texts("Context", empty=True) if row.get("Context") is not None else ()
        answer = fields.text("Answer")
        answers = (answer, *_more_answers(fields))
        yield QaQuestion(
            place,
            f"{conversation}_{turn}",
            fields.text("Question"),
            tuple(dict.fromkeys(answers)),
            tuple(Turn(one, "agent" if i % 2 else "user") for i, one in enumerate(before)),
            _gold_passage(fields),
            group=conversation,
            answerable=False if answer.strip().upper() == _UNANSWERABLE else None,
            retrieval_query=own_query(place, row),
            meta={"turn": int(turn) if turn.isdecimal() else turn, "topic": fields.maybe("Topic")},
        )


def _paragraphs(fields: QaFields) -> dict[str, str]:
    """Title → text of the paragraphs that come with a question of HotpotQA."""
    _, value = fields.value("the paragraphs", "context")
    titles = _pairs(fields, "context", ("title", "sentences"))
    seconds = value["sentences"] if isinstance(value, dict) else [pair[1] for pair in value]
    found = {}
    for i, (title, sentences) in enumerate(zip(titles, seconds, strict=True)):
        if not isinstance(sentences, list) or not all(isinstance(s, str) for s in sentences):
            raise fields.wrong(f"context[{i}]", describe(sentences), "a list of sentences")
        if text := "".join(sentences).strip():
            found[title] = text
    return found


def _pairs(fields: QaFields, name: str, keys: tuple[str, str]) -> Sequence[str]:
    """The titles of [[title, …], …], or of {"title": […], …: […]}."""
    expected = f'[["…", …]], or {{"{keys[0]}": […], "{keys[1]}": […]}}'
    _, value = fields.value(expected, name)
    if isinstance(value, dict):
        titles, seconds = value.get(keys[0]), value.get(keys[1])
        whole = isinstance(titles, list) and isinstance(seconds, list)
        if not whole or len(titles or ()) != len(seconds or ()):
            raise fields.wrong(name, describe(value), expected)
    elif isinstance(value, list) and all(isinstance(p, list) and len(p) == 2 for p in value):
        titles = [pair[0] for pair in value]
    else:
        raise fields.wrong(name, describe(value), expected)
    return [fields.as_text(f"{name}[{i}]", title) for i, title in enumerate(titles or ())]


def _more_answers(fields: QaFields) -> list[str]:
    """What other annotators answered: [{"Answer": …}], or {"Answer": [ … ]}."""
    value = fields.row.get("Additional_answers")
    if value is None:
        return []
    if isinstance(value, dict):
        value = [{"Answer": one} for one in value.get("Answer") or ()]
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise fields.wrong("Additional_answers", describe(value), 'a list of {"Answer": "…"}')
    found = []
    for i, one in enumerate(value):
        found.append(fields.as_text(f"Additional_answers[{i}].Answer", one.get("Answer")))
    return found


def _gold_passage(fields: QaFields) -> tuple[Gold, ...]:
    """The passage that holds the answer; () where the file does not name it."""
    value = fields.row.get("Gold_passage")
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise fields.wrong("Gold_passage", describe(value), '{"id": …, "title": …, "text": …}')
    if not any(str(value.get(name) or "").strip() for name in ("id", "title", "text")):
        return ()
    inner = QaFields(f"{fields.place}, field 'Gold_passage'", value, _HINT["topiocqa"])
    known = inner.label("id") if value.get("id") is not None else None
    return (Gold(inner.text("text"), id=known, title=inner.maybe("title")),)
