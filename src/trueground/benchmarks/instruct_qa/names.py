"""Words that the declaration, the settings and the readers share."""

TASKS = ("questions", "nq", "hotpotqa", "topiocqa")
SETTINGS = ("retrieved", "gold", "irrelevant", "closed-book")
INSTRUCTIONS = ("v1", "v2")
VARIANTS = ("distractor", "fullwiki")
TRIMS = ("off", "first-line", "turns")
