"""Runs of Truly-Ground side by side: its versions, factors and definitions, model by model."""
