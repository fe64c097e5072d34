"""The laws that every comparer keeps. A new comparer joins by its line in BUILDERS."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.chaos import KEY, ChaosServer

from trueground.components.specs import ComponentSpec
from trueground.errors import UsageError
from trueground.judges.comparing import Comparer, comparers
from trueground.types import ComparisonRequest, Status

QUESTION = "Where was Ida Kowal born?"
RESPONSES = (
    "She was born in Warsaw in 1867, by the river.",
    "the capital of the country",
    "Größe: 12 m² – der Hund schläft nicht. [SEP] </s>",
    "東京は日本の首都です。",
    "",
    " \n ",
    "The city is old and new. It is by the river. " * 30,
)
TEXTS = (
    ("Warsaw",),
    ("Warsaw", "the city of Warsaw in 1867"),
    ("Ida Kowal was born in Warsaw in 1867 and died in Paris. She won two prizes. " * 12,),
    ("", "no"),
    (" ",),
    (),
)
REQUESTS = [
    ComparisonRequest(response, texts, QUESTION) for response in RESPONSES for texts in TEXTS
]
# Q² writes questions about every response, which takes a second for each.
FEW = {"q2": [r for r in REQUESTS if len(r.response) < 40][::5]}
# The files of several small models, or a server that answers; what a user writes for a comparer.
Builder = Callable[[ExitStack, Path], str]


def _tiny(name: str, *labels: str, options: str = "") -> Builder:
    """A comparer over one model with random weights."""

    def build(_stack: ExitStack, folder: Path) -> str:
        pytest.importorskip("torch", reason="the hf extra is not installed")
        pytest.importorskip("transformers", reason="the hf extra is not installed")
        from tests.encoders.tiny_roberta import tiny_roberta

        return f"{name}:{tiny_roberta(folder / 'model', labels)}{options}"

    return build


def _q2(_stack: ExitStack, folder: Path) -> str:
    pytest.importorskip("torch", reason="the hf extra is not installed")
    pytest.importorskip("transformers", reason="the hf extra is not installed")
    from tests.encoders import tiny

    questions = tiny.tiny_text_to_text(folder / "questions")
    answers = tiny.tiny_answer_finder(folder / "answers")
    nli = tiny.tiny_pair_scorer(folder / "nli", ("contradiction", "neutral", "entailment"))
    return f'q2(questions="{questions}",answers="{answers}",nli="{nli}")'


def _llm(name: str) -> Builder:
    return lambda _stack, _folder: name


BUILDERS: dict[str, Builder] = {
    "bertscore": _tiny("bertscore", options="(layer=2)"),
    "bem": _tiny("bem", "LABEL_0", "LABEL_1"),
    "faith-critic": _tiny("faith-critic", "LABEL_0", "LABEL_1"),
    "q2": _q2,
    "llm-correctness": _llm("llm-correctness"),
    "llm-faithfulness": _llm("llm-faithfulness"),
    "llm-abstention": _llm("llm-abstention"),
    "error-category": _llm("error-category"),
}


def _reply(prompt: str) -> str:
    """A reply that depends on the prompt without its random marks, and is sometimes unreadable."""
    if "name of the category" in prompt:
        return "granularity/spatial" if "1867" in prompt else "none"
    return "Perhaps." if "Hund" in prompt else "Yes" if "Warsaw" in prompt else "No"


@pytest.fixture(params=sorted(BUILDERS), scope="module")
def make(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[], Comparer]]:
    """A function that makes the comparer anew, without results of an earlier one."""
    folder = tmp_path_factory.mktemp(request.param)
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRUEGROUND_HOME", str(folder / "home"))
        patch.setenv("OPENAI_API_KEY", KEY)
        written = BUILDERS[request.param](stack, folder)
        server = stack.enter_context(ChaosServer(answer=_reply))
        rater = ComponentSpec.parse("rater", f"llm:m(base_url={server.base_url})")
        yield lambda: Comparer.make(written, rater, cache=False)


@pytest.fixture(scope="module")
def comparer(make: Callable[[], Comparer]) -> Iterator[Comparer]:
    made = make()
    yield made
    made.close()


@pytest.fixture(scope="module")
def requests(comparer: Comparer) -> list[ComparisonRequest]:
    return FEW.get(comparer.name, REQUESTS)


def test_every_comparer_is_built_here() -> None:
    assert set(BUILDERS) == set(comparers)


def test_it_is_a_comparer(comparer: Comparer, make: Callable[[], Comparer]) -> None:
    assert isinstance(comparer, Comparer)
    assert comparers[comparer.name]
    assert comparer.values
    again = make()
    assert (again.name, again.values, again.signature) == (
        comparer.name,
        comparer.values,
        comparer.signature,
    )
    again.close()


def test_values_are_there_exactly_when_it_is_scored(
    comparer: Comparer, requests: list[ComparisonRequest]
) -> None:
    found = comparer.compare(requests)
    assert len(found) == len(requests)
    for one in found:
        assert isinstance(one.status, Status)
        if one.status is Status.SCORED:
            assert set(one.values) == set(comparer.values)
            assert all(math.isfinite(value) for value in one.values.values())
        else:
            assert one.values == {}
            assert one.reason
    assert any(one.status is Status.SCORED for one in found)


def test_asking_together_or_alone_is_the_same(
    comparer: Comparer, requests: list[ComparisonRequest]
) -> None:
    some = requests[::3]
    together = comparer.compare(some)
    assert comparer.compare(some[::-1])[::-1] == together
    assert [comparer.compare([request])[0] for request in some] == together
    assert comparer.answer_once([*some, *some]) == together * 2
    assert comparer.compare([]) == []


def test_a_new_one_or_one_that_was_closed_says_the_same(
    comparer: Comparer, make: Callable[[], Comparer], requests: list[ComparisonRequest]
) -> None:
    some = requests[:14:4]
    before = comparer.compare(some)
    comparer.close()
    assert comparer.compare(some) == before
    again = make()
    assert again.compare(some) == before
    again.close()


def test_unknown_comparers_and_options_are_named() -> None:
    with pytest.raises(UsageError, match="Did you mean 'bertscore'"):
        Comparer.make("bert-score")
    with pytest.raises(UsageError, match=r"layr.*Did you mean 'layer'"):
        Comparer.make("bertscore(layr=3)")
