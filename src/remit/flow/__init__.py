"""Floor 4: workflows, durable functions of the user's own. It has never heard of agents."""
