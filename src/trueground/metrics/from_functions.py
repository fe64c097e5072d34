"""Metrics that are functions of one item: `@tg.metric def copied(response, contexts)`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from trueground.components import UserFunction
from trueground.metrics.batch import Batch, Column, Options
from trueground.metrics.context import BatchContext
from trueground.types import Choice, Status

EXPECTED = "a finite number, True, False, or None if the metric doesn't apply to the item"
# For each parameter of a user's function, how to get its values from a batch, one per item. Lists
# are copied, so a function that changes its arguments doesn't affect other metrics.
_FIELDS: dict[str, Callable[[Batch], Sequence[Any]]] = {
    "response": lambda batch: batch.responses,
    "question": lambda batch: batch.questions,
    "history": lambda batch: _texts(batch.histories, lambda turn: turn.content),
    "contexts": lambda batch: _texts(batch.contexts, lambda passage: passage.text),
    "references": lambda batch: _copies(batch.references),
    "gold_facts": lambda batch: _copies(batch.gold_facts),
    "response_facts": lambda batch: _copies(batch.response_facts),
    "choices": lambda batch: [_texts_by_label(choices) for choices in batch.choices],
    "answerable": lambda batch: batch.answerable,
    "knowledge": lambda batch: _copies(batch.graphs),
    "gold_knowledge": lambda batch: _copies(batch.gold_knowledge),
    "absent_knowledge": lambda batch: _copies(batch.absent_knowledge),
    "meta": lambda batch: [None if meta is None else dict(meta) for meta in batch.metas],
}
FIELDS = tuple(_FIELDS)


class ItemMetric:
    """Computes a column by calling a user's function once for each item.

    An item without a field that the function requires is `missing_field`. If the function returns
    None, the item is `not_applicable`.
    """

    def __init__(self, function: UserFunction) -> None:
        self.function = function

    def __call__(self, context: BatchContext, _options: Options) -> Column:
        """Return the values of a batch.

        Raises:
            ProtocolError: The function returned neither a finite number, nor a bool, nor None.
        """
        arguments = self._arguments(context.batch)
        rows = [row for row, keywords in enumerate(arguments) if keywords is not None]
        results = self._call([keywords for keywords in arguments if keywords is not None], context)
        values = np.full(len(arguments), np.nan)
        status = np.full(len(arguments), Status.MISSING_FIELD.code, np.uint8)
        for row, result in zip(rows, results, strict=True):
            if result is None:
                status[row] = Status.NOT_APPLICABLE.code
            else:
                values[row] = self.function.number(result, EXPECTED)
                status[row] = Status.SCORED.code
        return Column(values, status)

    def _arguments(self, batch: Batch) -> list[dict[str, Any] | None]:
        """Return the keyword arguments of each item; None if a required field is missing."""
        names = (*self.function.required, *self.function.optional)
        columns = {name: _FIELDS[name](batch) for name in names}
        arguments: list[dict[str, Any] | None] = []
        for row in range(len(batch)):
            keywords = {name: column[row] for name, column in columns.items()}
            present = {name: value for name, value in keywords.items() if value is not None}
            complete = all(name in present for name in self.function.required)
            arguments.append(present if complete else None)
        return arguments

    def _call(
        self, arguments: Sequence[Mapping[str, Any]], context: BatchContext
    ) -> Iterable[object]:
        """Return the function's result for each item, or raise its first exception.

        Calls of an async function may cost money. If a batch is scored again in halves because one
        item failed, calls that succeeded aren't made again.
        """
        if not self.function.is_async:
            return map(_returned, self.function.call_each(arguments))
        replies = context.results.answers[self.function]
        keys = [msgspec.json.encode(keywords, enc_hook=repr) for keywords in arguments]
        pairs = zip(keys, arguments, strict=True)
        missing = {key: keywords for key, keywords in pairs if key not in replies}
        calls = self.function.call_each(list(missing.values()))
        results = dict(zip(missing, calls, strict=True))
        for key, result in results.items():
            if UserFunction.error_of(result) is None:
                replies[key] = result
        return [replies[key] if key in replies else _returned(results[key]) for key in keys]


def _returned(result: object) -> object:
    """Return the result of a call, or raise the exception that it ended with."""
    error = UserFunction.error_of(result)
    if error is not None:
        raise error
    return result


def _texts(
    column: Sequence[Sequence[Any] | None], text_of: Callable[[Any], str]
) -> list[list[str] | None]:
    return [None if values is None else list(map(text_of, values)) for values in column]


def _texts_by_label(choices: Sequence[Choice] | None) -> dict[str, str] | None:
    if choices is None:
        return None
    return {choice.label: choice.text for choice in choices}


def _copies(column: Sequence[Sequence[Any] | None]) -> list[list[Any] | None]:
    return [None if values is None else list(values) for values in column]
