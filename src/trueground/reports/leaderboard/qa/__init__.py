"""What a leaderboard says about runs of instruct-qa: correctness, faithfulness, abstention."""
