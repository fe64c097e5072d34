"""Signatures and docstrings of `tg.metrics.NAME`, built from the declarations of metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter, Signature
from typing import Any, Literal, NamedTuple, TypeAlias

from trueground.metrics.base import Metric, MetricOption
from trueground.metrics.batch import Floats
from trueground.metrics.context import ClaimCheck
from trueground.types import Choice, Passage, Turn

Responses: TypeAlias = Sequence[str]
Questions: TypeAlias = Sequence[str | None]
Histories: TypeAlias = Sequence[Sequence[str | Turn] | None]
Contexts: TypeAlias = Sequence[str | Sequence[str | Passage | Mapping[str, object]] | None]
References: TypeAlias = Sequence[str | Sequence[str] | None]
Facts: TypeAlias = Sequence[Sequence[str] | None]
Flags: TypeAlias = Sequence[bool | None]
Choices: TypeAlias = Sequence[
    Mapping[str, str] | Sequence[Choice | Mapping[str, str] | tuple[str, str]] | None
]
Graphs: TypeAlias = Sequence[Sequence[Mapping[str, object]] | None]
Triples: TypeAlias = Sequence[Sequence[Sequence[str]] | None]
Metas: TypeAlias = Sequence[Mapping[str, object] | None]
Verdicts: TypeAlias = Sequence[Sequence[float]]
# Types of the parameters, by their names in the stub file.
ALIASES: dict[str, Any] = {
    "Responses": Responses,
    "Questions": Questions,
    "Histories": Histories,
    "Contexts": Contexts,
    "References": References,
    "Facts": Facts,
    "Flags": Flags,
    "Choices": Choices,
    "Graphs": Graphs,
    "Triples": Triples,
    "Metas": Metas,
    "Verdicts": Verdicts,
}
# The parameter for a caller's verdicts, by the subject of a check. Citations use `supported`.
VERDICTS = {
    "claims": "supported",
    "facts": "facts_stated",
    "response": "entailed",
    "references": "references_stated",
}
# The parameter of a need, if their names differ.
ARGUMENTS = {
    "question": "questions",
    "given_references": "references",
    "history": "histories",
    "meta": "metas",
}
# Options of metrics whose values depend on which responses abstain.
_READ_REFUSALS = ("abstain", "rules")


class ColumnInfo(NamedTuple):
    """A parameter of metrics: its type, its description, and its value in an example."""

    annotation: Any
    doc: str
    example: str


COLUMNS = {
    "responses": ColumnInfo(Responses, "The n answers to score.", '["It is tall."]'),
    "questions": ColumnInfo(Questions, "The question of each response.", '["How is it?"]'),
    "histories": ColumnInfo(
        Histories,
        "For each response, the earlier turns of its conversation, oldest first.",
        '[["Hello."]]',
    ),
    "contexts": ColumnInfo(
        Contexts,
        "For each response, the passages that the model got to answer from.",
        '[["It is tall."]]',
    ),
    "references": ColumnInfo(
        References, "For each response, the correct answers.", '[["It is tall."]]'
    ),
    "gold_facts": ColumnInfo(
        Facts, "For each response, the facts that a complete answer states.", '[["It is tall."]]'
    ),
    "response_facts": ColumnInfo(
        Facts, "For each response, the facts that it states.", '[["It is tall."]]'
    ),
    "answerable": ColumnInfo(
        Flags, "For each response, whether its contexts contain the answer.", "[True]"
    ),
    "choices": ColumnInfo(
        Choices,
        "For each response, the options of its question: a mapping from label to text.",
        '[{"A": "tall", "B": "red"}]',
    ),
    "knowledge": ColumnInfo(
        Graphs,
        "For each response, the graphs that the model got to answer from.",
        '[[{"qid": "Q90", "country": "France"}]]',
    ),
    "gold_knowledge": ColumnInfo(
        Triples,
        "For each response, the triples that a complete answer needs.",
        '[[["Q90", "country", "France"]]]',
    ),
    "absent_knowledge": ColumnInfo(
        Triples,
        "For each response, the triples that were removed from its graphs.",
        '[[["Q90", "mayor", "Ann"]]]',
    ),
    "metas": ColumnInfo(
        Metas, "For each response, the field `meta` of its record.", '[{"split": "test"}]'
    ),
    "supported": ColumnInfo(
        Verdicts,
        "For each response, whether each of its claims is supported: True, False or a probability.",
        "[[True]]",
    ),
    "facts_stated": ColumnInfo(
        Verdicts, "For each response, whether it states each gold fact.", "[[True]]"
    ),
    "entailed": ColumnInfo(
        Verdicts,
        "For each response, a list of one: whether its contexts entail it.",
        "[[True]]",
    ),
    "references_stated": ColumnInfo(
        Verdicts, "For each response, whether it states each reference.", "[[True]]"
    ),
}

# Responses with citations for examples, by the subject of a check or by a field.
_CITING = {
    "passages": '["It is tall [1]."]',
    "alignment": '["It is in France [Q90, country: France]."]',
    "missing": '["Its mayor is Ann [NA]."]',
    "knowledge": '["It is in France [Q90, country: France]."]',
}


def signature_of(metric: Metric) -> Signature:
    """Return the signature of a metric as a function over lists."""
    parameters = [
        Parameter("responses", Parameter.POSITIONAL_OR_KEYWORD, annotation=Responses),
    ]
    columns = _columns_of(metric)
    required = [name for name, is_required in columns.items() if is_required]
    optional = [name for name, is_required in columns.items() if not is_required]
    for name in required:
        annotation = COLUMNS[name].annotation
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation))
    for name in optional:
        annotation = COLUMNS[name].annotation | None
        parameters.append(
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=None)
        )
    for name, option in metric.options.items():
        if name not in COLUMNS:  # a column wins over an option of that name
            parameters.append(_option_parameter(name, option))
    return Signature(parameters, return_annotation=Floats)


def docstring_of(metric: Metric) -> str:
    """Return the docstring of a metric as a function over lists."""
    columns = _columns_of(metric)
    lines = [summary_of(metric), ""]
    if metric.source:
        lines += [f"Source: {metric.source}.", ""]
    if metric.is_asked:
        lines += [
            "A model computes this metric. Use `trueground.score`; this function doesn't call"
            " models.",
            "",
        ]
    lines += ["Args:", f"    responses: {COLUMNS['responses'].doc}"]
    lines += [f"    {name}: {COLUMNS[name].doc}" for name in columns]
    for name, option in metric.options.items():
        if name not in COLUMNS:
            lines.append(f"    {name}: {_describe_option(option)}")
    lines += [
        "",
        "Returns:",
        "    Array of shape (n,): the value of each response. NaN if a response has no score.",
        "",
        "Raises:",
        "    UsageError: A column is missing or has the wrong length, or an option is unknown.",
        "",
        "Example:",
        f"    >>> {example_of(metric)}",
    ]
    return "\n".join(lines)


def summary_of(metric: Metric) -> str:
    """Return the description of a metric as a sentence."""
    text = metric.doc[:1].upper() + metric.doc[1:]
    return text if text.endswith(".") else f"{text}."


def example_of(metric: Metric) -> str:
    """Return a call of a metric, as a line of Python."""
    if metric.is_asked:
        rater = "" if metric.requires.extra else ', rater="llm:MODEL"'
        return f'tg.score("answers.jsonl", metrics="{metric.name}"{rater})'
    columns = _columns_of(metric)
    names = [name for name, is_required in columns.items() if is_required]
    if "questions" in columns:
        names.insert(0, "questions")
    subjects = [check.subject for check in _checks_of(metric)]
    examples = [_CITING[subject] for subject in subjects if subject in _CITING]
    if "knowledge" in metric.default_needs:
        examples.append(_CITING["knowledge"])
    arguments = [*examples, COLUMNS["responses"].example][:1]
    arguments += [f"{name}={COLUMNS[name].example}" for name in names]
    return f"tg.metrics.{metric.name}({', '.join(arguments)})"


def stand_ins(need: str, *, cites: bool) -> tuple[str, ...]:
    """Return the parameters that may replace the parameter of a need.

    Args:
        need: The need of a metric.
        cites: Whether the metric reads citations, for which it needs the contexts.
    """
    return {
        "contexts": () if cites else ("supported", "entailed"),
        "gold_facts": ("facts_stated",),
        "references": ("references_stated",),
        "question": ("histories",),
    }.get(need, ())


def _columns_of(metric: Metric) -> dict[str, bool]:
    """Return the columns that a metric reads, and whether each is required."""
    subjects = [check.subject for check in _checks_of(metric)]
    verdicts = [VERDICTS.get(subject, "supported") for subject in subjects]
    cites = any(subject not in VERDICTS for subject in subjects)
    columns = dict.fromkeys(verdicts, True)
    for need in metric.default_needs:
        others = stand_ins(need, cites=cites)
        columns[ARGUMENTS.get(need, need)] = not (
            need == "question" or any(other in verdicts for other in others)
        )
        if need == "question":
            columns["histories"] = False
    if not metric.options.keys().isdisjoint(_READ_REFUSALS):
        # A reference may say that there is no answer, so references affect what abstains.
        columns.setdefault("references", False)
    return columns


def _checks_of(metric: Metric) -> list[ClaimCheck]:
    queries = metric.queries(metric.default_options)
    return [query for query in queries if isinstance(query, ClaimCheck)]


def _option_parameter(name: str, option: MetricOption) -> Parameter:
    default: object = option.default
    annotation: Any = str
    if set(option.allowed) == {"false", "true"}:
        annotation, default = bool, option.default == "true"
    elif option.allowed:
        annotation = Literal[option.allowed]
    elif option.default.isdecimal():
        annotation, default = int, int(option.default)
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _describe_option(option: MetricOption) -> str:
    sentences = []
    if option.doc:
        sentences.append(option.doc)
    if option.allowed and set(option.allowed) != {"false", "true"}:
        sentences.append(f"One of {', '.join(option.allowed)}.")
    sentences.append(f"Default: {option.default!r}.")
    return " ".join(sentences)
