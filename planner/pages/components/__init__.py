"""Browser components from the .html, .css and .js files beside this one."""

from pathlib import Path

import streamlit as st

HERE = Path(__file__).parent


def component(name: str, *shared: str, isolated: bool = True):
    """The component of that name, ready to be mounted on a page.

    shared: files of the same kinds whose text comes before its own, where several need the same.
    isolated: whether neither its style nor the page's reaches the other.
    """
    parts = {
        kind: "\n".join(_text(part, kind) for part in (*shared, name))
        for kind in ("html", "css", "js")
    }
    return st.components.v2.component(f"planner_{name}", isolate_styles=isolated, **parts)


def _text(name, kind):
    path = HERE / f"{name}.{kind}"
    return path.read_text("utf-8") if path.exists() else ""
