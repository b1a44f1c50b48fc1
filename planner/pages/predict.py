"""Predict first, on any page: a question in the link, guesses in this session, then the answer.

A page's question is read where its address is read and written where that is written. Guesses stay
in the session of this browser tab; nothing is stored.
"""

from dataclasses import dataclass
from urllib.parse import urlencode

import streamlit as st

from planner.charts.picture import Picture, marked
from planner.inputs import question
from planner.inputs.question import Figure, Question
from planner.inputs.scenario import encode
from planner.lesson import plan_questions as plan_page
from planner.lesson.questions import read_number
from planner.pages import screen
from planner.serving import Evaluation

HIDDEN = "?"
TEXT = {False: 17, True: 14}  # size of words on a chart for a room, by whether it is of a plan
METRIC_WIDTH = {False: 165, True: 230}  # by presenting; two fit beside each other on a phone
WAITING = "Shown once you have guessed."


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
    if (found.ask, found.say) != (before.ask, before.say):
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
    """A page under its question. `query` is the page's own state as a link writes it."""

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
                st.metric(
                    figure.label,
                    HIDDEN if shut else figure.text,
                    None if shut else figure.note or None,
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
        spec = screen.sized(picture.specification(dark), TEXT[bool(self.own)])
        rows = [{"at": each.at, "label": each.label} for each in marks]
        return marked(spec, rows, picture.channel, dark) if rows else spec

    # --- the Plan page ---

    def verdict(self, answer, detail):
        """Answer and detail, or the question in their place while something is hidden."""
        if not self.hidden:
            return answer, detail
        return "What do you expect?", "The answer shows once you have guessed."

    # --- making a question ---

    def share(self):
        """An expander that makes a link of this state with figures hidden."""
        expander = st.expander("Share as a question", key="share", on_change="rerun")
        if not expander.open:
            return
        able = {figure.id: figure.label for figure in self.known if figure.askable}
        with expander:
            ask = st.multiselect(
                "Hide until there is a guess",
                list(able),
                format_func=able.get,
                key=f"share-ask-{self.page}",
            )
            say = st.text_input(
                "Say (plain text)", max_chars=question.SAY_LENGTH, key=f"share-say-{self.page}"
            )
            made = Question(tuple(name for name in able if name in ask), question.plain(say))
            if made.ask:
                link = f"{self.query}&{urlencode(made.parameters(), safe=',')}"
                st.code(f"{screen.address()}?{link}", language=None, wrap_lines=True)
            else:
                st.caption("Choose a figure, and its link appears here.")


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
        if asked.say:
            st.text(asked.say)
        waiting = [known[name] for name in asked.open if name in known]
        if waiting:
            _form(page, waiting)
        for name, guess in asked.guesses.items():
            if name in known:
                st.text(question.compared(known[name], guess))
    return Asked(page, asked, figures, query, own)


def _form(page, waiting):
    with st.form(f"guess-{page}", border=False):
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
        state[f"question-{page}"] = asked_on(page).guessed(figure.id, guess)
