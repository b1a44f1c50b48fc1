"""Page set-up and navigation, and beside the pages the plan over HTTP; nothing else."""

import streamlit as st

if __name__ == "__main__":  # a page is asked for
    from planner.lesson import words
    from planner.pages import failed, screen
    from planner.pages.turns import turn

    st.set_page_config(page_title="LLM capacity planner", layout="wide", initial_sidebar_state=320)
    screen.frame()
    plan = [
        st.Page("planner/pages/plan.py", title="Plan", default=True),
        st.Page("planner/pages/size.py", title="Size"),
        st.Page("planner/pages/compare.py", title="Compare"),
        st.Page("planner/pages/log.py", title="Log"),
        st.Page("planner/pages/accuracy.py", title="Accuracy"),
    ]
    learn = [
        st.Page(f"planner/pages/{page.id}.py", title=page.title) for page in words.pages().values()
    ]
    with turn():
        st.navigation({"": plan, "Learn": learn}, position="top").run()
    failed.ended()
else:  # `streamlit run` starts the server
    from starlette.middleware import Middleware

    from planner.pages import failed
    from planner.web import api, stage
    from planner.web.guard import Guard
    from planner.web.options import options
    from planner.web.preview import Previews

    below = st.get_option("server.baseUrlPath")
    st.secrets.load_if_toml_exists()  # where a host has no environment variables to set
    try:
        chosen = options()
    except ValueError as problem:
        raise SystemExit(str(problem)) from None
    around = [Middleware(each, options=chosen, base=below) for each in (Guard, Previews)]
    routes = [*api.routes(below, chosen), *stage.routes(below)]
    app = st.App(
        __file__,
        routes=routes,
        middleware=around,
        lifespan=stage.warmed,
        on_script_error=failed.show,
    )
