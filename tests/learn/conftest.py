"""What the tests of training share."""

from one_thread import one_thread

__all__ = ["one_thread"]
