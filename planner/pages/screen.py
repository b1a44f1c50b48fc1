"""How a page meets its screen: presenter view, print, and where the page is in the address."""

from html import escape
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import streamlit as st

from planner.charts.picture import enlarged
from planner.charts.style import INK, PAPER
from planner.pages.components import component

_keys = component("keys")
VIEW = ("present", "board")  # what of an address says how its page is shown, and not what
_drawer = component("drawer", isolated=False)
LOGO = Path(__file__).parent / "logo"
LINES = 1080  # of the screen that a presenter's view is made for, until the browser says how many
# Streamlit sizes everything by the root's font size, so one number makes a page larger: 24 px of
# 1,080 lines, and as much of other screens; not on the phones that open what a presenter has sent.
PRESENT = """<style>
@media (min-width: 641px) {
  :root { font-size: clamp(20px, 2.223vh, 48px) !important }
  [data-testid=stHeader] { height: 2.75rem; min-height: 0 }
  [data-testid=stMainBlockContainer] { padding: 2.9rem 2rem 0.8rem !important }
  section[data-testid=stSidebar][data-collapsed=false] { width: 19rem !important }
  .st-key-strip { display: none }
}
</style>"""
# The lesson's pages are turned by keys; the others are reached by the head.
PRESENT_LESSON = """<style>
@media (min-width: 641px) {
  [data-testid=stHeader] { display: none }
  [data-testid=stMainBlockContainer] { padding: 0.6rem 1.5rem !important }
  [data-testid=stMainBlockContainer] > [data-testid=stVerticalBlock] { gap: 0.5rem }
  h1 { font-size: 1.5rem !important; padding: 0.2rem 0 0.6rem !important }
  [data-testid=stMetric] [data-testid=stTooltipIcon] { display: none }
  [data-testid=stMetric] label p { font-size: 1rem !important }
  .st-key-question [data-testid=stText] { font-size: 1.25rem }
  .prose { max-width: 80rem } .kept { font-size: 1.3rem; max-width: 60rem; padding-top: 1rem }
  .few { font-size: 1.1rem; max-width: none }
  .st-key-levers > [data-testid=stLayoutWrapper] { min-width: 13rem }
  .st-key-board [class*=st-key-scene-] { zoom: 1.25 }
  .st-key-board .st-key-scene-memory { zoom: 1.15 !important }
  .st-key-question { gap: 0.4rem; padding: 0.5rem 1rem !important }
  .st-key-answers { align-items: flex-end } .st-key-answers form { gap: 0 }
  :has(> .st-key-question) ~ * [class*=st-key-scene-] { zoom: 1 !important }
  .st-key-board [class*=st-key-scene-] > .stElementContainer:has(.stHtml) { display: none }
  .st-key-figures > [data-testid=stElementContainer] { min-width: 14rem }
  .st-key-controls .stHorizontalBlock > [data-testid=stLayoutWrapper]:not(:has(.stPopover)),
  .st-key-controls .stHorizontalBlock > .stElementContainer:has(.stSelectbox) { min-width: 15rem }
}
</style>"""
# Streamlit's captions are too faint for small type (contrast 3.7 where 4.5 is asked), and so is
# white on the blue of a dark page, and blue on the pale blue of what is chosen.
LOOK = """<style>
[data-testid=stCaptionContainer] { opacity: 0.85 !important }
[data-testid=stBaseButton-primary] p { color: PAPER }
[data-variant=segmented_control][aria-checked=true] p { color: INK }
[data-testid=stElementContainer]:has(> .stHtml > .on-paper) { display: none }
@media (max-width: 640px) {
  [data-testid=stHorizontalBlock] { row-gap: 1rem }
}
@media print {
  [data-testid=stElementContainer]:has(> .stHtml > .on-paper) { display: block }
  .on-paper { font-size: 0.75rem; overflow-wrap: anywhere }
  header, section[data-testid=stSidebar], [data-testid=stElementToolbar], [data-testid=stExpander],
  .st-key-more,
  .to-move, .st-key-controls, .st-key-tools, .st-key-strip { display: none !important }
  .st-key-figures, [class*=st-key-chart-] { break-inside: avoid }
}
.st-key-path {
  position: sticky; bottom: 0; z-index: 3; padding: 0.4rem 0; background: PAPER;
  border-top: 1px solid #8A8F9855
}
.plan:not(.told) .tell { display: none }
@media print {
  .plan .tell { display: table-cell !important }
  .plan { font-size: 0.7rem; max-width: none }
  .plan tr { break-inside: avoid }
  .st-key-tells { display: none !important }
}
@media print { .st-key-path, .st-key-start { display: none !important } }
.qr { width: 100%; max-width: 16rem; display: block }
.address { font-size: 0.8rem; overflow-wrap: anywhere; margin: 0.3rem 0 }
.count b { font-size: 2em }
.bars { position: relative; display: flex; align-items: flex-end; gap: 2px; height: 9rem;
  border-bottom: 1px solid #8A8F98; margin-top: 1.6rem }
.bars i { flex: 1; background: #0072B2 }
.bars .truth { position: absolute; top: -1.6rem; bottom: 0; border-left: 3px solid #009E73;
  padding-left: 0.3rem; white-space: nowrap }
.ends { display: flex; justify-content: space-between; font-size: 0.85rem; margin: 0 }
.shares { width: 100%; max-width: 40rem } .shares th { text-align: left; font-weight: 400 }
.shares td { width: 80% } .shares i { display: inline-block; height: 1.2em; background: #0072B2 }
.prose { max-width: 50rem } .prose:last-child { margin-bottom: 0 }
.about { font-size: 0.875rem; opacity: 0.85 }
.few { border-collapse: collapse; font-variant-numeric: tabular-nums; max-width: 60rem }
.few th, .few td { padding: 0.2rem 1rem 0.2rem 0; text-align: left; vertical-align: top }
.few th { font-weight: 600; border-bottom: 1px solid #8A8F98 }
.few .same { color: #767B86 }
</style>"""

# On a phone what is moved and what moves by it must be seen at once: controls are tight (PHONE),
# and they stay in view under the head while the pictures pass (HELD).
PHONE = """<style>
@media print { :root { font-size: 13px !important } }
@media (max-width: 640px) {
  [data-testid=stMainBlockContainer] { padding-top: 4rem }
  h1 { font-size: 1.6rem !important; padding: 0 0 0.5rem !important }
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


def root() -> str:
    """Where the app is: the address without the page's own name, ending in “/”."""
    parts = urlsplit(address())
    return urlunsplit(parts._replace(path=f"{parts.path.rpartition('/')[0]}/"))


def frame():
    """What is around every page: mark and name of the product, what it is for, a phone's drawer."""
    _drawer(key="drawer")
    st.logo(LOGO / f"{'dark' if dark() else 'light'}.png", size="large")


def presenting() -> bool:
    """Whether the pages are shown to a room."""
    return st.session_state.get("present", False)


def read(query: dict[str, list[str]]) -> dict[str, list[str]]:
    """Take the view from an address, and give what else it says.

    One without parameters says nothing of the view: so it stays from page to page.
    """
    if query:
        st.session_state.present = query.get("present", ["0"])[0] == "1"
    board = query.get("board", [st.session_state.pop("next-board", "1")])[0]
    st.session_state.board = int(board) if board.isdecimal() else 1
    return {name: values for name, values in query.items() if name not in VIEW}


def parameters() -> dict[str, str]:
    """The view as an address carries it."""
    if not presenting():
        return {}
    board = st.session_state.get("board", 1)
    return {"present": "1"} | ({"board": str(board)} if board > 1 else {})


def dress(query: str, lesson: bool = False, held: bool = False):
    """Sizes for the screen, larger for a room, and on paper the link of what is printed.

    held: whether a phone keeps the controls of the lesson's page in view.
    """
    look = LOOK.replace("PAPER", PAPER[dark()]).replace("INK", INK[dark()])
    if presenting():
        look += PRESENT + (PRESENT_LESSON if lesson else "")
    elif lesson:
        look += PHONE + (HELD.replace("PAPER", PAPER[dark()]) if held else "")
    st.html(f'{look}<p class="on-paper">{escape(address())}?{escape(query)}</p>')


def sized(spec: dict, text: int, share: float = 0.3) -> dict:
    """A chart's specification, in larger type for a room.

    text: the size of words on it on a screen of LINES. share: of the screen's height that it takes.
    """
    if not presenting() or not lines():
        return spec
    scale = max(lines() / LINES, 0.8)
    return enlarged(spec, round(text * scale), round(share * lines()))


def switch(turning: bool = False):
    """Turn the presenter view on or off. turning: arrow keys and Page Up/Down turn the pages."""

    def switched():
        st.session_state.present = st.session_state["present-switch"]

    st.session_state["present-switch"] = presenting()
    st.toggle("Presenter view", key="present-switch", on_change=switched)
    if turning or presenting():
        known = lines() if presenting() else None
        _keys(key="keys", data={"lines": known, "turning": turning}, on_lines_change=_measured)


def lines() -> int:
    """How many lines the screen has, as far as it has said; 0 for a phone, which is no room's."""
    return st.session_state.get("lines", LINES)


def _measured():
    lines = st.session_state["keys"].lines
    st.session_state["lines"] = int(min(max(lines, 400), 5000)) if lines else 0
