"""Small models that are run one text at a time: they write questions, or find answers.

A row is computed alone, by one thread on a CPU, so that what comes out depends on the text only.
PyTorch runs them; ONNX files are not looked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from trueground.encoders.backends import TorchBackend, import_hf, torch_device
from trueground.encoders.base import EncoderOptions
from trueground.encoders.loading import ModelKind, find_checkpoint, takes_types, window_of
from trueground.encoders.tokens import plain, read_tokenizer

_LONGEST = 128  # tokens of a question
_BEAMS = 5
_NO_REPEAT = 3  # as many words in a row stand in a question once only


class _SingleTextModel:
    """What both models share; `signature` names weights, library and arithmetic."""

    def __init__(self, model: str, options: EncoderOptions, kind: ModelKind) -> None:
        options = replace(options, backend="torch")
        options.check()
        self.name = model
        checkpoint = find_checkpoint(model, options, kind)
        self.window = window_of(model, checkpoint.folder, checkpoint.config, options.window)
        self._folder = checkpoint.folder
        self._tokenizer = read_tokenizer(model, checkpoint.folder)
        self._device = torch_device(options.device)
        self._backend = TorchBackend(checkpoint, options, kind, self._device)
        self.signature = (
            f"{checkpoint.signature}+{self._backend.version}+{options.dtype}+{self.window}"
        )

    def lengths(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens."""
        return [len(encoding.ids) for encoding in plain(self._tokenizer, texts)]

    def close(self) -> None:
        """Give memory back; asking again loads anew."""
        self._backend.close()

    def _tensor(self, numbers: Sequence[int]) -> Any:
        row = np.array([numbers], np.int64)
        return import_hf("torch").from_numpy(row).to(self._device)

    def _text(self, ids: Sequence[int]) -> str:
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True)).strip()


class QuestionWriter(_SingleTextModel):
    """A text-to-text model that asks for an answer: `answer: A  context: C` → `question: …`."""

    def __init__(self, model: str, options: EncoderOptions) -> None:
        super().__init__(model, options, ModelKind.WORDS)

    def write(self, answer: str, text: str) -> list[str]:
        """The five most likely questions whose answer this is, the likeliest first.

        A text beyond the model's window is cut off at it.
        """
        (encoding,) = plain(self._tokenizer, [f"answer: {answer}  context: {text}"])
        specials = self._tokenizer.num_special_tokens_to_add(False)
        encoding.truncate(self.window - specials)
        ids = self._tokenizer.post_process(encoding, None, True).ids
        with self._backend.computing(), import_hf("torch").inference_mode():
            row = self._tensor(ids)
            beams = self._backend.model.generate(
                input_ids=row,
                attention_mask=row.new_ones(row.shape),
                max_length=_LONGEST,
                num_beams=_BEAMS,
                num_return_sequences=_BEAMS,
                no_repeat_ngram_size=_NO_REPEAT,
                early_stopping=True,
                do_sample=False,
            )
        texts = (self._text(beam) for beam in beams.cpu().tolist())
        return [text.removeprefix("question:").strip() for text in texts]


class TokenSpan(NamedTuple):
    """An answer: None where the model says that the text holds no answer."""

    text: str | None
    score: float


class AnswerFinder(_SingleTextModel):
    """A model of extractive question answering: the words of a text that answer a question."""

    def __init__(self, model: str, options: EncoderOptions) -> None:
        super().__init__(model, options, ModelKind.SPANS)
        self._typed = takes_types(model, self._folder)

    def free_tokens(self, questions: Sequence[str]) -> list[int]:
        """For each question the tokens that are left for a text beside it."""
        free = self.window - self._tokenizer.num_special_tokens_to_add(True)
        return [free - length for length in self.lengths(questions)]

    def find(self, question: str, text: str) -> TokenSpan:
        """The likeliest answer: from the likeliest first token to the likeliest last one.

        It is "" where the last stands before the first, and None where both are the special token
        that says that there is none. `score` is how much likelier it is than that, in logits. What
        goes beyond the window is cut off.
        """
        first, second = plain(self._tokenizer, [question, text])
        second.truncate(max(0, self.free_tokens([question])[0]))
        both = self._tokenizer.post_process(first, second, True)
        inputs = {"input_ids": both.ids, "attention_mask": [1] * len(both.ids)}
        with self._backend.computing(), import_hf("torch").inference_mode():
            if self._typed and self._backend.typed:
                inputs["token_type_ids"] = both.type_ids
            output = self._backend.model(**{k: self._tensor(v) for k, v in inputs.items()})
            starts = output.start_logits[0].float().cpu().numpy()
            ends = output.end_logits[0].float().cpu().numpy()
        start, end = int(starts.argmax()), int(ends.argmax())
        score = float(starts[start] + ends[end] - starts[0] - ends[0])
        if end < start:
            return TokenSpan("", score)
        special = both.special_tokens_mask
        if start == 0 or special[start]:
            return TokenSpan(None, score)
        return TokenSpan(self._text(both.ids[start : end + 1]), score)
