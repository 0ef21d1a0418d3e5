"""What the facts of an agent's run hold beside its conversation."""
