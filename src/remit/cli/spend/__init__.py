"""`remit spend`: what model calls cost, by the ledger of a store."""
