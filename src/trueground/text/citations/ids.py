"""Which entity a part of a bracket names: a bare id, or one written `qid: …`."""

from __future__ import annotations

import re
from typing import NamedTuple

from trueground.text.citations.known import Known

_QID = re.compile(r" ?qid ?: ?", re.IGNORECASE)
_ITEM = re.compile(r"Q[0-9]+(?!\w)")
_ANY_ID = re.compile(r"[^,;\[\]]*")
_DELIMITER = re.compile(r" ?(?:[,;] ?|(?=\]))")
_LOOSE = re.compile(r" ?: ?| ")


class Named(NamedTuple):
    """An entity, where its parts begin, and whether it is cited even without a pair."""

    qid: str
    place: int
    sure: bool


class Ids:
    """Finds the ids at places of one text."""

    def __init__(self, text: str, known: Known) -> None:
        self._text = text
        self._known = known

    def at(self, place: int) -> Named | None:
        """The entity that a whole part names: an id of a graph, a word such as Q42, `qid: …`."""
        return self._written(place) or self._alone(place)

    def first(self, place: int) -> Named | None:
        """The same at the start of a bracket, where a space or colon may follow such a word."""
        place += self._text.startswith(" ", place)
        return self.at(place) or self._item(place, _LOOSE)

    def _alone(self, place: int) -> Named | None:
        for qid, end in self._known.ids_at(self._text, place):
            if after := _DELIMITER.match(self._text, end):
                return Named(qid, after.end(), True)
        return self._item(place, _DELIMITER)

    def _item(self, place: int, followed: re.Pattern[str]) -> Named | None:
        item = _ITEM.match(self._text, place)
        after = followed.match(self._text, item.end()) if item else None
        return Named(item[0], after.end(), False) if item and after else None

    def _written(self, place: int) -> Named | None:
        word = _QID.match(self._text, place)
        if word is None:
            return None
        begin = word.end()
        if found := self._alone(begin) or self._item(begin, _LOOSE):
            return found._replace(sure=True)
        any_id = _ANY_ID.match(self._text, begin)
        if any_id and (after := _DELIMITER.match(self._text, any_id.end())):
            return Named(any_id[0].strip(), after.end(), True)
        return Named("", begin, True)
