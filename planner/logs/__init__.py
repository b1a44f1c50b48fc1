"""Start-up logs: what they say, whose they are, and the plan they speak of."""
