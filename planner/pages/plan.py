"""The Plan page: the answer, its figures, its pictures, its reasons, its tables."""

import streamlit as st

from planner import answer, describe
from planner.charts import tables as plan_tables
from planner.pages import (
    controls,
    inputs,
    path,
    pinned,
    pins,
    predict,
    screen,
    stage,
    start,
    tables,
    take_along,
)
from planner.reports import plan_report
from planner.serving import evaluate

path.follow()
scenario, notices = controls.scenario()

with st.sidebar:
    inputs.show()
    controls.link()
    if not predict.asked_on("plan").open:  # a comparison would tell what is asked
        pinned.button()
    screen.switch(turning=bool(path.stop("plan")))
    controls.examples(told=not predict.asked_on("plan").open, **pins.parameters())

evaluation = evaluate(scenario)
own = evaluation.plan

controls.show_notices(notices)
asked = predict.plan(evaluation)
warning = answer.engine_warning(evaluation)
if warning:
    st.warning(warning, icon=":material/warning:")
if not asked.hidden:
    start.cards(scenario)
    start.engines(evaluation)
pictures = stage.show(evaluation, asked)

with controls.folded("model-box", "The model") as open_:
    if open_ and asked.answered(st):
        st.markdown(describe.model_sentence(own.model))
        st.dataframe(plan_tables.layers(own), hide_index=True, key="layers-table")
        st.caption(f"Source: {own.model.source or 'this link'}")

if not evaluation.ideal:
    with controls.folded("reserve-box", "Engine memory breakdown") as open_:
        if open_ and asked.answered(st):
            st.text(evaluation.reserve.line())
            st.dataframe(plan_tables.reserve(evaluation), hide_index=True, key="reserve-table")
            st.dataframe(plan_tables.engine(evaluation), hide_index=True, key="engine-table")

with controls.folded("arithmetic", "The arithmetic") as open_:
    if open_ and asked.answered(st):
        for each in plan_report.equations(evaluation):
            st.markdown(
                f"**{each.title}** = {each.symbols}  \n`{each.numbers}` = **{each.result}**"
            )

with controls.folded("numbers", "The numbers") as open_:
    if open_ and asked.answered(st):
        tables.of_pictures(pictures)

with controls.folded("take-along", "Export") as open_:
    if open_ and asked.answered(st):
        take_along.show(evaluation, pictures)

with controls.folded("left-out", "Assumptions and limits") as open_:
    if open_:
        st.markdown("\n".join(f"- {each}" for each in answer.limits(evaluation)))

asked.share()
path.bar("plan")
