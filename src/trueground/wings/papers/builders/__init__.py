"""Pipelines that make new benchmarks of a user's own documents or graph: resumable, validated."""
