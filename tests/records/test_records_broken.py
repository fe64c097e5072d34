"""Every broken input ends in a message that names the place and the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.records.broken_inputs import BROKEN, Broken

from trueground.errors import TruegroundError
from trueground.records.columns import parse_mapping
from trueground.records.reading import RecordSource


@pytest.mark.parametrize("case", BROKEN, ids=lambda case: case.name)
def test_message_names_place_and_remedy(
    case: Broken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(case.file).write_bytes(case.data)
    with pytest.raises(TruegroundError) as caught:
        RecordSource.open(
            case.file, mapping=parse_mapping(case.columns) if case.columns else None
        ).check()
    message = str(caught.value)
    assert [part for part in case.says if part not in message] == [], message
    assert caught.value.exit_code == 2
