"""JSON schemas of replies stand in requests, and so in the keys of replies that were paid for."""

from __future__ import annotations

from hashlib import sha256

import msgspec
import pytest

from trueground.wings.papers.builders.grounding import conflict, facts, questions as pairs
from trueground.wings.papers.builders.kalma import paragraphs, questions

KNOWN = {
    pairs.Proposals: "d94aa50e4168",
    pairs.ClassVerdict: "76e6bcbba13b",
    facts._Proposal: "9adbf9f58f99",
    facts._Enough: "6cd7739ed4bb",
    conflict._Revision: "a36d8cda7f62",
    conflict._Doubts: "8a72d89a72fb",
    conflict._Follows: "e9a7a3e6ecc8",
    paragraphs.Annotated: "3c4bc1ed63cd",
    paragraphs.Extended: "1ca5c629c7c2",
    paragraphs.Heard: "fcf1bd04bd6e",
    questions.OneQuestion: "e5ea9446f4e2",
    questions.Opinion: "90aad7237590",
}


@pytest.mark.parametrize("kind", KNOWN, ids=lambda kind: kind.__name__)
def test_the_schema_is_that_of_earlier_versions(kind: type[msgspec.Struct]) -> None:
    """Name, docstring and fields of the class: a change makes users pay again for every reply."""
    schema = msgspec.json.encode(msgspec.json.schema(kind), order="sorted")
    assert sha256(schema).hexdigest()[:12] == KNOWN[kind]
