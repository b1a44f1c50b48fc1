"""What the Learn pages share: head, controls, figures, pictures and foot.

A page's state lives in the session. Its address is read when the page is come to and written after
every change, at one place, here.
"""

from dataclasses import dataclass
from html import escape

import streamlit as st

from planner.inputs.link import Notice, Number
from planner.lesson import states, words
from planner.lesson.view import View
from planner.pages import controls, predict, screen

SHORT = 4  # choices up to so many stand side by side


@dataclass(frozen=True)
class Visit:
    """A page as it is now."""

    page: str
    values: dict
    view: View
    notices: tuple[Notice, ...]

    @property
    def query(self):
        """The page's own state, as a link writes it."""
        return states.encode(self.page, self.values)

    @property
    def address(self):
        """Everything that belongs into the address: state, question and view."""
        return self.query + predict.suffix(self.page, **screen.parameters())


NOTHING = View((), ())


def opened(page: str, view=lambda values: NOTHING) -> Visit:
    """Read the page's state and draw its head. view: values -> what the page shows for them."""
    state = st.session_state
    key, wrong = f"learn-{page}", f"notices-{page}"
    if controls.entered(page):
        query, shared = predict.split(screen.read(controls.address()))
        if query or shared or key not in state:
            values, notices = states.decode(page, query)
            askable = [figure.id for figure in view(values).figures if figure.askable]
            state[key], state[wrong] = values, notices + predict.read(page, shared, askable)
    visit = Visit(page, state[key], view(state[key]), state[wrong])
    screen.dress(visit.address, lesson=True, held=bool(visit.view.pictures))
    entry = words.pages()[page]
    st.title(entry.title, anchor=False)
    if not screen.presenting():
        st.html(_terms(entry.lead))
    controls.show_notices(visit.notices)
    return visit


def change(page: str, **values):
    """Replace values of a page; what its link had wrong is settled by it."""
    st.session_state[f"learn-{page}"] = {**st.session_state[f"learn-{page}"], **values}
    st.session_state[f"notices-{page}"] = ()


def moved(visit: Visit, *first: str):
    """The controls of a page: the named ones, the rest one click away; folded for a room."""
    rest = [name for name in states.PAGES[visit.page] if name not in first]
    presenting = screen.presenting()
    if not presenting:
        st.html(f'<b class="to-move">{_terms(words.pages()[visit.page].move)}</b>')
    with st.container(key="controls"):
        place = st.popover("Controls") if presenting else st.container()
        with place.container(horizontal=True, gap="medium"):
            for name in first:
                _control(visit, name)
            if rest:
                with st.container() if presenting else st.popover("More"):
                    for name in rest:
                        _control(visit, name)


def _control(visit, name):
    kind, _ = states.PAGES[visit.page][name]
    key, now = f"{visit.page}-{name}", visit.values[name]
    if isinstance(kind, Number):
        stops = controls.stops(kind, states.SLIDES_TO.get(name))
        with st.container(width=300):
            controls.slider(key, kind, stops, now, lambda new: change(visit.page, **{name: new}))
        return
    st.session_state[key] = now
    choose = {"format_func": kind.options.get, "key": key}

    def chosen():
        change(visit.page, **{name: st.session_state[key]})

    options = list(kind.options)
    if len(options) <= SHORT:
        st.radio(kind.label, options, horizontal=True, on_change=chosen, **choose)
    else:
        st.selectbox(kind.label, options, on_change=chosen, width=300, **choose)


def shortcuts(visit: Visit, name: str, values):
    """Buttons that set one number to the lesson's own values."""
    unit = states.PAGES[visit.page][name][0].unit
    with st.container(horizontal=True, key="shortcuts", gap="small"):
        for value in values:
            st.button(
                f"{value:,} {unit}",
                key=f"{visit.page}-{name}-{value}",
                on_click=change,
                args=(visit.page,),
                kwargs={name: value},
            )


def shown(visit: Visit) -> predict.Asked:
    """Figures, pictures, arithmetic and tables, under the page's question if it has one."""
    asked = figures(visit)
    pictures(visit, asked)
    return asked


def figures(visit: Visit) -> predict.Asked:
    """The page's question, if it has one, its figures, and what there is to see."""
    asked = predict.ask(visit.page, visit.view.figures, visit.query)
    asked.metrics()
    if not screen.presenting():
        st.html(_terms(words.pages()[visit.page].see))
    return asked


def pictures(visit: Visit, asked: predict.Asked):
    """The page's charts, its arithmetic and its tables, less what gives a hidden figure away."""
    view = visit.view
    controls.show_pictures(view.pictures, asked.specification)
    if view.lines:
        _arithmetic(asked, view)
    _tables(asked, view)


def _arithmetic(asked, view):
    place = st.expander("The arithmetic", key="arithmetic", on_change="rerun")
    if place.open and asked.shows(view.gives, place):
        for line in view.lines:
            place.markdown(
                f"**{line.title}** = {line.symbols}  \n`{line.numbers}` = **{line.result}**"
            )


def _tables(asked, view):
    place = st.expander("The numbers", key="numbers", on_change="rerun")
    if not place.open:
        return
    with place:
        for picture in view.pictures:
            if asked.shows(picture.gives):
                st.markdown(f"**{picture.title}**")
                st.dataframe(picture.table(), hide_index=True, key=f"table-{picture.id}")


def closed(visit: Visit, asked: predict.Asked | None = None):
    """What should stay, what is often believed, the words and sources, the link and the way on."""
    believed, kept, terms = words.of_page(visit.page)
    for each in kept:
        st.html(f"<b>{_terms(each.text)}</b>")
    if believed:
        with st.expander("Often believed"):
            for each in believed:
                st.html(f"<p><q>{escape(each.claim)}</q> {_terms(each.truth)}</p>")
    if terms:
        with st.expander("Words"):
            st.html(
                "".join(
                    f"<p><b>{escape(term.heading)}</b>: {escape(term.meaning)}</p>"
                    for term in terms
                )
            )
    if asked:
        asked.share()
    _sources({*visit.view.sources, *(each.source for each in (*believed, *terms))} - {""})
    with st.container(horizontal=True, key="tools", vertical_alignment="center"):
        controls.write_address(visit.address)
        screen.switch(lesson=True)
        _way_on(visit.page)


def _sources(used):
    found = [each for each in words.sources().values() if each.id in used]
    if found:
        cited = " · ".join(
            f'<a href="{escape(each.url)}" target="_blank" rel="noopener" style="color: inherit" '
            f'title="{escape(each.what)}">{escape(each.cited)}, {escape(each.title)}</a>'
            for each in found
        )
        st.html(f"<small>Sources: {cited}</small>")


def _way_on(page):
    order = list(words.pages())
    at = order.index(page)
    around = {"previous": order[at - 1 : at] if at else [], "next": order[at + 1 : at + 2]}
    for way, pages in around.items():
        for each in pages:
            with st.container(key=way, width="content"):
                title = words.pages()[each].title
                st.page_link(
                    f"planner/pages/{each}.py",
                    label=title,
                    icon=f":material/arrow_{'back' if way == 'previous' else 'forward'}:",
                )


def _terms(text):
    """A text in HTML, the field's terms explained where the pointer rests on them."""
    pieces = (
        f'<abbr title="{escape(meaning)}">{escape(piece)}</abbr>' if meaning else escape(piece)
        for piece, meaning in words.explained(text)
    )
    return f'<span style="max-width: 50rem; display: inline-block">{"".join(pieces)}</span>'
