"""How far metrics agree with what people said: sets, scores, statistics, the worst items."""
