"""The tasks: options → metrics, files and a stream of questions (Adlakha et al. 2023)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trueground.benchmarks import Question, Sources, Task
from trueground.errors import InputError, UsageError
from trueground.models import Message, Params, Prompt
from trueground.records import FileInfo
from trueground.types import Passage, PromptFile, Record, Turn
from trueground.wings.papers.instruct_qa import QaOptions
from trueground.wings.papers.instruct_qa.corpus import FoundPassages, QaCorpus
from trueground.wings.papers.instruct_qa.source import QaQuestion, read_items, task_files
from trueground.wings.search import CorpusSession, GoldPassage, SearchQuery, words

_PACKAGE = "trueground.wings.papers.instruct_qa"
# Tables 3 and 5, the ones that need no model; the headline first.
_CORRECT = ("recall", "exact_match", "f1", "recall_strict", "precision", "rouge_l")
_FAITHFUL = ("k_precision", "k_recall", "k_f1", "k_precision_pp", "k_f1_pp")
_DECLINING = "k_precision(abstention_passage=true)"
_MOST_TOKENS = 500
_PARAMS = {  # appendix A
    "greedy": Params(temperature=0.0, max_tokens=_MOST_TOKENS),
    "paper": Params(temperature=0.95, top_p=0.95, seed=0, min_tokens=1, max_tokens=_MOST_TOKENS),
}
_BLOCK = 256  # questions that are searched for at once
_SHOWN = 5
# What a run writes into `meta` of its own, by setting.
_WRITTEN = {
    "retrieved": ("gold_retrieved", "gold_rank"),
    "irrelevant": ("irrelevant_rank", "irrelevant_found"),
}
# What became of a search that came out otherwise than it was asked for.
_EMPTY = "the search found no passage; they are asked all the same, and the prompt says so"
_DRAWN = (
    "too few passages were found, so one is shown that the search did not find "
    "(meta.irrelevant_found is false)"
)
_LEFT_OUT = (
    "too few passages were found, and every other one of the corpus is gold or holds an answer, so "
    "they are left out"
)
# In the place of passages, so that no prompt speaks of passages and shows none.
_NOTHING = "(The search found no passage.)"
_USERS = ("user", "human")
# With these a line begins another turn, question or passage; the last two only behind an answer.
_BEGINNINGS = ("user:", "User:", "assistant:", "- Title:", "Question:")
_ANSWERS = ("Agent:", "Answer:")


def make_task(options: QaOptions, sources: Sources) -> Task:
    """The task, its corpus ready; questions are not read yet. UsageError, InputError."""
    files = task_files(options, sources.data)
    _check_corpus(options)
    prompts = QaPrompts(options, sources)
    if options.gold is not None and not options.gold.is_file():
        what = "is no file" if options.gold.exists() else "does not exist"
        raise InputError(f"--gold {options.gold} {what}; name DPR's nq-test_gold_info.json")
    corpus = None
    if options.corpus_path is not None and not options.closed_book:
        corpus = QaCorpus(options.corpus_path, options, sources)
    retrieved = options.setting == "retrieved" and options.knows_gold
    by = ("meta.gold_retrieved",) * retrieved + ("meta.type",) * (options.task == "hotpotqa")
    read = [*files, *([options.gold] if options.gold else [])]
    return Task(
        options=_identity(options, prompts, corpus),
        metrics=_metrics(options),
        by=by,
        params=_PARAMS[options.preset],
        # The corpus is known by its passages and the retriever by its signature, both options: an
        # index that has been moved, or to which a retriever was added, asks the same.
        files=tuple(FileInfo.of(str(file), file) for file in read),
        prompts=prompts.files,
        questions=_QaQuestions(options, files, corpus, prompts),
        trim=TRIMMERS[options.post_process],
    )


def _check_corpus(options: QaOptions) -> None:
    """See also what nothing is searched with: a mistake in it would show in the next run only.

    UsageError: nothing to search, or a retriever that cannot be meant. InputError: no corpus where
    one is named.
    """
    if options.searches and not options.has_corpus:
        raise UsageError(
            f"--setting {options.setting} needs passages to search: add --corpus PATH with "
            "documents, a file of passages or an index; --setting gold and closed-book do without, "
            "and so does --retriever file:RESULTS.json where the results hold the passages (DPR's "
            "ctxs)"
        )
    if options.retriever != "bm25":
        CorpusSession.check_retriever(options.retriever)
    if options.corpus_path is not None and not options.corpus_path.exists():
        raise InputError(
            f"--corpus {options.corpus_path} does not exist; name a folder of documents, a file of "
            "passages or an index"
        )


def _metrics(options: QaOptions) -> tuple[str, ...]:
    if options.closed_book:
        return (*_CORRECT, "abstained")
    declining = (_DECLINING,) if options.instruction == "v2" else ()
    found = (*_CORRECT, *_FAITHFUL, *declining, "abstained")
    if options.setting == "irrelevant":
        return ("p_ir", *found)
    return (*found, "p_g") if options.knows_gold else found


def _identity(
    options: QaOptions, prompts: QaPrompts, corpus: QaCorpus | None
) -> dict[str, str | bool | None]:
    """The options that fix the questions and what of a reply is scored; numbers as text."""
    found: dict[str, str | bool | None] = {
        "setting": options.setting,
        "instruction": prompts.instruction,
        "preset": options.preset,
        "post-process": options.post_process,
    }
    if options.talks:
        found["history-turns"] = str(options.history_turns)
    if options.task == "hotpotqa":
        found["variant"] = options.variant
    if options.setting == "gold":
        found["without-gold"] = options.without_gold
    if corpus is not None:
        found["corpus"] = corpus.sha256
    if corpus is not None and options.searches:
        found["retriever"] = corpus.signature
        if options.talks:
            found["retrieval-query"] = options.retrieval_query
        found["gold-needed"] = "all" if options.needs_all else "any"
        if options.setting == "retrieved":
            found["passages"] = str(options.most_passages)
        else:
            found["irrelevant-rank"] = str(options.irrelevant_rank)
    return found


class QaPrompts:
    """The prompts of a task: one for single questions and one for conversations, or the user's.

    `instruction` says what the instruction is, for the run's identity.
    """

    def __init__(self, options: QaOptions, sources: Sources) -> None:
        """UsageError, InputError for a prompt of the user's that cannot be used."""
        self._turns, self._path, task = options.history_turns, sources.prompt, options.task
        closed, version = options.closed_book, options.instruction
        needed = ["question"] + ["passages"] * (not closed) + ["history"] * (task == "topiocqa")
        optional = ["history"] * (task == "questions")
        single = "closed-book-1" if closed else f"qa-{version}-1"
        talk = "closed-book-conversation-1" if closed else f"conversation-{version}-1"
        names = [talk] if task == "topiocqa" else [single, talk] if options.talks else [single]
        prompts = [sources.choose_prompt(_PACKAGE, name, needed, optional) for name in names]
        self._single, self._conversation = prompts[0], prompts[-1]
        self.instruction: str = "none" if closed else version
        if sources.prompt is not None:
            self.instruction = "none but what the prompt says"

    @property
    def files(self) -> tuple[PromptFile, ...]:
        return tuple(dict.fromkeys((self._single.file, self._conversation.file)))

    def messages(self, item: QaQuestion, passages: Sequence[Passage]) -> tuple[Message, ...]:
        """UsageError where there are earlier turns and no place for them."""
        prompt: Prompt = self._conversation if item.history else self._single
        places = {"question": item.question, "passages": format_passages(passages)}
        if item.history:
            if not prompt.has("history"):
                raise UsageError(
                    f"{item.place}: the question has a history, and the prompt {self._path} has no "
                    "place {history}; add it to the prompt"
                )
            places["history"] = format_turns(item.history, self._turns)
        return prompt.fill(places)


def format_passages(passages: Sequence[Passage]) -> str:
    """A titled list, a free line between passages; where there are none, it says so."""
    if not passages:
        return _NOTHING
    return "\n\n".join(
        f"- Title: {one.title}\n{one.text.strip()}" if one.title else f"- {one.text.strip()}"
        for one in passages
    )


def cut_turns(turns: Sequence[Turn], most: int) -> list[Turn]:
    """At most `most` turns: two at a time are taken out of the middle, a question with its answer.

    The first turns, which say what it is all about, and the last ones stay.
    """
    left = list(turns)
    while len(left) > most and len(left) > 1:
        middle = len(left) // 2
        start = middle - 2 + middle % 2
        del left[start : start + 2]
    return left[:most]


def format_turns(turns: Sequence[Turn], most: int) -> str:
    """The turns that are shown, one a line, each behind User or Agent.

    Where a turn does not say who speaks, the user begins and they take turns.
    """
    speakers = []
    for number, turn in enumerate(turns):
        user = number % 2 == 0 if turn.role is None else turn.role.strip().lower() in _USERS
        speakers.append(Turn(turn.content, "User" if user else "Agent"))
    return "\n".join(f"{turn.role}: {turn.content.strip()}" for turn in cut_turns(speakers, most))


def query_of(item: QaQuestion, form: str, *, plain: bool) -> SearchQuery:
    """What a retriever searches for; `form` is one of `wings.search.base.FORMS`.

    `plain` as for TopiOCQA's retriever: lower-case, apostrophes straight, and without question
    marks around an utterance.
    """
    said = [*(turn.content for turn in item.history), item.question]
    own = item.retrieval_query
    if plain:
        said, own = list(map(_plain, said)), _plain(own) if own else None
    return SearchQuery.of_turns(said, own, form, item.id)


def _plain(text: str) -> str:
    return text.replace("’", "'").lower().strip().strip("?").strip()


def first_line(reply: str) -> str:
    return reply.lstrip("\n").partition("\n")[0]


def own_turn(reply: str) -> str:
    """The lines that are not blank, up to one that begins another turn, question or passage."""
    lines: list[str] = []
    for line in filter(str.strip, reply.split("\n")):
        if line.startswith(_BEGINNINGS) or (lines and line.startswith(_ANSWERS)):
            break
        lines.append(line)
    return "\n".join(lines)


# Of `--post-process`; None leaves replies as they are.
TRIMMERS: dict[str, Callable[[str], str] | None] = {
    "off": None,
    "first-line": first_line,
    "turns": own_turn,
}


@dataclass
class _QaQuestions:
    """Streams the questions. The first call reads and checks all of them.

    What was found for a block of them is kept, so that nothing is searched for twice, and nothing
    at all behind the last question that is wanted.
    """

    options: QaOptions
    files: Sequence[Path]
    corpus: QaCorpus | None
    prompts: QaPrompts
    items: list[QaQuestion] | None = None
    places: Mapping[GoldPassage, frozenset[int]] = field(default_factory=dict)
    found: dict[int, list[FoundPassages]] = field(default_factory=dict)

    def __call__(self) -> Iterator[Question]:
        if self.items is None:
            self.items = self._checked(read_items(self.options, self.files))
        items, setting, corpus = self.items, self.options.setting, self.corpus
        counts: Counter[str] = Counter()  # of what became of searches
        seen = 0
        try:
            for start in range(0, len(items), _BLOCK):
                block = items[start : start + _BLOCK]
                for item, found in zip(block, self._search(start, block), strict=True):
                    seen += 1
                    outcome = ""
                    if setting == "retrieved" and not found.numbers:
                        outcome = _EMPTY
                    elif setting == "irrelevant" and found.rank is None:
                        outcome = _DRAWN if found.numbers else _LEFT_OUT
                    counts.update(filter(None, [outcome]))
                    if outcome is not _LEFT_OUT:
                        yield self._question(item, found)
            if seen and counts[_LEFT_OUT] == seen:
                raise InputError(
                    f"--setting irrelevant: the corpus {self.options.corpus_path} has no "
                    f"irrelevant passage for any of the {seen:,} questions; every one that comes "
                    f"after rank {self.options.irrelevant_rank} or was not found is gold or holds "
                    "an answer. Name a corpus with more passages"
                )
        finally:
            if corpus is not None:
                about = f"--setting {setting}, {self.options.retriever}"
                for outcome, count in counts.items():
                    corpus.note(f"{about}: {count:,} of {seen:,} questions: {outcome}")
                corpus.close()

    def _checked(self, items: list[QaQuestion]) -> list[QaQuestion]:
        """The items that can be asked; gold passages that are known by a name are looked up."""
        options, corpus = self.options, self.corpus
        for item in items:
            for name in _WRITTEN.get(options.setting, ()):
                if name in item.meta:
                    raise InputError(
                        f"{item.place}, field 'meta.{name}': found one, and a run with --setting "
                        f"{options.setting} writes what it finds under that name; rename the "
                        "field, or leave it out"
                    )
        if corpus is not None and (options.task == "questions" or options.setting == "gold"):
            self.places = corpus.look_up(items)
        if options.setting != "gold":
            return items
        places = self.places
        if nameless := [
            item.id
            for item in items
            if not all(gold.text is not None or gold in places for gold in item.gold)
        ]:
            raise InputError(
                f"--setting gold: {_count(nameless)} have gold passages by their names only; add "
                "--corpus PATH, where their texts are"
                + "; --variant distractor has them too"
                * (options.task == "hotpotqa")
            )
        asked = [item for item in items if item.gold]
        lacking = [item.id for item in items if not item.gold]
        if lacking and not (options.without_gold == "skip" and asked):
            where = {
                "nq": "--gold FILE names DPR's nq-test_gold_info.json",
                "questions": 'give each question a "gold" list of ids or titles of passages, or '
                'contexts with "gold": true',
            }.get(options.task, "take a copy of the data that has them")
            skip = "; --without-gold skip asks the others" * bool(asked)
            raise InputError(
                f"--setting gold: {_count(lacking)} have no gold passage; {where}{skip}"
            )
        return asked

    def _search(self, start: int, block: Sequence[QaQuestion]) -> list[FoundPassages]:
        options, corpus = self.options, self.corpus
        if not options.searches or corpus is None:
            return [FoundPassages(())] * len(block)
        if start not in self.found:
            plain = options.task == "topiocqa"
            queries = [query_of(item, options.retrieval_query, plain=plain) for item in block]
            self.found[start] = corpus.find(block, queries)
        return self.found[start]

    def _question(self, item: QaQuestion, found: FoundPassages) -> Question:
        options, answerable = self.options, item.answerable
        contexts: list[Passage] = []
        more: dict[str, Any] = {}
        if options.setting == "gold":
            contexts = self._gold_passages(item)
            answerable = item.answerable is not False
        elif options.setting == "irrelevant":
            contexts = self._passages(found, [[]])
            more = {"irrelevant_rank": found.rank, "irrelevant_found": found.rank is not None}
            answerable = False
        elif options.setting == "retrieved":
            contexts, more = self._retrieved(item, found)
            # A passage that is not gold may hold the answer too.
            if item.gold and item.answerable is not False:
                answerable = True if more["gold_retrieved"] else None
        record = Record(
            id=item.id,
            response="",
            question=item.question,
            history=list(item.history) or None,
            contexts=None if options.closed_book else contexts,
            references=list(item.references) or None,
            answerable=answerable,
            group=item.group,
            meta={"dataset": options.task, "setting": options.setting, **item.meta, **more},
        )
        return Question(record, self.prompts.messages(item, contexts))

    def _retrieved(
        self, item: QaQuestion, found: FoundPassages
    ) -> tuple[list[Passage], dict[str, Any]]:
        """The passages in rank order, and when the gold ones that are needed had been found."""
        assert self.corpus is not None
        golds = self.corpus.match(found.numbers, item.gold)
        needed = len(item.gold) if self.options.needs_all else min(1, len(item.gold))
        seen: set[int] = set()
        rank = None
        for place, which in enumerate(golds, start=1):
            seen.update(which)
            if rank is None and needed and len(seen) >= needed:
                rank = place
        known = bool(item.gold)
        more = {"gold_retrieved": rank is not None if known else None, "gold_rank": rank}
        return self._passages(found, golds, known=known), more

    def _passages(
        self, found: FoundPassages, golds: Sequence[Sequence[int]], *, known: bool = True
    ) -> list[Passage]:
        """The passages by their numbers; `gold` stays open where no gold passage is known."""
        assert self.corpus is not None
        passages = [self.corpus.passage(number) for number in found.numbers]
        for passage, which in zip(passages, golds, strict=False):
            passage.gold = bool(which) if known else None
        return passages

    def _gold_passages(self, item: QaQuestion) -> list[Passage]:
        """The gold passages, each text once: as the corpus has it, where it was named there."""
        found: dict[str, tuple[bool, Passage]] = {}
        for gold in item.gold:
            if gold.text is not None:
                passages = [Passage(gold.text, id=gold.id, title=gold.title)]
            else:
                assert self.corpus is not None
                numbers = sorted(self.places[gold])
                passages = [self.corpus.passage(number) for number in numbers]
            in_corpus = gold.text is None
            for passage in passages:
                passage.gold = True
                same = " ".join(words(passage.text)) or passage.text
                if same not in found or in_corpus > found[same][0]:
                    found[same] = in_corpus, passage
        return [passage for _, passage in found.values()]


def _count(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")
    return f"{len(ids):,} questions ({shown})"
