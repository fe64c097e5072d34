"""How well a score agrees with people: every measure, each with an interval from shared resamples.

column (labels and scores, sorted once) → weighing (measures in each resample) → estimates (numbers
with intervals, means over sets) → measure (one score, differences of two) → people (annotators and
pairs).
"""
