"""What is below the charts of the Plan page: tabs, each worked out only while it is open."""

import streamlit as st

from planner import answer, describe, explain
from planner.charts import tables as plan_tables
from planner.charts.picture import Picture
from planner.pages import tables
from planner.pages.predict import Asked
from planner.reports import plan_report
from planner.serving import Evaluation

# One that is short, or not there yet, takes as much room, so that choosing it moves nothing.
STILL = "<style>@media screen { .st-key-more [role=tabpanel] { min-height: 80vh } }</style>"


def tabs(evaluation: Evaluation, asked: Asked, pictures: list[Picture]):
    """The tabs of a plan; all but the assumptions wait for a guess where one is due."""
    st.html(STILL)
    places = st.tabs(list(SHOWN), key="more", on_change="rerun")
    for place, (label, show) in zip(places, SHOWN.items(), strict=True):
        if place.open:
            with place:
                if label == ASSUMPTIONS or asked.answered(st):
                    show(evaluation, pictures)


def _assumptions(evaluation, _):
    st.markdown("\n".join(f"- {each}" for each in answer.limits(evaluation)))


def _arithmetic(evaluation, _):
    for each in plan_report.equations(evaluation):
        st.markdown(f"**{each.title}** = {each.symbols}  \n`{each.numbers}` = **{each.result}**")


def _tables(_, pictures):
    tables.of_pictures(pictures)


def _engine(evaluation, _):
    st.text(explain.memory_help(evaluation))
    if evaluation.ideal:
        st.markdown("No engine is chosen: weights and cache have all of it to themselves.")
        return
    st.text(evaluation.reserve.line())
    st.dataframe(plan_tables.reserve(evaluation), hide_index=True, key="reserve-table")
    st.dataframe(plan_tables.engine(evaluation), hide_index=True, key="engine-table")


def _model(evaluation, _):
    model = evaluation.plan.model
    st.markdown(describe.model_sentence(model))
    st.dataframe(plan_tables.layers(evaluation.plan), hide_index=True, key="layers-table")
    st.caption(f"Source: {model.source or 'this link'}")


ASSUMPTIONS = "Assumptions and limits"
SHOWN = {
    ASSUMPTIONS: _assumptions,
    "Arithmetic": _arithmetic,
    "Tables": _tables,
    "Engine memory": _engine,
    "Model": _model,
}
