"""Page set-up and navigation, nothing else."""

import streamlit as st

from planner.lesson import words

st.set_page_config(page_title="LLM capacity planner", layout="wide", initial_sidebar_state=320)
plan = [
    st.Page("planner/pages/plan.py", title="Plan", default=True),
    st.Page("planner/pages/compare.py", title="Compare"),
    st.Page("planner/pages/log.py", title="Log"),
    st.Page("planner/pages/accuracy.py", title="Accuracy"),
]
learn = [
    st.Page(f"planner/pages/{page.id}.py", title=page.title) for page in words.pages().values()
]
st.navigation({"": plan, "Learn": learn}, position="top").run()
