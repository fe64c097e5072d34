"""Tokens in, tokens out: one batch through a loaded Hugging Face model.

A row of a batch gets the tokens that it would get alone, up to the arithmetic of the data type:
padding is masked, and every row draws from a random generator of its own.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import Any

from trueground.errors import UsageError
from trueground.models.base import Params, TokenLogprob
from trueground.models.hf_loading import Loaded
from trueground.models.hf_source import needed

MAX_TOKENS = 256


@dataclass(frozen=True)
class TokenizedPrompt:
    """One tokenised prompt, and the seed of its random draws."""

    tokens: list[int]
    seed: int


@dataclass(frozen=True)
class Output:
    """One answer: its tokens without the end token, as text cut before a stop string.

    `finish` is `stop` or `length`; `count` is the number of tokens generated.
    """

    text: str
    finish: str
    count: int
    logprobs: list[TokenLogprob] | None = None
    error: str | None = None


def generate(
    loaded: Loaded, prompts: list[TokenizedPrompt], params: Params, closing: threading.Event
) -> list[Output]:
    """One output per prompt. A batch that fails is halved until those that fail stand alone.

    Raises UsageError for an extra parameter that the library does not know.
    """
    torch = needed("torch")
    try:
        return _generate(torch, loaded, prompts, params, closing)
    except Exception as error:  # out of memory, most of all; each architecture has its own
        unknown = params.extra and isinstance(error, TypeError | ValueError)
        if unknown and len(prompts) == 1:
            raise UsageError(f"the extra parameters {params.extra} do not work: {error}") from error
        reason = f"{type(error).__name__}: {error}"
    # Outside of the handler, because the traceback holds the tensors.
    torch.cuda.empty_cache()
    if len(prompts) == 1:
        return [Output("", "error", 0, error=reason)]
    half = len(prompts) // 2
    return [
        output
        for part in (prompts[:half], prompts[half:])
        for output in generate(loaded, part, params, closing)
    ]


def _generate(
    torch: Any,
    loaded: Loaded,
    prompts: list[TokenizedPrompt],
    params: Params,
    closing: threading.Event,
) -> list[Output]:
    model = loaded.model
    tokens, mask = _padded(torch, loaded, prompts)
    made = model.generate(
        input_ids=tokens.to(model.device),
        attention_mask=mask.to(model.device),
        return_dict_in_generate=True,
        **_settings(torch, loaded, prompts, params, closing),
    )
    # A decoder repeats the prompt; an encoder-decoder begins with its start token.
    skipped = 1 if loaded.seq2seq else tokens.shape[1]
    rows = made.sequences[:, skipped:].tolist()
    outputs = [_output(loaded, row, params) for row in rows]
    if params.logprobs is None:
        return outputs
    return [
        replace(output, logprobs=_logprobs(torch, loaded, made.logits, number, row, output, params))
        for number, (row, output) in enumerate(zip(rows, outputs, strict=True))
    ]


def _padded(torch: Any, loaded: Loaded, prompts: list[TokenizedPrompt]) -> tuple[Any, Any]:
    """(tokens, mask), both prompts × longest; decoders are padded left, where nothing follows."""
    longest = max(len(p.tokens) for p in prompts)
    pad = loaded.model.generation_config.pad_token_id
    rows, masks = [], []
    for prompt in prompts:
        fill = longest - len(prompt.tokens)
        here = [1] * len(prompt.tokens)
        if loaded.seq2seq:
            rows.append(prompt.tokens + [pad] * fill)
            masks.append(here + [0] * fill)
        else:
            rows.append([pad] * fill + prompt.tokens)
            masks.append([0] * fill + here)
    return torch.tensor(rows), torch.tensor(masks)


def _settings(
    torch: Any,
    loaded: Loaded,
    prompts: list[TokenizedPrompt],
    params: Params,
    closing: threading.Event,
) -> dict[str, Any]:
    transformers = needed("transformers")

    def given_up(tokens: Any, _scores: Any, **_rest: Any) -> Any:
        return torch.full((len(tokens),), closing.is_set(), device=tokens.device)

    settings: dict[str, Any] = {
        "do_sample": False,
        "max_new_tokens": params.max_tokens or MAX_TOKENS,
        "stopping_criteria": transformers.StoppingCriteriaList([given_up]),
    }
    if params.min_tokens:
        settings["min_new_tokens"] = params.min_tokens
    if params.stop:
        settings |= {"stop_strings": list(params.stop), "tokenizer": loaded.tokenizer}
    if params.logprobs is not None:
        settings["output_logits"] = True
    if params.temperature:
        draws = [_Draws(torch, [p.seed for p in prompts])]
        settings["logits_processor"] = _warpers(transformers, params) + draws
    return settings | params.extra


def _warpers(transformers: Any, params: Params) -> Any:
    warpers = [transformers.TemperatureLogitsWarper(float(params.temperature or 1.0))]
    if params.top_k is not None and params.top_k > 0:
        warpers.append(transformers.TopKLogitsWarper(params.top_k))
    if params.top_p is not None and params.top_p < 1:
        warpers.append(transformers.TopPLogitsWarper(params.top_p))
    return transformers.LogitsProcessorList(warpers)


class _Draws:
    """Sampling as a search for the largest score: Gumbel noise makes the argmax a random draw.

    Unlike the library's own sampling, which draws the whole batch from one generator, a row's
    tokens depend on its seed alone.
    """

    def __init__(self, torch: Any, seeds: list[int]) -> None:
        self._torch = torch
        self._seeds = seeds
        self._generators: list[Any] = []

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        torch = self._torch
        if not self._generators:
            self._generators = [
                torch.Generator(scores.device).manual_seed(seed) for seed in self._seeds
            ]
        noise = torch.empty_like(scores)
        for row, generator in zip(noise, self._generators, strict=True):
            row.exponential_(generator=generator)
        return scores - noise.clamp_min(1e-30).log()


def _output(loaded: Loaded, row: list[int], params: Params) -> Output:
    config = loaded.model.generation_config
    ends = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
    length = next((at for at, token in enumerate(row) if token in ends), None)
    ended = length is not None
    if length is None:
        length = len(row)
        # A row that a stop string ended is filled up while others go on.
        while params.stop and length and row[length - 1] == config.pad_token_id:
            length -= 1
    text = loaded.tokenizer.decode(
        row[:length], skip_special_tokens=True, clean_up_tokenization_spaces=False
    )
    places = [at for stop in params.stop if (at := text.find(stop)) >= 0]
    whole = ended or bool(places) or length < (params.max_tokens or MAX_TOKENS)
    text = text[: min(places)] if places else text
    return Output(text, "stop" if whole else "length", length + ended)


def _logprobs(
    torch: Any,
    loaded: Loaded,
    logits: Any,
    number: int,
    row: list[int],
    output: Output,
    params: Params,
) -> list[TokenLogprob]:
    """Log-probabilities of one row's tokens, from the model's scores before any sampling."""
    found = []
    for step, token in enumerate(row[: output.count]):
        scores = torch.log_softmax(logits[step][number].float(), dim=-1)
        best = torch.topk(scores, min(params.logprobs or 0, scores.shape[-1]))
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        # Different tokens may show as the same text: the likeliest comes last and stays.
        top = {loaded.tokenizer.decode([id_]): value for id_, value in reversed(list(pairs))}
        text = loaded.tokenizer.decode([token])
        found.append(TokenLogprob(text, float(scores[token]), top))
    return found
