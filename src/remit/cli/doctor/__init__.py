"""`remit doctor`: what is wrong with a store, its runs and an app, and the mend for each."""

from remit.cli.doctor.visit import Options, doctor

__all__ = ["Options", "doctor"]
