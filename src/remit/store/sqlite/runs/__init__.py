"""When a run in a SQLite file may begin, and when it goes."""
