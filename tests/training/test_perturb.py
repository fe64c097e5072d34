"""Perturbed claims: each kind's law on made-up texts."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import msgspec
import pytest
from training.offline_judge import perturb
from training.offline_judge.sources import Pool, Source, is_clean
from training.offline_judge.writing import Changed, put

from trueground.errors import OutputError
from trueground.judges.lexical.values import find_values

TEXT = (
    "Anna Holt founded the mill museum in Oslo on 3 May 1987. The museum has 1,194 paintings and "
    "may open a second house. Peter Lund joined Anna Holt in 1991, when some of the rooms were "
    "closed. Peter Lund was elected chairman in 1995. Martin Berg was dismissed after two years. "
    "The building is 45 metres long and was not damaged in the fire. Visitors increased by 30 "
    "percent in France. Clara Weiss defeated Peter Lund in the last vote, which surprised the town."
)
OTHER = (
    "Simon Vale opened a bakery in Lisbon during March 2004. The bakery sold 250 loaves a day. "
    "The fire damaged the ovens of the bakery and some of the paintings in Madrid."
)


def texts() -> list[Source]:
    return [
        Source("one", "a", (TEXT,), ("Anna Holt started the museum on 3 May 1987.",)),
        Source("one", "b", (OTHER,)),
    ]


def change(kind: str, claim: str, seed: int = 0) -> Changed | None:
    sources = texts()
    return perturb.KINDS[kind](sources[0], claim, Pool(sources), random.Random(seed))


def made(kind: str, claim: str) -> Changed:
    changed = change(kind, claim)
    assert changed is not None
    return changed


def sentence(part: str) -> str:
    return next(s for s in texts()[0].sentences if part in s)


def words_changed(one: str, other: str) -> int:
    a, b = one.split(), other.split()
    return sum(x != y for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("number_near", "1,194"),
        ("number_digits", "1,194"),
        ("number_tenfold", "1,194"),
        ("date_year", "founded"),
        ("date_month", "founded"),
        ("date_day", "founded"),
        ("unit", "metres"),
        ("value_from_text", "elected"),
        ("opposite", "increased"),
    ],
)
def test_exactly_one_word_changes(kind: str, part: str) -> None:
    claim = sentence(part)
    changed = made(kind, claim)
    assert words_changed(claim, changed.claim) == 1
    assert changed.before in claim
    assert changed.after in changed.claim
    assert not texts()[0].says(changed.claim)


@pytest.mark.parametrize("kind", ["number_near", "number_digits", "number_tenfold", "date_year"])
def test_a_changed_value_is_not_in_the_text(kind: str) -> None:
    claim = sentence("founded" if kind == "date_year" else "1,194")
    known = {(v.amount, v.year) for v in find_values(TEXT)}
    for seed in range(30):
        changed = change(kind, claim, seed)
        if changed is not None:
            new = {(v.amount, v.year) for v in find_values(changed.claim)} - known
            assert new, changed


def test_a_value_from_the_text_is_one_that_the_text_gives_for_something_else() -> None:
    changed = made("value_from_text", sentence("elected"))
    assert changed.before == "1995"
    assert changed.after in ("1987", "1991")


def test_numbers_in_names_and_scores_stay() -> None:
    assert (
        change("number_near", "The team of Boeing 747 pilots won the match by 4-2 goals.") is None
    )


def test_names_are_exchanged_for_names_of_the_same_kind() -> None:
    same = made("name_same_text", "Martin Berg was dismissed after two years.")
    assert same.after in ("Anna Holt", "Peter Lund", "Clara Weiss")
    other = made("name_other_text", "Visitors increased by 30 percent in France.")
    assert other.after in ("Lisbon", "Madrid")


def test_roles_change_places() -> None:
    changed = made("roles_swapped", sentence("defeated"))
    assert changed.claim.startswith("Peter Lund defeated Clara Weiss in the last vote")


def test_perturb_undirected_relation_keeps_roles() -> None:
    assert change("roles_swapped", "Clara Weiss met Peter Lund in the last vote.") is None


def test_a_subject_comes_from_another_sentence_of_the_text() -> None:
    changed = made("subject_swapped", "Martin Berg was dismissed after two years.")
    assert changed.after == "Peter Lund"


def test_negation_is_added_and_removed() -> None:
    added = made("negation_added", "Peter Lund was elected chairman in 1995.")
    assert added.claim == "Peter Lund was not elected chairman in 1995."
    assert change("negation_added", sentence("fire")) is None
    removed = made("negation_removed", "The building was not damaged in the fire.")
    assert removed.claim == "The building was damaged in the fire."


def test_quantities_become_stronger_or_contrary_never_weaker() -> None:
    changed = made("quantity", "Peter Lund came when some of the rooms were closed.")
    assert changed.after == "none of"
    assert change("quantity", "He read all the books there.") is None


def test_hedges_go() -> None:
    changed = made("hedge_removed", "The museum may open a second house.")
    assert changed.after in ("will", "will certainly")
    assert change("hedge_removed", "The museum opened in May with a second house.") is None


def test_details_and_sentences_come_from_another_text() -> None:
    detail = made("detail_added", "Peter Lund was elected chairman.")
    assert detail.claim == f"Peter Lund was elected chairman {detail.after}."
    assert f" {detail.after}." in OTHER
    foreign = made("other_sentence", sentence("fire"))
    assert foreign.claim in texts()[1].sentences


def test_supported_changes_keep_the_truth() -> None:
    assert made("copied", sentence("elected")).claim in TEXT
    short = made("shortened", sentence("defeated")).claim
    assert short == "Clara Weiss defeated Peter Lund in the last vote."
    both = made("joined", "Peter Lund was elected chairman in 1995.").claim
    assert both == (
        "Peter Lund was elected chairman in 1995, and Martin Berg was dismissed after two years."
    )
    turned = made("turned", "The town founded the museum in 1987.").claim
    assert turned == "The museum was founded by the town in 1987."
    back = made("turned", "The museum was founded by the town in 1987.").claim
    assert back == "The town founded the museum in 1987."
    last = made("name_shortened", "Martin Berg was dismissed after two years.").claim
    assert last == "Berg was dismissed after two years."
    assert (
        made("synonym", "He purchased a mill in the town.").claim == "He bought a mill in the town."
    )


def test_a_restrictive_clause_is_never_cut() -> None:
    assert change("shortened", "Lund was the only chairman who was dismissed.") is None


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ("She paid 1,194 crowns.", "She paid 1194 crowns."),
        ("He came on 3 May 1999 by ship.", "He came on May 3, 1999 by ship."),
        ("He came on May 3, 1999, by ship.", "He came on 3 May 1999 by ship."),
        ("She has three mills there.", "She has 3 mills there."),
        ("It grew by 30% there.", "It grew by 30 percent there."),
    ],
)
def test_another_spelling_is_the_same_value(claim: str, expected: str) -> None:
    assert made("respelled", claim).claim == expected


def test_articles_and_capitals_are_mended() -> None:
    assert put("It was a big house.", 9, 12, "old").claim == "It was an old house."
    assert put("Some birds sing.", 0, 4, "all").claim == "All birds sing."


def test_rows_depend_on_the_seed_only() -> None:
    one, again, other = (perturb.make(texts(), seed) for seed in (0, 0, 1))
    assert one == again
    assert one != other
    assert len({row.kind for row in one}) > 15


def test_limits_and_labels_hold() -> None:
    rows = perturb.make(texts(), 3, per_kind=3, per_text=2)
    for kind in perturb.KINDS:
        mine = [row for row in rows if row.kind == kind]
        assert len(mine) <= 3
        assert all(row.label == (kind in perturb.SUPPORTED) for row in mine)
        assert max((sum(r.group == g for r in mine) for g in "ab"), default=0) <= 2
    for row in rows:
        assert row.claim != row.base or row.kind == "copied"
        if not row.label:
            assert not Source("", "", row.contexts).says(row.claim)


def test_lines_of_pages_are_no_sentences() -> None:
    assert is_clean("The museum has many rooms and a garden.")
    for line in (
        "Click here to read the whole story of the mill.",
        "Is this the house of the old miller?",
        "The Mill Museum In Oslo Opens Its Doors Again.",
        "PhD A: So you have to look at the other one.",
    ):
        assert not is_clean(line)


def test_rows_are_written_as_records(tmp_path: Path) -> None:
    rows = perturb.make(texts(), 0, per_kind=1)
    perturb.write(rows, tmp_path / "made" / "rows.jsonl")
    lines = (tmp_path / "made" / "rows.jsonl").read_bytes().splitlines()
    records = [msgspec.json.decode(line) for line in lines]
    assert [r["response"] for r in records] == [row.claim for row in rows]
    assert {r["human"]["faithful"] for r in records} == {0.0, 1.0}


@pytest.mark.skipif(shutil.which("git") is None, reason="git isn't installed")
def test_the_repository_takes_no_rows() -> None:
    root = Path(perturb.__file__).parents[2]
    with pytest.raises(OutputError, match="must not be shipped"):
        perturb.write([], root / "training" / "rows.jsonl")
    perturb.refuse_tracked(root / "runs" / "rows.jsonl")
