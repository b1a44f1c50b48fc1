"""How a page meets its screen: presenter view, print, and where the page is in the address."""

from html import escape

import streamlit as st

from planner.charts.picture import enlarged
from planner.charts.style import PAPER
from planner.pages.components import component

_keys = component("keys")
# Streamlit sizes everything by the root's font size, so one number makes a page larger; not on the
# phones that open what a presenter has sent.
PRESENT = """<style>
@media (min-width: 641px) {
  :root { font-size: 21px !important }
  /* a room sees them in the sidebar */
  [data-testid=stLayoutWrapper]:has(> .st-key-inputs) { display: none }
  [data-testid=stHeader] { height: 2.75rem; min-height: 0 }
  [data-testid=stMainBlockContainer] { padding: 2.9rem 2rem 0.8rem !important }
  section[data-testid=stSidebar][data-collapsed=false] { width: 19rem !important }
}
</style>"""
# The lesson's pages are turned by keys; the others are reached by the head.
PRESENT_LESSON = """<style>
@media (min-width: 641px) {
  [data-testid=stHeader] { display: none }
  [data-testid=stMainBlockContainer] { padding: 0.8rem 2rem !important }
}
</style>"""
# Streamlit's captions are too faint for small type (contrast 3.7 where 4.5 is asked).
LOOK = """<style>
[data-testid=stCaptionContainer] { opacity: 0.85 !important }
[data-testid=stElementContainer]:has(> .stHtml > .on-paper) { display: none }
@media (max-width: 640px) { [data-testid=stHorizontalBlock] { row-gap: 1rem } }
@media print {
  [data-testid=stElementContainer]:has(> .stHtml > .on-paper) { display: block }
  .on-paper { font-size: 0.75rem; overflow-wrap: anywhere }
  header, section[data-testid=stSidebar], [data-testid=stElementToolbar], [data-testid=stExpander],
  .to-move, .st-key-controls, .st-key-tools { display: none !important }
  .st-key-figures, [class*=st-key-chart-] { break-inside: avoid }
}
</style>"""

# On a phone what is moved and what moves by it must be seen at once: controls are tight (PHONE),
# and they stay in view under the head while the pictures pass (HELD).
PHONE = """<style>
@media (max-width: 640px) {
  .st-key-controls [data-testid=stHorizontalBlock] { gap: 0.5rem 1rem }
  .st-key-controls .stRadio { display: flex; flex-wrap: wrap; align-items: center; gap: 0 1rem }
  .st-key-controls .stRadio > label { margin: 0 }
  .st-key-figures { row-gap: 0.25rem }
}
</style>"""
HELD = """<style>
@media (max-width: 640px) and (min-height: 600px) {
  [data-testid=stLayoutWrapper]:has(> .st-key-controls) {
    position: sticky; top: 3.75rem; z-index: 2; padding-bottom: 0.5rem;
    background: PAPER; border-bottom: 1px solid #8A8F9855
  }
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


def read(query: dict[str, list[str]]) -> dict[str, list[str]]:
    """Take the view from an address, and give what else it says.

    One without parameters says nothing of the view: so it stays from page to page.
    """
    if query:
        st.session_state.present = query.get("present", ["0"])[0] == "1"
    return {name: values for name, values in query.items() if name != "present"}


def parameters() -> dict[str, str]:
    """The view as an address carries it."""
    return {"present": "1"} if presenting() else {}


def dress(query: str, lesson: bool = False, held: bool = False):
    """Sizes for the screen, larger for a room, and on paper the link of what is printed.

    held: whether a phone keeps the controls of the lesson's page in view.
    """
    look = LOOK
    if presenting():
        look += PRESENT + (PRESENT_LESSON if lesson else "")
    elif lesson:
        look += PHONE + (HELD.replace("PAPER", PAPER[dark()]) if held else "")
    st.html(f'{look}<p class="on-paper">{escape(address())}?{escape(query)}</p>')


def sized(spec: dict, text: int) -> dict:
    """A chart's specification, in larger type for a room. text: the size of words on it."""
    return enlarged(spec, text) if presenting() else spec


def switch(lesson: bool = False):
    """Turn the presenter view on or off; in it, arrow keys and Page Up/Down turn a lesson."""

    def switched():
        st.session_state.present = st.session_state["present-switch"]

    st.session_state["present-switch"] = presenting()
    st.toggle("Presenter view", key="present-switch", on_change=switched)
    if lesson and presenting():
        _keys(key="keys", data={})
