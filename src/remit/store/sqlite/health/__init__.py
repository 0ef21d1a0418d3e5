"""Looking after a database file: its schema, its health, and what is around it."""
