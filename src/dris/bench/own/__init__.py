"""On people's own data: known_noise (a corrupted copy of it)."""
