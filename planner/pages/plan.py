"""The Plan page: the answer, its figures, its pictures, its reasons, its tables."""

import streamlit as st

from planner import answer
from planner.pages import (
    controls,
    inputs,
    path,
    pinned,
    pins,
    predict,
    reasons,
    screen,
    stage,
    start,
    take_along,
)
from planner.stage.rest import rest

path.follow()
scenario, notices = controls.scenario()
secret = predict.asked_on("plan").open

with st.sidebar:
    inputs.show()
    screen.switch(turning=bool(path.stop("plan")))
    controls.examples(told=not secret, **pins.parameters())

with st.container(horizontal=True, horizontal_alignment="right", gap="xsmall", key="strip"):
    controls.link()
    if not secret:  # a comparison would tell what is asked
        pinned.button()
    export = st.popover("Export", key="take-along", on_change="rerun")
    share = st.popover("Share", key="share", on_change="rerun")

now = rest(scenario)
evaluation = now.evaluation

controls.show_notices(notices)
asked = predict.plan(evaluation)
warning = answer.engine_warning(evaluation)
if warning:
    st.warning(warning, icon=":material/warning:")
if not asked.hidden:
    start.cards(scenario)
    start.engines(evaluation)
pictures = stage.show(now, asked)
reasons.tabs(evaluation, asked, pictures)
if export.open:
    with export:
        if asked.answered(st):
            take_along.show(evaluation, pictures)
if share.open:
    share.markdown("**Share as a question**: figures stay hidden until there is a guess.")
asked.share(share)
path.bar("plan")
