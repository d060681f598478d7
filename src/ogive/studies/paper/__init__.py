"""The paper's tables, computed again from its own logits."""
