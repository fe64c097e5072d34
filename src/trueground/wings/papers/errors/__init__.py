"""Error analysis: correct answers with a low score, sorted into categories."""
