"""A model that is not in the list: by its id, from a config.json, or filled in by hand."""

import pandas as pd
import streamlit as st

from planner import describe
from planner.inputs import presets
from planner.models.config import Refusal, read_config
from planner.models.hub import HubError, fetch_config
from planner.models.model import LayerGroup, Model
from planner.models.notation import model_to_text
from planner.pages import controls, turns
from planner.pages.components import component
from planner.units import GIGA
from planner.web.options import options

_paste = component("paste")
WAYS = ["Model id", "config.json", "By hand"]
LAYER_COLUMNS = {
    "layers": "Layers",
    "query_heads": "Query heads",
    "kv_heads": "KV heads",
    "key_dim": "Key width",
    "value_dim": "Value width",
    "window": "Window (tokens)",
    "state_bytes": "State (bytes)",
}


def ask(name: str = ""):
    """Ask for a model; what was understood is shown before it is used.

    name: an id that is looked up at once.
    """
    if name:
        st.session_state["hub-id"] = name
        _look_up(name)
    way = st.segmented_control("How", WAYS, default=WAYS[0], label_visibility="collapsed")
    if way == "By hand":
        _by_hand()
        return
    if way == "Model id":
        _by_id()
    elif way == "config.json":
        _by_config()
    reading = st.session_state.get("reading")
    if reading and reading[0] == way:
        _show(reading[1])


TOKEN = " This app uses one only where it was started with PLANNER_HUB_TOKEN=1."


def _by_id():
    name = st.text_input(
        "Model id or its web address", placeholder="organisation/name", key="hub-id"
    )
    st.caption("Asks the Hugging Face Hub for the model's config.json and nothing else.")
    if st.button("Look up", disabled=not name):
        _look_up(name)


def _look_up(name):
    st.session_state.pop("reading", None)
    try:
        with st.spinner("Looking it up…"), turns.aside():
            # What this machine's own token opens is not for every visitor to read.
            found = fetch_config(name, token=None if options().hub_token else "")
        _read(
            WAYS[0],
            found.config_text,
            name=name,
            file_bytes=found.weight_bytes,
            quantization=found.quantization_text,
        )
    except HubError as problem:
        closed = "HF_TOKEN" in str(problem) and not options().hub_token
        _say(f"{problem}{TOKEN * closed}")


def _by_config():
    name = st.text_input("What to call it", key="config-name", max_chars=60)
    text = st.text_area("Paste a config.json", height=160, key="config-text")
    _paste(key="paste")
    file = st.file_uploader("or choose the file", type=["json"], max_upload_size=4)
    size = st.number_input(
        "Size of the weight files (GB), if you know it",
        min_value=0.0,
        key="config-size",
        help="Exact for any quantisation; without it the size follows from the config.",
    )
    st.session_state.pop("reading", None)
    content = file.getvalue() if file else text.strip()
    if content:
        _read(WAYS[1], content, name=name, file_bytes=round(size * GIGA) or None)


def _read(way, text, **known):
    try:
        st.session_state.reading = way, read_config(text, **known)
    except Refusal as problem:
        _say(f"{problem}")


def _say(text):
    with st.container(border=True, key="refusal"):
        st.text(text)


def _show(reading):
    model = reading.model
    st.text(model.name)
    st.markdown(describe.model_sentence(model))
    for note in reading.notes:
        st.text(f"Assumed: {note}")
    with st.expander(f"Fields read: {len(reading.used)}, ignored: {len(reading.ignored)}"):
        st.text("\n".join(f"{name} = {value}" for name, value in reading.used.items()))
        st.text(f"Ignored: {', '.join(reading.ignored)}")
    if st.button("Use this model", type="primary"):
        _use(model)


def _by_hand():
    start = presets.model(st.session_state.scenario.model)
    name = st.text_input("Name", value="My model", max_chars=60, key="hand-name")
    st.caption(
        "A row for each kind of layer. A window is the most tokens that a layer keeps; a recurrent "
        "layer has a state and no KV heads. Latent attention is one KV head as wide as the latent, "
        "and no value."
    )
    rows = pd.DataFrame([{key: getattr(g, key) for key in LAYER_COLUMNS} for g in start.groups])
    edited = st.data_editor(
        rows.rename(columns=LAYER_COLUMNS).astype("Int64"),
        num_rows="dynamic",
        hide_index=True,
        key="layers",
    )
    numbers = {}
    with st.container(horizontal=True):
        for key, label, value in (
            ("parameters", "Parameters (billions)", start.parameters / GIGA),
            ("expert_parameters", "of these in experts", start.expert_parameters / GIGA),
            ("experts", "Experts a layer", start.experts),
            ("experts_per_token", "Experts a token", start.experts_per_token),
        ):
            numbers[key] = st.number_input(
                label, value=value, min_value=type(value)(0), key=f"hand-{key}"
            )
    if st.button("Use this model", type="primary"):
        try:
            _use(_made(name, edited, numbers))
        except ValueError as problem:
            _say(f"This cannot be a model: {problem}.")


def _made(name, edited, numbers):
    """The model of the table's rows and the numbers under it; ValueError where it cannot be."""
    groups = []
    for row in edited.itertuples(index=False, name=None):
        values = {
            key: int(value)
            for key, value in zip(LAYER_COLUMNS, row, strict=True)
            if pd.notna(value)
        }
        if values:
            blank = dict.fromkeys(("layers", "query_heads", "kv_heads", "key_dim", "value_dim"), 0)
            groups.append(LayerGroup(**{**blank, **values}))
    for key in ("parameters", "expert_parameters"):
        numbers[key] = round(numbers[key] * GIGA)
    return Model("by hand", name.strip(), tuple(groups), **numbers)


def _use(model):
    controls.change(model=model_to_text(model), weights=model.dtype)
    st.session_state.pop("reading", None)
    st.rerun()


open_dialog = st.dialog("Another model", width="large")(ask)
