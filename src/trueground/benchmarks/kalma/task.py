"""The tasks: options → metrics, files and a stream of questions (Li et al. 2024, sections 3–5)."""

from __future__ import annotations

from trueground.benchmarks.base import Sources, Task, Value
from trueground.benchmarks.kalma import ANY_TYPE, NO_DEMONSTRATION, KalmaOptions
from trueground.benchmarks.kalma.chosen import choose
from trueground.benchmarks.kalma.knowing import KnownQuestions, know
from trueground.benchmarks.kalma.library import GraphLibrary
from trueground.benchmarks.kalma.prompting import KalmaPrompt, make_prompt
from trueground.benchmarks.kalma.questions import GraphQuestions
from trueground.models.base import Params
from trueground.records import FileInfo

_CORRECTNESS = ("citation_correctness",)
_AGAINST_MINIMUM = ("citation_precision", "citation_recall", "citation_f1")
_MISSING = ("na_precision", "na_recall", "na_f1")
_VARIANT = "(variant=reference-code)"
_RATED = (  # appendix B.2
    "coherence(items=sampled,runs=3)",
    "consistency(items=sampled,runs=3)",
    "fluency(shown=question,items=sampled,runs=3)",
    "relevance(items=sampled,runs=3)",
)
_TEMPERATURE = 0.5  # section 5
_CALLS = 3 * len(_RATED)


def make_task(settings: KalmaOptions, sources: Sources) -> Task:
    """The task with its options settled. UsageError, InputError, GraphError.

    The files are read; what a knowledge graph holds is asked with the first question.
    """
    prompt = make_prompt(sources.prompt, settings.demonstration)
    known = know(settings, sources)
    chosen = choose(settings, known, sources)
    asked = len(chosen.entries[: sources.limit])
    notices = [*known.notices, *chosen.notices]
    if asked < settings.rated:
        notices.append(
            f"Text quality is rated for the answers to all {asked:,} questions that are asked; "
            f"--rated {settings.rated:,} would take more."
        )
    if settings.rated and sources.scratch is not None:
        rated = min(asked, settings.rated)
        sources.note_once(
            f"a run also asks the rater up to {rated * _CALLS:,} times ({_CALLS} for each of "
            f"{rated:,} answers), and again for each of --repeats: the calls shown are without them"
        )
    return Task(
        options=_options(settings, known, prompt, chosen.library),
        metrics=_metrics(settings, known),
        headline="citation_f1_micro" if known.has_minimum else "citation_correctness_micro",
        by=(),
        params=Params(
            temperature=_TEMPERATURE
            if settings.at_temperature is None
            else settings.at_temperature,
            max_tokens=1024,
        ),
        files=tuple(FileInfo.of(str(file), file) for file in known.files),
        prompts=prompt.files,
        questions=GraphQuestions(settings, chosen, prompt, known, sources, notices),
        notices=notices,
    )


def _metrics(settings: KalmaOptions, known: KnownQuestions) -> tuple[str, ...]:
    names = _CORRECTNESS + _AGAINST_MINIMUM * known.has_minimum
    found = (*names, "alignment")
    if settings.remove or known.has_absent:
        found += _MISSING
    if known.first_round:
        found += tuple(f"{name}{_VARIANT}" for name in (*names, *_MISSING))
    return found + _RATED * bool(settings.rated)


def _options(
    settings: KalmaOptions,
    known: KnownQuestions,
    prompt: KalmaPrompt,
    library: GraphLibrary | None,
) -> dict[str, Value]:
    """The options that fix the questions; numbers as text."""
    shown = prompt.demonstration
    found: dict[str, Value] = {
        "knowledge": settings.shown,
        "minimum": known.minimum,
        "remove": _text(settings.remove),
        "retrieval-accuracy": _text(settings.retrieval_accuracy),
        "at-temperature": None
        if settings.at_temperature is None
        else f"{settings.at_temperature:g}",
        "demonstration": NO_DEMONSTRATION if shown is None else shown.file.id,
    }
    if library is not None:
        found["graph"] = library.signature
    if library is not None and settings.shown == "linked":
        found["recognizer"] = settings.finder
        found["types"] = ",".join(settings.classes) or ANY_TYPE
        if library.pipeline is not None:
            found["pipeline"] = library.pipeline
    if settings.synthetic_minimum:
        found |= {
            "minimum-size": str(settings.synthetic_minimum),
            "minimum-seed": str(settings.minimum_seed),
        }
    if settings.retrieval_accuracy is not None:
        found["replace-seed"] = str(settings.replace_seed)
    if known.first_round_sha256 is not None:
        found["first-round"] = known.first_round_sha256
        if settings.remove is not None:
            found["remove-from"] = settings.remove_from
    if settings.rated:
        found |= {"rated": str(settings.rated), "rated-seed": str(settings.rated_seed)}
    return found


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)
