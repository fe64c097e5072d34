"""Distractors from a file or a corpus, limited by the budget and the cap.

Source: Lee et al. 2024, section 3.2 (step 5), section 4.2 (positions) and appendix A.9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from trueground.benchmarks import get_dataset
from trueground.errors import InputError, UsageError
from trueground.records import DataPath, Problem, describe
from trueground.text import draw_number
from trueground.types import Passage
from trueground.wings.papers.truly_ground import DISTRACTOR_SET, TrulyGroundOptions
from trueground.wings.papers.truly_ground.mining import Gold, fill, mine
from trueground.wings.papers.truly_ground.source import (
    DATASET,
    DISTRACTORS,
    META,
    TEXTS,
    TITLES,
    VERSIONS,
    VersionQuestion,
    find_entry,
    format_context,
    pages_of,
    parse_contexts,
    read_items,
)
from trueground.wings.papers.user_files import read_entries
from trueground.wings.search import MemoryCorpus

Ranked = list[Sequence[Passage]]
CHARACTERS = 4  # Per token.
APPROXIMATION = f"{CHARACTERS} characters a token"
_MINED_BUDGET = 2048
_LOCAL = "hf:"
MAX_LISTED_IDS = 5
_MAX_SEPARATOR_TOKENS = 8  # Between two contexts.


@dataclass(frozen=True)
class Distractors:
    """A source of distractors.

    Attributes:
        options: Options that are part of the run's identity.
        files: Files that are part of the run's identity.
        budget: The maximum number of tokens of all contexts. None: no limit.
        rank: Returns each question's distractors, nearest first. Raises InputError.
    """

    options: dict[str, str | bool | None]
    files: tuple[Path, ...]
    budget: int | None
    rank: Callable[[Sequence[VersionQuestion]], Ranked]


def make_distractors(options: TrulyGroundOptions, data: Path | None) -> Distractors:
    """Return the source of distractors. Default: the file of the data, or else bm25."""
    path = options.distractors
    if path is None and options.retriever is None and options.corpus is None:
        path = get_dataset(DATASET).look_for_json(DISTRACTORS, data)
    if path is not None:
        return _from_file(path, options)
    if options.distractor_set != DISTRACTOR_SET:
        raise UsageError(
            f"--distractor-set {options.distractor_set} needs a file of distractors. Add "
            "--distractors FILE, or leave the option out"
        )
    return _mined(options, data)


def _from_file(path: Path, options: TrulyGroundOptions) -> Distractors:
    """Return the distractors of a file {qId: {SET: [context, …]}}."""
    if not path.is_file():
        state = "isn't a file" if path.exists() else "does not exist"
        raise InputError(f"--distractors {path} {state}; expected a file of distractors")
    name = options.distractor_set

    def rank(items: Sequence[VersionQuestion]) -> Ranked:
        """Leave out repeated distractors, and those with the text of a gold context."""
        entries = read_entries(path)
        ranked: Ranked = []
        for item in items:
            entry = find_entry(path, entries, item.id)
            gold = {passage.text for passage in item.gold}
            try:
                if not isinstance(entry.get(name), list):
                    sets = ", ".join(entry) or "none"
                    value = describe(entry[name]) if name in entry else "no such set"
                    raise Problem(name, f"{value}; available sets: {sets}", "a list of str")
                others = parse_contexts(name, entry[name], gold=False)
            except Problem as problem:
                raise InputError(problem.message(f"{path}, qId {item.id!r}")) from None
            ranked.append([passage for passage in others if passage.text not in gold])
        return ranked

    return Distractors({"distractors": name, "retriever": None}, (path,), options.budget, rank)


def _mined(options: TrulyGroundOptions, data: Path | None) -> Distractors:
    """Return the nearest passages of a corpus, without pages that have a gold context.

    The gold pages of both versions are left out, so that both have the same distractors.
    """
    folder = options.corpus or data
    files: tuple[Path, ...]
    dataset = get_dataset(DATASET)
    if options.corpus is not None and dataset.look_for_json(TEXTS, options.corpus) is None:
        corpus, files = MemoryCorpus.read(options.corpus), tuple(DataPath(options.corpus).files())
    else:
        texts = dataset.find_json(TEXTS, folder)
        titles = dataset.find_json(TITLES, folder)
        corpus, files = MemoryCorpus.read(texts, titles), (texts, titles)
    opened = corpus.open(options.retriever or "bm25")
    original = None
    if options.version != "original":
        original = dataset.find_json(VERSIONS["original"], data)

    def rank(items: Sequence[VersionQuestion]) -> Ranked:
        originals = read_items(original, dataset.find_json(META, data)) if original else []
        original_gold = {item.id: item.gold for item in originals}
        gold = [_gold_of((*item.gold, *original_gold.get(item.id, ()))) for item in items]
        try:
            queries = [item.question for item in items]
            mined = mine(corpus, opened, queries, gold, options.top)
        finally:
            opened.close()
        passages = {}
        for index in set(chain.from_iterable(mined)):
            passage = corpus.passages[index]
            # The source of a page without an address is its title.
            source = passage.source if passage.source != passage.title else None
            passages[index] = Passage(passage.text, title=passage.title, gold=False, source=source)
        return [[passages[index] for index in indices] for indices in mined]

    return Distractors(
        {
            "distractors": "mined",
            "retriever": opened.retriever.signature,
            "top": str(options.top),
        },
        (*files, *([original] if original else [])),
        options.budget or _MINED_BUDGET,
        rank,
    )


def _gold_of(contexts: Sequence[Passage]) -> Gold:
    return Gold(tuple(sorted(pages_of(contexts))), tuple(passage.text for passage in contexts))


class TokenCounter(NamedTuple):
    """A function that counts the tokens of texts, and its name in the run's identity."""

    name: str
    count_tokens: Callable[[Sequence[str]], list[int]]


def make_counter(tokenizer: str | None, model: str | None) -> TokenCounter:
    """Return a counter with the given tokenizer, that of a model `hf:…`, or by characters."""
    if tokenizer is None and model is not None and model.startswith(_LOCAL):
        tokenizer = model.removeprefix(_LOCAL)
    if tokenizer is None:
        return TokenCounter(
            APPROXIMATION, lambda texts: [-(-len(text) // CHARACTERS) for text in texts]
        )
    from trueground.encoders import make_token_counter

    # The checksum identifies a file, as its path may differ between machines.
    path = Path(tokenizer).expanduser()
    file = path / "tokenizer.json" if path.is_dir() else path
    name = tokenizer
    if file.is_file():
        name = f"tokenizer.json sha256:{sha256(file.read_bytes()).hexdigest()[:16]}"
    return TokenCounter(name, make_token_counter(tokenizer))


def cut_to_budget(
    items: Sequence[VersionQuestion], ranked: Ranked, budget: int, counter: TokenCounter
) -> Ranked:
    """Return the nearest distractors that fit into the budget of all contexts.

    Gold contexts are never cut. The tokens of a context are those of its title line and text.
    """
    pairs = list(zip(items, ranked, strict=True))
    contexts: list[Passage] = []
    for item, others in pairs:
        contexts += (*item.gold, *others)
    tokens = _tokens(contexts, counter)
    chosen: Ranked = []
    for item, others in pairs:
        room = budget - sum(tokens[format_context(passage)] for passage in item.gold)
        lengths = [tokens[format_context(passage)] for passage in others]
        chosen.append([others[i] for i in fill(range(len(others)), lengths, room)])
    return chosen


def cut_to_cap(
    items: Sequence[VersionQuestion],
    chosen: Ranked,
    cap: int,
    counter: TokenCounter,
    render: Callable[[VersionQuestion, Sequence[Passage]], str],
) -> Ranked:
    """Remove the farthest distractors until every prompt has at most `cap` tokens.

    Args:
        items: The questions.
        chosen: The distractors of each question.
        cap: The maximum number of tokens of a prompt.
        counter: The counter of tokens.
        render: Returns the prompt of a question with some distractors.

    Raises:
        UsageError: A prompt is too long even without distractors.
    """
    bare = counter.count_tokens([render(item, ()) for item in items])
    ids = [item.id for item, length in zip(items, bare, strict=True) if length > cap]
    if ids:
        first = ", ".join(ids[:MAX_LISTED_IDS]) + (", …" if len(ids) > MAX_LISTED_IDS else "")
        raise UsageError(
            f"--input-cap {cap}: {len(ids)} prompts are longer even without distractors ({first}; "
            f"tokens: {counter.name}). Gold contexts are never cut. Raise the cap, or leave it out"
        )
    kept = [list(others) for others in chosen]
    long = dict.fromkeys(range(len(items)), 0)
    tokens: dict[str, int] = {}
    while long:
        lengths = counter.count_tokens([render(items[i], kept[i]) for i in long])
        long = {i: n - cap for i, n in zip(long, lengths, strict=True) if n > cap}
        tokens = tokens or _tokens(chain.from_iterable(kept[i] for i in long), counter)
        # Remove one distractor, and more while the estimate is too long. Then count again.
        for i, over in long.items():
            over -= tokens[format_context(kept[i].pop())] + _MAX_SEPARATOR_TOKENS
            while kept[i] and over > 0:
                over -= tokens[format_context(kept[i].pop())] + _MAX_SEPARATOR_TOKENS
    return [*kept]


def _tokens(passages: Iterable[Passage], counter: TokenCounter) -> dict[str, int]:
    """Return the number of tokens of each formatted context."""
    texts = list(dict.fromkeys(map(format_context, passages)))
    return dict(zip(texts, counter.count_tokens(texts), strict=True))


def place_gold(
    gold: Sequence[Passage], others: Sequence[Passage], position: str, seed: int, question: str
) -> list[Passage]:
    """Merge gold contexts and distractors. Both keep their order.

    Args:
        gold: The gold contexts.
        others: The distractors.
        position: beginning, middle (after half of the distractors, rounded down), end, or random.
        seed: The seed of random positions.
        question: The id of the question. With the seed, it determines random positions.
    """
    number = len(gold) + len(others)
    if position == "random":
        order = sorted(range(number), key=lambda n: draw_number(seed, question, n, separator="/"))
        indices = set(order[: len(gold)])
    else:
        starts = {"beginning": 0, "middle": len(others) // 2, "end": len(others)}
        indices = set(range(starts[position], starts[position] + len(gold)))
    golden, other = iter(gold), iter(others)
    return [next(golden if index in indices else other) for index in range(number)]
