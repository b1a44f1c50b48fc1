"""The comparison of this session: what is pinned on the Plan page and shown on Compare."""

import streamlit as st

from planner.compare import comparison
from planner.compare.comparison import Comparison, Variant
from planner.pages import controls, screen


def held() -> Comparison:
    """What is pinned so far."""
    return st.session_state.get("comparison", Comparison())


def keep(found: Comparison, notices=()):
    """Replace what is pinned; what its link had wrong is settled by it."""
    st.session_state.comparison = found
    st.session_state["notices-compare"] = notices


def opened():
    """The comparison of this session, and what was wrong with the link it came from.

    Coming from the planner with one scenario pinned, the present one is what it is compared with.
    """
    state = st.session_state
    if controls.entered("compare"):
        query = screen.read(controls.address())
        if query:
            keep(*comparison.decode(query))
        elif len(held().variants) == 1 and addable():
            keep(held().added(Variant(state.scenario)))
    return held(), state.get("notices-compare", ())


def addable() -> bool:
    """Whether the planner's present scenario could be pinned and is not yet."""
    state, found = st.session_state, held()
    return "scenario" in state and not found.full and not found.holds(state.scenario)


def button():
    """Pin the planner's present scenario, and the way to what is pinned."""
    found = held()
    st.button(
        "Pin for comparison",
        key="pin",
        icon=":material/keep:",
        disabled=not addable(),
        help="Four are pinned, which is all there is room for." if found.full else None,
        on_click=lambda: keep(held().added(Variant(st.session_state.scenario))),
    )
    if found.variants:
        said = " and ".join([f"{len(found.variants)} pinned", "this one"][: 1 + addable()])
        st.page_link("planner/pages/compare.py", label=f"Compare {said}")
