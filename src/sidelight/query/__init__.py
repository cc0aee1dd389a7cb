"""Which question next, for whom, and when to stop."""
