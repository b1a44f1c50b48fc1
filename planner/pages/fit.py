"""Fit it: a task, the levers that may be pulled, each with its price, and what comes of them."""

import streamlit as st

from planner.inputs.scenario import encode
from planner.lesson import practice, views_practice
from planner.pages import learn

visit = learn.opened("fit")
learn.moved(visit, "task", apart=("pulled",))
task, pulled = practice.tasks()[visit.values["task"]], views_practice.pulled(visit.values)


def pull(lever):
    """Pull a lever, or put it back."""
    now = [each for each in pulled if each != lever] + [lever] * (lever not in pulled)
    learn.change("fit", pulled=",".join(each.id for each in task.levers if each.id in now))


st.html("<b>Levers, each with its price</b>")
with st.container(key="levers", horizontal=True, gap="medium"):
    for lever in task.levers:
        key = f"lever-{task.id}-{lever.id}"
        st.session_state[key] = lever.id in pulled
        with st.container(width=230, gap=None):
            st.checkbox(lever.text, key=key, on_change=pull, args=(lever.id,))
            st.caption(lever.price)
asked = learn.shown(visit)
st.html(
    f'<a href="./?{encode(task.scenario(pulled))}" target="_self" style="color: inherit">'
    "Open this in the planner</a>"
)
learn.closed(visit, asked)
