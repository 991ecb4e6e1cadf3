"""dris inside the frameworks that people already train with, each behind an extra of its own."""
