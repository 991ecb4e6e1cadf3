"""The mathematics: NumPy in, NumPy out; no torch, no clock, no network."""
