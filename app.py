"""Page set-up and navigation, nothing else."""

import streamlit as st

st.set_page_config(page_title="LLM capacity planner", layout="wide", initial_sidebar_state=320)
st.navigation([st.Page("planner/pages/plan.py", title="Plan", default=True)]).run()
