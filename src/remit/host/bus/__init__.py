"""Carries what runs tell to whoever reads along. A bus is a hint: the journal is the truth."""
