"""Scripts take turns: one at a time, the next when one has ended or is aside, none for ever."""

import threading
import time

import pytest

from planner.pages import turns


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(turns, "_line", threading.Semaphore(1))


def beside(work):
    """Start some work in a thread of its own, as scripts are run."""
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_the_next_begins_when_one_has_ended():
    leave, inside, most = threading.Event(), [], []

    def script():
        with turns.turn():
            inside.append(1)
            most.append(len(inside))
            leave.wait(30)
            inside.pop()

    scripts = [beside(script) for _ in range(4)]
    time.sleep(0.2)  # without turns all would be inside by now
    assert len(inside) == 1
    leave.set()
    for each in scripts:
        each.join()
    assert most == [1] * 4


def test_another_goes_first_while_one_is_aside(monkeypatch):
    monkeypatch.setattr(turns, "PATIENCE_S", 30)
    done = []

    def script():
        with turns.turn():
            done.append("short")

    with turns.turn():
        with turns.aside():
            beside(script).join(10)
            done.append("long")
        other = beside(script)
        time.sleep(0.1)
        done.append("back")
    other.join(10)
    assert done == ["short", "long", "back", "short"]
    assert turns._line._value == 1


def test_aside_without_a_turn_changes_nothing():
    with turns.aside():
        pass
    assert turns._line._value == 1


def test_a_failed_script_gives_its_turn_back():
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), turns.turn():
            _ = 1 / 0
        with pytest.raises(ZeroDivisionError), turns.turn(), turns.aside():
            _ = 1 / 0
    assert turns._line._value == 1


def test_nobody_waits_for_ever(monkeypatch):
    monkeypatch.setattr(turns, "PATIENCE_S", 0.01)
    went = []

    def script():
        with turns.turn(), turns.aside():
            went.append(1)

    with turns.turn():
        for _ in range(2):
            beside(script).join(10)
    assert went == [1, 1]
    assert turns._line._value == 1
