"""Page set-up and navigation, nothing else."""

import streamlit as st

st.set_page_config(page_title="LLM capacity planner", layout="wide", initial_sidebar_state=320)
pages = [
    st.Page("planner/pages/plan.py", title="Plan", default=True),
    st.Page("planner/pages/log.py", title="Log"),
    st.Page("planner/pages/accuracy.py", title="Accuracy"),
]
st.navigation(pages, position="top").run()
