"""Check yourself: questions drawn from a seed, marked as they are answered, with the way to it."""

import streamlit as st

from planner.lesson import questions, words
from planner.lesson.questions import RIGHT, SLIP, NumberQuestion
from planner.pages import learn

COUNT = 12  # questions where no topic is chosen
MARKED = "answers"  # (question, seed) -> mark and what was answered


def answered(question, key):
    """Mark what was entered. The first answer counts; the solution is on screen after it."""
    given = st.session_state[f"answer-{question.id}-{key[1]}"]
    if given is None or given == "":
        return
    if isinstance(question, NumberQuestion):
        try:
            given = questions.read_number(given)
        except ValueError as problem:
            st.session_state[f"problem-{question.id}"] = str(problem)
            return
    st.session_state[MARKED][key] = (question.mark(given), given)


def asked(number, question, key):
    """One question: its text, a place for the answer, and the solution once there was one."""
    marked = st.session_state[MARKED].get(key)
    with st.container(border=True, key=f"question-{question.id}"):
        st.markdown(f"**{number}.** {question.text}")
        if marked is None:
            entry(question, key)
        else:
            solved(question, *marked)


def entry(question, key):
    name = f"answer-{question.id}-{key[1]}"
    with st.form(f"form-{question.id}", border=False):
        if isinstance(question, NumberQuestion):
            st.text_input(f"Answer in {question.unit}", key=name, width=260)
        else:
            texts = [option.text for option in question.options]
            st.radio(
                "Answer", range(len(texts)), format_func=texts.__getitem__, index=None, key=name,
                label_visibility="collapsed",
            )  # fmt: skip
        st.form_submit_button("Answer", on_click=answered, args=(question, key))
    problem = st.session_state.pop(f"problem-{question.id}", None)
    if problem:
        st.caption(f":red[{problem}]")


def solved(question, mark, given):
    if mark == RIGHT:
        st.markdown(":green[:material/check_circle:] **Right.**")
    else:
        st.markdown(":red[:material/cancel:] **Not right.**")
    if isinstance(question, NumberQuestion):
        if mark != RIGHT:
            st.text(f"You wrote {questions.figure(given)} {question.unit}.")
        if mark == SLIP:
            st.markdown(question.slip)
        for line in question.worked:
            st.code(line, language=None, wrap_lines=True)
        st.markdown(question.note)
        return
    chosen = question.options[given]
    st.text(chosen.text)
    st.markdown(chosen.note)
    if not chosen.right:
        right = next(option for option in question.options if option.right)
        st.markdown(f"**{right.text}.** {right.note}")


st.session_state.setdefault(MARKED, {})
visit = learn.opened("check")
learn.moved(visit, "seed", "topic")
seed, topic = visit.values["seed"], visit.values["topic"]
found = questions.quiz(seed, COUNT) if topic == "all" else questions.check(seed, topic)
keys = {question: (question.id, seed) for question in found}
done = [
    st.session_state[MARKED][key][0] for key in keys.values() if key in st.session_state[MARKED]
]
with st.container(horizontal=True, key="figures"):
    st.metric("Right", f"{done.count(RIGHT)} of {len(found)}", width=165)
    st.metric("Answered", f"{len(done)} of {len(found)}", width=165)
page = None
for number, (question, key) in enumerate(keys.items(), 1):
    if question.page != page:
        page = question.page
        st.subheader(words.pages()[page].title, anchor=False)
    asked(number, question, key)
with st.expander("To keep"):
    for each in words.takeaways().values():
        st.markdown(f"- {each.text}")
with st.expander("Often believed, all of it"):
    for each in words.misconceptions().values():
        st.markdown(f"- “{each.claim}” {each.truth}")
learn.closed(visit)
