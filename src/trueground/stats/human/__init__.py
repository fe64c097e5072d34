"""How well a score agrees with people: every measure, each from shared resamples."""
