"""Floor 1: frozen values that every other floor speaks in. No I/O."""
