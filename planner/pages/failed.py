"""What a visitor sees where a page's script fails: a sentence and the way back.

Streamlit has written the traceback to the server's log by then; none of it is shown.
"""

from html import escape

import streamlit as st

SENTENCE = "This page could not be worked out. The error is in the server's log; nothing was lost."
START = "."  # the Plan page as it opens, beside every other page


def written(address: str):
    """Note what a page writes into the address bar; it counts once its script has ended."""
    st.session_state["written"] = address


def ended():
    """A script came to its end: what it wrote into the address bar is a good link."""
    state = st.session_state
    if "written" in state:
        state["good"] = state["written"]


def show(_problem: Exception) -> bool:
    """Say so in place of a traceback, with the last good link; whether nothing else need be said.

    The link is opened anew, in a session that knows nothing of what failed.
    """
    ways = {"Start anew": START}
    if "good" in st.session_state:
        ways = {"Back to what was shown last": st.session_state["good"], **ways}
    st.error(SENTENCE, icon=":material/error:")
    links = [f'<a href="{escape(to)}" target="_self">{text}</a>' for text, to in ways.items()]
    st.html(f"<p>{' · '.join(links)}</p>")
    return True
