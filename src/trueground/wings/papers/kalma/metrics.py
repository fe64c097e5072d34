"""Metrics of answers that cite triples, registered (entry point of `trueground.metrics`)."""

from __future__ import annotations

from trueground.metrics import register_metrics
from trueground.wings.papers.kalma.entailment import METRICS as ENTAILMENT
from trueground.wings.papers.kalma.triples import METRICS as TRIPLES

register_metrics((*TRIPLES, *ENTAILMENT), field="knowledge", before="passage_citation_recall")
