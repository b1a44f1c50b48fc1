"""A class that guesses together: guesses are counted once, kept without names, and forgotten."""

import random
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from planner.inputs.question import ROOM
from planner.lesson import room
from planner.lesson.room import Rooms

ASKED = ("calm-otter-41", "cost?ask=load")


class Clock:
    """A time that is set by hand, in seconds."""

    now = 0.0

    def __call__(self):
        return self.now


def test_a_class_of_120_guesses_at_once_and_reloads_in_the_middle():
    rooms = Rooms()

    def guesser(number):
        assert rooms.guess(*ASKED, f"browser {number}", "load", float(number))
        if number % 2:  # a reload: the same browser sees what it has guessed and cannot guess again
            assert rooms.own(*ASKED, f"browser {number}") == {"load": number}
            assert not rooms.guess(*ASKED, f"browser {number}", "load", 999.0)
        return rooms.count(*ASKED)

    with ThreadPoolExecutor(60) as pool:
        counts = list(pool.map(guesser, range(120)))
    assert max(counts) == rooms.count(*ASKED) == 120
    assert rooms.guesses(*ASKED, "load") == [float(number) for number in range(120)]


def test_what_is_open_takes_no_more_guesses():
    rooms = Rooms()
    rooms.guess(*ASKED, "a", "load", 68.0)
    rooms.reveal(*ASKED)
    assert rooms.revealed(*ASKED)
    assert not rooms.guess(*ASKED, "b", "load", 68.7)
    assert rooms.guesses(*ASKED, "load") == [68.0]


def test_rooms_and_questions_are_apart():
    rooms = Rooms()
    rooms.guess(*ASKED, "a", "load", 1.0)
    assert rooms.count("blue-river-10", ASKED[1]) == 0
    assert rooms.count(ASKED[0], "why?ask=ratio") == 0


def test_an_hour_later_nothing_is_left():
    clock = Clock()
    rooms = Rooms(clock)
    rooms.guess(*ASKED, "a", "load", 1.0)
    rooms.lead(ASKED[0], 7)
    clock.now = room.KEPT_S
    assert (rooms.count(*ASKED), rooms.stop(ASKED[0])) == (1, 7)
    clock.now += 1
    assert (rooms.count(*ASKED), rooms.stop(ASKED[0])) == (0, 0)
    assert rooms.own(*ASKED, "a") == {}


def test_neither_guesses_nor_questions_fill_the_memory(monkeypatch):
    monkeypatch.setattr(room, "MOST_GUESSES", 3)
    monkeypatch.setattr(room, "MOST_QUESTIONS", 2)
    clock = Clock()
    rooms = Rooms(clock)
    assert [rooms.guess(*ASKED, str(who), "load", 1.0) for who in range(4)] == [True] * 3 + [False]
    for number in range(3):
        clock.now += 1
        rooms.guess(f"room-{number}", "q", "a", "load", 1.0)
    assert rooms.count(*ASKED) == 0
    assert rooms.count("room-2", "q") == 1


def test_a_word_can_be_a_link_s_room():
    rng = random.Random(0)
    assert all(re.fullmatch(ROOM, room.word(rng)) for _ in range(100))


@pytest.mark.parametrize(
    ("values", "truth", "log"),
    [([5.0], None, False), ([60.0, 68.0, 70.0], 68.7, False), ([4.0, 68.0, 4000.0], 68.7, True),
     ([-3.0, 0.0, 500.0], None, False), ([0.0], None, False)],
)  # fmt: skip
def test_every_guess_is_in_a_bar_and_the_truth_between_the_ends(values, truth, log):
    found = room.histogram(values, truth)
    assert found.log is log
    assert sum(each.count for each in found.bins) == len(values)
    for value in values:
        holding = [each for each in found.bins if each.low <= value < each.high]
        assert len(holding) == 1
        assert holding[0].count >= 1
    if truth is not None:
        assert 0 < found.place(truth) < 1
