"""The front page of the lesson: why it matters, what is learnt, and the path as a plan to print."""

from html import escape

import streamlit as st

from planner.lesson import path, words
from planner.pages import classroom, learn, predict, screen
from planner.pages import path as walk
from planner.pages.components import component

_print = component("print")
LINK = '<a href="{}" target="_self" style="color: inherit">{}. {}</a>'


def plan():
    """The stops as a table to print, with their minutes."""
    rows, at = [], 0
    for stop in path.stops():
        link = LINK.format(escape(walk.address(stop)), stop.number, escape(stop.title))
        rows.append(
            f"<tr><td>{at}–{at + stop.minutes}</td><td>{link}</td><td>{escape(stop.say)}</td>"
            f"<td class=tell>{escape(stop.tell)}</td></tr>"
        )
        at += stop.minutes
    st.toggle("Show what to tell as well, to prepare a class", key="tells")
    tells = "plan told" if st.session_state.get("tells") else "plan"
    st.html(
        f"<h2>The path</h2><table class='few {tells}'><tr><th scope=col>minutes</th>"
        "<th scope=col>stop</th><th scope=col>ask</th><th scope=col class=tell>then show</th></tr>"
        f"{''.join(rows)}</table>"
    )


visit = learn.opened(words.FRONT)
if (asked := predict.asked_on(words.FRONT)).room and not screen.presenting():
    classroom.wait(words.FRONT, asked)
minutes = sum(stop.minutes for stop in path.stops())
with st.container(horizontal=True, key="start", vertical_alignment="center"):
    start = st.button(f"Start the path, {len(path.stops())} stops", type="primary", key="begin")
    if not screen.presenting():
        _print(key="print", data={"label": f"Print the plan for {minutes} minutes"})
st.html(
    "<p>The KV cache is the central object of inference engineering, for three reasons.</p><ol>"
    + "".join(f"<li>{learn.terms(each.text)}</li>" for each in words.reasons().values())
    + "</ol><p><b>At the end you can</b></p><ul>"
    + "".join(f"<li>{learn.terms(each.text)}</li>" for each in words.objectives().values())
    + "</ul>"
)
if not screen.presenting():
    plan()
learn.closed(visit)
if start:
    walk.go(1)
