"""Studies: fit and measure, compare, reproduce. No printing, no files."""
