"""Fixtures that hand each test every store it is to hold for; loaded by `conftest.py`."""
