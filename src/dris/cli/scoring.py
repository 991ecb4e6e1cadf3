"""The commands about a user's own data: score, prune, weights, judge, report."""

import typer


def register(app: typer.Typer) -> None:
    """Add the commands."""
