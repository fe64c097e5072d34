"""`build grounding` from documents to scores, against an endpoint that is good, bad and hostile."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.wings.papers.builders.grounding import towns
from tests.wings.papers.builders.scripted_server import scripted

import trueground as tg
from trueground.errors import UsageError
from trueground.models.base import ChatRequest
from trueground.testing import FakeModel
from trueground.wings.papers.builders.api import build
from trueground.wings.papers.builders.build import (
    BuildRequest,
    BuildSettings,
    Built,
    estimate_build,
)
from trueground.wings.papers.builders.directory import DROPPED
from trueground.wings.papers.builders.grounding.items import Instance
from trueground.wings.papers.truly_ground.source import VersionQuestion, read_items

OPTIONS = {"popularity-share": "0.5"}


def built(documents: Path, out: Path, url: str, **options: Any) -> Built:
    model = f"m(base_url={url})"
    models = {"writer": model, "judge": model}
    settings = BuildSettings(cache=False)
    return build(
        "grounding", documents, out, models=models, options=OPTIONS | options, settings=settings
    )


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    folder = tmp_path_factory.mktemp("grounding")
    documents = towns.write_documents(folder / "documents.jsonl")
    with scripted(towns.reply) as server:
        yield built(documents, folder / "out", server.url)


def items(data: Path, version: str = "original_version") -> list[VersionQuestion]:
    return read_items(data / f"{version}.json", data / "qId2metaInfo.json")


def test_the_kept_set_is_the_known_good_set(done: Built) -> None:
    kept = {item.question for item in items(done.path / "dataset")}
    assert kept == {towns.question_of(key) for key in towns.good_keys()}
    assert done.items == len(kept)


def test_the_others_fell_where_and_why_they_should(done: Built) -> None:
    ids = {f"t{number:02}": name for number, name in enumerate(towns.NAMES)}
    fell = {}
    for line in (done.path / DROPPED).read_text().splitlines():
        row = json.loads(line)
        if row["stage"] in ("gold", "conflict"):
            document, _, number = row["id"].partition("/")
            kind = {"q01": "year", "q02": "craft"}[number]
            fell[f"{ids[document]}/{kind}"] = (row["stage"], row["reason"])
    assert fell == {key: bad[1:] for key, bad in towns.BAD.items()}


def test_old_knowledge_is_in_no_conflicting_version(done: Built) -> None:
    for item in items(done.path / "dataset", "revised_version"):
        text = " ".join((*item.facts, *(one.text for one in item.gold)))
        name = next(name for name in towns.NAMES if name in item.question)
        old = towns.craft(name) if "known for" in item.question else str(towns.year(name))
        assert old not in text.split()


def test_distractors_are_of_other_documents(done: Built) -> None:
    (file,) = done.path.glob("stages/*-distractors.jsonl")
    for item in msgspec.json.Decoder(Instance).decode_lines(file.read_bytes()):
        assert len(item.distractors) == 20 - len(item.original.pair.contexts)
    found = json.loads((done.path / "dataset" / "qId2distractor.json").read_text())
    for item in items(done.path / "dataset"):
        titles = {f"Title: {one.title}" for one in item.gold}
        heads = {text.split("\n")[0] for text in found[item.id]["all_distractor"]}
        assert heads.isdisjoint(titles)


def stating(facts: dict[str, str]) -> FakeModel:
    """A model that answers a question with the gold facts."""

    def reply(request: ChatRequest) -> str:
        words = request.messages[-1].content
        return next(facts[question] for question in facts if question in words)

    return FakeModel(reply)


@pytest.mark.parametrize(
    ("task", "version"),
    [
        ("original-gold", "original_version"),
        ("conflict-gold", "revised_version"),
        ("original-dist", "original_version"),
        ("conflict-dist", "revised_version"),
    ],
)
def test_it_runs_and_scores_as_expected(
    done: Built, tmp_path: Path, task: str, version: str
) -> None:
    data = done.path / "dataset"
    facts = {item.question: " ".join(item.facts) for item in items(data, version)}
    result = tg.run(
        f"truly-ground/{task}", stating(facts), data=data, out=tmp_path / "run", cache=False
    )
    recall = "grounding_recall(abstain=zero)"
    for name in ("grounding_f1(scope=gold,abstain=zero)", recall, "answer_accuracy(parts=each)"):
        assert result.summary[name].mean == 1.0, name


def test_an_answer_from_memory_is_wrong_in_the_conflicting_version(
    done: Built, tmp_path: Path
) -> None:
    data = done.path / "dataset"
    facts = {item.question: " ".join(item.facts) for item in items(data)}
    result = tg.run(
        "truly-ground/conflict-gold", stating(facts), data=data, out=tmp_path / "run", cache=False
    )
    assert result.summary["grounding_recall"].mean < 0.1
    accuracy = result.summary["answer_accuracy(parts=each)"]
    assert accuracy.mean is not None
    assert accuracy.mean < 0.1 + 1 / accuracy.scored  # the choice between two towns names both


def test_a_second_run_asks_nothing_and_another_option_only_what_changed(
    done: Built, tmp_path: Path
) -> None:
    documents = done.path.parent / "documents.jsonl"
    out = tmp_path / "out"
    with scripted(towns.reply) as server:
        url = server.url
        first = built(documents, out, url)
        asked = len(server.calls)
        built(documents, out, url)
        assert len(server.calls) == asked
        bare = built(documents, out, url, conflict="none", distractors="0")
        assert len(server.calls) == asked
    names = {path.name for path in (out / "dataset").iterdir()}
    assert "revised_version.json" not in names
    assert "qId2distractor.json" not in names
    assert bare.items == first.items + sum(bad[1] == "conflict" for bad in towns.BAD.values())


def test_a_second_judge_gives_kappa(tmp_path: Path) -> None:
    documents = towns.write_documents(tmp_path / "documents.jsonl")
    with scripted(towns.reply) as server:
        model = f"m(base_url={server.url})"
        models = {"writer": model, "judge": model, "second-judge": f"n(base_url={server.url})"}
        made = build(
            "grounding",
            documents,
            tmp_path / "out",
            models=models,
            options=OPTIONS,
            settings=BuildSettings(cache=False, limit=12),
        )
    assert any("kappa of the two models is 1.00" in word for word in made.summary["notices"])


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"decomposer": "magic"}, "magic"),
        ({"fact-judge": "magic"}, "magic"),
        ({"retriever": "magic"}, "magic"),
        ({"distractors": "many"}, "--distractors many"),
        ({"distractors": "-1"}, "--distractors -1"),
        ({"conflict": "half"}, "--conflict half"),
    ],
)
def test_a_wrong_option_is_named_before_anything_is_asked(
    tmp_path: Path, options: dict[str, str], word: str
) -> None:
    documents = towns.write_documents(tmp_path / "documents.jsonl")
    model = FakeModel("never")
    with pytest.raises(UsageError, match=word):
        build(
            "grounding",
            documents,
            tmp_path / "out",
            models={"writer": model, "judge": model},
            options=options,
        )
    assert not model.calls
    assert not (tmp_path / "out").exists()


def test_a_dry_run_counts_the_calls_and_writes_nothing(tmp_path: Path) -> None:
    documents = towns.write_documents(tmp_path / "documents.jsonl")
    model = FakeModel("never")
    found = estimate_build(
        BuildRequest(
            "grounding", documents, tmp_path / "out", models={"writer": model, "judge": model}
        )
    )
    assert {one.stage for one in found.stages if one.calls} == {
        "candidates",
        "classify",
        "gold",
        "conflict",
    }
    assert not model.calls
    assert not (tmp_path / "out").exists()


def test_models_without_a_role_are_counted_and_closed(tmp_path: Path) -> None:
    """An LLM as judge of facts and as decomposer stands in the dry run and in the manifest."""
    documents = towns.write_documents(tmp_path / "documents.jsonl")
    documents.write_text("".join(documents.read_text().splitlines(True)[10:14]))

    def reply(body: dict[str, Any]) -> str | dict[str, Any]:
        words = str(body["messages"])
        if body["model"] == "t":
            return "True"
        if body["model"] == "d":
            sentence = next(
                one for one in sentences_of_towns() if one in words.split("Sentence")[-1]
            )
            return f"- {sentence}"
        return towns.reply(body)

    with scripted(reply) as server:
        own = f"(base_url={server.url})"
        models = {"writer": f"m{own}", "judge": f"m{own}"}
        options = OPTIONS | {
            "distractors": "0",
            "fact-judge": f"llm:t{own}",
            "decomposer": f"llm:d(base_url={server.url},examples=0)",
        }
        settings = BuildSettings(cache=False)
        expected = estimate_build(
            BuildRequest(
                "grounding",
                documents,
                tmp_path / "out",
                models=models,
                options=options,
                settings=settings,
            )
        )
        made = build(
            "grounding",
            documents,
            tmp_path / "out",
            models=models,
            options=options,
            settings=settings,
        )
        asked = Counter(body["model"] for body in server.calls)
    assert made.items
    assert {name: made.usage[name]["calls"] for name in ("fact-judge", "decomposer")} == {
        "fact-judge": asked["t"],
        "decomposer": asked["d"],
    }
    counted = {one.role: one for one in expected.stages}
    assert counted["fact-judge"].model == "t"
    assert counted["fact-judge"].calls
    assert counted["decomposer"].calls
    assert not [one for one in threading.enumerate() if one.name == "asker"]


def sentences_of_towns() -> list[str]:
    texts = (towns.text(name) for name in towns.NAMES)
    return [f"{one}." for text in texts for one in text.rstrip(".").split(". ")]


def test_a_dry_run_is_an_estimate_from_above(tmp_path: Path) -> None:
    documents = towns.write_documents(tmp_path / "documents.jsonl")
    with scripted(towns.reply) as server:
        model = f"m(base_url={server.url})"
        models = {"writer": model, "judge": model}
        expected = estimate_build(
            BuildRequest("grounding", documents, tmp_path / "out", models=models, options=OPTIONS)
        )
        made = built(documents, tmp_path / "out", server.url)
    for role, spent in made.usage.items():
        most = [one for one in expected.stages if one.role == role]
        assert sum(one.calls for one in most) >= spent["calls"], role
