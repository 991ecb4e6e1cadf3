"""Gated selection beside the other rules: which chooser wins when, and the default that follows."""
