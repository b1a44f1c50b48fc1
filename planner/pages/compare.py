"""The Compare page: what differs, what comes of it, and why another calculator says otherwise."""

import re
from html import escape
from urllib.parse import urlencode

import streamlit as st

from planner import describe
from planner.compare import differences, mistakes, overlays
from planner.compare.comparison import LETTERS, NAME_LENGTH, SAY_LENGTH, Comparison, Variant, encode
from planner.inputs import presets, question
from planner.pages import controls, pinned, pins, screen, start, tables, take_along

TABLE = """<style>
.compared { border-collapse: collapse; width: 100%; font-size: 0.875rem }
.compared th, .compared td { text-align: left; vertical-align: top; padding: 0.3rem 1rem 0.3rem 0 }
.compared tr { border-bottom: 1px solid #8A8F9855 }
.compared .better { background: #56B4E933 } .compared .worse { background: #8A8F9833 }
</style>"""


def variants(found: Comparison):
    """Each variant in the sidebar: its name, its place, and the way into the planner."""
    for place, each in enumerate(found.variants):
        letter, key = LETTERS[place].upper(), f"name-{place}"
        if st.session_state.get(key) != each.name:
            st.session_state[key] = each.name
        wrong = mistakes.KNOWN.get(each.mistake)
        with st.container(gap=None):
            st.text_input(
                f"Name of {letter}",
                key=key,
                max_chars=NAME_LENGTH,
                placeholder=f"{wrong.label} (wrong)" if wrong else each.scenario.the_model.name,
                on_change=lambda place=place, key=key: pins.keep(
                    pins.held().renamed(place, st.session_state[key])
                ),
            )
            with st.container(horizontal=True, gap="small", key=f"tools-{place}"):
                if st.button(f"Open {letter}", key=f"open-{place}", type="tertiary"):
                    st.session_state.scenario, st.session_state.notices = each.scenario, ()
                    st.switch_page("planner/pages/plan.py")
                if place:
                    st.button(
                        f"Swap with {LETTERS[place - 1].upper()}",
                        key=f"swap-{place}",
                        type="tertiary",
                        on_click=lambda place=place: pins.keep(pins.held().swapped(place)),
                    )
                st.button(
                    "Remove",
                    key=f"remove-{place}",
                    type="tertiary",
                    on_click=lambda place=place: pins.keep(pins.held().removed(place)),
                )


def add():
    """Pin the planner's present scenario from here."""
    scenario = st.session_state.scenario
    st.button(
        "Add the present plan",
        key="add",
        help=f"{scenario.the_model.name}, {scenario.concurrency:,} × {scenario.context:,} tokens",
        on_click=lambda: pins.keep(pins.held().added(Variant(scenario))),
    )


def sentence(found: Comparison):
    """A sentence of the reader's that travels with the link."""
    if st.session_state.get("compare-say") != found.say:
        st.session_state["compare-say"] = found.say

    def said():
        say = question.plain(st.session_state["compare-say"])
        pins.keep(Comparison(pins.held().variants, say))

    st.text_input("Say (plain text)", key="compare-say", max_chars=SAY_LENGTH, on_change=said)


def table(frame):
    """A table of texts. As HTML: a Markdown table makes links of addresses that names may hold."""
    rows = frame.to_html(index=False, border=0, justify="left", classes="compared")
    kinds = "|".join((differences.BETTER, differences.WORSE))
    rows = re.sub(rf"<td>([^<]* ({kinds}))</td>", r'<td class="\2">\1</td>', rows)
    st.html(TABLE + f'<div style="overflow-x: auto" tabindex="0">{rows}</div>')


def results(found: Comparison):
    """Headline, what differs, verdicts and figures, charts, tables."""
    all_ = differences.shown(found)
    st.title(describe.as_text(differences.headline(all_)), anchor=False)
    if found.say:
        st.text(found.say)
    for each in all_[1:]:
        st.text(differences.against(all_[0], each))
    if len(all_) == 1:
        st.markdown("Change something in the planner, then come back to see both.")
    apart = differences.inputs(all_)
    if len(apart):
        st.markdown("**What differs**")
        table(apart)
    st.html(f"<small>Same in all plans: {escape(differences.alike(all_))}</small>")
    st.markdown("**Results**")
    table(differences.results(all_))
    pictures = controls.show_pictures(
        overlays.pictures(all_),
        lambda picture, dark: screen.sized(picture.specification(dark), text=14),
    )
    with controls.folded("mistakes", "Why does another calculator say otherwise?") as open_:
        if open_:
            wrong(found)
    with controls.folded("numbers", "The numbers") as open_:
        if open_:
            numbers = differences.numbers(all_)
            st.dataframe(numbers, hide_index=True, key="table-figures")
            tables.download(numbers, "comparison")
            tables.of_pictures(pictures)
    with controls.folded("take-along", "Export") as open_:
        if open_:
            take_along.show_comparison(found, pictures)


def wrong(found: Comparison):
    """The known mistakes, with what each does to A, and a button that shows it beside A."""
    scenario = found.variants[0].scenario
    effects = {each.id: mistakes.effect(scenario, each.id) for each in mistakes.MISTAKES}
    st.markdown("Known mistakes, each **wrong on purpose**, and what it does to A:")
    for name, effect in effects.items():
        if effect:
            said, shown = st.columns([6, 1], vertical_alignment="center")
            said.markdown(f"**{effect.mistake.label}.** {effect.mistake.why} {effect.sentence}")
            shown.button(
                "Full" if found.full else f"Show as {LETTERS[len(found.variants)].upper()}",
                key=f"wrong-{name}",
                disabled=found.full or Variant(scenario, mistake=name) in found.variants,
                on_click=lambda name=name: pins.keep(
                    pins.held().added(Variant(scenario, mistake=name))
                ),
            )
    rest = [
        f"{each.label} (needs {each.needs})" for each in mistakes.MISTAKES if not effects[each.id]
    ]
    if rest:
        st.caption(f"Without effect here: {'; '.join(rest)}.")


comparison, notices = pinned.opened()
query = encode(comparison)
address = "&".join(filter(None, [query, urlencode(screen.parameters())]))
screen.dress(address)
with st.sidebar:
    variants(comparison)
    if pinned.addable():
        add()
    if comparison.variants:
        sentence(comparison)
    controls.write_address(address)
    screen.switch()
    controls.examples(presets.comparisons)
controls.show_notices(notices)
if comparison.variants:
    results(comparison)
else:
    st.title("Compare up to four plans side by side", anchor=False)
    st.markdown(
        "Press “Pin” in the planner, change anything, and come back. Or start from an example:"
    )
    start.links([(each.query, "", each.title, each.sentence) for each in presets.comparisons()])
    st.page_link("planner/pages/plan.py", label="To the planner")
