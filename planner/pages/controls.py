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

from planner import describe
from planner.charts.picture import Picture
from planner.hardware import parallel
from planner.inputs import overrides, presets, support
from planner.inputs.link import Notice, Number
from planner.inputs.scenario import (
    LENGTHS,
    NUMBERS,
    Scenario,
    as_link,
    decode,
    device_numbers,
    encode,
)
from planner.lesson import plan_questions
from planner.pages import predict, screen
from planner.pages.components import component
from planner.serving import evaluate, time_figure
from planner.stage.stops import STOPS
from planner.units import GIB

UNSEEN = (  # read aloud, but not to be seen
    '<p style="position: absolute; width: 1px; height: 1px; overflow: hidden; '
    'clip-path: inset(50%)">{}</p>'
)
EMBED = ("embed", "embed_options")  # Streamlit's own parameters


_slider = component("slider")
_link = component("link")


def scenario() -> tuple[Scenario, tuple[Notice, ...]]:
    """The scenario of this session and what was wrong with the link it came from."""
    state = st.session_state
    if entered("plan"):
        query, shared = predict.split(screen.read(address()))
        if query or shared or "scenario" not in state:
            state.scenario, state.notices = decode(query)
            state.notices += predict.read("plan", shared, plan_questions.ASKABLE)
    return state.scenario, state.notices


def address() -> dict[str, list[str]]:
    """The parameters of the address, less Streamlit's own."""
    return {name: st.query_params.get_all(name) for name in st.query_params if name not in EMBED}


def entered(page: str) -> bool:
    """Whether this run is the page's first since it was come to: then its address counts."""
    state = st.session_state
    first = state.get("at") != page
    if first:
        state.at, state.given = page, bool(address())
    return first


def change(**values):
    """Replace inputs of the scenario, as a link that says so would."""
    state = st.session_state
    changed = {**as_link(state.scenario), **{name: str(value) for name, value in values.items()}}
    state.scenario, state.notices = decode({name: [value] for name, value in changed.items()})


def _choose(label, name, rows, shown, chosen=None, **options):
    """A select box for one named input of the scenario; `chosen` says what else it changes."""
    value = getattr(st.session_state.scenario, name)
    # Written only where it differs: a write goes to the browser and would undo a choice under way.
    if st.session_state.get(name) != value:
        st.session_state[name] = value

    def changed():
        value = st.session_state[name]
        change(**{name: value, **(chosen(value) if chosen else {})})

    st.selectbox(label, rows, format_func=shown, key=name, on_change=changed, **options)


def model():
    """Choose a model; its weights are then stored as they were published."""
    rows = presets.models()
    own = st.session_state.scenario.model
    _choose(
        "Model",
        "model",
        list(rows) if own in rows else [own, *rows],
        lambda key: presets.model(key).name,
        lambda key: {"weights": presets.model(key).dtype},
        help="Type to search.",
    )


def precision():
    """Choose how weights, keys and values are stored."""
    model = st.session_state.scenario.the_model
    weights, caches = presets.weight_formats(), presets.caches_of(model)
    _choose("Weights", "weights", list(weights), lambda key: weights[key].name)
    _choose("Keys", "cache_k", list(caches), lambda key: caches[key].name)
    _choose("Values", "cache_v", list(caches), lambda key: caches[key].name)


def devices():
    """Choose how many devices, and how the model lies on them: only what divides is offered."""
    state = st.session_state
    now, owned = state.scenario.layout, state.scenario.the_model

    def counted():
        able = parallel.layouts(owned, state.devices)
        change(**_layout(able[0])) if able else None

    counts = [n for n in range(1, parallel.MOST_DEVICES + 1) if parallel.layouts(owned, n)]
    for key, value in (("devices", now.devices), ("layout", now)):
        if state.get(key) != value:
            state[key] = value
    st.selectbox("Devices", counts, key="devices", on_change=counted)
    if now.devices > 1:
        st.selectbox(
            "Layout",
            parallel.layouts(owned, now.devices),
            format_func=describe.layout,
            key="layout",
            on_change=lambda: change(**_layout(state.layout)),
            help="Tensor: every matrix is cut. Pipeline: layers are dealt out. Data: requests are. "
            "Expert: whole experts are.",
        )


def _layout(each):
    return {"tp": each.tensor, "pp": each.pipeline, "dp": each.data, "ep": each.expert}


def engine():
    """Choose the engine, the lengths of prompt and output, and what of its figures to change."""
    rows, now = presets.engines(), st.session_state.scenario
    able = support.offered(now.device)
    _choose(
        "Engine",
        "engine",
        able if now.engine in able else [*able, now.engine],
        lambda key: f"{rows[key].name} ({rows[key].group})" if rows[key].group else rows[key].name,
        lambda key: {"set": ""},
        help="Those that run on the device.",
    )
    remark = support.remark(now.engine, now.device)
    if remark:
        st.caption(remark[:1].upper() + remark[1:])
    for name, spec in LENGTHS.items():
        _length(name, spec)
    st.selectbox(
        "Change a figure",
        list(overrides.KNOWN),
        index=None,
        format_func=lambda key: overrides.KNOWN[key].label,
        key="set-add",
        on_change=_add_setting,
    )
    for key, value in overrides.read(st.session_state.scenario.set).items():
        _setting(key, value)


def _length(name, spec):
    value = getattr(st.session_state.scenario, name)
    if st.session_state.get(name) != value:
        st.session_state[name] = value
    st.number_input(
        f"{spec.label} ({spec.unit}; 0: not given)",
        spec.minimum,
        spec.maximum,
        step=128,
        key=name,
        on_change=lambda: change(**{name: st.session_state[name]}),
    )


def _current(key):
    """An engine's figure as it stands, from its memory or its time."""
    now = st.session_state.scenario
    if key == "pool_gib":  # set to what it stands at, it changes nothing
        return float(evaluate(now).reserve.pool_bytes / GIB)
    if key in overrides.MEMORY:
        return float(getattr(now.the_engine, key))
    return float(time_figure(evaluate(now), key))


def _add_setting():
    key = st.session_state["set-add"]
    st.session_state["set-add"] = None
    if key:
        _set(key, overrides.KNOWN[key].nearest(_current(key)))


def _set(key, value):
    own = overrides.read(st.session_state.scenario.set)
    change(set=overrides.write({**own, key: value}))


def _setting(key, value):
    spec, widget = overrides.KNOWN[key], f"set-{key}"
    if st.session_state.get(widget) != value:
        st.session_state[widget] = float(value)
    unit = f" ({spec.unit})" if spec.unit else ""
    st.number_input(
        f"{spec.label}{unit}",
        float(spec.minimum),
        float(spec.maximum),
        key=widget,
        on_change=lambda: _set(key, spec.nearest(st.session_state[widget])),
    )


def device():
    """Choose a device; bandwidth, memory and peak follow and may be changed afterwards."""
    rows = presets.accelerators()
    _choose("Device", "device", list(rows), lambda key: rows[key].name, device_numbers)


def number(name: str):
    """A logarithmic slider with an exact field for one number of the scenario."""
    now = getattr(st.session_state.scenario, name)
    slider(f"slider-{name}", NUMBERS[name], STOPS[name], now, lambda new: change(**{name: new}))


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
    write_address(encode(st.session_state.scenario) + predict.suffix("plan", **screen.parameters()))


def write_address(query: str):
    """Put a page's whole state into the address bar, with a button that copies it.

    A browser whose session is gone (its server was restarted, or another took over) gives back what
    it showed of a page that comes without parameters, once.
    """
    state = st.session_state

    def found_again():
        st.query_params.from_dict(parse_qs(state.link.lost, keep_blank_values=True))
        state.pop("at")

    _link(
        key="link",
        data={
            "query": query,
            "session": state.setdefault("session", token_hex(8)),
            "given": state.get("given", True),
        },
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
            spec = {**spec, "datasets": datasets(picture)}
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
        heading = "This link could not be taken as it stands. The rest of it is shown."
        with st.container(border=True, key="notices"):
            st.markdown(f":material/link_off: **{heading}**")
            st.text("\n".join(lines))


def examples(named=presets.examples, told: bool = True):
    """Named scenarios, each an ordinary link within this tab, and the way back to the start.

    told: whether their sentences may be seen, which hold results.
    """
    view = urlencode(screen.parameters())
    rows = [(f"?{each.query}&{view}", each.title, each.sentence) for each in named()]
    rows.append((f"?{view}", "Reset", "Back to the start."))
    links = " · ".join(
        f'<a href="{escape(href.rstrip("&"))}" target="_self" style="color: inherit" '
        f'title="{escape(sentence) if told else ""}">{escape(title)}</a>'
        for href, title, sentence in rows
    )
    st.html(f"<small>Examples: {links}</small>")
