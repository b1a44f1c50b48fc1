"""Whose script runs: a few at once, the others in line, since they share one interpreter.

Many scripts that run at once end together, late; one after another, the first end early and the
last no later.
"""

from contextlib import contextmanager
from threading import Semaphore

AT_ONCE = 2
PATIENCE_S = 2  # in line; then a script runs all the same: one ahead may wait for a network

_turns = Semaphore(AT_ONCE)


@contextmanager
def turn():
    """Around a page's script."""
    mine = _turns.acquire(timeout=PATIENCE_S)
    try:
        yield
    finally:
        if mine:
            _turns.release()
