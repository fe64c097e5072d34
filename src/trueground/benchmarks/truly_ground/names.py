"""Names in the published files that options speak of; quick to load."""

USUAL_SET = "2k_distractor"  # of the file of distractors
