"""The plan to take along: reports, pictures of the charts, start commands, ways to call it."""

import json
import shlex

import streamlit as st

from planner import commands, report, report_page
from planner.pages import screen
from planner.scenario import encode
from planner.serving import Served


def show(served: Served):
    """Downloads of the plan, and the commands that start it. What takes long is made on a click."""
    at = screen.address()
    files = (
        ("Web page", "plan.html", "text/html", lambda: report_page.as_html(served, at)),
        ("Markdown", "plan.md", "text/markdown", lambda: report.as_markdown(served, at)),
        ("CSV", "plan.csv", "text/csv", lambda: report.as_csv(served)),
        ("JSON", "plan.json", "application/json", lambda: _json(served)),
        (
            "Charts, SVG and PNG",
            "charts.zip",
            "application/zip",
            lambda: report_page.pictures(served),
        ),
    )
    with st.container(horizontal=True):
        for label, name, mime, made in files:
            st.download_button(
                label, made, file_name=name, mime=mime, key=f"take-{name}", on_click="ignore"
            )
    for each in commands.of(served):
        st.code(each.script(), language="bash", wrap_lines=True)
    query = encode(served.plan.scenario)
    over_http = f"{at.rstrip('/')}/api/plan?{query}"
    st.markdown("The same plan in a terminal, and over HTTP from this server:")
    st.code(
        f"{shlex.join(['python', '-m', 'planner', query, '--json'])}\n"
        f"{shlex.join(['curl', over_http])}",
        language="bash",
    )


def _json(served):
    return json.dumps(report.as_dict(served), indent=2, allow_nan=False, ensure_ascii=False)
