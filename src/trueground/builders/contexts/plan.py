"""Options and material → the plan of `build contexts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from trueground.annotation.base import Label
from trueground.annotation.labels import read_labels
from trueground.benchmarks.base import Value
from trueground.builders.base import Dataset, Material, Plan
from trueground.builders.contexts import answering, judging, people, writing
from trueground.builders.contexts.checking import REASONS, see_written
from trueground.builders.contexts.items import Judged, Question, TaskName, Written
from trueground.builders.contexts.ledger import Ledger
from trueground.builders.contexts.output import agreement, make_dataset
from trueground.builders.contexts.rows import source_files
from trueground.builders.contexts.settings import Settings, read_settings
from trueground.builders.contexts.source import make_source
from trueground.builders.contexts.tasks import make_tasks
from trueground.errors import MissingExtraError
from trueground.models.prompts import Prompt
from trueground.records import FileInfo

_PACKAGE = "trueground.builders.contexts"
_NEEDED = ("question", "context", "new_answer")
_ALL: tuple[TaskName, ...] = ("unanswerable", "inconsistent", "counterfactual")


def prepare(options: Mapping[str, Value], material: Material) -> Plan:
    """The plan with its options settled. UsageError, InputError, MissingExtraError."""
    settings = read_settings(options, material.seed)
    if settings.language and find_spec("py3langid") is None:
        raise MissingExtraError("--language check (leave it out with --language any)", "build")
    files = source_files(material.paths)
    labels: Mapping[str, Label] = {}
    infos = [FileInfo.of(str(file), file) for file in files]
    if material.labels is not None:
        labels = read_labels(material.labels, people.KIND)
        infos.append(FileInfo.of(str(material.labels), material.labels))
    ledger = Ledger()
    notices = _notices(material)

    def finish(items: Sequence[Judged]) -> Dataset:
        if ledger.verdicts:
            notices.append(_agreed(ledger))
        return make_dataset(items, ledger, labels, settings.seed)

    return Plan(
        builder="contexts",
        options={**options, "task": ",".join(settings.tasks) or "all that the records allow"},
        files=infos,
        source=make_source(files, settings),
        stages=_stages(settings, material, ledger, labels),
        finish=finish,
        tokens=_tokens,
        notices=notices,
    )


def _stages(
    settings: Settings, material: Material, ledger: Ledger, labels: Mapping[str, Label]
) -> list[Any]:
    judges = _prompts(material, "judge-", judging.PLACES)
    answer = material.prompt(_PACKAGE, "answer-1", *_places(answering.PLACES))
    share = 1.0 / len(settings.tasks or _ALL) if "inconsistent" in (settings.tasks or _ALL) else 0.0
    stages: list[Any] = [
        make_tasks(settings),
        answering.make_answering(answer, settings.seed, share),
        writing.make_writing(_prompts(material, "", writing.PLACES), settings.min_words),
        ledger.sieve("check", "Check the text", Written, see_written(settings), REASONS),
        judging.make_judging(judges),
    ]
    if "second-judge" in material.roles:
        stages.append(judging.make_sampling(settings.second_sample, settings.seed))
        stages.append(judging.make_second(judges, settings.second_drops, 1.0))
    see = judging.see_judged(ledger, settings.second_drops)
    stages.append(ledger.sieve("valid", "Weigh the verdicts", Judged, see, judging.REASONS))
    stages.append(people.make_remembering(ledger))
    if material.labels is not None:
        voted = people.see_labels(labels)
        stages.append(ledger.sieve("people", "Follow the majority", Judged, voted, people.REASONS))
    return stages


def _prompts(
    material: Material, before: str, places: Mapping[str, tuple[str, ...]]
) -> dict[TaskName, Prompt]:
    return {
        task: material.prompt(_PACKAGE, f"{before}{task}-1", *_places(places[task]))
        for task in _ALL
    }


def _places(places: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those that a user's prompt must have, and those that it may have."""
    needed = [name for name in places if name in _NEEDED]
    return needed, [name for name in places if name not in _NEEDED]


def _notices(material: Material) -> list[str]:
    writer, judge = material.roles["writer"], material.roles["judge"]
    notices = [f"The contexts were written by the model {writer}; they may state what is false."]
    if writer == judge:
        notices.append(
            f"The judge {judge} is the model that wrote the contexts: it judges its own work."
        )
    if material.labels is None:
        notices.append("No people have labelled these items; only models have judged them.")
    return notices


def _agreed(ledger: Ledger) -> str:
    found = agreement(ledger)
    kappa = "undefined" if found["kappa"] is None else f"{found['kappa']:.2f}"
    return (
        f"A second judge saw {found['items']:,} items and came to the same verdict on "
        f"{found['agreement']:.1%} of them (Cohen's kappa {kappa})."
    )


def _tokens(question: Question) -> float:
    """About four characters to a token."""
    choices = sum(len(choice.text) for choice in question.choices)
    return (len(question.context) + len(question.question) + choices) / 4
