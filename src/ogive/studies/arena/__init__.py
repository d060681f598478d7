"""The arena: every method on every experiment of a folder."""

from ogive.studies.arena.study import arena

__all__ = ["arena"]
