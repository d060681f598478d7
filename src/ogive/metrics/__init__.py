"""Measures: each a number read off a curve, one file per idea."""
