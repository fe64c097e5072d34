"""What people say of the questions of a build, and what the judge's word counts for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.wings.papers.builders.kalma.making import (
    dropped,
    made,
    reasons,
    rows_of,
    summary,
    tasks,
    unless,
)
from tests.wings.papers.builders.kalma.world import GOOD, good_reply
from tests.wings.papers.builders.scripted_server import ScriptedServer, scripted

from trueground.errors import InputError
from trueground.wings.papers.builders.build import BuildSettings
from trueground.wings.papers.builders.settings import EndpointDefaults

Votes = dict[str, tuple[str, str]]  # item → authenticity of the specific and the general question


def label_file(folder: Path, votes: Votes, **more: Any) -> Path:
    """Labels for the tasks that the last build set."""
    rows = []
    for task in tasks(folder, "quality"):
        name, version = task["id"].partition("~")[0].split("/")
        if name in votes:
            values = {"authenticity": votes[name][version == "general"], **more}
            how = dict.fromkeys(values, "agreed")
            row = {"kind": "quality", "id": task["id"], "values": values, "how": how}
            rows.append({**row, "annotators": 3})
    path = folder / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def voted(folder: Path, server: ScriptedServer, votes: Votes, **more: Any) -> None:
    """A build, labels for its tasks, and the build that follows them."""
    made(folder, server, **more)
    labels = label_file(folder, votes)
    made(folder, server, settings=BuildSettings(labels=labels), **more)


VOTES: Votes = {"quill": ("yes", "yes"), "lark": ("yes", "no")}


def test_people_decide_where_labels_are_given(tmp_path: Path) -> None:
    with scripted(unless({})) as server:
        voted(tmp_path, server, VOTES)
    assert reasons(tmp_path) == {"lark": "voted_down", "mira": "unlabeled"}
    assert [row["id"] for row in rows_of(tmp_path, "specific")] == ["quill"]
    quality = tasks(tmp_path, "quality")
    assert len({task["id"] for task in quality}) == 6  # all that came to the vote
    shown = tasks(tmp_path, "alignment")[0]["shown"]
    assert shown["citation"] == "Tobias Quill: occupation: poet"
    assert shown["sentence"].startswith("Tobias Quill, a poet from Inkford, married")


def test_the_judge_is_held_against_people_over_all_that_were_asked(tmp_path: Path) -> None:
    """Items that are voted down count; the judge's word is no answerability."""
    with scripted(unless({})) as server:
        voted(tmp_path, server, VOTES, judge=True)
    found = summary(tmp_path)["quality"]
    (kind,) = found["human"]["kinds"]
    (field,) = kind["fields"]
    assert (kind["kind"], kind["tasks"], kind["labeled"]) == ("quality", 6, 4)
    assert field["values"] == {"no": 1, "yes": 3}
    assert (field["judge"]["n"], field["judge"]["raw"]) == (4, 0.75)
    assert found["factors"]["judged authentic"] == {"yes": 2}
    assert not found.get("answerable")


def test_a_label_of_another_text_does_not_count(tmp_path: Path) -> None:
    with scripted(unless({})) as server:
        made(tmp_path, server)
        labels = label_file(tmp_path, {"quill": ("yes", "yes"), "mira": ("no", "no")})

    def other(body: Any) -> Any:
        first = next(m["content"] for m in body["messages"] if m["role"] == "user")
        reply = good_reply(first)
        if "question" in reply and "Mira Quill learned" in first:
            return {"question": reply["question"].replace("What is", "What, then, is")}
        return reply

    with scripted(other) as server:  # the same items with other questions about Mira
        anew = BuildSettings(labels=labels, endpoint=EndpointDefaults(temperature=0.5))
        made(tmp_path, server, settings=anew)
    assert reasons(tmp_path) == {"lark": "unlabeled", "mira": "unlabeled"}


def test_labels_of_another_build_end_it_before_anything_is_replaced(tmp_path: Path) -> None:
    with scripted(unless({})) as server:
        made(tmp_path, server)
        before = rows_of(tmp_path, "specific")
        labels = label_file(tmp_path, VOTES)
        labels.write_text(labels.read_text().replace("~", "~0"))
        with pytest.raises(InputError, match="none of its labels"):
            made(tmp_path, server, settings=BuildSettings(labels=labels))
        labels.write_text('{"kind": "validity", "id": "quill", "values": {"if": "yes"}}\n')
        with pytest.raises(InputError, match="quality, alignment"):
            made(tmp_path, server, settings=BuildSettings(labels=labels))
    assert rows_of(tmp_path, "specific") == before


def test_labels_of_the_sentences_alone_throw_nothing_out(tmp_path: Path) -> None:
    with scripted(unless({})) as server:
        made(tmp_path, server)
        rows = [
            {"kind": "alignment", "id": task["id"], "values": {"aligned": "no"}, "annotators": 1}
            for task in tasks(tmp_path, "alignment")
        ]
        labels = tmp_path / "labels.jsonl"
        labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
        made(tmp_path, server, settings=BuildSettings(labels=labels))
    assert reasons(tmp_path) == {}
    (kind,) = summary(tmp_path)["quality"]["human"]["kinds"]
    assert kind["fields"][0]["values"] == {"no": len(rows)}


def test_what_was_refused_can_be_looked_at(tmp_path: Path) -> None:
    odd = {"paragraph": "Mira Quill wrote [Q14, occupation: poet]."}
    doubt = {"reason": "It does not fit.", "authentic": "no", "needed": []}
    rules = {("annotate", "Mira Quill learned"): odd, ("judge", "Bo Lark"): doubt}
    with scripted(unless(rules)) as server:
        made(tmp_path, server, [*GOOD], judge=True, require_authentic="yes")
    by_id = {row["id"]: row for row in dropped(tmp_path)}
    assert by_id["mira"]["made"] == odd
    assert by_id["lark"]["reason"] == "not_authentic"
    assert by_id["lark"]["made"].startswith("What is known of")
