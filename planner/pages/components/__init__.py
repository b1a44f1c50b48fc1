"""Browser components from the .html, .css and .js files beside this one.

A page sends the address of a component, not its script: the browser loads that once (`web.static`).
"""

import streamlit as st

from planner.web import static

LOADER = """const at = location.origin + location.pathname.replace(/[^/]*$/, "") + "{address}"
export default async (component) => {{
  const file = await import(at)
  return file.mount(component, file.default)
}}"""


def component(name: str, *shared: str, isolated: bool = True):
    """The component of that name, ready to be mounted on a page.

    shared: files of the same kinds whose text comes before its own, where several need the same.
    isolated: whether neither its style nor the page's reaches the other.
    """
    loader = LOADER.format(address=static.address(*shared, name))
    return st.components.v2.component(f"planner_{name}", isolate_styles=isolated, js=loader)
