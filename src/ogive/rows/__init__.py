"""Rows: what a classifier said of each, and what was true, checked once.

Labels become columns, probabilities become exact tails, and a view makes of them one binary
forecast. Whatever comes in, from an array or from a file, ends in the checks of this room.
"""
