"""A room's screen: one board at a time, as high as what it shows allows.

The board is part of the view, as the presenter view is: the address keeps it, and a new page begins
with its first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st


@dataclass(frozen=True)
class Board:
    """What is shown at a time. draw: draws it."""

    title: str
    draw: Callable[[], object]


def show(boards: Sequence[Board]):
    """The chosen board under a row of their titles, which keys 1 to 9 choose from."""
    state, numbers = st.session_state, range(1, len(boards) + 1)
    at = state.get("board", 1)
    at = at if at in numbers else 1
    state["board-switch"] = at

    def chosen():
        state.board = state["board-switch"] or at

    if len(boards) > 1:
        st.segmented_control(
            "Board",
            numbers,
            format_func=lambda number: f"{number} {boards[number - 1].title}",
            key="board-switch",
            on_change=chosen,
            label_visibility="collapsed",
        )
    with st.container(key="board"):
        boards[at - 1].draw()
