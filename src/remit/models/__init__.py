"""Floor 2: models behind one question."""
