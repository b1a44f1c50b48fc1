"""Pictures that move or are moved: browser components that play what a view's scenes hold."""

from html import escape

import streamlit as st

from planner.lesson.view import Scene
from planner.pages import controls, predict, screen
from planner.pages.components import component

_components = {id: component(id, "transport") for id in ("player", "clock", "memory")}
_components["equation"] = component("equation")


def show(scene: Scene, asked: predict.Asked, moved):
    """A scene under its title, unless it must wait.

    moved: called with the name of a parameter and its new value as text, where one is moved in it.
    """
    with st.container(key=f"scene-{scene.id}"):
        told = asked.allows(scene.gives)
        words = controls.UNSEEN.format(escape(scene.alt)) if told else ""
        st.html(f"<b>{escape(scene.title)}</b>{words}")
        if not told:
            predict.waiting()
            return
        _components[scene.id](
            key=scene.id,
            data={**scene.data, "presenting": screen.presenting()},
            on_value_change=lambda: moved(*_sent(st.session_state[scene.id].value)),
        )


def _sent(value):
    """Name and text of “name=text@moment”, as a component writes what was moved in it."""
    name, _, text = value.partition("@")[0].partition("=")
    return name, text
