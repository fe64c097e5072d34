"""Streaming readers of answered-question records: checked first, then given out in batches."""
