"""The store that ends with the process: the same laws, kept in dictionaries."""

from remit.store.memory.store import MemoryStore

__all__ = ["MemoryStore"]
