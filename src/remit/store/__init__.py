"""Floor 2: what keeps runs. A store decides nothing; it keeps order, fence, atomicity and wake."""
