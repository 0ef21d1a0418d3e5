"""The store in a schema of a PostgreSQL database."""

from remit.store.postgres.store import PostgresStore

__all__ = ["PostgresStore"]
