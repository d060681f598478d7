"""Mathematics that does not depend on calibration: arrays in, arrays out."""
