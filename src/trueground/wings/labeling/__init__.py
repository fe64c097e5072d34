"""Tasks for people, and their answers: export tasks, import answers, measure agreement."""
