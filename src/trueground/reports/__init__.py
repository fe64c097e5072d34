"""Results for people: numbers from a run directory → terminal, page."""
