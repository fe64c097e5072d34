"""`tg.metrics.NAME` has a real signature, and the stub that editors read has the same one."""

from __future__ import annotations

import ast
import inspect
import pickle
import pydoc
from collections.abc import Iterator
from inspect import Parameter, Signature
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import trueground as tg
from trueground.errors import UsageError
from trueground.metrics.batch import Floats
from trueground.metrics.registry import METRICS
from trueground.metrics.signatures import ALIASES, example_of, summary_of

METRICS.load()

STUB = Path(tg.__file__).parent / "metrics" / "__init__.pyi"
NAMES = sorted(METRICS)
# METEOR needs WordNet, which not every machine has.
COMPUTED = [name for name in NAMES if name != "meteor" and not METRICS[name].is_asked]
NAMESPACE = {**ALIASES, "Literal": Literal, "Floats": Floats}


def stub_functions() -> dict[str, ast.FunctionDef]:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return {node.name: node for node in functions if not node.name.startswith("__")}


def stub_signature(node: ast.FunctionDef) -> Signature:
    """The signature of a function of the stub, with its annotations evaluated."""

    def parameters() -> Iterator[Parameter]:
        (responses,) = node.args.args
        yield Parameter(
            responses.arg,
            Parameter.POSITIONAL_OR_KEYWORD,
            annotation=evaluate(responses.annotation),
        )
        for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
            yield Parameter(
                argument.arg,
                Parameter.KEYWORD_ONLY,
                annotation=evaluate(argument.annotation),
                default=Parameter.empty if default is None else ast.literal_eval(default),
            )

    return Signature(list(parameters()), return_annotation=evaluate(node.returns))


def evaluate(annotation: ast.expr | None) -> object:
    assert annotation is not None
    return eval(ast.unparse(annotation), dict(NAMESPACE))


def test_stub_functions_are_the_metrics() -> None:
    assert sorted(stub_functions()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_stub_signature_equals_runtime_signature(name: str) -> None:
    node = stub_functions()[name]

    assert stub_signature(node) == inspect.signature(getattr(tg.metrics, name))
    assert ast.get_docstring(node) == summary_of(METRICS[name])


@pytest.mark.parametrize("name", NAMES)
def test_metric_function_docstring_has_every_parameter(name: str) -> None:
    function = getattr(tg.metrics, name)
    docstring = inspect.getdoc(function)

    assert docstring is not None
    assert docstring.startswith(summary_of(METRICS[name]))
    for section in ("Args:", "Returns:", "Raises:", "Example:"):
        assert f"\n{section}\n" in docstring
    for parameter in inspect.signature(function).parameters:
        assert f"\n    {parameter}: " in docstring


@pytest.mark.parametrize("name", COMPUTED)
def test_metric_function_example_computes(name: str) -> None:
    values = eval(example_of(METRICS[name]), {"tg": tg})

    assert values.shape == (1,)


def test_help_shows_the_columns_and_options_of_a_metric() -> None:
    text = pydoc.plain(pydoc.render_doc(tg.metrics.f1))

    assert "f1(responses: " in text
    assert "references: " in text
    assert "normalizer: Literal['squad', 'faitheval', 'unicode-1'] = 'squad'" in text
    assert "**columns" not in text


def test_metric_function_option_equal_to_default_changes_nothing() -> None:
    given = tg.metrics.k_precision(
        ["It is tall."], contexts=[["tall"]], references=None, abstention_passage=False
    )

    assert np.array_equal(given, tg.metrics.k_precision(["It is tall."], contexts=[["tall"]]))


def test_metric_function_missing_column_is_refused() -> None:
    with pytest.raises(UsageError, match=r"f1 needs references=\[…\], a list with one entry"):
        tg.metrics.f1(["It is tall."])  # type: ignore[call-arg]


def test_metric_function_unknown_option_is_refused() -> None:
    with pytest.raises(UsageError, match=r"f1 has no option 'style'\. Its options are: norm"):
        tg.metrics.f1(["a"], references=[["a"]], style="short")  # type: ignore[call-arg]


def test_metric_function_pickled_is_the_same() -> None:
    assert pickle.loads(pickle.dumps(tg.metrics.f1)) is tg.metrics.f1


def test_metric_function_of_user_has_signature() -> None:
    @tg.metric
    def shares_words(response: str, contexts: list[str], meta: dict[str, str]) -> float:
        """Share of words that are in the contexts."""
        return 0.5

    try:
        signature = inspect.signature(tg.metrics.shares_words)
        values = tg.metrics.shares_words(["a"], contexts=[["b"]], metas=[{"c": "d"}])
    finally:
        del METRICS["shares_words"]

    assert list(signature.parameters) == ["responses", "contexts", "metas"]
    assert values.tolist() == [0.5]
