"""Rows that are scanned, not held: the same rules and counts from data of any size."""
