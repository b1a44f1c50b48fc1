"""The Plan page: the answer, its figures, its pictures, its reasons, its tables."""

import streamlit as st

from planner import charts, sweep, words, worked
from planner.pages import controls, model_dialog

scenario, notices = controls.scenario()

with st.sidebar:
    controls.model()
    if st.button("Another model…", type="tertiary", key="another"):
        model_dialog.open_dialog()
    controls.number("concurrency")
    controls.number("context")
    controls.device()
    controls.number("bandwidth")
    controls.number("memory")
    with controls.folded("precision", "Precision") as open_:
        if open_:
            controls.precision()
    with controls.folded("devices-box", "Devices") as open_:
        if open_:
            controls.number("peak")
            controls.devices()
    st.markdown(f":small[{words.precision(scenario)} · {words.layout(scenario.layout)}]")
    controls.link()
    controls.examples()

pair = sweep.variants(scenario)
own = sweep.own_of(pair)

controls.show_notices(notices)
answer, detail = words.verdict(own)
st.title(answer, anchor=False)
st.markdown(detail)
st.markdown(f":small[{controls.as_text(words.inputs(own))}]")

with st.container(horizontal=True, key="figures", gap="small"):
    for label, value, explained in words.figures(own):
        st.metric(label, value, help=explained, width=132)

drawings = {
    "Memory at this load": (charts.memory, sweep.memory(pair)),
    "Time per token": (charts.latency, sweep.latency(scenario, pair)),
    "Where it fits": (charts.fit, sweep.fit(scenario, pair)),
    "What a step is made of": (charts.step, sweep.step(pair)),
}
if scenario.layout.devices > 1:
    drawings["Memory on each device"] = (charts.devices, sweep.devices(own))
if own.model.experts:
    drawings["Experts read in a step"] = (charts.experts, sweep.experts(scenario))
controls.show_drawings(drawings)

with controls.folded("model-box", "The model") as open_:
    if open_:
        st.markdown(words.model_sentence(own.model))
        st.dataframe(sweep.layers(own), hide_index=True, key="layers-table")
        st.caption(f"Source: {own.model.source or 'this link'}")

with controls.folded("arithmetic", "The arithmetic") as open_:
    if open_:
        for each in worked.arithmetic(own):
            st.markdown(
                f"**{each.title}** = {each.symbols}  \n`{each.numbers}` = **{each.result}**"
            )

with controls.folded("numbers", "The numbers") as open_:
    if open_:
        for title, (chart, drawing) in drawings.items():
            st.markdown(f"**{title}**")
            table = drawing.table()
            st.dataframe(table, hide_index=True, key=f"table-{chart.__name__}")
            st.download_button(
                "Download CSV",
                table.to_csv(index=False),
                file_name=f"{chart.__name__}.csv",
                mime="text/csv",
                key=f"csv-{chart.__name__}",
                on_click="ignore",
            )

with controls.folded("left-out", "What this leaves out") as open_:
    if open_:
        st.markdown(words.LEFT_OUT)
