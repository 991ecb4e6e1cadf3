"""What the tests of the integrations share."""

from one_thread import one_thread

__all__ = ["one_thread"]
