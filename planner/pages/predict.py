"""Predict first, on any page: a question in the link, guesses in this session, then the answer.

A page's question is read where its address is read and written where that is written. Guesses stay
in the session of this browser tab, but for those of a room (`classroom`).
"""

from dataclasses import dataclass, replace
from urllib.parse import urlencode

import streamlit as st

from planner.charts.picture import Picture, marked
from planner.inputs import question
from planner.inputs.question import HIDDEN, Figure, Question
from planner.inputs.scenario import encode
from planner.lesson import path, room
from planner.lesson import plan_questions as plan_page
from planner.lesson.questions import read_number
from planner.pages import classroom, screen
from planner.serving import Evaluation

TEXT = {False: 20, True: 17}  # size of words on a chart for a room, by whether it is of a plan
METRIC_WIDTH = {False: 165, True: 340}  # by presenting; two fit beside each other on a phone
# Of a room's screen for a chart: on most pages, on those with more beside it, and under a question.
SHARE, LESS, ASKED_SHARE = 0.37, {"plan": 0.3, "fit": 0.25}, 0.3
WAITING = "Shown with the answer."


def split(query):
    """A page's own parameters, and those of its question."""
    return question.split(query)


def read(page: str, shared, askable) -> tuple:
    """Take the question from the address; what of it could not be taken.

    askable: ids of the page's figures that a link may ask for.
    """
    state = st.session_state
    found, notices = question.decode(shared, askable)
    before = asked_on(page)
    if found.parameters() != before.parameters():
        state[f"question-{page}"] = found
    return notices


def asked_on(page: str) -> Question:
    """The question of a page; an empty one where nothing is asked."""
    return st.session_state.get(f"question-{page}", Question())


def suffix(page: str, **more: str) -> str:
    """What follows a page's own parameters in its address: its question, and `more`."""
    shared = {**asked_on(page).parameters(), **more}
    return "&" + urlencode(shared, safe=",") if shared else ""


def waiting(place=st):
    """What stands in the place of what must not be seen yet."""
    place.caption(f":material/visibility_off: {WAITING}")


@dataclass(frozen=True)
class Asked:
    """A page under its question.

    query: the page's own state as a link writes it. own: the plan of the Plan page.
    """

    page: str
    question: Question
    known: tuple[Figure, ...]
    query: str
    own: Evaluation | None = None

    @property
    def hidden(self):
        return self.question.hidden(self.known)

    def metrics(self, width=METRIC_WIDTH):
        """The figures, side by side; a question mark where a guess is due. width: by presenting."""
        with st.container(horizontal=True, key="figures", gap="small"):
            for figure in self.known:
                if figure.options:  # the verdict, which stands above them
                    continue
                shut = figure.id in self.hidden
                unit = "" if figure.unit in figure.text else figure.unit
                aside = f" ({unit})" if unit and screen.presenting() else ""
                st.metric(
                    figure.label + aside,
                    HIDDEN if shut else figure.text,
                    (figure.note if not shut else "") or (not aside and unit) or None,
                    delta_color="off",
                    delta_arrow="off",
                    help=None if shut else figure.help or None,
                    width=width[screen.presenting()],
                )

    def allows(self, gives) -> bool:
        """Whether what gives those figures away may be seen."""
        return self.hidden.isdisjoint(gives)

    def shows(self, gives, place=st) -> bool:
        """Whether what gives those figures away may be seen; says so where it may not."""
        if not self.allows(gives):
            waiting(place)
        return self.allows(gives)

    def answered(self, place) -> bool:
        """Whether nothing is hidden any more; says so where something is."""
        return self.shows(self.hidden, place)

    def specification(self, picture: Picture, dark: bool) -> dict | None:
        """A chart's specification with the guesses on it; None where it must wait for them."""
        guesses = self.question.guesses
        if self.own:
            gives = plan_page.GIVES.get(picture.id, ())
            marks = plan_page.marks(self.own, picture.id, guesses, *picture.bounds[:2])
        else:
            gives = picture.gives
            marks = [
                question.mark(guesses[name], *ends)
                for name, ends in picture.axes.items()
                if name in guesses
            ]
        if not self.allows(gives):
            return None
        alone = ASKED_SHARE if self.question.ask or self.question.say else SHARE
        share = LESS.get(self.page, alone)
        spec = screen.sized(picture.specification(dark), TEXT[bool(self.own)], share)
        rows = [{"at": each.at, "label": each.label} for each in marks]
        return marked(spec, rows, picture.channel, dark) if rows else spec

    # --- making a question ---

    def share(self, box=None):
        """Make a link of this state with figures hidden, in the box given or an expander."""
        box = box or st.expander("Share as a question", key="share", on_change="rerun")
        if not box.open:
            return
        able = {figure.id: figure.label for figure in self.known if figure.askable}
        with box:
            ask = st.multiselect(
                "Hide until there is a guess",
                list(able),
                format_func=able.get,
                key=f"share-ask-{self.page}",
            )
            say = st.text_input(
                "Say (plain text)", max_chars=question.SAY_LENGTH, key=f"share-say-{self.page}"
            )
            together = st.text_input(
                "Room, for a class that guesses together (a word, or empty)",
                key=f"share-room-{self.page}",
                placeholder=st.session_state.setdefault("room-word", room.word()),
            )
            named, _ = question.decode({"room": [together]}, ())
            made = Question(
                tuple(name for name in able if name in ask), question.plain(say), room=named.room
            )
            if made.ask:
                link = f"{self.query}&{urlencode(made.parameters(), safe=',')}"
                st.code(f"{screen.address()}?{link}", language=None, wrap_lines=True)
            else:
                st.caption("Choose a figure, and its link appears here.")


NOTHING_ASKED = Asked("", Question(), (), "")


def plan(own: Evaluation) -> Asked:
    """The Plan page under its question: draws the question and takes the guesses."""
    query = encode(own.plan.scenario)
    screen.dress(query + suffix("plan", **screen.parameters()))
    return ask("plan", plan_page.asked(own), query, own)


def ask(page: str, figures: tuple[Figure, ...], query: str, own: Evaluation | None = None) -> Asked:
    """Draw a page's question, if it has one, and take the guesses made so far into account."""
    asked = asked_on(page)
    if not asked.ask and not asked.say:
        return Asked(page, asked, figures, query, own)
    known = {figure.id: figure for figure in figures}
    with st.container(border=True, key="question"):
        if asked.room:
            asked = classroom.entered(page, asked)
        if asked.say:
            st.text(asked.say)
        waiting = [known[name] for name in asked.waiting if name in known]
        with st.container(key="answers", horizontal=screen.presenting(), gap="small"):
            if waiting and not (asked.room and screen.presenting()):
                _form(page, waiting)
            for name in asked.ask:
                if name in known:
                    _compared(asked, known[name])
            _told(page, asked)
        if asked.room:
            classroom.show(page, asked, known, query)
    return Asked(page, asked, figures, query, own)


def _compared(asked, figure):
    """A guess, beside the answer once that may be told; the answer alone where it was revealed."""
    guess = asked.guesses.get(figure.id)
    if figure.id in asked.open:
        if guess is not None:
            given = guess if figure.options else f"{guess:,.6g} {figure.unit}"
            st.text(f"{figure.label}: your guess is {given}".rstrip() + ".")
    elif guess is not None:
        st.text(question.compared(figure, guess))
    elif not screen.presenting():  # there the figure itself is large enough
        st.text(f"{figure.label}: {figure.text}.")


def _told(page, asked):
    """What the path has to say once there were guesses; a room may be shown it without one."""
    stop = path.stop(page, asked.stop)
    nothing_to_guess = bool(stop) and not asked.ask
    if stop and not asked.open and (asked.ask or asked.revealed):
        st.markdown(stop.tell)
    if asked.revealed:
        return
    with st.container(horizontal=True, width="content", vertical_alignment="bottom"):
        if nothing_to_guess or (asked.open and screen.presenting()):
            st.button("Reveal", key=f"reveal-{page}", on_click=reveal, args=(page,))
        if asked.ask and screen.presenting() and not asked.room:
            st.button("Guess together", key=f"together-{page}", on_click=_together, args=(page,))


def reveal(page: str):
    """Show a page's answer, guessed or not; in a room to all who are in it."""
    asked = asked_on(page)
    if asked.room:
        classroom.opened(page, asked)
    st.session_state[f"question-{page}"] = replace(asked, revealed=True)


def _together(page):
    """Open a room for a page's question."""
    st.session_state[f"question-{page}"] = replace(asked_on(page), room=room.word(), revealed=False)


def _form(page, waiting):
    with st.form(f"guess-{page}", border=False):
        if not screen.presenting():
            st.markdown("**Your guess first**")
        with st.container(horizontal=True, vertical_alignment="bottom"):
            for figure in waiting:
                key = f"guess-{page}-{figure.id}"
                if figure.options:
                    st.radio(figure.label, figure.options, index=None, horizontal=True, key=key)
                else:
                    unit = f" ({figure.unit})" if figure.unit else ""
                    st.text_input(f"{figure.label}{unit}", key=key, width=190)
            st.form_submit_button("Show the answer", on_click=_guess, args=(page, waiting))
        for figure in waiting:
            problem = st.session_state.pop(f"problem-{page}-{figure.id}", None)
            if problem:
                st.caption(f":red[{figure.label}: {problem}]")


def _guess(page, waiting):
    state = st.session_state
    for figure in waiting:
        given = state[f"guess-{page}-{figure.id}"]
        if not given:
            continue
        try:
            guess = given if figure.options else read_number(given)
        except ValueError as problem:
            state[f"problem-{page}-{figure.id}"] = str(problem)
            continue
        asked = asked_on(page)
        if asked.room:
            classroom.took(page, asked, figure.id, guess)
        state[f"question-{page}"] = asked.guessed(figure.id, guess)
