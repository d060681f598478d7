"""Speed as a ratio against a limit or a peer, measured interleaved."""
