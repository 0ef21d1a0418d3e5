"""Tests of the flow floor."""
