"""A plan or comparison to take along: reports, pictures, start commands, ways to call it."""

import json
import shlex

import streamlit as st

from planner.charts.picture import Picture
from planner.compare.comparison import Comparison
from planner.compare.comparison import encode as encode_comparison
from planner.inputs.scenario import encode
from planner.pages import screen
from planner.pages.components import component
from planner.reports import (
    commands,
    comparison_html,
    comparison_report,
    document,
    images,
    plan_html,
    plan_report,
)
from planner.serving import Evaluation

_images = component("copy_image")
FORMS = {
    "html": ("Web page", "html", "text/html"),
    "markdown": ("Markdown", "md", "text/markdown"),
    "csv": ("CSV", "csv", "text/csv"),
    "json": ("JSON", "json", "application/json"),
    "charts": ("Charts, SVG and PNG", "charts.zip", "application/zip"),
}


def show(evaluation: Evaluation, pictures: list[Picture]):
    """Downloads of the plan, and the commands that start it. What takes long is made on a click."""
    at = screen.address()
    _downloads(
        "plan",
        html=lambda: plan_html.as_html(evaluation, at),
        markdown=lambda: document.markdown(plan_report.document(evaluation, at)),
        csv=lambda: plan_report.as_csv(evaluation),
        json=lambda: _json(plan_report.with_sources(evaluation)),
        charts=lambda: images.archive(pictures, plan_html.origin(evaluation, at)),
    )
    query = encode(evaluation.plan.scenario)
    _copy("plan", pictures, query)
    for each in commands.of(evaluation):
        st.code(each.script(), language="bash", wrap_lines=True)
    _elsewhere("plan", f"{at.rstrip('/')}/api/plan?{query}", query)


def show_comparison(found: Comparison, pictures: list[Picture]):
    """Downloads of the comparison, and the same from elsewhere."""
    at, query = screen.address(), encode_comparison(found)
    _downloads(
        "comparison",
        html=lambda: comparison_html.as_html(found, at),
        markdown=lambda: document.markdown(comparison_report.document(found, at)),
        csv=lambda: comparison_report.as_csv(found),
        json=lambda: _json(comparison_report.as_dict(found, plan_report.with_sources)),
        charts=lambda: images.archive(pictures, comparison_html.origin(found, at)),
    )
    _copy("compare", pictures, query)
    _elsewhere("comparison", f"{at.rpartition('/')[0]}/api/compare?{query}", query)


def _downloads(name, **made):
    """A button for each form, which makes its file when it is pressed."""
    with st.container(horizontal=True):
        for form, (label, ending, mime) in FORMS.items():
            st.download_button(
                label,
                made[form],
                file_name=f"{name}.{ending}",
                mime=mime,
                key=f"take-{name}-{form}",
                on_click="ignore",
            )


def _copy(of, pictures, query):
    """A button for each chart, which puts it into the clipboard."""
    named = [{"title": picture.title, "name": picture.id} for picture in pictures]
    _images(key="copy-image", data={"of": of, "charts": named, "query": query})


def _elsewhere(what, over_http, query):
    st.markdown(f"The same {what} in a terminal, and over HTTP from this server:")
    st.code(
        f"{shlex.join(['python', '-m', 'planner', query, '--json'])}\n"
        f"{shlex.join(['curl', over_http])}",
        language="bash",
        wrap_lines=True,
    )


def _json(held):
    return json.dumps(held, indent=2, allow_nan=False, ensure_ascii=False)
