"""Comparisons over several finished runs."""
