"""Floor 2: what an agent may call: described, checked, run and answered for."""
