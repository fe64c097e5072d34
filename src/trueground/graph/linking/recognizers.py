"""Recognizers by the name that a user writes."""

from __future__ import annotations

from collections.abc import Sequence

from trueground.errors import UsageError, unknown_name
from trueground.graph.base import KnowledgeGraph
from trueground.graph.linking.base import Recognizer
from trueground.graph.linking.dictionary import Dictionary
from trueground.graph.linking.spacy_pipeline import SpacyRecognizer
from trueground.plugins import parse_part

RECOGNIZERS = ("dictionary", "spacy")


def get_recognizer(written: str, graph: KnowledgeGraph, types: Sequence[str] = ()) -> Recognizer:
    """`dictionary`, or `spacy:MODEL` with the folder or the package of a pipeline.

    Raises UsageError for another name, or no model; besides what the recognizers raise.
    """
    given = parse_part("recognizer", written)
    if given.name not in RECOGNIZERS:
        raise unknown_name("recognizer", given.name, RECOGNIZERS)
    if given.name == "dictionary":
        given.check((), model=False)
        return Dictionary(graph, types)
    given.check(())
    if not given.model:
        raise UsageError(
            "the recognizer spacy needs a pipeline; write spacy:FOLDER, or spacy:PACKAGE such as "
            "spacy:en_core_web_sm"
        )
    return SpacyRecognizer(given.model)
