"""How a page meets its screen: presenter view, print, and where the page is in the address."""

from html import escape

import streamlit as st

from planner.pages.component import component

_keys = component("keys")
# Streamlit sizes everything by the root's font size, so one number makes a page larger.
PRESENT = """<style>
:root { font-size: 21px !important }
[data-testid=stHeader] { display: none }
[data-testid=stMainBlockContainer] { padding: 0.8rem 2rem !important }
</style>"""
# Streamlit's captions are too faint for small type (contrast 3.7 where 4.5 is asked).
LOOK = """<style>
[data-testid=stCaptionContainer] { opacity: 0.85 !important }
.on-paper { display: none }
@media print {
  .on-paper { display: block; font-size: 0.75rem; overflow-wrap: anywhere }
  header, section[data-testid=stSidebar], [data-testid=stElementToolbar], [data-testid=stExpander],
  .st-key-controls, .st-key-tools { display: none !important }
  .st-key-figures, [class*=st-key-chart-] { break-inside: avoid }
}
</style>"""


def dark() -> bool:
    """Whether the page is drawn on a dark ground."""
    return st.context.theme.type == "dark"


def address() -> str:
    """Where this page is, without its parameters."""
    return st.context.url or ""


def presenting() -> bool:
    """Whether the pages are shown to a room."""
    return st.session_state.get("present", False)


def read(shared):
    """Take the view from an address."""
    st.session_state.present = shared.get("present", ["0"])[0] == "1"


def parameters() -> dict[str, str]:
    """The view as an address carries it."""
    return {"present": "1"} if presenting() else {}


def dress(query: str, present: bool = False):
    """Sizes for the screen, larger for a room, and on paper the link of what is printed."""
    link = f'<p class="on-paper">{escape(address())}?{escape(query)}</p>'
    st.html(LOOK + (PRESENT if present else "") + link)


def switch():
    """Turn the presenter view on or off; in it, arrow keys and Page Up/Down turn the pages."""

    def switched():
        st.session_state.present = st.session_state["present-switch"]

    st.session_state["present-switch"] = presenting()
    st.toggle("Presenter view", key="present-switch", on_change=switched)
    if presenting():
        _keys(key="keys", data={})
