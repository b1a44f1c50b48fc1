"""The Plan page: the answer, its figures, its pictures, its reasons, its tables."""

import streamlit as st

from planner import charts, sweep, words, worked
from planner.pages import controls, predict

scenario, notices = controls.scenario()

with st.sidebar:
    controls.model()
    controls.number("concurrency")
    controls.number("context")
    controls.device()
    controls.number("bandwidth")
    controls.number("memory")
    controls.number("peak")
    controls.link()
    controls.examples()

pair = sweep.variants(scenario)
own = sweep.own_of(pair)

controls.show_notices(notices)
asked = predict.plan(own)
answer, detail = asked.verdict(*words.verdict(own))
st.title(answer, anchor=False)
st.markdown(detail)
st.caption(words.inputs(own))

with st.container(horizontal=True, key="figures", gap="small"):
    for label, value, explained in asked.figures(words.figures(own)):
        st.metric(label, value, help=explained, width=132)

drawings = {
    "Memory at this load": (charts.memory, sweep.memory(pair)),
    "Time per token": (charts.latency, sweep.latency(scenario, pair)),
    "Where it fits": (charts.fit, sweep.fit(scenario, pair)),
    "What a step is made of": (charts.step, sweep.step(pair)),
}
dark = st.context.theme.type == "dark"
places = [column for _ in range(2) for column in st.columns(2, gap="large")]
for place, (title, (chart, drawing)) in zip(places, drawings.items(), strict=True):
    with place.container(key=f"chart-{chart.__name__}"):
        st.markdown(f"**{title}**")
        spec = asked.drawn(charts.prepared(chart, *drawing.bounds, dark), chart, drawing.bounds)
        if spec is None:
            continue
        st.vega_lite_chart(
            spec={**spec, "datasets": drawing.frames}, key=chart.__name__, alt=drawing.alt
        )

arithmetic = st.expander("The arithmetic", key="arithmetic", on_change="rerun")
if arithmetic.open and asked.answered(arithmetic):
    with arithmetic:
        for each in worked.arithmetic(own):
            st.markdown(
                f"**{each.title}** = {each.symbols}  \n`{each.numbers}` = **{each.result}**"
            )

numbers = st.expander("The numbers", key="numbers", on_change="rerun")
if numbers.open and asked.answered(numbers):
    with numbers:
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

left_out = st.expander("What this leaves out", key="left-out", on_change="rerun")
if left_out.open:
    left_out.markdown(words.LEFT_OUT)

asked.share()
