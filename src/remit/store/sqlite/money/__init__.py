"""Money in a SQLite file: what is held, what was spent, and what that comes to."""
