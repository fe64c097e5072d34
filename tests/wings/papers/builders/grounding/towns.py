"""Invented towns, questions about them, and a model that writes and judges, well or badly.

`BAD` says of some questions what the model does wrong with them, and under which reason of which
stage they must fall; all others must be kept.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_EARLY = "Arvendal Brunnholt Corvessa Dremmel Elskov Farrowick Grenthal Hollsund Istrevan Jorvika"
_LATE = "Keldermoor Lorvane Mistrand Norhagen Ostreva Pellwyn Quarreby Rusthem Sondrup Tarvenna"
NAMES = f"{_EARLY} {_LATE}".split()
THINGS = "glass rope bells paper boots cheese clocks salt felt honey lace pots bricks soap ink "
PRODUCTS = (THINGS + "flutes baskets candles ribbons combs").split()
# question's key → (what the model does wrong, stage, reason)
BAD: dict[str, tuple[str, str, str]] = {
    "Arvendal/year": ("fabricated", "gold", "fabricated_fact"),
    "Arvendal/craft": ("prose", "gold", "not_json"),
    "Brunnholt/year": ("no_facts", "gold", "no_gold_facts"),
    "Brunnholt/craft": ("not_enough", "gold", "not_enough_facts"),
    "Corvessa/year": ("other_found", "gold", "other_answer"),
    "Corvessa/craft": ("empty", "gold", "empty_reply"),
    "Dremmel/year": ("unchanged", "conflict", "unchanged"),
    "Dremmel/craft": ("left", "conflict", "old_left"),
    "Elskov/year": ("spanish", "conflict", "other_language"),
    "Elskov/craft": ("rewritten", "conflict", "other_changed"),
    "Farrowick/year": ("old_answer", "conflict", "old_left"),
    "Farrowick/craft": ("unnamed", "conflict", "not_in_original"),
    "Grenthal/year": ("still_old", "conflict", "does_not_follow"),
    "Grenthal/craft": ("contradiction", "conflict", "contradiction"),
    "Hollsund/year": ("two_answers", "conflict", "other_answer"),
    "Hollsund/craft": ("false_quote", "conflict", "wrong_fields"),
    "Istrevan/year": ("fact_kept", "conflict", "gold_unchanged"),
    "Istrevan/craft": ("fewer_contexts", "conflict", "wrong_fields"),
}
SPANISH = (
    "La ciudad fue construida hace mucho tiempo por unos pescadores que buscaban un lugar "
    "tranquilo para vivir con sus familias, y todavía hoy se fabrican allí los mismos "
    "objetos en pequeños talleres que están abiertos a todos los "
    "visitantes durante los meses de verano."
)


def year(name: str) -> int:
    """When the town was founded."""
    return 1200 + 13 * NAMES.index(name)


def craft(name: str) -> str:
    """What is made there."""
    return PRODUCTS[NAMES.index(name)]


def text(name: str) -> str:
    """The town's document: the year and the craft stand in it twice."""
    return (
        f"{name} was founded in {year(name)} by settlers from the northern coast. "
        f"The oldest house of {name} was built in {year(name)} as well, beside the river. "
        f"{name} is known for its {craft(name)}, which a guild of forty families makes by hand. "
        f"Every autumn the guild sells {craft(name)} at a fair that visitors travel far to see. "
        "The mountains around the valley keep the winters long and the summers mild."
    )


def write_documents(path: Path) -> Path:
    """Twenty documents by popularity; Keldermoor and Lorvane are linked to each other."""
    rows = [
        {
            "id": f"t{number:02}",
            "title": name,
            "text": text(name),
            "views": 1000 - 10 * number,
            "links": ["t11"] if name == "Keldermoor" else [],
        }
        for number, name in enumerate(NAMES)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def asked(name: str, kind: str) -> str:
    """A question about one town."""
    if kind == "year":
        return f"In which year was {name} founded?"
    return f"Explain what {name} is known for."


BOTH = "Which town is older, Keldermoor or Lorvane?"


def good_keys() -> set[str]:
    """The questions that must be kept."""
    every = {f"{name}/{kind}" for name in NAMES for kind in ("year", "craft")}
    return (every - BAD.keys()) | {"both"}


def question_of(key: str) -> str:
    """The words of a question."""
    return BOTH if key == "both" else asked(*key.split("/"))


def reply(body: dict[str, Any]) -> str | dict[str, Any]:
    """What the model says to a request."""
    words = "\n".join(one["content"] for one in body["messages"][:2])
    if '"pairs"' in words:
        return _candidates(words)
    key = _key(words)
    does = BAD.get(key, ("", "", ""))[0]
    for field, answer in _STAGES.items():
        if field in words:
            return answer(key, does, words)
    raise AssertionError(words)


def _key(words: str) -> str:
    found = _block("QUESTION", words)
    if found == BOTH:
        return "both"
    for name in NAMES:
        for kind in ("year", "craft"):
            if found == asked(name, kind):
                return f"{name}/{kind}"
    # The prompt of consistency shows no question: what is replaced tells.
    name = next(name for name in NAMES if f"\n{name} was founded" in words)
    if "Keldermoor was founded" in words and "Lorvane was founded" in words:
        return "both"
    return f"{name}/{'year' if re.search(r'[0-9]{4} ->', words) else 'craft'}"


def _block(name: str, words: str) -> str:
    found = re.search(
        rf"=== BEGIN {name} (\w+) ===\n(.*?)\n=== END {name} \1 ===", words, re.DOTALL
    )
    return found[2] if found else ""


def _candidates(words: str) -> dict[str, Any]:
    names = [name for name in NAMES if f"Title: {name}\n" in words]
    if len(names) == 2:
        first, second = sorted(names, key=year)
        older = f"{first} is older than {second}."
        return {"pairs": [_pair(BOTH, older, [first], [_founded(name) for name in names])]}
    (name,) = names
    said = f"{name} was founded in {year(name)}."
    known = f"{name} is known for its {craft(name)}, which a guild makes by hand."
    quote = f"{name} is known for its {craft(name)}"
    return {
        "pairs": [
            _pair(asked(name, "year"), said, [str(year(name))], [_founded(name)]),
            _pair(asked(name, "craft"), known, [], [quote]),
        ]
    }


def _founded(name: str) -> str:
    return f"{name} was founded in {year(name)}"


def _pair(question: str, answer: str, answers: list[str], quotes: list[str]) -> dict[str, Any]:
    evidence = [{"context": number, "quote": quote} for number, quote in enumerate(quotes, 1)]
    return {"question": question, "answer": answer, "answers": answers, "evidence": evidence}


def _classify(key: str, _does: str, _words: str) -> dict[str, Any]:
    return {
        "reason": "It stands there.",
        "contexts": [1, 2] if key == "both" else [1],
        "answer_right": True,
        "needs_other_facts": False,
        "conjunction": False,
        "form": "free-form" if key.endswith("craft") else "definite",
        "quality": 4,
    }


def facts_in(words: str) -> dict[int, str]:
    """The numbered facts of a prompt."""
    return {
        int(one[1]): one[2]
        for name in ("FACTS", "STATEMENTS")
        for one in re.finditer(r"^(\d+)\. (.*)$", _block(name, words), re.MULTILINE)
    }


def _gold(key: str, does: str, words: str) -> str | dict[str, Any]:
    if does == "prose":
        return "The facts about the guild are what matters most here."
    if does == "empty":
        return ""
    wanted = "founded in" if key == "both" or key.endswith("year") else "known for"
    needed = [{"number": n, "fact": f} for n, f in facts_in(words).items() if wanted in f]
    if does == "fabricated":
        needed.append({"number": 2, "fact": "Arvendal was burnt down by pirates."})
    return {"needed": [] if does == "no_facts" else needed}


def _enough(key: str, does: str, words: str) -> dict[str, Any]:
    listed = " ".join(facts_in(words).values())
    answer = "It is known for that."
    if key == "both":
        answer = "Keldermoor"
    elif key.endswith("year"):
        answer = re.findall(r"founded in (\d{4})", listed)[0]
    if does == "other_found":
        answer = "1066"
    return {"enough": does != "not_enough", "answer": answer, "unneeded": []}


def _conflict(key: str, does: str, words: str) -> dict[str, Any]:
    facts = list(facts_in(words).values())
    if key == "both":
        olds, news = [str(year("Keldermoor"))], ["1490"]
        names = ["Keldermoor", "Lorvane"]
        answer, answers = "Lorvane is older than Keldermoor.", ["Lorvane"]
    else:
        names = [key.split("/")[0]]
        if key.endswith("year"):
            olds, news = [str(year(names[0]))], [str(year(names[0]) + 401)]
            answer, answers = f"{names[0]} was founded in {news[0]}.", news
        else:
            olds, news = [craft(names[0])], ["carved masks"]
            known = f"{names[0]} is known for its {news[0]}"
            answer, answers = f"{known}, which a guild makes by hand.", []
    (old,), (new,) = olds, news
    if does in ("unchanged",):
        new = old

    def changed(said: str) -> str:
        return re.sub(rf"\b{old}\b", new, said)

    contexts = [changed(text(name)) for name in names]
    made = {
        "changes": [{"old": old, "new": new, "type": "date" if old.isdigit() else "other"}],
        "question": question_of(key),
        "answer": answer,
        "answers": answers,
        "contexts": contexts,
        "facts": [changed(fact) for fact in facts],
    }
    return _spoilt(made, does, old, new)


def _spoilt(made: dict[str, Any], does: str, old: str, new: str) -> dict[str, Any]:
    contexts = made["contexts"]
    if does == "left":  # in the second place
        contexts[0] = contexts[0].replace(f"sells {new}", f"sells {old}")
    elif does == "spanish":
        contexts[0] = f"{SPANISH} {new}"
    elif does == "rewritten":
        contexts[0] = contexts[0].replace(
            "The mountains around the valley keep the winters long", "Hills shorten the winters"
        )
    elif does == "old_answer":
        made["answers"] = [new, f"in {old}"]
    elif does == "unnamed":
        made["changes"][0]["old"] = "silver spoons"
    elif does == "fact_kept":
        made["facts"] = [fact.replace(new, old) for fact in made["facts"]]
    elif does == "fewer_contexts":
        made["contexts"] = []
    return made


def _consistent(_key: str, does: str, words: str) -> dict[str, Any]:
    quotes = {
        "contradiction": "which a guild of forty families makes by hand",
        "false_quote": "the guild of the twelve weavers",
    }
    found = [{"quote": quotes[does], "why": "It cannot be."}] if does in quotes else []
    return {"contradictions": found}


def _follows(key: str, does: str, words: str) -> dict[str, Any]:
    answer, others = "It does.", []
    if key == "both":
        answer = "Lorvane"
    elif key.endswith("year"):
        name = key.split("/")[0]
        answer = str(year(name) + (0 if does == "still_old" else 401))
        others = ["1999"] if does == "two_answers" else []
    return {"answerable": True, "answer": answer, "others": others}


_STAGES = {
    '"needs_other_facts"': _classify,
    '"needed"': _gold,
    '"unneeded"': _enough,
    '"changes"': _conflict,
    '"contradictions"': _consistent,
    '"answerable"': _follows,
}
