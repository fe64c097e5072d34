"""Log-probabilities of a text from a causal Hugging Face model on this machine."""

from __future__ import annotations

import gc
from typing import Any

from trueground.errors import UsageError
from trueground.models.base import ChatRequest, Message, Reply, TokenLogprob
from trueground.models.hf_batching import Batcher
from trueground.models.hf_loading import Loaded, load
from trueground.models.hf_source import check, find, needed
from trueground.models.options import ModelOptions
from trueground.models.perplexity_base import UnscoredText, as_logprob
from trueground.types import Status

_TOO_SHORT = "too_short"


class LocalScorer:
    """A decoder of the `transformers` library; loaded with the first text.

    A text that is longer than the model's window is Unscored: nothing is cut off. Raises
    MissingExtraError, UsageError and InputError as a model `hf:…` does.
    """

    cacheable = True

    def __init__(self, name: str, options: ModelOptions) -> None:
        check(options)
        self._source = find(name, options)
        self._options = options
        self._loaded: Loaded | None = None
        self._batcher = Batcher(self._scored, options.batch_size)
        self.name = f"hf:{name}"
        self.signature = f"logprobs/{self._source.signature}"

    async def logprobs(self, text: str) -> list[float]:
        """See PromptScorer. Texts under way at the same time are scored in batches."""
        if text != text.encode("utf-8", "replace").decode():
            raise UnscoredText("call_failed", "the text holds half a character (a lone surrogate)")
        reply = await self._batcher.ask(ChatRequest((Message("user", text),)))
        if reply.finish_reason == _TOO_SHORT:
            raise UnscoredText("too_short", reply.error or "")
        if reply.status is Status.TOO_LONG:
            raise UnscoredText("too_long", reply.error or "")
        if reply.logprobs is None:
            raise UnscoredText("call_failed", reply.error or "", passing=True)
        return [one.logprob for one in reply.logprobs]

    async def close(self) -> None:
        """Give the memory back; a later text loads the model again."""
        await self._batcher.close()
        if self._loaded is not None:
            self._loaded = None
            gc.collect()
            needed("torch").cuda.empty_cache()

    def _scored(self, requests: list[ChatRequest]) -> list[Reply]:
        """One reply a text, its numbers in `logprobs`; runs in the worker thread."""
        if self._loaded is None:
            self._loaded = _load(self._source, self._options, self.name)
        loaded = self._loaded
        rows = [_tokens(loaded.tokenizer, request.messages[0].content) for request in requests]
        replies = {number: _left_out(row, loaded.window) for number, row in enumerate(rows)}
        fit = [number for number, reply in replies.items() if reply is None]
        scored = _forward(loaded, [rows[number] for number in fit]) if fit else []
        replies.update(zip(fit, scored, strict=True))
        return [reply for reply in replies.values() if reply is not None]


def _load(source: Any, options: ModelOptions, name: str) -> Loaded:
    loaded = load(source, options)
    if loaded.seq2seq:
        raise UsageError(
            f"{name} is an encoder-decoder, which gives no perplexity of a text; name a decoder, "
            "such as GPT-2, Llama or Qwen"
        )
    return loaded


def _tokens(tokenizer: Any, text: str) -> list[int]:
    """Token ids, begun as the model wants texts to begin, and not ended."""
    tokens: list[int] = tokenizer(text, verbose=False)["input_ids"]
    bare: list[int] = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    end = tokenizer.eos_token_id
    if tokens and tokens[-1] == end and bare[-1:] != [end]:
        tokens = tokens[:-1]
    return tokens


def _left_out(tokens: list[int], window: int | None) -> Reply | None:
    """Why a text cannot be scored, or None."""
    if len(tokens) < 2:
        found = f"the text has {len(tokens)} tokens; expected 2 or more"
        return Reply(status=Status.ERROR, error=found, finish_reason=_TOO_SHORT)
    if window is not None and len(tokens) > window:
        found = f"the text has {len(tokens)} tokens; the model's window has {window}"
        return Reply(status=Status.TOO_LONG, error=found)
    return None


def _forward(loaded: Loaded, rows: list[list[int]]) -> list[Reply]:
    """A batch through the model. One that fails is halved until those that fail stand alone."""
    torch = needed("torch")
    try:
        with torch.inference_mode():
            return [_reply(numbers) for numbers in _logprobs(torch, loaded, rows)]
    except Exception as error:  # out of memory, most of all; each architecture has its own
        reason = f"{type(error).__name__}: {error}"
    # Outside of the handler, because the traceback holds the tensors.
    torch.cuda.empty_cache()
    if len(rows) == 1:
        return [Reply(status=Status.ERROR, error=reason)]
    half = len(rows) // 2
    return _forward(loaded, rows[:half]) + _forward(loaded, rows[half:])


def _logprobs(torch: Any, loaded: Loaded, rows: list[list[int]]) -> list[list[float]]:
    """log p(token | those before) in float32 for each row's second to last token.

    Padding stands behind, where no token of a causal model sees it.
    """
    model = loaded.model
    longest = max(map(len, rows))
    pad = model.generation_config.pad_token_id
    tokens = torch.tensor([row + [pad] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    tokens, mask = tokens.to(model.device), mask.to(model.device)
    logits = model(input_ids=tokens, attention_mask=mask, use_cache=False).logits
    made = []
    for number, row in enumerate(rows):  # one by one: in float32 a row can take a gigabyte
        each = logits[number, : len(row) - 1].float()
        following = tokens[number, 1 : len(row)].to(each.device)
        chosen = each.gather(1, following[:, None])[:, 0]
        made.append((chosen - each.logsumexp(1)).tolist())
    return made


def _reply(numbers: list[float]) -> Reply:
    try:
        return Reply(logprobs=[TokenLogprob("", as_logprob(number)) for number in numbers])
    except ValueError as error:
        return Reply(status=Status.ERROR, error=f"the model computes no probabilities: {error}")
