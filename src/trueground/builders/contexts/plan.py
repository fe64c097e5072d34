"""Options and material → the plan of `build contexts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trueground.benchmarks.base import Value
from trueground.builders.base import BuildPlan, BuiltDataset, Material
from trueground.builders.checks import need_languages
from trueground.builders.contexts import answering, judging, writing
from trueground.builders.contexts.checking import make_checking
from trueground.builders.contexts.items import JudgedContext, TaskName
from trueground.builders.contexts.output import make_dataset
from trueground.builders.contexts.people import KIND, tasks_of
from trueground.builders.contexts.settings import ContextsSettings, read_settings
from trueground.builders.contexts.sizes import SampleSizes, tokens
from trueground.builders.contexts.source import make_source
from trueground.builders.contexts.tasks import make_tasks
from trueground.builders.contexts.weighing import Weighed
from trueground.builders.people import PeopleLabels
from trueground.builders.rows import source_files
from trueground.models.prompts import Prompt
from trueground.records import FileInfo

_PACKAGE = "trueground.builders.contexts"
_NEEDED = ("question", "context", "new_answer")
_ALL: tuple[TaskName, ...] = ("unanswerable", "inconsistent", "counterfactual")


def prepare(options: Mapping[str, Value], material: Material) -> BuildPlan:
    """The plan with its options settled. UsageError, InputError, MissingExtraError."""
    settings = read_settings(options, material.seed)
    if settings.language:
        need_languages("--language check (leave it out with --language any)")
    files = source_files(material.paths)
    infos = [FileInfo.of(str(file), file) for file in files]
    if material.labels is not None:
        infos.append(FileInfo.of(str(material.labels), material.labels))
    people = PeopleLabels([KIND], tasks_of, material.labels)
    weighed = Weighed(settings.second_drops)
    notices = [_written_by(material)]

    def finish(items: Sequence[JudgedContext]) -> BuiltDataset:
        found = weighed.agreement()
        notices[1:] = [] if found is None else [_agreed(found)]
        return make_dataset(items, people, found, settings.seed)

    return BuildPlan(
        builder="contexts",
        options={**options, "task": ",".join(settings.tasks) or "all that the records allow"},
        files=infos,
        source=make_source(files, settings),
        stages=[*_stages(settings, material), weighed.stage, people.stage(JudgedContext)],
        finish=finish,
        tokens=tokens,
        notices=notices,
        people=people,
    )


def _stages(settings: ContextsSettings, material: Material) -> list[Any]:
    """All up to the last verdict."""
    judges = _prompts(material, "judge-", judging.PLACES)
    answer = material.prompt(_PACKAGE, "answer-1", *_places(answering.PLACES))
    writers = _prompts(material, "", writing.PLACES)
    sizes = SampleSizes(settings.min_words)
    stages: list[Any] = [
        make_tasks(settings, sizes),
        answering.make_answering(answer, settings.seed, sizes),
        writing.make_writing(writers, settings.min_words, sizes),
        make_checking(settings),
        judging.make_judging(judges, sizes),
    ]
    if "second-judge" in material.roles:
        number = settings.second_sample
        stages.append(judging.make_sampling(number, settings.seed))
        stages.append(judging.make_second(judges, settings.second_drops, number, sizes))
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


def _written_by(material: Material) -> str:
    writer = material.roles["writer"]
    return f"The contexts were written by the model {writer}; they may state what is false."


def _agreed(found: Mapping[str, Any]) -> str:
    kappa = "undefined" if found["kappa"] is None else f"{found['kappa']:.2f}"
    n = found["items"]
    items, them = ("1 item", "it") if n == 1 else (f"{n:,} items", "them")
    return (
        f"A second judge saw {items} and came to the same verdict on {found['agreement']:.1%} of "
        f"{them} (Cohen's kappa {kappa})."
    )
