"""Floor 4: processes that hold runs. It has never heard of agents."""
