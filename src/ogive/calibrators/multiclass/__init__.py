"""Ways from curves to whole vectors: ranks, ovr, every rank, and the class structure."""
