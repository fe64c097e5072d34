"""The scenes that are pinned: commands in a row, in one folder, and calls of the Python interface.

A step that begins with `python` is a line of Python with `tg`; what it gives back is pinned.
A scene over the shared data is pinned by numbers and hashes only: no text of theirs is kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "data"
ANSWERS = ROOT / "examples" / "answers.jsonl"
Row = dict[str, Any]


@dataclass(frozen=True)
class Scene:
    """Steps, and what writes their input into the folder; `shared` needs the shared data."""

    name: str
    prepare: Callable[[Path], None]
    steps: tuple[str, ...]
    shared: bool = False


def write_rows(path: Path, rows: Iterator[Row] | list[Row]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def answers() -> list[Row]:
    return [json.loads(line) for line in ANSWERS.read_text("utf-8").splitlines()]


def _labeled(folder: Path) -> None:
    """The example answers with made-up labels: of one person, of three, and of grades."""
    rows = [row for row in answers() if row.get("contexts")]
    for number, row in enumerate(rows):
        mark = sum(map(ord, row["response"])) % 7
        texts = " ".join(c if isinstance(c, str) else c["text"] for c in row["contexts"])
        words = row["response"].split()
        shared = sum(word in texts for word in words) / max(1, len(words))
        row["human"] = {
            "faithful": int(shared > 0.7 or mark == 0),
            "correct:anna": int(mark > 3),
            "correct:ben": int(mark > 2),
            "correct:cleo": int(mark % 3 > 0),
            "grade": mark % 5 + 1,
        }
        row["meta"] = {**(row.get("meta") or {}), "half": "ab"[number % 2]}
    write_rows(folder / "labeled.jsonl", rows)
    again = [{k: v for k, v in row.items() if k not in ("human", "id")} for row in rows]
    write_rows(folder / "unlabeled.jsonl", again)
    pairs = []
    for one, other in zip(rows[::2], rows[1::2], strict=False):
        pairs.append(
            {
                "question": one["question"],
                "contexts": one["contexts"],
                "response": one["response"],
                "response_b": other["response"],
                "human": {"preference": len(one["response"]) % 3 - 1},
            }
        )
    write_rows(folder / "pairs.jsonl", pairs)


def _answers(folder: Path) -> None:
    rows = answers()
    write_rows(folder / "answers.jsonl", rows)
    write_rows(
        folder / "other.jsonl", [{**r, "response": r["response"][::2] + " so."} for r in rows]
    )
    some = [{**r, "response": r["response"].split(".")[0]} for r in rows[:40]]
    write_rows(folder / "part.jsonl", some)
    again = [{**r, "id": f"{r['id']}/{n}", "group": r["id"]} for r in rows[:20] for n in range(3)]
    for number, row in enumerate(again):
        row["response"] = row["response"][: 40 + 20 * (number % 3)]
    write_rows(folder / "repeated.jsonl", again)
    cited = [
        {
            "id": "corsi",
            "question": "Who was Livia Corsi, and where did she die?",
            "knowledge": [
                {
                    "qid": "Q7",
                    "name": "Livia Corsi",
                    "date of birth": "1596-07-08",
                    "occupation": ["painter", "teacher"],
                }
            ],
            "gold_knowledge": [
                ["Q7", "date of birth", "1596-07-08"],
                ["Q7", "occupation", "painter"],
                ["Q7", "place of death", "Naples"],
            ],
            "absent_knowledge": [["Q7", "place of death", "Naples"]],
            "response": "Livia Corsi was a painter born on July 8, 1596 [Q7, occupation: painter, "
            "date of birth: 1596-07-08]. She taught [Q7, occupation: teacher]. She died in "
            "Naples [NA].",
        },
        {
            "id": "voss",
            "question": "What did Harlan Voss do?",
            "knowledge": [{"qid": "Q9", "occupation": "writer", "movement": "realism"}],
            "gold_knowledge": [["Q9", "occupation", "writer"]],
            "response": "Voss was a sailor [Q9, occupation: sailor] and a realist "
            "[Q9, movement: realism].",
        },
    ]
    write_rows(folder / "cited.jsonl", cited)
    passages = [
        {
            **row,
            "response": row["response"].replace(".", f" [{n % 3 + 1}]."),
        }
        for n, row in enumerate(rows)
        if row.get("contexts")
    ]
    write_rows(folder / "passages.jsonl", passages[:30])
    choices = [
        {
            "id": str(n),
            "question": "Which one?",
            "contexts": ["The moon is made of basalt.", "Cheese is made of milk."],
            "choices": [{"label": x, "text": t} for x, t in zip("ABC", options, strict=True)],
            "references": ["B"],
            "response": response,
        }
        for n, (options, response) in enumerate(
            [
                (("basalt", "cheese", "iron"), "The answer is B."),
                (("basalt", "cheese", "iron"), "(A) basalt"),
                (("basalt", "cheese", "iron"), "I think it is cheese, not basalt."),
                (("basalt", "cheese", "iron"), "unknown"),
            ]
        )
    ]
    write_rows(folder / "choices.jsonl", choices)
    (folder / "bad.jsonl").write_text(
        '{"id": "a", "question": "q", "response": "r", "contexts": ["c"]}\n'
        '{"id": "a", "question": "q", "response": "r", "contexts": ["c"]}\n'
        '{"id": "b", "question": 7, "response": "r"}\n'
        "not json\n"
        '{"id": "c", "response": null}\n'
        '{"id": "d", "question": "q", "response": "r", "contexts": [{"txt": "c"}]}\n',
        "utf-8",
    )
    (folder / "table.csv").write_text(
        "id,question,answer,contexts,truth\n"
        '1,Who?,Ada Holm,"Ada Holm built it. It is tall.",Ada Holm\n'
        '2,When?,In 1931,"It was built in 1913.",1913\n',
        "utf-8",
    )
    (folder / "empty.jsonl").write_text("", "utf-8")
    (folder / "array.json").write_text(json.dumps(rows[:5]), "utf-8")


def _questions(folder: Path) -> None:
    rows = [
        ("1", "Who designed the tower?", "The tower was finished in 1931. It is 120 metres tall."),
        ("2", "What does the ferry cost?", "The ferry leaves at nine. It takes an hour."),
        ("3", "Who won the race of 1920?", "The race of 1921 was won by Ada Holm."),
    ]
    write_rows(
        folder / "q.jsonl",
        [
            {"qid": q, "question": t, "context": c, "answers": ["unknown"], "subset": "SQuAD"}
            for q, t, c in rows
        ],
    )
    (folder / "prices.json").write_text('{"gpt-4o": {"input": 2.5, "output": 10.0}}', "utf-8")
    docs = folder / "docs"
    docs.mkdir()
    for name, _, text in rows:
        (docs / f"{name}.txt").write_text(text, "utf-8")
    write_rows(
        folder / "own.jsonl",
        [
            {"id": "h", "question": "How tall is the tower?", "answers": ["120 metres"]},
            {"id": "w", "question": "Who won the race of 1921?", "answers": ["Ada Holm"]},
        ],
    )


def _nothing(_folder: Path) -> None:
    pass


def _human(*names: str, rows: int = 40) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        import gzip

        for name in names:
            with gzip.open(SHARED / "human" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
                found = [json.loads(line) for line in islice(file, 0, rows * 20, 20)]
            write_rows(folder / f"{name}.jsonl", found)

    return prepare


def _truly(folder: Path) -> None:
    import shutil

    shutil.copytree(SHARED / "truly-ground", folder / "tg")


def _kalma(folder: Path) -> None:
    import shutil

    shutil.copytree(SHARED / "kalma", folder / "graphs")


OVERLAP = (
    "exact_match,precision,recall,f1,rouge_l,k_precision,k_f1_pp,answer_accuracy(match=substring)"
)
GROUNDING = (
    "grounding_f1,grounding_recall(variant=reference-code),support(scope=gold),support_min,"
    "context_entails,p_ir,p_g,abstained(variant=contains)"
)

COMMANDS = (
    "score",
    "run",
    "run faitheval/original",
    "run kalma",
    "run instruct-qa",
    "run truly-ground",
    "validate",
    "compare",
    "errors",
    "report",
    "judge calibrate",
    "agreement",
    "annotate export",
    "annotate import",
    "annotate serve",
    "annotate plan",
    "index build",
    "index search",
    "index evaluate",
    "graph load",
    "graph query",
    "graph show",
    "graph link",
    "data stats",
    "data fetch",
    "cache",
    "build grounding",
    "build contexts",
    "build kalma",
)

SCENES = (
    Scene(
        "score",
        _answers,
        (
            "score answers.jsonl --by model --out plain",
            "score answers.jsonl --by meta.kind --by model --format json --seed 3",
            f"score answers.jsonl --metrics {OVERLAP} --out overlap --quiet",
            f"score answers.jsonl --metrics {GROUNDING} --out grounding --no-records",
            "score answers.jsonl --workers 2 --out workers --quiet",
            "score answers.jsonl --metrics k_precision(abstain=zero),k_precision(abstain=exclude),"
            "phrase_match,phrase_match_word,phrase_match_strict,correct_support --limit 30",
            "score answers.jsonl other.jsonl --metrics f1 --on-bad-row skip --limit 70",
            "score repeated.jsonl --metrics f1,abstained,support --repeats-of group --out repeats",
            "score choices.jsonl --out choices",
            "score choices.jsonl --metrics choice_accuracy(variant=mentions) --format json",
            "score cited.jsonl --out cited",
            "score passages.jsonl --metrics passage_citation_precision,passage_citation_recall,"
            "passage_citation_f1 --out passages",
            "score table.csv --map response=answer --map references=truth --out table",
            "score array.json --metrics f1,meteor --no-records",
            "score bad.jsonl --on-bad-row skip --metrics k_precision",
            "score answers.jsonl --metrics f1 --fail-under f1=0.9",
            "score answers.jsonl --metrics f1,support --fail-under f1=0.1 --min-coverage 0.95",
            "report plain --format json",
            "report plain overlap grounding --out board.html --format json",
            "report workers",
        ),
    ),
    Scene(
        "refused",
        _answers,
        (
            "score nowhere.jsonl",
            "score empty.jsonl",
            "score bad.jsonl",
            "score answers.jsonl --metrics f2",
            "score answers.jsonl --metrics f1(lang)",
            "score answers.jsonl --metrics f1(lang=en,lang=en)",
            "score answers.jsonl --metrics f1(normalizer=sqad)",
            "score answers.jsonl --metrics f1,f1",
            "score answers.jsonl --judge lexicall",
            "score answers.jsonl --judge lexical:model",
            "score answers.jsonl --judge lexical(x=1)",
            "score answers.jsonl --judge lexical --judge lexical",
            "score answers.jsonl --decomposer rule",
            "score answers.jsonl --metrics fluency",
            "score answers.jsonl --by modell",
            "score answers.jsonl --limit 0",
            "score answers.jsonl --workers x",
            "score answers.jsonl --map answer=response",
            "score answers.jsonl --fail-under f1",
            "score answers.jsonl --metrics f1 --fail-under recall=0.5",
            "score answers.jsonl --out ''",
            "score answers.jsonl --out file://x",
            "score table.csv --map response=nothing",
            "score answers.jsonl --metrics f1 --out one --quiet",
            "score answers.jsonl --metrics f1 --out one",
            "score answers.jsonl --metrics f1 --out answers.jsonl",
            "score answers.jsonl --repeats-of nothing",
            "compare one",
            "compare one two",
            "report two",
            "validate answers.jsonl",
            "judge calibrate answers.jsonl",
            "errors one",
            "errors answers.jsonl",
            "list judgments",
            "scor",
            "run faith --model fake:x",
            "run faitheval/orignal --model fake:x",
            "run faitheval",
            "annotate export supporting answers.jsonl --out t.jsonl",
            "agreement answers.jsonl",
            "index search nowhere x",
            "graph show nowhere Q1",
            "build grounding nowhere.jsonl --model fake:x --judge-model fake:x --out b",
            "python tg.score('nowhere.jsonl')",
            "python tg.score('answers.jsonl', metric='f1')",
            "python tg.score('answers.jsonl', metrics='f1', limit=-1)",
            "python tg.score([{'id': 'a'}])",
            "python tg.score([{'response': 'a', 'contexts': 5}])",
            "python tg.metrics.f1(['a'], references=[])",
            "python tg.validate('answers.jsonl')",
        ),
    ),
    Scene(
        "lists",
        _nothing,
        (
            "list",
            "list metrics",
            "list judges --format json",
            "list benchmarks",
            "list retrievers",
            "list models",
            "list builders",
            "list decomposers",
            "list normalizers",
            "list datasets",
            "--version",
            *(f"{command} --help" for command in COMMANDS),
            "python sorted(tg.__all__)",
        ),
    ),
    Scene(
        "compare",
        _answers,
        (
            "score answers.jsonl --metrics exact_match,f1,recall,support,abstained --out a --quiet",
            "score other.jsonl --metrics exact_match,f1,support,abstained --out b --quiet",
            "score part.jsonl --metrics exact_match,f1,support,abstained --out c --quiet",
            "score repeated.jsonl --metrics f1,abstained --repeats-of group --out r --quiet",
            "compare a b",
            "compare a b --format json --seed 5 --level 0.9 --detect 0.05",
            "compare a b c",
            "compare a b c --allow-mismatch --format json",
            "compare a b --metrics f1 --power 0.9 --flips 3",
            "compare a b --all --flips 2",
            "compare a b --quiet --fail-if-worse support=0.2 --fail-if-worse abstained",
            "compare r r",
            "score repeated.jsonl --metrics f1,abstained --repeats-of group --seed 2 --out s --quiet",
            "compare r s --format json",
            "errors a --format json",
            "errors a --metric f1 --at-most 0.6 --out errors.jsonl",
        ),
    ),
    Scene(
        "validate",
        _labeled,
        (
            "validate labeled.jsonl --metrics k_precision,support,support_min --label faithful",
            "validate labeled.jsonl --label faithful --out checked --quiet --metrics support,f1,recall",
            "validate labeled.jsonl --label grade --ordinal --metrics f1,support --format json",
            "validate labeled.jsonl --label grade --positive-above 2 --metrics f1,support",
            "validate labeled.jsonl --label correct --metrics f1,recall,support --format json",
            "validate labeled.jsonl --label faithful --threshold 0.6 --metrics support,k_precision",
            "validate labeled.jsonl --label faithful --verdict at-least --threshold 0.5 --metrics f1",
            "validate pairs.jsonl --pairs --metrics k_precision,support",
            "score labeled.jsonl --metrics k_precision,support --out judged --quiet",
            "validate judged --label faithful --worst 3",
            "judge calibrate labeled.jsonl --label faithful --judge lexical --out lexical.json",
            "judge calibrate labeled.jsonl --label faithful --method platt --objective f1 --format json",
            "judge calibrate judged --label faithful --out second.json --quiet",
            "score labeled.jsonl --metrics support --judge-calibration lexical.json --format json",
            "errors labeled.jsonl --label correct",
            "annotate export support unlabeled.jsonl --out tasks.jsonl --csv --sample 12",
            'python [p.write_text(p.read_text().replace(\'"support":null\', \'"support":"fully"\')'
            ".replace('fully', 'not', 4)) for p in __import__('pathlib').Path('.').glob('tasks-*.jsonl')]",
            "annotate import tasks-1.jsonl tasks-2.jsonl --out labels.jsonl",
            "agreement tasks-1.jsonl tasks-2.jsonl --format json",
            "validate unlabeled.jsonl --labels tasks-1.jsonl --labels tasks-2.jsonl --metrics support",
            "python tg.validate('labeled.jsonl', label='faithful', metrics='support').to_json().decode()",
            "python [(c.threshold, c.slope, c.intercept, c.auroc, c.notes) for c in [tg.calibrate('labeled.jsonl', "
            "label='faithful', judge='lexical')]]",
            "score labeled.jsonl --metrics support,k_precision --labels labeled.jsonl "
            "--labels-drawn random --format json",
            "score unlabeled.jsonl --metrics support --labels labels.jsonl --out few",
            "annotate plan judged --half-width 0.1 --out drawn.jsonl",
        ),
    ),
    Scene(
        "run",
        _questions,
        (
            "run faitheval/unanswerable --model fake:unknown --data q.jsonl --out fake",
            "run faitheval/unanswerable --model fake:unknown --data q.jsonl --out fake",
            "run faitheval/unanswerable --model fake:unknown --model fake:Ada --data q.jsonl --out both",
            "run faitheval/unanswerable --model fake:echo --data q.jsonl --repeats 3 --out again "
            "--format json",
            "run faitheval/unanswerable --model fake:x --data q.jsonl --dry-run",
            "report both --with-published --format json",
            "compare both/fake-unknown both/fake-Ada",
            "index build docs --out index --retriever bm25",
            "index search index tower --top 2",
            "run instruct-qa --data own.jsonl --corpus index --retriever bm25 --model fake:echo "
            "--out qa --quiet",
            "report qa --format json",
            "build example contexts --out example",
            "build contexts example/records.jsonl example/choices.jsonl --out built "
            "--model fake:@example/replies.jsonl --judge-model fake:@example/replies.jsonl",
            "run faitheval --data built/dataset --model fake:unknown --out built-run",
        ),
    ),
    Scene(
        "builds",
        _nothing,
        (
            "build example grounding --out g",
            "build grounding g/documents.jsonl --out gb --model fake:@g/replies.jsonl "
            "--judge-model fake:@g/replies.jsonl",
            "run truly-ground --data gb/dataset --model fake:echo --out echo",
            "build example kalma --out k",
        ),
    ),
    Scene(
        "python",
        _answers,
        (
            "python dict(tg.score('answers.jsonl', metrics='f1,support').summary)",
            "python tg.score([{'response': 'a b', 'references': ['a c'], 'contexts': ['a d']}]).items.to_dicts()",
            "python [tg.metrics.f1(['a b', 'c'], references=[['a c'], ['c']]), "
            "tg.metrics.k_precision(['a b'], contexts=[['a d']]), "
            "tg.metrics.rouge_l(['a b c'], references=[['a c']])]",
            "python tg.metrics.abstained(['I do not know.', 'It is 5.', 'unknown'])",
            "python tg.metrics.meteor(['the cat sat on the mat'], references=[['a cat sat on a mat']])",
        ),
    ),
    Scene(
        "people",
        _human("lfqa_verif", "wice_claim", "true_frank", "evouna_tq"),
        (
            "score lfqa_verif.jsonl --out one --quiet",
            "score wice_claim.jsonl --metrics support,support_min,k_precision --out two --quiet",
            "validate lfqa_verif.jsonl wice_claim.jsonl true_frank.jsonl --label faithful --metrics "
            "support,k_precision,grounding_precision --format json",
            "validate evouna_tq.jsonl --label correct --metrics f1,recall,answer_accuracy --format json",
            "judge calibrate lfqa_verif.jsonl wice_claim.jsonl --label faithful --judge lexical "
            "--format json",
        ),
        shared=True,
    ),
    Scene(
        "papers",
        _truly,
        (
            "run truly-ground/original-gold --data tg --model fake:echo --limit 30 --out gold --quiet",
            "run truly-ground --data tg --model fake:unknown --limit 12 --out all --quiet",
            "report gold --format json",
        ),
        shared=True,
    ),
    Scene(
        "graphs",
        _kalma,
        (
            "run kalma/specific --data graphs --model fake:[Q7,occupation:smith] --limit 20 "
            "--out kalma --quiet",
            "report kalma --format json",
        ),
        shared=True,
    ),
)
