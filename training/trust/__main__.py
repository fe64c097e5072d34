"""Make the tables of docs/trust.md and the weights in docs/judge.md, and run the examples of both.

python -m training.trust --data DIR [--wordnet DIR] [--out FILE.json]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec

from training.trust.examples import replayed
from training.trust.measuring import Settings, fit_without_each, measured
from training.trust.page import blocks, filled, weighed
from training.trust.rates import measure_rates, rates_figure, rates_table
from training.trust.verdicts import write_verdicts
from trueground.errors import TruegroundError
from trueground.judges.lexical.weights import weights
from trueground.judges.people import FILE

_DOCS = Path(__file__).parents[2] / "docs"


def main(given: Settings, docs: Path, out: Path | None, verdicts: Path = FILE) -> Path:
    """Measure, write both pages, the counts of verdicts, and all numbers where asked.

    Returns the page's path.
    """
    page, judge = docs / "trust.md", docs / "judge.md"
    before = {path: path.read_text("utf-8") for path in (page, judge)}  # before any work
    fits = fit_without_each(given)
    found, rates = measured(given, fits), measure_rates(given, fits)
    write_verdicts(found.verdicts, verdicts)
    made = filled(before[page], blocks(found) | {"rates": rates_table(rates)}, page.name)
    (docs / "rates.svg").write_text(rates_figure(rates), "utf-8")
    page.write_text(replayed(made, page.name), "utf-8")
    made = weighed(before[judge], weights().weights, judge.name)
    judge.write_text(replayed(made, judge.name), "utf-8")
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        numbers = {**msgspec.structs.asdict(found), "rates": rates}
        out.write_bytes(msgspec.json.format(msgspec.json.encode(numbers), indent=2))
    return page


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the labeled sets")
    parser.add_argument("--wordnet", type=Path, help="folder of WordNet's files, for METEOR")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resamples", type=int, default=2_000)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--docs", type=Path, default=_DOCS)
    parser.add_argument("--out", type=Path, help="write all numbers to this file")
    return parser.parse_args()


if __name__ == "__main__":
    arg = _arguments()
    wordnet = arg.wordnet if arg.wordnet and arg.wordnet.is_dir() else None
    if arg.wordnet and wordnet is None:
        print(f"{arg.wordnet}: no such folder; METEOR is left out", file=sys.stderr)
    settings = Settings(arg.data, wordnet, arg.seed, arg.resamples, arg.workers)
    try:
        print(main(settings, arg.docs, arg.out))
    except TruegroundError as error:
        sys.exit(str(error))
