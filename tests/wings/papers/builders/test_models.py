"""Which model has which role, and how it is asked."""

from __future__ import annotations

from typing import Any

import pytest
from tests.wings.papers.builders.little import BUILDER

from trueground.errors import InputError, TruegroundError, UsageError
from trueground.testing import FakeModel
from trueground.wings.papers.builders.build import make_models
from trueground.wings.papers.builders.client import RoleModel
from trueground.wings.papers.builders.settings import EndpointDefaults

HERE = "http://localhost:1/v1"


def made(endpoint: EndpointDefaults | None = None, **written: Any) -> dict[str, RoleModel]:
    models = {"writer": "w", "judge": "j"} | written
    return make_models(BUILDER, models, endpoint or EndpointDefaults(base_url=HERE))


def test_the_writer_is_warm_and_judges_are_cold() -> None:
    asked = made(EndpointDefaults(base_url=HERE, temperature=1, max_tokens=50, extra={"top_k": 3}))
    assert [asked[r].params.temperature for r in ("writer", "judge")] == [1.0, 0.0]
    assert {asked[r].params.max_tokens for r in asked} == {50}
    assert asked["judge"].params.extra == {"top_k": 3}
    assert made()["writer"].params.temperature is None
    assert "second" not in asked


def test_options_in_parentheses() -> None:
    there = "http://localhost:2/v1"
    written = f"llama3:8b(base_url={there},temperature=0.5,max_tokens=9,max_connections=3)"
    asked = made(judge=written)["judge"]
    assert asked.model.name == "llama3:8b"
    assert asked.model.concurrency == 3
    assert (asked.params.temperature, asked.params.max_tokens) == (0.5, 9)
    assert there in repr(asked.model)
    assert made(judge="m(temperature=none)")["judge"].params.temperature is None
    assert made(judge="odd(name")["judge"].model.name == "odd(name"


def test_a_model_of_ones_own() -> None:
    fake = FakeModel("x")
    assert made(judge=fake)["judge"].model is fake


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"judge": "m(color=red)"}, "color"),
        ({"judge": "m(max_tokens=many)"}, "max_tokens"),
        ({"judge": "m(temperature=-1)"}, "temperature"),
        ({"judge": "m(api_key_env=sk-123)"}, "api_key_env"),
        ({"juge": "m"}, "Did you mean 'judge'"),
        ({"judge": ""}, "no name"),
    ],
)
def test_what_cannot_be_meant(written: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        made(**written)


def test_a_role_without_a_model() -> None:
    with pytest.raises(UsageError, match="--judge-model NAME: who judges"):
        make_models(BUILDER, {"writer": FakeModel("x")}, EndpointDefaults())
    with pytest.raises(UsageError, match="needs --model NAME: who writes"):
        make_models(BUILDER, {"judge": FakeModel("x")}, EndpointDefaults())


def test_a_file_of_replies_that_is_not_there() -> None:
    with pytest.raises((InputError, UsageError)) as met:
        make_models(
            BUILDER, {"writer": "replay:nowhere.jsonl", "judge": "fake:x"}, EndpointDefaults()
        )
    assert isinstance(met.value, TruegroundError)
