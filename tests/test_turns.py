"""Scripts take turns: a few at once, the next when one has ended, and none waits for ever."""

import threading
import time
from threading import Semaphore

import pytest

from planner.pages import turns


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(turns, "_turns", Semaphore(turns.AT_ONCE))


def test_the_next_begins_when_one_has_ended():
    leave, inside, most = threading.Event(), [], []

    def script():
        with turns.turn():
            inside.append(1)
            most.append(len(inside))
            leave.wait(30)
            inside.pop()

    scripts = [threading.Thread(target=script) for _ in range(turns.AT_ONCE + 3)]
    for each in scripts:
        each.start()
    time.sleep(0.2)  # without turns all would be inside by now
    assert len(inside) == turns.AT_ONCE
    leave.set()
    for each in scripts:
        each.join()
    assert len(most) == turns.AT_ONCE + 3
    assert max(most) <= turns.AT_ONCE


def test_a_failed_script_gives_its_turn_back():
    for _ in range(turns.AT_ONCE + 1):
        with pytest.raises(ZeroDivisionError), turns.turn():
            _ = 1 / 0
    assert turns._turns._value == turns.AT_ONCE


def test_nobody_waits_for_ever(monkeypatch):
    monkeypatch.setattr(turns, "PATIENCE_S", 0.01)
    with turns.turn(), turns.turn(), turns.turn():  # one more than at once
        pass
    assert turns._turns._value == turns.AT_ONCE
