"""The normalizers against their golden cases, and the byte engine against the plain rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st

from trueground.errors import UsageError
from trueground.metrics.tokens import tokenize
from trueground.text.normalize import FAITHEVAL, SQUAD, Normalizer

DATA = Path(__file__).parent.parent / "data"
ALL = [
    SQUAD,
    FAITHEVAL,
    Normalizer.named("rouge"),
    Normalizer.named("unicode-1"),
    Normalizer.named("unicode-1", "de"),
]
# Letters, digits, punctuation, articles, odd spaces, controls, and scripts of all kinds.
TEXTS = st.one_of(
    st.text(),
    st.text(alphabet="aAnthe .,'-_\t\n\x1c\x00\x7f\u00a0’Éß中ア\u0301 0123"),
    st.lists(st.sampled_from(["the", "a", "an", "An", "cat", "3.14", "x" * 9, "y" * 17])).map(
        " ".join
    ),
)


def golden(name: str) -> list[dict[str, object]]:
    lines = (DATA / f"golden_{name}.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


@pytest.mark.parametrize("name", ["squad", "faitheval", "unicode-1"])
def test_golden_cases(name: str) -> None:
    cases = golden(name.replace("-", ""))
    assert len(cases) >= 40
    rule = Normalizer.named(name).rule
    wrong = [(c["text"], rule(str(c["text"])).split(), c["tokens"]) for c in cases]
    assert [w for w in wrong if w[1] != w[2]] == []


def test_english_articles_stay_in_other_languages() -> None:
    assert Normalizer.named("unicode-1", "de").rule("die a an the Katze") == "die a an the katze"


def test_unknown_normalizer_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'squadd'.*squad.*unicode-1"):
        Normalizer.named("squadd")


@example(["0 0\x00", "abcdefghi abcdefghi\x00", "\x00 \x00\x00"], ALL[0])
@given(st.lists(TEXTS, max_size=8), st.sampled_from(ALL))
def test_engine_gives_what_the_rule_gives(texts: list[str], normalizer: object) -> None:
    tokens = tokenize(texts, normalizer)  # type: ignore[arg-type]
    plain = [normalizer.rule(text) for text in texts]  # type: ignore[attr-defined]
    assert tokens.strings() == plain
    assert tokens.lengths.tolist() == [len(p.split(" ")) if p else 0 for p in plain]
    words = [w for p in plain if p for w in p.split(" ")]
    ids: dict[str, int] = {}
    for word, number in zip(words, tokens.ids.tolist(), strict=True):
        assert ids.setdefault(word, number) == number
    assert len(set(ids.values())) == len(ids)


@given(st.lists(TEXTS, min_size=1, max_size=6), st.data())
def test_parts_and_rows_keep_their_texts(texts: list[str], data: st.DataObject) -> None:
    tokens = tokenize(texts, SQUAD)
    low = data.draw(st.integers(0, len(texts)))
    assert tokens.part(low, len(texts)).strings() == [SQUAD.rule(t) for t in texts[low:]]


def test_long_tokens_are_distinguished() -> None:
    """Words that share their first 8 or 16 bytes, and words longer than that."""
    words = ["abcdefgh", "abcdefghi", "abcdefghj", "x" * 16, "x" * 17, "x" * 18, "x" * 17 + "y"]
    tokens = tokenize([" ".join(words * 2)], SQUAD)
    ids = tokens.ids.tolist()
    assert len(set(ids)) == len(words)
    assert ids[: len(words)] == ids[len(words) :]
