"""Slow, obvious versions written from the paper: what the fast code is checked against."""
