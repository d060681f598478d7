"""Doors out: the artifact, and the forms in which a map is deployed."""
