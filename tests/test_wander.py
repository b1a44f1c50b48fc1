"""Two tabs that try everything, a little of it: no step may fail. `tests/wander.py` walks on."""

import pytest
from streamlit.proto.Delta_pb2 import Delta

from planner.pages import failed
from tests.wander import MOVES, Tab, wander


def test_a_walk_meets_no_error(app):
    wander(app, runs=2, steps=30, derandomize=True, database=None)


def test_a_tab_sees_what_can_be_moved(app):
    tab = Tab(app)
    kinds = {kind for kind, _ in tab.widgets.values()} - {"drawer"}  # which sends nothing
    assert (
        {"slider", "picker", "stage", "link", "box", "button", "selectbox"} <= kinds <= set(MOVES)
    )
    tab.turn("proof")
    assert "radio" in {kind for kind, _ in tab.widgets.values()}
    tab.close()


def test_an_error_on_the_page_ends_a_walk():
    tab = object.__new__(Tab)
    tab.said = ["a step"]
    delta = Delta()
    delta.new_element.alert.body = failed.SENTENCE
    with pytest.raises(AssertionError, match="a step"):
        tab._take(delta)
