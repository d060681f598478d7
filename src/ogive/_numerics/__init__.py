"""Mathematics that has never heard of calibration: arrays in, arrays out."""
