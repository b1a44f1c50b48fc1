"""What is pinned for comparison, in this session and in the address of the Plan page.

There, `pins=` holds the query of Compare's own link. It belongs to the page and not to its plan, as
the presenter view does: a program that reads the link leaves it aside.
"""

from dataclasses import replace

import streamlit as st

from planner.compare import comparison
from planner.compare.comparison import Comparison
from planner.inputs.link import Notice

PARAMETER = "pins"


def held() -> Comparison:
    """What is pinned so far."""
    return st.session_state.get("comparison", Comparison())


def keep(found: Comparison, notices=()):
    """Replace what is pinned; what its link had wrong is settled by it."""
    st.session_state.comparison = found
    st.session_state["notices-compare"] = notices


def read(query: dict[str, list[str]]) -> tuple[dict[str, list[str]], tuple[Notice, ...]]:
    """Take what is pinned from an address; what else it says, and what of the pins was wrong.

    One without parameters says nothing of pins: so they stay from page to page.
    """
    notices = ()
    if query:
        found, notices = comparison.decode(query.get(PARAMETER, [""])[0])
        keep(found)
    return (
        {name: values for name, values in query.items() if name != PARAMETER},
        tuple(replace(each, problem=f"Pinned: {each.problem}") for each in notices),
    )


def parameters() -> dict[str, str]:
    """What is pinned as an address carries it."""
    return {PARAMETER: comparison.encode(held())} if held().variants else {}
