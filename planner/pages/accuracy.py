"""The Accuracy page: predicted against measured, for every measurement the project carries."""

from dataclasses import asdict

import streamlit as st

from planner import explain
from planner.evidence import accuracy, scatter, summary
from planner.pages import controls, tables
from planner.serving import evaluate
from planner.sizing import checked, runs

state = st.session_state
if controls.entered("accuracy"):
    query = controls.address()
    if query or "view" not in state:
        state.view, state.view_notices = accuracy.decode(query)


def asked(name):
    """Take one input; what no longer goes with the quantity falls back to all."""
    query = {key: [value] for key, value in asdict(state.view).items()}
    query[name] = [state[f"view-{name}"] or getattr(accuracy.View, name)]
    state.view = accuracy.decode(query)[0]
    state.view_notices = ()


def choose(place, name, label, widget="selectbox"):
    """A select box for one input of the view, with what the quantity leaves to choose."""
    known = accuracy.choices(state.view.quantity)[name]
    key, value = f"view-{name}", getattr(state.view, name)
    if state.get(key) != value:
        state[key] = value
    getattr(place, widget)(
        label,
        list(known),
        format_func=lambda each: known.get(each, each),
        key=key,
        on_change=asked,
        args=(name,),
    )


with st.sidebar:
    choose(st, "quantity", "Quantity")
    choose(st, "engine", "Engine")
    choose(st, "device", "Device")
    choose(st, "rows", "Measurements")
    controls.write_address(accuracy.encode(state.view))
    st.markdown(f":small[{accuracy.LABELS}]")

view = state.view
controls.show_notices(state.view_notices)
title, detail = summary.answer()
st.title(title, anchor=False)
if "scenario" in state:
    with st.container(border=True, key="your-plan"):
        st.markdown("**Can I trust this for my plan?**")
        st.text(explain.trust(evaluate(state.scenario)))
st.markdown(detail)
with st.container(horizontal=True, key="figures", gap="small"):
    for name, (value, ideal, explained) in summary.headlines().items():
        st.metric(
            name, value, ideal, help=explained, width=142, delta_color="off", delta_arrow="off"
        )

rows = accuracy.selected(view)
quantity = accuracy.QUANTITIES[view.quantity]
st.subheader(f"{quantity.name}: {quantity.what}", anchor=False)
if rows.empty:
    st.markdown("No measurement is of this engine, this device and this kind. Widen the filter.")
else:
    st.markdown(f"{scatter.errors_in_words(rows, 'predicted').capitalize()}.")
    if note := scatter.aside(rows):
        st.markdown(note)
    pictures = [scatter.scatter(view, rows, "predicted")]
    if rows["ideal"].notna().any():
        pictures.append(scatter.scatter(view, rows, "ideal"))
    controls.show_pictures(pictures)
    st.markdown(
        ":small[Dashed: predicted as measured. Grey: the stated 80 % band, where there is one. "
        "The table of the measurements links each to its source.]"
    )

    choose(st, "by", "Error by", "segmented_control")
    groups = scatter.bars(view, rows)
    left, right = st.columns(2, gap="large")
    with left:
        controls.show_picture(groups)
    with right:
        st.dataframe(groups.frames["table"], hide_index=True, key="groups")

    with controls.folded("rows-box", f"The measurements ({len(rows)})") as open_:
        if open_:
            table = accuracy.table(rows)
            st.dataframe(
                table,
                hide_index=True,
                key="rows",
                column_config={"source": st.column_config.LinkColumn("source")},
            )
            tables.download(table, view.quantity)

if rows["generation"].nunique() > 1:
    st.subheader("By generation of engine, the worst first", anchor=False)
    st.dataframe(accuracy.generations(rows), hide_index=True, key="generations", height="content")
st.subheader("All quantities", anchor=False)
st.dataframe(accuracy.overview(), hide_index=True, key="overview", height="content")
st.subheader("Simulated against published runs", anchor=False)
st.markdown(
    "The same requests, served by the simulator that checks a sizing: 300 each, up to the whole "
    "pool in use and two hundred waiting. An error of a step adds up in a queue."
)
st.dataframe(
    runs.table(),
    hide_index=True,
    key="runs",
    height="content",
    column_config={"source": st.column_config.LinkColumn("source")},
)
st.subheader("Sizing", anchor=False)
for sentence in checked.sentences():
    st.markdown(f"- {sentence}")
with controls.folded("sizing-box", "Sizing: measured beside predicted") as open_:
    if open_:
        for title, compared in checked.tables().items():
            st.markdown(f"**{title}**")
            st.dataframe(compared, hide_index=True, key=f"sizing-{title}")
with controls.folded("about", "What the model is, and where it is weak") as open_:
    if open_:
        st.markdown(summary.about())
