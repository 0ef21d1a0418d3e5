"""What the adapters of several providers share: bytes, events, clients, failures."""
