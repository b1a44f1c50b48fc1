"""The controls that pages share, and the scenario they hold.

The scenario lives in the session; a control shows it and, when moved, replaces it. The address is
read when a page is entered (a link, a reload, Back) and written after every change.
"""

from dataclasses import replace
from html import escape
from pathlib import Path

import streamlit as st

from planner import presets
from planner.scenario import NUMBERS, Notice, Scenario, decode, device_numbers, encode

HERE = Path(__file__).parent
EMBED = ("embed", "embed_options")  # Streamlit's own parameters


def _component(name):
    parts = {kind: (HERE / f"{name}.{kind}").read_text("utf-8") for kind in ("html", "css", "js")}
    return st.components.v2.component(f"planner_{name}", **parts)


_slider = _component("slider")
_link = _component("link")


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
    query = {name: st.query_params.get_all(name) for name in st.query_params if name not in EMBED}
    entered = "scenario" not in state
    if entered:
        state.scenario, state.notices = decode(query)
    return state.scenario, state.notices


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
    spec = NUMBERS[name]
    key = f"slider-{name}"
    _slider(
        key=key,
        data={
            "label": spec.label,
            "unit": spec.unit,
            "stops": STOPS[name],
            "minimum": spec.minimum,
            "maximum": spec.maximum,
            "whole": spec.whole,
            "value": getattr(st.session_state.scenario, name),
        },
        on_value_change=lambda: change(**{name: spec.nearest(st.session_state[key].value)}),
    )


def link():
    """Write the address bar and offer to copy it."""
    _link(key="link", data={"query": encode(st.session_state.scenario)})


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
