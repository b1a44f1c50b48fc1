"""What stays in the reader's browser over a reload: small values, by name."""

import json
from typing import Any

import streamlit as st

from planner.pages.components import component

_keep = component("keep")
MOST = 20_000  # signs of a text that is taken back from a browser


def kept(name: str, start: Any) -> Any:
    """What the browser keeps under a name; None until it has answered. Once a run and name.

    start: what counts where it has nothing, or nothing of that kind.
    """
    state, key = st.session_state, f"kept-{name}"
    text = json.dumps(state[key]) if key in state else None
    found = _keep(
        key=f"keep-{name}", data={"name": name, "text": text}, on_text_change=lambda: None
    )
    if key not in state and found.text is not None:
        state[key] = _read(found.text, start)
    return state.get(key)


def keep(name: str, value: Any):
    """Keep a value that JSON can write, in this session and, with its next run, in the browser."""
    st.session_state[f"kept-{name}"] = value


def _read(text, start):
    try:
        found = json.loads(text[:MOST]) if text else start
    except ValueError:
        return start
    return found if isinstance(found, type(start)) else start
