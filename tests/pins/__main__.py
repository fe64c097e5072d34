"""`python -m tests.pins record` writes the pins again; `compare` says what is unlike; `--keep DIR`
leaves the folders that the scenes wrote, so that two versions can be compared by `diff -r`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.pins.record import differences, play
from tests.pins.scenes import SCENES, SHARED

HERE = Path(__file__).parent / "recorded"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("scenes", nargs="*")
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    unlike = 0
    for scene in SCENES:
        if (asked.scenes and scene.name not in asked.scenes) or (
            scene.shared and not SHARED.exists()
        ):
            continue
        path = HERE / f"{scene.name}.json"
        old = json.loads(path.read_text("utf-8")) if path.exists() else {}
        with tempfile.TemporaryDirectory() as temporary:
            folder = (asked.keep or Path(temporary)) / scene.name
            folder.mkdir(parents=True)
            new = dict(play(scene, folder.resolve()))
        for step in new.keys() | old.keys():
            for what in differences(old.get(step, {}), new.get(step, {})):
                unlike += 1
                print(f"{scene.name}: {step}\n    {what}")
        if asked.what == "record":
            HERE.mkdir(exist_ok=True)
            path.write_text(json.dumps(new, ensure_ascii=False, indent=0) + "\n", "utf-8")
    return min(unlike, 1) if asked.what == "compare" else 0


if __name__ == "__main__":
    sys.exit(main())
