"""How plans come to be compared: pinned on the Plan page, shown on Compare."""

import streamlit as st

from planner.compare import comparison
from planner.compare.comparison import Variant
from planner.pages import controls, pins, screen


def opened():
    """The comparison of this session, and what was wrong with the link it came from.

    Coming from the planner with one scenario pinned, the present one is what it is compared with.
    """
    state = st.session_state
    if controls.entered("compare"):
        query = screen.read(controls.address())
        if query:
            pins.keep(*comparison.decode(query))
        elif len(pins.held().variants) == 1 and addable():
            pins.keep(pins.held().added(Variant(state.scenario)))
    return pins.held(), state.get("notices-compare", ())


def addable() -> bool:
    """Whether the planner's present scenario could be pinned and is not yet."""
    state, found = st.session_state, pins.held()
    return "scenario" in state and not found.full and not found.holds(state.scenario)


def button():
    """Pin the planner's present scenario, and the way to what is pinned."""
    found = pins.held()
    st.button(
        "Pin",
        key="pin",
        disabled=not addable(),
        help="Four are pinned, which is all there is room for."
        if found.full
        else "Keep this plan to compare it with others.",
        on_click=lambda: pins.keep(pins.held().added(Variant(st.session_state.scenario))),
    )
    if found.variants:
        said = " and ".join([f"{len(found.variants)} pinned", "this one"][: 1 + addable()])
        st.page_link("planner/pages/compare.py", label=f"Compare {said}")
