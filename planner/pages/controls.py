"""The controls that pages share, and the scenario they hold.

The scenario lives in the session; a control shows it and, when moved, replaces it. The address is
read when a page is entered (a link, a reload, Back) and written after every change.
"""

from collections.abc import Iterable
from contextlib import contextmanager
from html import escape
from secrets import token_hex
from urllib.parse import parse_qs, urlencode

import pyarrow
import streamlit as st

from planner.charts.picture import Picture
from planner.charts.style import themed
from planner.inputs import presets
from planner.inputs.link import Notice, Number
from planner.inputs.scenario import (
    ALL_NUMBERS,
    LENGTHS,
    Scenario,
    as_link,
    decode,
    encode,
)
from planner.lesson import plan_questions
from planner.pages import failed, pins, predict, screen
from planner.pages.components import component
from planner.stage.stops import STOPS, octaves

UNSEEN = (  # read aloud, but not to be seen
    '<p style="position: absolute; width: 1px; height: 1px; overflow: hidden; '
    'clip-path: inset(50%)">{}</p>'
)
EMBED = ("embed", "embed_options")  # Streamlit's own parameters


_slider = component("slider")
_link = component("link")


# Of the numbers that no film is of.
LENGTH_STOPS = {name: [0.0, *octaves(64, 2**20, 8, whole=True)] for name in LENGTHS}


def scenario() -> tuple[Scenario, tuple[Notice, ...]]:
    """The scenario of this session and what was wrong with the link it came from."""
    state = st.session_state
    if entered("plan"):
        given, wrong = pins.read(screen.read(address()))
        query, shared = predict.split(given)
        if query or shared or "scenario" not in state:
            state.scenario, state.notices = decode(query)
            state.notices += wrong + predict.read("plan", shared, plan_questions.ASKABLE)
    return state.scenario, state.notices


def address() -> dict[str, list[str]]:
    """The parameters of the address, less Streamlit's own."""
    _, given = st.session_state.get("returned_to", ("", None))
    if given is None:
        given = {name: st.query_params.get_all(name) for name in st.query_params}
    return {name: values for name, values in given.items() if name not in EMBED}


def entered(page: str) -> bool:
    """Whether this run is the page's first since it was come to: then its address counts."""
    state = st.session_state
    first = state.get("at") != page
    if not first or state.get("returned_to", (page,))[0] != page:
        state.pop("returned_to", None)
    if first:
        state.at, state.given = page, bool(address())
    return first


def change(**values):
    """Replace inputs of the scenario, as a link that says so would."""
    state = st.session_state
    state.scenario, state.notices = changed(state.scenario, **values)


def changed(scenario: Scenario, **values) -> tuple[Scenario, tuple[Notice, ...]]:
    """A scenario with other inputs, as a link that says so gives it, and what had to change."""
    given = {**as_link(scenario), **{name: str(value) for name, value in values.items()}}
    return decode({name: [value] for name, value in given.items()})


def number(name: str):
    """A logarithmic slider with an exact field for one number of the scenario."""
    now = getattr(st.session_state.scenario, name)
    places = {**STOPS, **LENGTH_STOPS}[name]
    slider(f"slider-{name}", ALL_NUMBERS[name], places, now, lambda new: change(**{name: new}))


def slider(key: str, spec: Number, stops: list[float], value: float, moved):
    """A slider over given stops with an exact field; `moved` is called with the new number."""
    _slider(
        key=key,
        data={
            "name": key,
            "label": spec.label,
            "unit": spec.unit,
            "stops": stops,
            "minimum": spec.minimum,
            "maximum": spec.maximum,
            "whole": spec.whole,
            "value": value,
        },
        on_value_change=lambda: moved(
            spec.nearest(float(st.session_state[key].value.partition("@")[0]))
        ),
    )


def link():
    """Write the address bar and offer to copy it."""
    more = {**screen.parameters(), **pins.parameters()}
    write_address(encode(st.session_state.scenario) + predict.suffix("plan", **more))


def write_address(query: str, steps: bool = True):
    """Put a page's whole state into the address bar, with a button that copies it.

    A browser whose session is gone (its server was restarted, or another took over) gives back what
    it showed of a page that comes without parameters, once.

    steps: whether settled changes make history, so that Back undoes the last one.
    """
    state = st.session_state
    failed.written(f"{screen.address()}?{query}")

    def found_again():
        st.query_params.from_dict(parse_qs(state.link.lost, keep_blank_values=True))
        state.pop("at", None)

    def gone_back():
        # What the address says now; Streamlit may know of it a step late.
        state.returned, page, query = state.link.returned.split("@", 2)
        state.returned_to = page, parse_qs(query, keep_blank_values=True)
        state.pop("at", None)  # not there where a run was broken off before the page had begun

    _link(
        key="link",
        width="content",
        data={
            "query": query,
            "session": state.setdefault("session", token_hex(8)),
            "given": state.get("given", True),
            "page": state.get("at"),
            "steps": steps,
            "returned": state.get("returned", ""),
        },
        on_returned_change=gone_back,
        on_theme_change=lambda: None,  # a rerun is all it takes
        on_lost_change=found_again,
    )


@contextmanager
def folded(key: str, label: str):
    """An expander whose content is worked out only while it is open; yields whether it is."""
    box = st.expander(label, key=key, on_change="rerun")
    with box:
        yield box.open


def show_pictures(pictures: Iterable[Picture], specified=Picture.specification) -> list[Picture]:
    """Pictures, two a row, as `show_picture` shows them; the same as a list.

    Each is sent before the next is worked out, so that the first are seen the sooner.
    """
    shown, places = [], ()
    for picture in pictures:
        place, *places = places or st.columns(2, gap="large")
        with place:
            show_picture(picture, specified)
        shown.append(picture)
    return shown


def show_picture(picture: Picture, specified=Picture.specification):
    """A picture under its title, with what it shows in words for whoever does not see it.

    specified: takes the picture and whether the page is dark, and gives the specification to draw,
    or None where it must wait for a guess. The words are not the chart's own `alt`, which is part
    of its specification: each change of it would build the chart anew, which takes the browser
    thrice as long as drawing it anew.
    """
    with st.container(key=f"chart-{picture.id}"):
        spec = specified(picture, screen.dark())
        words = "" if spec is None else UNSEEN.format(escape(picture.alt))
        st.html(f"<b>{escape(picture.title)}</b>{words}")
        if spec is None:
            predict.waiting()
        else:
            spec = {**themed(spec, screen.dark()), "datasets": datasets(picture)}
            st.vega_lite_chart(spec=spec, key=picture.id, alt=picture.title)


def datasets(picture: Picture) -> dict:
    """A picture's data as it goes to the browser: columns without the frame they would make."""
    return {
        name: pyarrow.table(columns) if isinstance(columns, dict) else columns
        for name, columns in picture.datasets.items()
    }


def show_notices(notices: tuple[Notice, ...]):
    """What could not be taken from the link, each in its sentence, as text and nothing else."""
    if notices:
        lines = [
            f"{each.parameter}: {each.text}" if each.parameter else each.text for each in notices
        ]
        heading = "Some values in this link were invalid and were replaced."
        with st.container(border=True, key="notices"):
            st.markdown(f":material/link_off: **{heading}**")
            st.text("\n".join(lines))


def examples(named=presets.examples, told: bool = True, **kept: str):
    """Named scenarios, each an ordinary link within this tab, and the way back to the start.

    told: whether their sentences may be seen, which hold results. kept: parameters that stay.
    """
    view = urlencode({**screen.parameters(), **kept})
    rows = [(f"?{each.query}&{view}", each.title, each.sentence) for each in named()]
    rows.append((f"?{view}", "Reset", "Back to the start."))
    links = " · ".join(
        f'<a href="{escape(href.rstrip("&"))}" target="_self" style="color: inherit" '
        f'title="{escape(sentence) if told else ""}">{escape(title)}</a>'
        for href, title, sentence in rows
    )
    st.html(f"<small>Examples: {links}</small>")
