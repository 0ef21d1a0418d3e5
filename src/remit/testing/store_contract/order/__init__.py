"""Calls in any order, and the plain store that they are compared with."""
