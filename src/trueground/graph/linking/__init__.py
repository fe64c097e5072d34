"""Linking: the names in questions, and the entities of a knowledge graph that they stand for."""

from __future__ import annotations

from trueground.graph.linking.base import FoundEntity, LinkedQuestion, Mention, Recognizer
from trueground.graph.linking.dictionary import Dictionary
from trueground.graph.linking.linker import Linker
from trueground.graph.linking.recognizers import RECOGNIZERS, get_recognizer
from trueground.graph.linking.scores import Retrieval, retrieval
from trueground.graph.linking.spacy_pipeline import SpacyRecognizer

__all__ = [
    "RECOGNIZERS",
    "Dictionary",
    "FoundEntity",
    "LinkedQuestion",
    "Linker",
    "Mention",
    "Recognizer",
    "Retrieval",
    "SpacyRecognizer",
    "get_recognizer",
    "retrieval",
]
