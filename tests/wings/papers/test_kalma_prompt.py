"""What a model is sent: instruction, demonstration, graphs; and a user's own of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.kalma_files import IVAR, ORLA, write

from trueground.benchmarks.base import Sources
from trueground.errors import InputError, UsageError
from trueground.text.citations import CitedText
from trueground.text.triples import GraphTriple
from trueground.wings.papers.kalma import KalmaOptions, source


def make_prompt(path: Path | None, demonstration: str | None) -> source.KalmaPrompt:
    return source.make_prompt(KalmaOptions(demonstration=demonstration), Sources(None, path))


def test_our_demonstration_cites_rightly_by_our_own_parser() -> None:
    shown = make_prompt(None, None).demonstration
    assert shown is not None
    sentences = CitedText(shown.answer, shown.knowledge).triple_sentences()
    cited = [citation for sentence in sentences for citation in sentence.citations]
    keys = GraphTriple.keys_of(shown.knowledge)
    assert len(cited) == 7
    assert len({citation.qid for citation in cited}) == 2
    for citation in cited:
        assert citation.complete
        assert citation.triple.key in keys
    assert any("," in citation.value and ":" in citation.value for citation in cited)
    # As in Table 13, [NA] stands beside a citation, and in a sentence by itself.
    told = [(sentence.missing, bool(sentence.citations)) for sentence in sentences]
    assert told == [(1, True), (0, True), (0, True), (1, False)]
    # What is marked as missing is not to be had from the graphs.
    assert not any("bridge" in value for _, _, value in keys if "engineer" not in value)
    assert not any("birth" in name and "1861" in value for _, name, value in keys)


def test_the_messages_of_a_question() -> None:
    prompt = make_prompt(None, None)
    messages = prompt.messages("Who was {Orla}?", [ORLA, IVAR])
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert "[NA]" in messages[0].content
    assert "own knowledge" in messages[0].content
    assert "annotate" in messages[0].content
    assert "[qid, property: value]" in messages[0].content
    assert messages[2].content == prompt.demonstration.answer if prompt.demonstration else False
    lines = messages[3].content.splitlines()
    assert lines[1].startswith("{qid: Q101, name: Orla Venn, instance of: human")
    assert "occupation: botanist, occupation: illustrator" in lines[1]
    assert lines[2].startswith("{qid: Q102, name: Ivar Venn")
    assert "date_of_death" not in lines[2]
    assert lines[-1] == "Question: Who was {Orla}?"
    assert "(no information)" in prompt.messages("Who?", [])[-1].content
    assert [file.id for file in prompt.files] == ["kalma/answer-2", "kalma/demonstration-2"]


def test_without_a_demonstration() -> None:
    prompt = make_prompt(None, "none")
    assert [m.role for m in prompt.messages("Who?", [ORLA])] == ["system", "user"]
    assert [file.id for file in prompt.files] == ["kalma/answer-2"]


def test_a_prompt_and_a_demonstration_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text("Facts: {knowledge}\nAsked: {question}")
    shown = {"question": "Who?", "knowledge": [IVAR], "answer": "A miller [Q102, occupation: m]."}
    demonstration = write(tmp_path / "demo.json", shown)
    prompt = make_prompt(own, str(demonstration))
    messages = prompt.messages("What?", [])
    assert [message.role for message in messages] == ["user", "assistant", "user"]
    assert messages[0].content.startswith("Facts: {qid: Q102, name: Ivar Venn")
    assert messages[1].content == shown["answer"]
    assert messages[2].content == "Facts: (no information)\nAsked: What?"
    assert [file.id for file in prompt.files] == ["own.txt", "demo.json"]
    assert len(prompt.files[1].sha256) == 64


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("[]", "found list of 0"),
        ("{", "the demonstration demo.json"),
        ({"question": "Who?", "knowledge": [], "answer": 7}, "field 'answer': found int 7"),
        ({"question": "Who?", "knowledge": []}, "field 'answer'"),
        ({"question": "Who?", "answer": "He."}, "found object"),
        ({"knowledge": [], "answer": "He."}, "found object"),
        ({"question": "Who?", "knowledge": [{}], "answer": "He."}, r"field 'knowledge\[0\].qid'"),
    ],
)
def test_wrong_demonstrations(tmp_path: Path, value: Any, words: str) -> None:
    path = tmp_path / "demo.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    with pytest.raises(InputError, match=words):
        make_prompt(None, str(path))


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the demonstration .*nowhere\.json cannot be read"):
        make_prompt(None, str(tmp_path / "nowhere.json"))
    own = tmp_path / "own.txt"
    own.write_text("Asked: {question}")
    with pytest.raises(UsageError, match=r"no placeholder \{knowledge\}"):
        make_prompt(own, None)
