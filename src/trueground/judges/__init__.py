"""Judges: does this evidence support this claim? One protocol, one contract test for all."""
