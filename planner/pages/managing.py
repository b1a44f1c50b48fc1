"""Managing it: contiguous and paged memory under the same requests."""

import streamlit as st

from planner.pages import learn, screen

visit = learn.opened("managing")
learn.moved(visit, "tick", "arrivals", "prefix", "leak")
asked = learn.shown(visit, learn.measures("managing"))
if not screen.presenting():
    st.page_link(
        "planner/pages/size.py",
        label="Size simulates a real deployment with paged memory: “Check by simulation”",
        icon=":material/arrow_forward:",
    )
learn.closed(visit, asked)
