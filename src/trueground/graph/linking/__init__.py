"""Linking: the names in questions, and the entities of a knowledge graph that they stand for."""

from __future__ import annotations

from trueground.graph.linking.linker import FoundEntity, LinkedQuestion, Linker
from trueground.graph.linking.questions import LinkedQuestions, Retrieval, read_questions, retrieval
from trueground.graph.linking.recognizers import (
    RECOGNIZERS,
    Dictionary,
    Mention,
    Recognizer,
    SpacyRecognizer,
    get_recognizer,
)

__all__ = [
    "RECOGNIZERS",
    "Dictionary",
    "FoundEntity",
    "LinkedQuestion",
    "LinkedQuestions",
    "Linker",
    "Mention",
    "Recognizer",
    "Retrieval",
    "SpacyRecognizer",
    "get_recognizer",
    "read_questions",
    "retrieval",
]
