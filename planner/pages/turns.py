"""Whose script runs: one at a time, the others in line, since they share one interpreter.

Scripts that run at once end together, late; one after another, the first end early and the last no
later. What takes long, or waits for a network, steps aside meanwhile.
"""

import gc
import threading
from contextlib import contextmanager
from functools import cache

PATIENCE_S = 2  # in line; then a script runs all the same
# Objects made before the collector looks at the youngest; at 700, as Python has it, it looks at all
# that the process holds every few seconds of a busy class, 130 ms each time.
YOUNG_OBJECTS = 10_000

_line = threading.Semaphore(1)
_mine = threading.local()  # held: whether this thread has the turn


@contextmanager
def turn():
    """Around a page's script."""
    _take()
    try:
        yield
    finally:
        _give()
        _settled()


@contextmanager
def aside():
    """Around what takes long within a turn: whoever waits in line goes first."""
    held = _give()
    try:
        yield
    finally:
        if held:
            _take()


def _take():
    _mine.held = _line.acquire(timeout=PATIENCE_S)


def _give():
    """End this thread's turn; whether it had one."""
    held = getattr(_mine, "held", False)
    if held:
        _mine.held = False
        _line.release()
    return held


@cache
def _settled():
    """After the first script: what it brought in stays, and is not looked through for rubbish."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
