"""The Log page: what a start-up log says, and predicted against printed, row by row."""

from html import escape
from urllib.parse import urlencode

import streamlit as st

from planner.inputs import presets
from planner.inputs.scenario import encode
from planner.logs import from_log, told
from planner.logs.parse import NAMES, read_log
from planner.pages import controls, pins, screen

state = st.session_state
controls.entered("log")
ASK = "As the log says"


def take(example):
    """Fill the page with an example."""
    state.log = example.text
    state.log_model, state.log_device, state.log_weights = example.model, example.device, ""


def choose(name, label, rows):
    st.selectbox(
        label,
        ["", *rows],
        format_func=lambda key: rows[key].name if key else ASK,
        key=f"log_{name}",
        persist_state="session",
    )


with st.sidebar:
    choose("model", "Model", presets.models())
    choose("weights", "Weights", presets.weight_formats())
    choose("device", "Device", presets.accelerators())
    st.markdown(":small[Choose what the log does not name. Your choice overrides the log.]")

place = st.container()
st.text_area(
    f"Start-up log of {', '.join(NAMES.values())}",
    height=220,
    key="log",
    persist_state="session",
    placeholder="Paste it from the top. Unrelated lines are ignored.",
    help="It is read on this machine and kept nowhere.",
)
with st.container(horizontal=True, key="log-examples", vertical_alignment="center"):
    st.markdown(":small[Examples:]", width="content")
    for example in from_log.examples():
        st.button(
            example.title,
            key=f"log-{example.id}",
            type="tertiary",
            help=f"Source: {example.source}",
            on_click=take,
            args=(example,),
        )

text = state.log or ""
reading = read_log(text)
chosen = {name: state[f"log_{name}"] or "" for name in ("model", "device", "weights")}
found = from_log.plan_of_reading(reading, text, **chosen)
scenario, notes, rows = found.scenario, found.notes, found.rows

with place:
    st.title(told.answer(text, reading, rows, found.asked), anchor=False)
    if scenario:
        st.text(told.summary(reading, scenario))
        if not {"model", "weights"} & {*found.asked}:
            kept = urlencode({**screen.parameters(), **pins.parameters()})
            link = f"./?{escape(f'{encode(scenario)}&{kept}'.rstrip('&'))}"
            words = "Open this in the planner"
            st.html(f'<a href="{link}" target="_self" style="color: inherit">{words}</a>')

if text.strip() and notes:
    with st.container(border=True, key="log-notes"):
        st.text("\n".join(notes))
if rows:
    st.subheader("Predicted against printed", anchor=False)
    st.dataframe(told.table(rows), hide_index=True, key="log-rows", height="content")
    st.markdown(
        ":small[Each row starts from what was printed before it, so that errors do not add up. "
        "Sizes are of one device.]"
    )
if scenario and found.assumed:
    st.subheader("What was assumed", anchor=False)
    st.text("\n".join(f"{each.text[:1].upper()}{each.text[1:]}." for each in found.assumed))
if scenario:
    st.subheader("What the log says", anchor=False)
    st.markdown(f":small[{told.counted(reading, found)}]")
    st.dataframe(told.said(reading, found), hide_index=True, key="log-said", height="content")
    with controls.folded("log-lines", "Line by line: understood and not") as open_:
        if open_:
            listed = told.by_line(text, reading)
            st.dataframe(listed, hide_index=True, key="log-by-line", height=400)
