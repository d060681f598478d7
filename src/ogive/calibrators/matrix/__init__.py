"""Calibrators of whole matrices: they read predictions, not a curve, and return full vectors."""
