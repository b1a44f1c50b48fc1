"""The Accuracy page: predicted against measured, for every measurement the project carries."""

import streamlit as st

from planner import charts_accuracy, evidence, evidence_drawings, evidence_words
from planner.pages import controls, tables

state = st.session_state
if controls.entered("accuracy"):
    query = controls.address()
    if query or "view" not in state:
        state.view, state.view_notices = evidence.decode(query)


def asked(name):
    """Take one input; what no longer goes with the quantity falls back to all."""
    query = {key: [value] for key, value in evidence.as_link(state.view).items()}
    query[name] = [state[f"view-{name}"] or getattr(evidence.View, name)]
    state.view = evidence.decode(query)[0]
    state.view_notices = ()


def choose(place, name, label, widget="selectbox"):
    """A select box for one input of the view, with what the quantity leaves to choose."""
    known = evidence.choices(state.view.quantity)[name]
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
    controls.write_address(evidence.encode(state.view))
    st.markdown(f":small[{evidence.LABELS}]")

view = state.view
controls.show_notices(state.view_notices)
title, detail = evidence_words.answer()
st.title(title, anchor=False)
st.markdown(detail)
with st.container(horizontal=True, key="figures", gap="small"):
    for name, (value, ideal, explained) in evidence_words.headlines().items():
        st.metric(
            name, value, ideal, help=explained, width=142, delta_color="off", delta_arrow="off"
        )

rows = evidence.selected(view)
quantity = evidence.QUANTITIES[view.quantity]
st.subheader(f"{quantity.name}: {quantity.what}", anchor=False)
if rows.empty:
    st.markdown("No measurement is of this engine, this device and this kind. Widen the filter.")
else:
    st.markdown(f"{evidence_drawings.told(rows, 'predicted').capitalize()}.")
    if note := evidence_drawings.aside(rows):
        st.markdown(note)
    drawings = {
        "Predicted over measured": (
            charts_accuracy.predicted,
            evidence_drawings.scatter(view, rows, "predicted"),
        )
    }
    if rows["ideal"].notna().any():
        ideal = evidence_drawings.scatter(view, rows, "ideal")
        drawings["The ideal formula over measured"] = (charts_accuracy.ideal, ideal)
    controls.show_drawings(drawings.items())
    st.markdown(
        ":small[Dashed: predicted as measured. Grey: the stated 80 % band, where there is one. "
        "The table of the measurements links each to its source.]"
    )

    choose(st, "by", "Error by", "segmented_control")
    groups = evidence_drawings.bars(view, rows)
    left, right = st.columns(2, gap="large")
    with left:
        controls.show_drawing("Error by group", charts_accuracy.bars, groups)
    with right:
        st.dataframe(groups.frames["table"], hide_index=True, key="groups")

    with controls.folded("rows-box", f"The measurements ({len(rows)})") as open_:
        if open_:
            table = evidence.table(rows)
            st.dataframe(
                table,
                hide_index=True,
                key="rows",
                column_config={"source": st.column_config.LinkColumn("source")},
            )
            tables.download(table, view.quantity)

st.subheader("All quantities", anchor=False)
st.dataframe(evidence.overview(), hide_index=True, key="overview", height="content")
st.subheader("What the model is, and where it is weak", anchor=False)
st.markdown(evidence_words.about())
