"""Labels by people: tasks to fill in, their answers checked and merged, and how well they agree."""
