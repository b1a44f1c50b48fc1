"""Check yourself: questions drawn from a seed, marked as they are answered, with the way to it.

Each question has two tries and a hint. What was answered stays in the reader's browser.
"""

import streamlit as st

from planner.lesson import questions, states, words
from planner.lesson.questions import RIGHT, SLIP, NumberQuestion
from planner.pages import keep, learn, predict, screen

COUNT = 12  # questions where no topic is chosen
KEPT = 200  # questions whose answers a browser keeps


def own_numbers(query, values):
    """Numbers of the reader's own where the link names none; an old link without means the first.

    The seed is in the address from then on, so a reload keeps it.
    """
    latest = str(questions.EDITION)
    if "seed" in query or (query and values["edition"] != latest):
        return values
    return {**values, "edition": latest, "seed": states.own_seed()}


def answers() -> dict[str, list]:
    """What was answered, by question and seed, in the order of the tries."""
    return st.session_state.get("kept-answers") or {}


def name_of(question, seed):
    return f"{question.id}:{seed}"


def answered(question, seed):
    """Take what was entered as one more try, or say why it is no answer."""
    given = st.session_state[f"answer-{question.id}-{seed}"]
    if given is None or given == "":
        return
    if isinstance(question, NumberQuestion):
        try:
            questions.read_number(given)
        except ValueError as problem:
            st.session_state[f"problem-{question.id}"] = str(problem)
            return
    name, before = name_of(question, seed), answers()
    now = {**before, name: [*before.get(name, []), given]}
    keep.keep("answers", dict(list(now.items())[-KEPT:]))


def asked(number, question, seed):
    """One question: its text, the answers so far, and the solution once there is no try left."""
    given = answers().get(name_of(question, seed), [])
    standing = questions.standing(question, given)
    with st.container(border=True, key=f"question-{question.id}"):
        st.markdown(f"**{number}.** {question.text}")
        for mark, each in zip(standing.marks, given, strict=False):
            verdict(question, mark, each)
        if standing.done:
            solved(question)
        else:
            if standing.marks:
                st.markdown(f"One more try. {question.hint}")
            entry(question, seed, hinted=bool(standing.marks))
    return standing


def entry(question, seed, hinted):
    name = f"answer-{question.id}-{seed}"
    with st.form(f"form-{question.id}", border=False):
        if isinstance(question, NumberQuestion):
            st.text_input(f"Answer in {question.unit}", key=name, width=260)
        else:
            texts = [option.text for option in question.options]
            st.radio(
                "Answer", range(len(texts)), format_func=texts.__getitem__, index=None, key=name,
                label_visibility="collapsed",
            )  # fmt: skip
        st.form_submit_button("Answer", on_click=answered, args=(question, seed))
    problem = st.session_state.pop(f"problem-{question.id}", None)
    if problem:
        st.caption(f":red[{problem}]")
    if not hinted and st.toggle("Hint", key=f"hint-{question.id}-{seed}"):
        st.caption(question.hint)


def verdict(question, mark, given):
    """Whether one answer was right, and what it may have overlooked."""
    number = isinstance(question, NumberQuestion)
    shown = f"{given} {question.unit}" if number else question.options[given].text
    if mark == RIGHT:
        st.markdown(":green[:material/check_circle:] **Right.**")
    else:
        st.markdown(":red[:material/cancel:] **Not right.**")
    st.text(shown)
    if mark == SLIP:
        st.markdown(question.slip)
    if not number:
        st.markdown(question.options[given].note)


def solved(question):
    """The way to the answer."""
    if isinstance(question, NumberQuestion):
        for line in question.worked:
            st.code(line, language=None, wrap_lines=True)
        st.markdown(question.note)
        return
    right = next(option for option in question.options if option.right)
    st.markdown(f"**{right.text}.** {right.note}")


def result(found, standings, values):
    """What came of it, in a line that can be shown to somebody."""
    right = sum(each.right for each in standings)
    once = sum(each.at_once for each in standings)
    link = f"{screen.address()}?{states.encode('check', values)}"
    with st.container(border=True, key="result"):
        st.markdown(f"**{right} of {len(found)} right**, {once} of them at the first try.")
        for page in dict.fromkeys(question.page for question in found):
            own = [s for q, s in zip(found, standings, strict=True) if q.page == page]
            st.text(f"{words.pages()[page].title}: {sum(s.right for s in own)} of {len(own)}")
        st.code(
            f"KV cache, {right} of {len(found)} right ({once} at once). The questions: {link}",
            language=None,
            wrap_lines=True,
        )


keep.kept("answers", {})
visit = learn.opened("check", own_numbers)
predict.ask(visit.page, (), visit.query)
learn.moved(visit, "topic", "show", apart=("seed", "number", "edition"))
values = visit.values
seed, topic = values["seed"], values["topic"]
if topic == "all":
    found = questions.quiz(seed, COUNT, int(values["edition"]))
else:
    found = questions.check(seed, topic)
if st.button("New numbers", key="anew"):
    learn.change("check", seed=states.own_seed(), edition=str(questions.EDITION), number=1)
    st.rerun()
standings = [questions.standing(q, answers().get(name_of(q, seed), [])) for q in found]
done = [each for each in standings if each.done]
with st.container(horizontal=True, key="figures"):
    st.metric("Right", f"{sum(s.right for s in standings)} of {len(found)}", width=165)
    st.metric("Answered", f"{len(done)} of {len(found)}", width=165)
if values["show"] == "one" or screen.presenting():
    at = min(values["number"], len(found))
    asked(at, found[at - 1], seed)
    with st.container(horizontal=True, key="turn"):
        st.button(
            "Question before", disabled=at == 1, on_click=learn.change, args=("check",),
            kwargs={"number": at - 1},
        )  # fmt: skip
        st.button(
            "Next question", disabled=at == len(found), on_click=learn.change, args=("check",),
            kwargs={"number": at + 1},
        )  # fmt: skip
else:
    page = None
    for number, question in enumerate(found, 1):
        if question.page != page:
            page = question.page
            st.subheader(words.pages()[page].title, anchor=False)
        asked(number, question, seed)
if len(done) < len(found):
    st.caption("Key takeaways and misconceptions come with the last answer.")
else:
    result(found, standings, values)
    with st.expander("Key takeaways"):
        for each in words.takeaways().values():
            st.markdown(f"- {each.text}")
    with st.expander("Common misconceptions, all of them"):
        for each in words.misconceptions().values():
            st.markdown(f"- “{each.claim}” {each.truth}")
learn.closed(visit)
