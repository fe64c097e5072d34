"""The same questions as an inspect_ai task: URL, data, connections, log folder."""

from __future__ import annotations

import os
import sys

os.environ.setdefault("OPENAI_API_KEY", "none")

from inspect_ai import Task, eval  # noqa: A004
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

PROMPT = (
    "You are an expert in retrieval-based question answering. Answer from the context only.\n"
    "Context: {context}\nQuestion: {question}\nAnswer:"
)


def sample(row: dict) -> Sample:
    return Sample(input=PROMPT.format(**row), target="unknown", id=row["qid"])


url, path, connections, logs = sys.argv[1:5]
result = eval(
    Task(dataset=json_dataset(path, sample), solver=generate(), scorer=includes()),
    model="openai/bench-model",
    model_base_url=url,
    model_args={"responses_api": False},
    max_connections=int(connections),
    max_samples=int(connections),
    temperature=0.0,
    log_dir=logs,
    display="none",
)[0]
assert result.status == "success", result.error
print(result.results.scores[0].metrics["accuracy"].value)
