"""A finished build with everything that page and card can show, hostile texts among it."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trueground.models.base import Message
from trueground.records.checks import FileInfo
from trueground.testing import FakeModel
from trueground.wings.labeling.base import Label
from trueground.wings.labeling.kinds import AnnotationTask
from trueground.wings.papers.builders.api import build
from trueground.wings.papers.builders.base import (
    BatchStage,
    Builder,
    BuildPlan,
    BuiltDataset,
    Rejected,
    Role,
    SourceStep,
    Stage,
)
from trueground.wings.papers.builders.build import BuildSettings, Built
from trueground.wings.papers.builders.people import count_labels
from trueground.wings.papers.builders.quality import BuiltItem
from trueground.wings.papers.builders.registry import BUILDERS
from trueground.wings.papers.builders.settings import Material

HOSTILE = '</p><script>hit=1</script><img src=x onerror="hit=1"> | `x` [a](http://e.x) ``` \n# b'
WORDS = ("harbour", "river", "engine", "lantern", "valley", "clock", "garden", "bridge", "tower")


class Row(msgspec.Struct, frozen=True):
    id: str
    text: str


class Written(msgspec.Struct):
    text: str


def piece(row: Row) -> BuiltItem:
    rng = random.Random(row.id)
    asked, by, town = rng.choices(WORDS, k=3)
    texts = (" ".join(rng.choices(WORDS, k=rng.randint(20, 90))) for _ in range(rng.randint(1, 4)))
    return BuiltItem(
        row.id,
        f"Who built the {asked} by the {by} in {town} town?",
        contexts=tuple(texts),
        answers=(rng.choice(WORDS),),
        factors={"task": rng.choice("abc"), "popularity": rng.choice(["high", "low", HOSTILE])},
        numbers={"gold_facts": rng.randint(1, 6)},
        answerable=rng.random() > 0.4,
    )


def read() -> Iterator[Row | Rejected]:
    yield from (Row(str(number), f"text {number}") for number in range(90))
    yield from (Rejected("empty", id=f"empty-{number}") for number in range(10))


async def rewrite(item: Row, client: Any) -> list[Row]:
    made = await client.ask("writer", [Message("user", item.text)], Written)
    if made.text == item.text:
        raise Rejected("same_text", HOSTILE)
    return [Row(item.id, made.text)]


def choose(items: Sequence[Row]) -> list[Row | Rejected]:
    return [*items[:60], *(Rejected("too_many", id=item.id) for item in items[60:])]


def finish(items: Sequence[Row]) -> BuiltDataset:
    tasks = [AnnotationTask("validity", item.id, {"question": item.text}) for item in items]
    said = {
        task.id: Label("validity", task.id, {"if": "no" if task.id == "3" else "yes"}, {}, 3)
        for task in tasks[:20]
    }
    judged = {task.id: {"if": "yes" if int(task.id) % 4 else "no"} for task in tasks}
    return BuiltDataset(
        files={"items <1>.jsonl": b"".join(msgspec.json.encode(item) + b"\n" for item in items)},
        quality=[piece(item) for item in items],
        run="trueground run faitheval/unanswerable --data {dataset} --model NAME",
        factors=("task", "popularity"),
        tasks=tasks,
        human={"kinds": count_labels(tasks, {"validity": said}, judged)},
    )


def prepare(options: Mapping[str, Any], _material: Material) -> BuildPlan:
    stages: list[Any] = [
        Stage(
            "rewrite",
            "Change the context so that the evidence is gone",
            Row,
            rewrite,
            reasons={"same_text": "the changed context is the original one"},
            roles=("writer",),
        ),
        BatchStage("choose", HOSTILE, Row, choose, reasons={"too_many": HOSTILE}),
    ]
    return BuildPlan(
        builder="finished",
        options={"tasks": ("a", "b"), "alpha": 0.5, "name": HOSTILE},
        files=[FileInfo(f"docs/{HOSTILE}.jsonl", "ab" * 32, 10)],
        source=SourceStep("read", "Read the records", Row, read, {"empty": "there is no text"}),
        stages=stages,
        finish=finish,
        tokens=lambda row: len(row.text) / 4,
        notices=[f"The sources are invented. {HOSTILE}"],
    )


def say(request: Any) -> str:
    text = request.messages[-1].content
    return json.dumps({"text": text if text.endswith("7") else text.upper()})


def finished(out: Path) -> Built:
    """The build, in `out`."""
    role = Role("writer", "Who writes.")
    builder = Builder("finished", "A", "B", "C", (role,), (), (), prepare)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BUILDERS, "finished", builder)
        return build(
            "finished", [], out, models={"writer": FakeModel(say)}, settings=BuildSettings()
        )


def write_labels(path: Path) -> Path:
    """Merged labels of 40 tasks, 34 of which the build has."""
    rows = [
        Label(
            "validity",
            str(number),
            {"if": "yes" if number % 5 else "no"},
            {"if": "majority" if number % 3 else "agreed", "only_if": "open"},
            3,
        )
        for number in range(40)
    ]
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return path
