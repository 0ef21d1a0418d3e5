"""Floor 3: durable runs. It has never heard of models."""
