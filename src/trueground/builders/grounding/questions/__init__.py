"""Steps 1 and 2: document sets, questions and answers about them, classes."""
