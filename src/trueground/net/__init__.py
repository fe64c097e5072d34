"""HTTP with retries, limits and deadlines; the response cache; downloads."""
