"""Batches through a loaded Hugging Face model: gathering calls, and tokens in, tokens out.

A row of a batch gets the tokens that it would get alone, up to the arithmetic of the data type:
padding is masked, and every row draws from a random generator of its own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

from trueground.errors import UsageError
from trueground.models.base import Params, TokenLogprob
from trueground.models.hf_tokens import PromptTokenizer
from trueground.net import import_optional

In = TypeVar("In")
Out = TypeVar("Out")
MAX_TOKENS = 256
WHAT = "a model hf:…"


def import_extra(module: str) -> Any:
    """A module of the `hf` extra. MissingExtraError."""
    return import_optional(module, WHAT, "hf")


@dataclass(eq=False)
class _Queued(Generic[In, Out]):
    item: In
    alike: object
    length: int
    result: Future[Out] = field(default_factory=Future)


class Batcher(Generic[In, Out]):
    """Gathers items that wait and hands up to `size` that are alike to `work`.

    `alike` gives what must be equal in a batch, `length` what to sort by. `work` runs in one thread
    of its own, so that the event loop stays free. The item that has waited longest is always in the
    next batch, with those nearest to it in length.
    """

    def __init__(
        self,
        work: Callable[[list[In]], list[Out]],
        size: int,
        alike: Callable[[In], object],
        length: Callable[[In], int],
    ) -> None:
        self._work, self._size, self._alike, self._length = work, size, alike, length
        self._lock = threading.Lock()
        self._waiting: list[_Queued[In, Out]] = []
        self._pool: ThreadPoolExecutor | None = None
        self._served: set[Future[None]] = set()  # calls of `_serve` that have not ended
        self.closing = threading.Event()

    async def ask(self, item: In) -> Out:
        """The result for one item. What `work` raises comes out here."""
        queued = _Queued[In, Out](item, self._alike(item), self._length(item))
        with self._lock:
            self._waiting.append(queued)
        try:
            # The other calls that were begun together with this one get into the same batch.
            await asyncio.sleep(0)
            if self._pool is None:
                self.closing.clear()
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="trueground-hf")
            served = self._pool.submit(self._serve)
            self._served.add(served)
            served.add_done_callback(self._served.discard)
            return await asyncio.wrap_future(queued.result)
        except asyncio.CancelledError:
            queued.result.cancel()
            raise

    async def close(self) -> None:
        """End the thread; `work` may look at `closing` to stop early."""
        self.closing.set()
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)
            # When the interpreter exits no thread can be started any more, so that
            # `asyncio.to_thread(pool.shutdown)` would fail.
            running = [asyncio.wrap_future(served) for served in tuple(self._served)]
            await asyncio.gather(*running, return_exceptions=True)
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for queued in waiting:
            queued.result.cancel()

    def _serve(self) -> None:
        """Answer one batch; there is a call of this for every item, so some find none left."""
        with self._lock:
            # Whose caller has given up is dropped.
            self._waiting = [one for one in self._waiting if not one.result.cancelled()]
            if not self._waiting:
                return
            oldest = self._waiting[0]
            alike = [one for one in self._waiting if one.alike == oldest.alike]
            alike.sort(key=lambda one: one.length)
            start = alike.index(oldest) // self._size * self._size
            batch = alike[start : start + self._size]
            self._waiting = [one for one in self._waiting if one not in batch]
        batch = [one for one in batch if one.result.set_running_or_notify_cancel()]
        if not batch:
            return
        try:
            results = self._work([one.item for one in batch])
            if self.closing.is_set():
                raise CancelledError
        except BaseException as error:  # whatever it is, those who wait must hear of it
            for one in batch:
                one.result.set_exception(error)
            return
        for one, result in zip(batch, results, strict=True):
            one.result.set_result(result)


def in_halves(
    work: Callable[[Sequence[In]], list[Out]],
    rows: Sequence[In],
    failed: Callable[[Exception], Out],
) -> list[Out]:
    """One result per row. A batch that fails is halved until the rows that fail stand alone.

    `failed` makes the result of such a row, or raises.
    """
    try:
        return work(rows)
    except Exception as error:  # out of memory, most of all; each architecture has its own
        lost = failed(error) if len(rows) == 1 else None
    # Outside of the handler, because the traceback holds the tensors.
    import_extra("torch").cuda.empty_cache()
    if lost is not None:
        return [lost]
    half = len(rows) // 2
    return in_halves(work, rows[:half], failed) + in_halves(work, rows[half:], failed)


@dataclass(frozen=True)
class Loaded:
    """A model in memory. `window` is the most tokens it can attend to, None if not limited."""

    model: Any
    tokenizer: Any
    seq2seq: bool
    window: int | None

    @cached_property
    def prompts(self) -> PromptTokenizer:
        """What encodes prompts for the model."""
        return PromptTokenizer(self.tokenizer)

    def padded(self, rows: Sequence[list[int]], *, left: bool) -> tuple[Any, Any]:
        """(tokens, mask) on the model's device, both rows × longest."""
        torch = import_extra("torch")
        longest = max(map(len, rows))
        pad = self.model.generation_config.pad_token_id
        tokens, masks = [], []
        for row in rows:
            fill, ones = longest - len(row), [1] * len(row)
            tokens.append([pad] * fill + row if left else row + [pad] * fill)
            masks.append([0] * fill + ones if left else ones + [0] * fill)
        device = self.model.device
        return torch.tensor(tokens).to(device), torch.tensor(masks).to(device)


@dataclass(frozen=True)
class TokenizedPrompt:
    """One tokenized prompt, and the seed of its random draws."""

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
    """One output per prompt, with `error` where one fails alone.

    Raises UsageError for an extra parameter that the library does not know.
    """

    def failed(error: Exception) -> Output:
        if params.extra and isinstance(error, TypeError | ValueError):
            raise UsageError(f"the extra parameters {params.extra} do not work: {error}") from error
        return Output("", "error", 0, error=f"{type(error).__name__}: {error}")

    return in_halves(lambda rows: _generate(loaded, rows, params, closing), prompts, failed)


def _generate(
    loaded: Loaded, prompts: Sequence[TokenizedPrompt], params: Params, closing: threading.Event
) -> list[Output]:
    torch, transformers, tokenizer = (
        import_extra("torch"),
        import_extra("transformers"),
        loaded.tokenizer,
    )
    limit = params.max_tokens or MAX_TOKENS

    def given_up(tokens: Any, _scores: Any, **_rest: Any) -> Any:
        return torch.full((len(tokens),), closing.is_set(), device=tokens.device)

    settings: dict[str, Any] = {
        "do_sample": False,
        "max_new_tokens": limit,
        "stopping_criteria": transformers.StoppingCriteriaList([given_up]),
    }
    if params.min_tokens:
        settings["min_new_tokens"] = params.min_tokens
    if params.stop:
        settings |= {"stop_strings": list(params.stop), "tokenizer": tokenizer}
    if params.logprobs is not None:
        settings["output_logits"] = True
    if params.temperature:
        warpers = [transformers.TemperatureLogitsWarper(float(params.temperature))]
        if params.top_k is not None and params.top_k > 0:
            warpers.append(transformers.TopKLogitsWarper(params.top_k))
        if params.top_p is not None and params.top_p < 1:
            warpers.append(transformers.TopPLogitsWarper(params.top_p))
        draws = _Draws(torch, [prompt.seed for prompt in prompts])
        settings["logits_processor"] = transformers.LogitsProcessorList([*warpers, draws])
    # Decoders are padded left, where nothing follows.
    tokens, mask = loaded.padded([prompt.tokens for prompt in prompts], left=not loaded.seq2seq)
    generated = loaded.model.generate(
        input_ids=tokens,
        attention_mask=mask,
        return_dict_in_generate=True,
        **(settings | params.extra),
    )
    # A decoder repeats the prompt; an encoder-decoder begins with its start token.
    skipped = 1 if loaded.seq2seq else tokens.shape[1]
    config = loaded.model.generation_config
    ends = config.eos_token_id if isinstance(config.eos_token_id, list) else [config.eos_token_id]
    outputs = []
    for number, row in enumerate(generated.sequences[:, skipped:].tolist()):
        length = next((at for at, token in enumerate(row) if token in ends), None)
        ended = length is not None
        if length is None:
            length = len(row)
            # A row that a stop string ended is filled up while others go on.
            while params.stop and length and row[length - 1] == config.pad_token_id:
                length -= 1
        text = tokenizer.decode(
            row[:length], skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        places = [at for stop in params.stop if (at := text.find(stop)) >= 0]
        complete = ended or bool(places) or length < limit
        logprobs = None
        if params.logprobs is not None:
            scores = [step[number] for step in generated.logits[: length + ended]]
            logprobs = _logprobs(torch, tokenizer, row, scores, params.logprobs)
        outputs.append(
            Output(
                text[: min(places)] if places else text,
                "stop" if complete else "length",
                length + ended,
                logprobs,
            )
        )
    return outputs


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


def _logprobs(
    torch: Any, tokenizer: Any, row: list[int], logits: Sequence[Any], alternatives: int
) -> list[TokenLogprob]:
    """Log-probabilities of one row's tokens, from the model's scores before any sampling."""
    found = []
    for token, step in zip(row, logits, strict=False):
        scores = torch.log_softmax(step.float(), dim=-1)
        best = torch.topk(scores, min(alternatives, scores.shape[-1]))
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        # Different tokens may show as the same text: the likeliest comes last and stays.
        top = {tokenizer.decode([id_]): value for id_, value in reversed(list(pairs))}
        found.append(TokenLogprob(tokenizer.decode([token]), float(scores[token]), top))
    return found
