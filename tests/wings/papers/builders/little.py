"""A tiny builder for tests of the frame: every line is written in capitals, twice, and judged.

As a process it is the whole command line with this builder:
`python -m tests.wings.papers.builders.little build …`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from trueground.errors import InputError
from trueground.models.prompts import Prompt
from trueground.options.declaration import DeclaredOption
from trueground.options.option import Option
from trueground.options.reading import DeclaredOptions
from trueground.records.checks import FileInfo
from trueground.wings.labeling.kinds import AnnotationTask
from trueground.wings.papers.builders.base import (
    BatchStage,
    Builder,
    BuildPlan,
    BuiltDataset,
    CallEstimate,
    Rejected,
    Role,
    SourceStep,
    Stage,
)
from trueground.wings.papers.builders.quality import BuiltItem
from trueground.wings.papers.builders.registry import BUILDERS
from trueground.wings.papers.builders.settings import Material


class Line(msgspec.Struct, frozen=True):
    id: str
    text: str


class Upper(msgspec.Struct):
    upper: str


class Good(msgspec.Struct):
    good: bool
    why: str


def lines_of(paths: Sequence[Path]) -> Iterator[Line | Rejected]:
    for path in paths:
        try:
            rows = path.read_text().splitlines()
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}") from error
        for number, text in enumerate(rows, start=1):
            name = f"{path.stem}-{number}"
            yield Line(name, text) if text else Rejected("blank", f"{path}, line {number}", id=name)


def writing(prompt: Prompt) -> Stage[Line, Line]:
    """Two calls for an item, one after the other."""

    async def work(item: Line, client: Any) -> list[Line | Rejected]:
        made = await client.ask("writer", prompt.fill({"text": item.text}), Upper)
        again = await client.ask("writer", prompt.fill({"text": f"again {made.upper}"}), Upper)
        if made.upper == item.text:
            raise Rejected("unchanged", made.upper)
        second = f"{item.id}-2"
        if again.upper == made.upper:
            return [Line(item.id, made.upper), Rejected("unchanged", id=second)]
        return [Line(item.id, made.upper), Line(second, again.upper)]

    return Stage(
        "write",
        "Write in capitals",
        Line,
        work,
        reasons={"unchanged": "it is as it was"},
        identity={"version": 1},
        prompts=(prompt.file,),
        roles=("writer",),
        calls=[CallEstimate("writer", lambda tokens: tokens, lambda tokens: tokens, 2)],
        fan_out=2,
    )


def choosing() -> BatchStage[Line, Line]:
    def work(items: Sequence[Line]) -> list[Line | Rejected]:
        seen: set[str] = set()
        made: list[Line | Rejected] = []
        for item in items:
            made.append(Rejected("double", id=item.id) if item.text in seen else item)
            seen.add(item.text)
        return made

    return BatchStage("choose", "No doubles", Line, work, reasons={"double": "there is another"})


def judging(prompt: Prompt, roles: Mapping[str, str]) -> Stage[Line, Line]:
    async def work(item: Line, client: Any) -> list[Line]:
        found = await client.ask("judge", prompt.fill({"text": item.text}), Good)
        if not found.good:
            raise Rejected("bad", found.why)
        if "second" in roles:
            await client.ask("second", prompt.fill({"text": item.text}), Good)
        return [item]

    return Stage(
        "check",
        "Ask a judge",
        Line,
        work,
        reasons={"bad": "the judge finds it bad"},
        prompts=(prompt.file,),
        roles=("judge", "second"),
        calls=[CallEstimate("judge", lambda tokens: tokens, 5)],
    )


def finish(items: Sequence[Line]) -> BuiltDataset:
    rows = [{"id": i.id, "response": i.text, "references": [i.text]} for i in items]
    return BuiltDataset(
        files={"answers.jsonl": b"".join(json.dumps(row).encode() + b"\n" for row in rows)},
        quality=[BuiltItem(i.id, i.text, factors={"length": str(len(i.text))}) for i in items],
        run="trueground score {dataset}/answers.jsonl",
        factors=("length",),
        tasks=[AnnotationTask("validity", i.id, {"question": i.text}) for i in items],
    )


def prepare(options: Mapping[str, Any], material: Material) -> BuildPlan:
    stages: list[Any] = [
        writing(material.prompt("tests.wings.papers.builders", "little_write-1", ("text",))),
        choosing(),
        judging(
            material.prompt("tests.wings.papers.builders", "little_judge-1", ("text",)),
            material.roles,
        ),
    ]
    return BuildPlan(
        builder="little",
        options=options,
        files=[FileInfo(str(path), "0" * 64, 0) for path in material.paths],
        source=SourceStep(
            "read", "Read", Line, lambda: lines_of(material.paths), {"blank": "nothing on the line"}
        ),
        stages=stages[: int(options["stages"])],
        finish=finish,
        tokens=lambda item: len(item.text) / 4,
        notices=["made for a test"],
    )


BUILDER = Builder(
    name="little",
    doc="Lines in capitals",
    source="nowhere",
    takes="files of lines",
    roles=(
        Role("writer", "who writes"),
        Role("judge", "who judges"),
        Role("second", "who judges too", needed=False),
    ),
    options=DeclaredOptions([DeclaredOption.of("stages", str, "3", Option("How many stages"))]),
    prompts=("little_write", "little_judge"),
    prepare=prepare,
)


def register() -> None:
    """Make the builder known, and another one of the same make."""
    BUILDERS["little"] = BUILDER
    BUILDERS["other"] = replace(
        BUILDER, name="other", prepare=lambda o, m: replace(prepare(o, m), builder="other")
    )


def answering(
    bad: Callable[[str], bool] = lambda _text: False,
) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """The replies of a good model: capitals for the writer, a verdict for the judge."""

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        text = body["messages"][0]["content"]
        said = text.strip().splitlines()[-1]
        if text.startswith("Write"):
            return {"upper": said.upper()}
        return {"good": not bad(said), "why": f"It says {said}."}

    return answer


if __name__ == "__main__":
    from trueground.cli import main

    register()
    sys.exit(main())
