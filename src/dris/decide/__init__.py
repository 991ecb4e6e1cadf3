"""The one route from dynamics to a decision."""
