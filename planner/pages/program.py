"""The lesson's arithmetic as a program to copy, with what it prints."""

import streamlit as st

from planner import files
from planner.pages import predict, screen


def show(asked: predict.Asked):
    """The program and its printed results, folded."""
    if screen.presenting():
        return
    box = st.expander("The arithmetic as a program", key="program", on_change="rerun")
    if box.open and asked.answered(box):
        with box:
            st.code(files.text("lesson/program.py"), language="python")
            st.caption("It prints:")
            st.code(files.text("lesson/program.txt"), language=None)
