"""What a leaderboard says about answers that cite a knowledge graph (KaLMA)."""
