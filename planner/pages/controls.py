"""The controls that pages share, and the scenario they hold.

The scenario lives in the session; a control shows it and, when moved, replaces it. The address is
read when a page is entered (a link, a reload, Back) and written after every change.
"""

from dataclasses import replace
from html import escape

import streamlit as st

from planner import presets
from planner.link import Number
from planner.pages import predict
from planner.pages.component import component
from planner.scenario import NUMBERS, Notice, Scenario, decode, device_numbers, encode

EMBED = ("embed", "embed_options")  # Streamlit's own parameters


_slider = component("slider")
_link = component("link")


def stops(spec: Number, most: float | None = None) -> list[float]:
    """Slider stops up to `most`: each whole number where there are few, else eight an octave."""
    low, high = int(spec.minimum), int(most or spec.maximum)
    if high - low <= 200:
        return [float(stop) for stop in range(low, high + 1)]
    return _stops(low, high, 8, whole=spec.whole)


def _stops(low, high, parts, whole=False):
    """Slider stops from low to high, `parts` an octave, as round as they can be."""
    stops, octave = {float(low), float(high)}, 1.0
    while octave <= high:
        for part in range(parts):
            stop = octave * (1 + part / parts)
            if low <= stop <= high and not (whole and stop % 1):
                stops.add(stop)
        octave *= 2
    return sorted(stops)


def _decades(low, high):
    """Slider stops in round decimal steps: 1, 1.1, … 2, 2.2, … 5, 5.5, … 10."""
    steps = [*range(100, 200, 10), *range(200, 500, 20), *range(500, 1000, 50)]
    stops = {float(low), float(high)}
    for power in range(-3, 6):
        stops |= {s * 10.0**power for s in steps if low <= s * 10.0**power <= high}
    return sorted(float(f"{stop:.6g}") for stop in stops)


STOPS = {
    "concurrency": _stops(1, 4096, 8, whole=True),
    "context": _stops(128, 2**20, 8, whole=True),
    "bandwidth": _decades(10, 20_000),
    "memory": _decades(1, 2_000),
    "peak": _decades(1, 10_000),
}


def scenario() -> tuple[Scenario, tuple[Notice, ...]]:
    """The scenario of this session and what was wrong with the link it came from."""
    state = st.session_state
    if entered("plan"):
        query, shared = predict.split(address())
        if query or shared or "scenario" not in state:
            state.scenario, state.notices = decode(query)
            state.notices += predict.read("plan", shared, predict.PLAN)
    return state.scenario, state.notices


def address() -> dict[str, list[str]]:
    """The parameters of the address, less Streamlit's own."""
    return {name: st.query_params.get_all(name) for name in st.query_params if name not in EMBED}


def entered(page: str) -> bool:
    """Whether this run is the page's first since it was come to: then its address counts."""
    state = st.session_state
    first = state.get("at") != page
    state.at = page
    return first


def change(**values):
    """Replace inputs of the scenario; what the link had wrong is settled by it."""
    state = st.session_state
    state.scenario = replace(state.scenario, **values)
    state.notices = ()


def model():
    """Choose a model."""
    rows = presets.models()
    st.session_state.model = st.session_state.scenario.model
    st.selectbox(
        "Model",
        list(rows),
        format_func=lambda key: rows[key].name,
        key="model",
        on_change=lambda: change(model=st.session_state.model),
    )


def device():
    """Choose a device; bandwidth, memory and peak follow and may be changed afterwards."""
    rows = presets.accelerators()

    def chosen():
        name = st.session_state.device
        change(device=name, **device_numbers(name))

    st.session_state.device = st.session_state.scenario.device
    st.selectbox(
        "Device", list(rows), format_func=lambda key: rows[key].name, key="device", on_change=chosen
    )


def number(name: str):
    """A logarithmic slider with an exact field for one number of the scenario."""
    now = getattr(st.session_state.scenario, name)
    slider(f"slider-{name}", NUMBERS[name], STOPS[name], now, lambda new: change(**{name: new}))


def slider(key: str, spec: Number, stops: list[float], value: float, moved):
    """A slider over given stops with an exact field; `moved` is called with the new number."""
    _slider(
        key=key,
        data={
            "label": spec.label,
            "unit": spec.unit,
            "stops": stops,
            "minimum": spec.minimum,
            "maximum": spec.maximum,
            "whole": spec.whole,
            "value": value,
        },
        on_value_change=lambda: moved(spec.nearest(st.session_state[key].value)),
    )


def link():
    """Write the address bar and offer to copy it."""
    write_address(encode(st.session_state.scenario) + predict.suffix("plan"))


def write_address(query: str):
    """Put a page's whole state into the address bar, with a button that copies it."""
    _link(key="link", data={"query": query})


def show_notices(notices: tuple[Notice, ...]):
    """What could not be taken from the link, each in its sentence, as text and nothing else."""
    if notices:
        lines = [
            f"{each.parameter}: {each.text}" if each.parameter else each.text for each in notices
        ]
        heading = "This link could not be taken as it stands. The rest of it is shown."
        with st.container(border=True, key="notices"):
            st.markdown(f":material/link_off: **{heading}**")
            st.text("\n".join(lines))


def examples():
    """Named scenarios, each an ordinary link within this tab, and the way back to the start."""
    rows = [(f"?{each.query}", each.title, each.sentence) for each in presets.examples()]
    rows.append(("?", "Reset", "Back to the start."))
    links = " · ".join(
        f'<a href="{escape(href)}" target="_self" style="color: inherit" '
        f'title="{escape(sentence)}">{escape(title)}</a>'
        for href, title, sentence in rows
    )
    st.html(f"<small>Examples: {links}</small>")
