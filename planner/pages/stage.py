"""The stage on the Plan page: verdict, meter, ways out, figures and charts as one component."""

import hashlib
import json

import streamlit as st

from planner.charts.picture import Picture
from planner.charts.style import themed
from planner.inputs.scenario import encode
from planner.pages import controls, predict, screen
from planner.pages.components import component
from planner.pages.predict import Asked
from planner.stage.film import STOPS_A_FILM
from planner.stage.rest import Rest, sent
from planner.stage.stops import STOPS
from planner.web import static

_stage = component("stage", isolated=False)
TEXTS = {"ways": "Make it fit:", "waits": predict.WAITING}


def show(now: Rest, asked: Asked) -> tuple[Picture, ...]:
    """Put a plan on the stage, less what its question hides; its pictures."""
    scenario, pictures = now.evaluation.plan.scenario, now.pictures
    specifications = {}
    for picture in pictures:
        specification = asked.specification(picture, screen.dark())
        if specification:
            specifications[picture.shape] = themed(specification, screen.dark())
    waiting = frozenset(each.id for each in pictures if each.shape not in specifications)
    film, told = sent(scenario, frozenset(asked.hidden), waiting)
    view = _view(asked, specifications)
    _stage(
        key="stage",
        data={
            "files": {"vega": static.vega(), "film": "film"},
            "texts": TEXTS,
            "presenting": screen.presenting(),
            "film": film,
            # What a film needs; where something is hidden there is none.
            "query": "" if asked.hidden else encode(scenario),
            "numbers": {name: getattr(scenario, name) for name in STOPS},
            "stops_a_film": STOPS_A_FILM,
            "rest": told,
            "view": view,
            "specifications": _unsent(view, specifications),
        },
        on_change_change=_changed,
        on_lacking_change=_lacking,
    )
    return pictures


def _changed():
    """A way out was chosen."""
    controls.change(**st.session_state["stage"].change)


def _lacking():
    """The browser has not what it was sent: it is sent again."""
    st.session_state["stage-sent"] = set()


def _view(asked, specifications):
    """What tells specifications of one shape apart: the ground, a room's type, guesses on them."""
    view = f"{'dark' if screen.dark() else 'light'} {screen.lines() if screen.presenting() else 0}"
    if asked.question.guesses:
        drawn = json.dumps(specifications, sort_keys=True).encode()
        view += f" {hashlib.sha256(drawn).hexdigest()[:12]}"
    return view


def _unsent(view, specifications):
    """The specifications that this session's browser has not, which it keeps."""
    sent = st.session_state.setdefault("stage-sent", set())
    fresh = {shape: each for shape, each in specifications.items() if (view, shape) not in sent}
    sent |= {(view, shape) for shape in fresh}
    return fresh
