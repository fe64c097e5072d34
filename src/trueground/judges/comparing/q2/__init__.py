"""Q²: does the knowledge answer the questions that a response answers, and alike?"""
