"""The demo: a help desk whose worker is killed in the middle of a refund."""
