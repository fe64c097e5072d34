"""Do sentences say what they cite?

Definitions: metrics.md, "Citations of knowledge-graph triples"; Li et al. 2024, section 4.3.
"""

from __future__ import annotations

from trueground.errors import UsageError
from trueground.metrics.base import Metric, Option
from trueground.metrics.batch import Batch
from trueground.metrics.citations.asked import Asked
from trueground.metrics.citations.counts import Counts, Tally, graphs_of, unanswered
from trueground.metrics.citations.hypotheses import hypothesis, place_of, request
from trueground.metrics.citations.triples import tells
from trueground.metrics.column import Column, Floats, Options
from trueground.metrics.evidence import BatchContext
from trueground.text.brackets import Citation
from trueground.text.citations import Sentence
from trueground.types import Claim, Verdict

INCOMPLETE = Verdict(False, 0.0, reasons=("the citation lacks property or value",))
NO_SENTENCE = Verdict(False, 0.0, reasons=("no sentence stands with it",))
_STANDS = ("the value stands in the sentence",)


def asked(batch: Batch, variant: str) -> list[list[Asked]]:
    """One question for each citation of an item, in order: does its sentence entail it?

    Where the value stands in the sentence none is asked, unless the variant is "paper".
    """
    return [
        [
            _asked(citation, sentence, number, variant != "paper")
            for number, sentence in enumerate(sentences)
            for citation in sentence.citations
        ]
        if graphs
        else []
        for sentences, graphs in zip(batch.cited, batch.graphs, strict=True)
    ]


def _asked(citation: Citation, sentence: Sentence, number: int, look: bool) -> Asked:
    said = hypothesis(citation.property, citation.value) if citation.property else citation.qid
    claim = Claim(said, citation.start, citation.end, number)
    if not (citation.property and citation.value):
        return Asked(claim, verdict=INCOMPLETE)
    if not sentence.text:
        return Asked(claim, verdict=NO_SENTENCE)
    if look and (place := place_of(citation.value, sentence.text)):
        return Asked(
            claim, verdict=Verdict(True, 1.0, text=0, start=place[0], end=place[1], reasons=_STANDS)
        )
    return Asked(claim, request(sentence.text, citation.property, citation.value))


def _kinds(o: Options) -> tuple[str, ...]:
    return ("alignment:paper" if o["variant"] == "paper" else "alignment",)


def _counts(evidence: BatchContext, o: Options) -> Counts:
    return evidence.once_judged(("alignment", o["variant"]), lambda: _counted(evidence, o))


def _counted(evidence: BatchContext, o: Options) -> Counts:
    tallies: list[Tally] = []
    pairs = zip(evidence.checks(*_kinds(o)), graphs_of(evidence.batch), strict=True)
    for i, (checked, why) in enumerate(pairs):
        wanted = sum(len(sentence.citations) for sentence in evidence.batch.cited[i])
        if not why and len(checked.verdicts) != wanted:
            raise UsageError(
                f"supported[{i}] has {len(checked.verdicts)} verdicts; expected {wanted}, one for "
                "each citation in its order"
            )
        aligned = sum(bool(verdict.supported) for verdict in checked.verdicts)
        tallies.append(why or unanswered(checked) or (aligned, wanted))
    return Counts.of(tallies)


def _compute(evidence: BatchContext, o: Options) -> Column:
    return _counts(evidence, o).column


def _totals(evidence: BatchContext, o: Options) -> tuple[Floats, Floats]:
    return _counts(evidence, o).totals


METRICS = (
    Metric(
        "alignment",
        "citations",
        ("knowledge",),
        _compute,
        "share of the citations that their sentences entail",
        "Li et al. 2024, section 4.3",
        {"variant": Option("default", ("default", "paper"))},
        _kinds,
        totals=_totals,
        tells=tells,
        version=2,
    ),
)
