"""Browser components from the .html, .css and .js files beside this one."""

from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent


def component(name: str):
    """The component of that name, ready to be mounted on a page."""
    parts = {kind: (HERE / f"{name}.{kind}").read_text("utf-8") for kind in ("html", "css", "js")}
    return st.components.v2.component(f"planner_{name}", **parts)
