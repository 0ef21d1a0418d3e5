"""The `runs` commands that steer runs."""
