"""On the Size page: a sizing checked by simulation, with progress and a way to stop it."""

from collections.abc import Callable

import streamlit as st

from planner.pages import controls, size_files, turns
from planner.sizing.check import REQUESTS, check
from planner.sizing.check_pictures import pictures, verdict
from planner.sizing.steady import Sizing

state = st.session_state
OF_THE_TRACE = "those of the trace"
COUNTS = (2_000, REQUESTS, 100_000)


def show(own: Sizing, seed: int, ask_for_seed: Callable[[], None]):
    """The simulation of one replica, worked out while it is unfolded.

    ask_for_seed: shows the field for the seed, which travels in the link.
    """
    with controls.folded("size-check", "Check by simulation") as open_:
        if open_:
            _show(own, seed, ask_for_seed)


def _show(own, seed, ask_for_seed):
    left, right, _ = st.columns([1, 1, 2])
    trace = size_files.trace()
    counts = COUNTS if trace is None else (OF_THE_TRACE, *COUNTS)
    count = left.selectbox(
        "Requests",
        counts,
        index=0 if trace else 1,
        format_func=lambda each: each if each == OF_THE_TRACE else f"{each:,}",
        key=f"size-check-count{'-trace' if trace else ''}",
    )
    with right:
        ask_for_seed()
    asked = (own.scenario, own.workload, own.promise, own.replicas, count, seed)
    kept = state.get("size-checked")
    if kept is None or kept[0] != asked:
        if state.get("size-check-stopped") == asked:
            st.markdown("Stopped. Change an input to simulate again.")
            return
        load = trace.requests if count == OF_THE_TRACE else None
        kept = state["size-checked"] = (asked, _simulated(own, count, seed, asked, load))
    found = kept[1]
    st.markdown(verdict(found))
    if not len(found.ttft_s):
        return
    controls.show_pictures(pictures(found))
    filling = "" if count == OF_THE_TRACE else "; the first tenth fills it up and is not counted"
    st.caption(
        f"One replica, with its share of the requests{filling}. The step and the pool are the "
        "plan's own: what they are off by, the simulation is off by too."
    )


def _simulated(own, count, seed, asked, load):
    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, "Simulating…")

        def stop():
            state["size-check-stopped"] = asked

        st.button("Stop", key="size-check-stop", on_click=stop)

    def progress(part):
        bar.progress(min(part, 1.0), "Simulating…")
        return False

    with turns.aside():
        if load is None:
            found = check(own, count, int(seed), progress)
        else:
            found = check(own, seed=int(seed), progress=progress, trace=load)
    place.empty()
    return found
