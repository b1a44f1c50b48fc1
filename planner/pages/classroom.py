"""A class that guesses together: a question's room, as its presenter and its guessers see it."""

import secrets
from dataclasses import replace
from html import escape
from urllib.parse import urlencode

import streamlit as st

from planner import describe
from planner.inputs.question import Figure, Question
from planner.lesson import room
from planner.lesson.room import Rooms
from planner.lesson.words import FRONT
from planner.pages import keep, network, screen

EVERY_S = 2  # how often a presenter's count and a guesser's wait are looked up


@st.cache_resource
def rooms() -> Rooms:
    """The rooms of this server, shared by all who open it; gone with it."""
    return Rooms()


def key(page: str, question: Question) -> str:
    """What a room calls a question: the same for all who opened its link, whatever they move."""
    return f"{page}?{urlencode({**question.parameters(), 'room': ''})}"


def who() -> str:
    """This browser's mark, which it keeps, so that a reload is not one more guesser."""
    mine = st.session_state.setdefault("who", secrets.token_hex(8))
    kept = keep.kept("browser", {})
    if kept is not None and not isinstance(kept.get("who"), str):
        keep.keep("browser", {"who": mine})
    elif kept:
        st.session_state.who = mine = kept["who"]
    return mine


def entered(page: str, question: Question) -> Question:
    """The question with what this browser has guessed before and whether it is open by now."""
    name, mine = key(page, question), who()
    guesses = {**rooms().own(question.room, name, mine), **question.guesses}
    revealed = question.revealed or rooms().revealed(question.room, name)
    if screen.presenting() and question.stop:
        rooms().lead(question.room, question.stop)
    found = replace(question, guesses=guesses, revealed=revealed)
    st.session_state[f"question-{page}"] = found
    return found


def took(page: str, question: Question, figure: str, value: float | str):
    """Give a guess to the room."""
    mine = st.session_state.get("who", "")
    rooms().guess(question.room, key(page, question), mine, figure, value)


def opened(page: str, question: Question):
    """A presenter opens the answer for all."""
    rooms().reveal(question.room, key(page, question))


def show(page: str, question: Question, known: dict[str, Figure], query: str):
    """What the room has guessed, for its presenter; where it stands, for who waits in it."""
    if not screen.presenting():
        wait(page, question)
        return
    left, right = st.columns([3, 1])
    with left:
        _live(page, question, {name: known[name] for name in question.ask if name in known})
    with right:
        st.html(f"<p>Room <b>{escape(question.room)}</b></p>")
        here = f"{query}&{urlencode(question.parameters(), safe=',')}"
        on_path = f"{screen.root()}{FRONT}?room={question.room}"
        address = network.reachable(on_path if question.stop else f"{screen.address()}?{here}")
        if address:
            network.code(address)
        else:
            st.caption("This machine is on no network: nobody else can open the link.")


@st.fragment(run_every=EVERY_S)
def _live(page, question, figures):
    """Count and histograms, as they come in."""
    name = key(page, question)
    st.html(f"<p class=count><b>{rooms().count(question.room, name):,}</b> have guessed</p>")
    for figure in figures.values():
        values = rooms().guesses(question.room, name, figure.id)
        if values:
            st.html(f"<b>{escape(figure.label)}</b>{_bars(figure, values, question.revealed)}")


@st.fragment(run_every=EVERY_S)
def wait(page: str, question: Question):
    """Until the presenter opens the answer or walks on; a room follows along the path."""
    name = key(page, question)
    if not question.revealed and rooms().revealed(question.room, name):
        st.rerun(scope="app")
    ahead = rooms().stop(question.room)
    if ahead and ahead != question.stop:
        st.session_state.follow = ahead, question.room
        st.rerun(scope="app")
    if not question.ask:
        st.caption(f"Room {question.room}: this page follows the presenter.")
    elif not question.revealed:
        count = rooms().count(question.room, name)
        have = "1 has guessed" if count == 1 else f"{count:,} have guessed"
        st.caption(f"Room {question.room}: {have}. The answer opens for all at once.")


def _bars(figure, values, told):
    """A histogram in HTML; the truth is drawn in once it may be told."""
    if figure.options:
        shares = [(option, values.count(option)) for option in figure.options]
        most = max(count for _, count in shares) or 1
        rows = "".join(
            f"<tr><th scope=row>{escape(option)}{' ✓' if told and option == figure.text else ''}"
            f"</th><td><i style='width: {70 * count / most:.0f}%'></i> {count:,}</td></tr>"
            for option, count in shares
        )
        return f"<table class=shares>{rows}</table>"
    found = room.histogram(values, figure.value if told else None)
    most = max(each.count for each in found.bins)
    columns = "".join(
        f"<i style='height: {100 * each.count / most:.0f}%' title='{each.count:,}'></i>"
        for each in found.bins
    )
    ends = [describe.significant(each) for each in (found.bins[0].low, found.bins[-1].high)]
    truth = ""
    if told:
        at = 100 * found.place(figure.value)
        truth = f"<b class=truth style='left: {at:.1f}%'>{escape(figure.text)}</b>"
    unit = f" {escape(figure.unit)}" if figure.unit else ""
    return (
        f"<div class=bars>{columns}{truth}</div>"
        f"<p class=ends><span>{ends[0]}{unit}</span><span>{ends[1]}{unit}</span></p>"
    )
