"""Diagnose: a card of what users see; name the phase and two remedies, then look."""

from html import escape

import streamlit as st

from planner.lesson import practice, words
from planner.pages import learn, screen
from planner.pages.path import stop

GIVEN = "diagnosed"  # card -> the answers given, first to last


def looked(card):
    """Take the answer for a card, if it is whole."""
    phase, remedies = (st.session_state[f"{part}-{card}"] for part in ("phase", "remedies"))
    if phase and len(remedies) == practice.REMEDIES:
        st.session_state[GIVEN].setdefault(card, []).append((phase, tuple(remedies)))
    else:
        st.session_state["diagnose-problem"] = "Choose a phase and two remedies."


def show_answer(card):
    """A room is shown the answer without giving one."""
    st.session_state[GIVEN].setdefault(card, []).append(None)


def entry(card):
    """The place for an answer."""
    with st.form(f"diagnose-{card.id}", border=False):
        st.radio(
            "Phase", list(words.PHASES.values()), index=None, horizontal=True,
            key=f"phase-{card.id}",
        )  # fmt: skip
        st.multiselect(
            "Two remedies", list(words.remedies()), key=f"remedies-{card.id}",
            format_func=lambda name: words.remedies()[name].text,
            max_selections=practice.REMEDIES,
        )  # fmt: skip
        st.form_submit_button("Look", on_click=looked, args=(card.id,))
    if problem := st.session_state.pop("diagnose-problem", None):
        st.caption(f":red[{problem}]")
    if screen.presenting() and not stop("diagnose"):  # whose question has a Reveal of its own
        st.button("Reveal", key="reveal", on_click=show_answer, args=(card.id,))


def marked(card, phase, remedies):
    """What was right in an answer and what was not."""
    good = ":green[:material/check_circle:]"
    bad = ":red[:material/cancel:]"
    st.markdown(f"{good if phase == card.phase else bad} Phase: {phase}")
    for name in remedies:
        remedy = words.remedies()[name]
        sign = good if remedy.symptom == card.symptom else bad
        st.markdown(f"{sign} {remedy.text}: acts on {remedy.phase}. {remedy.why}")


st.session_state.setdefault(GIVEN, {})
visit = learn.opened("diagnose")
learn.moved(visit, "card")
asked = learn.figures(visit)
card = practice.cards()[visit.values["card"]]
with st.container(border=True, key="card"):
    st.html(f"<h2>{escape(card.title)}</h2><p class=symptom>{escape(card.text)}</p>")
    given = st.session_state[GIVEN].get(card.id, [])
    done = [
        each for each in given if each is None or (each[0] == card.phase and card.right(each[1]))
    ]
    if given and given[-1]:
        marked(card, *given[-1])
    over = bool(done) or len(given) >= 2 or asked.question.revealed
    if over:
        st.markdown(f"**{card.phase.capitalize()}.** {card.why}")
    else:
        if given:
            st.markdown("Not yet. One more try: what has to happen before what is slow?")
        entry(card)
right = sum(
    any(each and each[0] == practice.cards()[name].phase and practice.cards()[name].right(each[1])
        for each in answers)
    for name, answers in st.session_state[GIVEN].items()
)  # fmt: skip
st.markdown(f"{right} of {len(practice.cards())} cards right.")
if over:
    if not screen.presenting():  # a room has been told which
        for each in learn.remedies():
            each.draw()
    learn.closed(visit, asked)
else:
    learn.closed(visit, asked, early=True)
