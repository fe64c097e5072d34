"""Kinds of errors: answers that people call correct and a metric does not, by why."""
