"""Codecs for what a store holds: `App(payload=…)` takes one."""

from remit.store.payload import Chain, Compressed, Encrypted, Payload, PayloadError

__all__ = ["Chain", "Compressed", "Encrypted", "Payload", "PayloadError"]
