"""Walking the guided path: from stop to stop, on whatever page each one is."""

from collections.abc import Callable
from dataclasses import replace
from html import escape
from urllib.parse import urlencode

import streamlit as st

from planner.inputs import scenario
from planner.lesson import path, states
from planner.lesson.path import PLAN, Stop
from planner.pages import predict


def stop(page: str) -> Stop | None:
    """The stop that a page stands at, if it is on the path."""
    return path.stop(page, predict.asked_on(page).stop)


def address(to: Stop) -> str:
    """A stop's link, from any page of the app."""
    name = "./" if to.page == PLAN else to.page
    return f"{name}?{to.query}&{urlencode(to.question.parameters(), safe=',')}"


def go(number: int, room: str = ""):
    """Open a stop by its number on its page, in the same room. Ends the run."""
    to, state = path.stops()[number - 1], st.session_state
    here = state.get("at")
    if to.page == PLAN:
        state.scenario, state.notices = scenario.decode(to.query)
    else:
        values, _ = states.decode(to.page, to.query)
        if own := path.OWN.get(to.page):
            before = state.get(f"learn-{to.page}", {})
            values[own] = before.get(own) or states.own_seed()
        state[f"learn-{to.page}"] = values
        state[f"notices-{to.page}"] = ()
    state[f"question-{to.page}"] = replace(to.question, room=room)
    state.board, state["next-board"] = to.board, str(to.board)  # on this page, or come to
    if here == to.page:
        st.rerun()
    st.switch_page(f"planner/pages/{to.page}.py")


def follow():
    """Go where the presenter of this browser's room has gone, if anywhere. Ends the run if so."""
    if to := st.session_state.pop("follow", None):
        go(*to)


def bar(page: str, tools: Callable[[], None] = lambda: None):
    """Where on the path a page is and the way on, with the page's tools; nothing off the path."""
    here = stop(page)
    if here is None:
        return
    room = predict.asked_on(page).room
    with st.container(key="path", horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(key="previous", width="content"):
            back = st.button("Back", icon=":material/arrow_back:", disabled=here.number == 1)
        st.html(
            f"<span class=where><b>{here.number} of {len(path.stops())}</b> · "
            f"{escape(here.title)} · {here.minutes} min</span>"
        )
        with st.container(key="next", width="content"):
            last = here.number == len(path.stops())
            on = st.button("Next", icon=":material/arrow_forward:", disabled=last)
        with st.container(key="tools", horizontal=True, width="content", gap="small"):
            tools()
        with st.container(key="leave", width="content"):
            left = st.button("Leave the path", type="tertiary")
    if back:
        go(here.number - 1, room)
    if on:
        go(here.number + 1, room)
    if left:
        st.session_state[f"question-{page}"] = replace(predict.asked_on(page), stop=0)
        st.rerun()
