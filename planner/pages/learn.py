"""What the Learn pages share: head, controls, figures, pictures and foot.

A page's state lives in the session. Its address is read when the page is come to and written after
every change, at one place, here.
"""

from dataclasses import dataclass
from functools import partial
from html import escape
from itertools import cycle

import streamlit as st

from planner.inputs.link import Notice, Number
from planner.lesson import states, views, words
from planner.lesson.view import Agreeing, Table, View
from planner.pages import boards, controls, path, predict, scenes, screen
from planner.pages.boards import Board
from planner.stage.stops import stops

SHORT = 4  # choices up to so many stand side by side
LONG = 40  # signs of a choice, beyond which it has the page's width


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


def opened(page: str, first=lambda query, values: values) -> Visit:
    """Read the page's state and draw its head.

    first: takes the parameters that an address gave and the values read from them, and gives the
    values to start with.
    """
    path.follow()
    state = st.session_state
    key, wrong = f"learn-{page}", f"notices-{page}"
    if controls.entered(page):
        query, shared = predict.split(screen.read(controls.address()))
        if query or shared or key not in state:
            values, notices = states.decode(page, query)
            values = first(query, values)
            figures = views.of(page, values).figures
            askable = [figure.id for figure in figures if figure.askable]
            state[key], state[wrong] = values, notices + predict.read(page, shared, askable)
    visit = Visit(page, state[key], views.of(page, state[key]), state[wrong])
    screen.dress(visit.address, lesson=True, held=bool(visit.view.pictures))
    entry = words.pages()[page]
    st.title(entry.title, anchor=False)
    if not screen.presenting():
        st.html(prose(entry.lead))
    controls.show_notices(visit.notices)
    return visit


def change(page: str, **values):
    """Replace values of a page; what its link had wrong is settled by it."""
    st.session_state[f"learn-{page}"] = {**st.session_state[f"learn-{page}"], **values}
    st.session_state[f"notices-{page}"] = ()


def change_text(page: str, name: str, text: str):
    """Take a value from a browser component, as a link's would be taken."""
    kind, now = states.PAGES[page][name][0], st.session_state[f"learn-{page}"][name]
    change(page, **{name: kind.read(name, text, now)[0]})


def moved(visit: Visit, *first: str, apart: tuple[str, ...] = ()):
    """The controls of a page: the named ones, the rest one click away.

    apart: those that the page shows in a way of its own.
    """
    rest = [name for name in states.PAGES[visit.page] if name not in (*first, *apart)]
    if not screen.presenting():
        st.html(f'<b class="to-move">{terms(words.pages()[visit.page].move)}</b>')
    with st.container(key="controls"), st.container(horizontal=True, gap="medium"):
        for name in first:
            _control(visit, name)
        if rest:
            with st.popover("More"):
                for name in rest:
                    _control(visit, name)


def _control(visit, name):
    kind, _ = states.PAGES[visit.page][name]
    key, now = f"{visit.page}-{name}", visit.values[name]
    if isinstance(kind, Number):
        places = stops(kind, states.SLIDES_TO.get(name))
        with st.container(width=300):
            controls.slider(key, kind, places, now, lambda new: change(visit.page, **{name: new}))
        return
    st.session_state[key] = now
    choose = {"format_func": kind.options.get, "key": key}

    def chosen():
        change(visit.page, **{name: st.session_state[key]})

    options = list(kind.options)
    longest = max(map(len, kind.options.values()))
    if len(options) <= SHORT and longest <= LONG:
        st.radio(kind.label, options, horizontal=True, on_change=chosen, **choose)
    else:
        width = 300 if longest <= LONG else "stretch"
        st.selectbox(kind.label, options, on_change=chosen, width=width, **choose)


def shortcuts(visit: Visit, settings: dict[str, dict]):
    """Buttons that set some of a page's values to the lesson's own, each by its label."""
    with st.container(horizontal=True, key="shortcuts", gap="small"):
        for number, (label, values) in enumerate(settings.items()):
            st.button(
                label,
                key=f"{visit.page}-shortcut-{number}",
                on_click=change,
                args=(visit.page,),
                kwargs=values,
            )


def shown(visit: Visit, *after: Board) -> predict.Asked:
    """Figures, scenes, pictures and tables, under the page's question if it has one."""
    asked = figures(visit)
    pictures(visit, asked, after=after)
    return asked


def figures(visit: Visit) -> predict.Asked:
    """The page's question, if it has one, its figures, and what the state comes to."""
    asked = predict.ask(visit.page, visit.view.figures, visit.query)
    asked.metrics()
    # A room on the path is told what its stop says.
    told = path.stop(visit.page) and screen.presenting()
    says = "" if asked.hidden or told else visit.view.says
    if not screen.presenting():
        about = f"<p class='prose about'>{terms(visit.view.about)}</p>" * bool(visit.view.about)
        st.html(prose(f"{words.pages()[visit.page].see} {says}".strip()) + about)
    elif says:
        st.html(prose(says))
    return asked


def pictures(visit: Visit, asked: predict.Asked, first=(), after=()):
    """What moves, the charts and the tables of a page, less what gives a hidden figure away.

    A room is shown one board of them at a time, which fills its screen. first, after: boards of the
    page's own, before all others and behind them.
    """
    view = visit.view

    def move(name, text):
        change_text(visit.page, name, text)

    scene = [Board(e.title, partial(scenes.show, e, asked, move)) for e in view.scenes]

    def charts(pictures):
        if screen.presenting() and len(pictures) == 1:  # it has the width of the screen
            controls.show_picture(*pictures, asked.specification)
        else:
            controls.show_pictures(pictures, asked.specification)

    tables = [Board(each.title, partial(_table, asked, each)) for each in view.tables]
    if screen.presenting():  # a closed box only takes room from what is shown
        pairs = [view.pictures[at : at + 2] for at in range(0, len(view.pictures), 2)]
        drawn = [Board(" · ".join(each.title for each in e), partial(charts, e)) for e in pairs]
        lines = [Board("The arithmetic", partial(_lines, asked, view))] * bool(view.lines)
        kept = [Board("Takeaway", partial(_kept, visit.page, asked))]
        boards.show([*first, *scene, *drawn, *tables, *lines, *after, *kept])
        return
    for each in (*first, *scene, Board("", partial(charts, view.pictures)), *tables):
        each.draw()
    if view.lines:
        _arithmetic(asked, view)
    _tables(asked, view)
    for each in after:
        each.draw()


def _table(asked, table):
    if not asked.shows(table.gives):
        return
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in table.columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{_cell(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    st.html(f"<b>{escape(table.title)}</b><table class=few><tr>{head}</tr>{body}</table>")


def _cell(cell):
    if isinstance(cell, Agreeing):
        return f"<span class=same>{escape(cell.same)}</span><b>{escape(cell.rest)}</b>"
    return terms(cell)


def _arithmetic(asked, view):
    place = st.expander("The arithmetic", key="arithmetic", on_change="rerun")
    if place.open:
        with place:
            _lines(asked, view)


def _lines(asked, view):
    if not asked.shows(view.gives):
        return
    places = st.columns(2, gap="large") if screen.presenting() else [st]
    for place, line in zip(cycle(places), view.lines, strict=False):
        place.markdown(f"**{line.title}** = {line.symbols}  \n`{line.numbers}` = **{line.result}**")


def _tables(asked, view):
    place = st.expander("The numbers", key="numbers", on_change="rerun")
    if not place.open:
        return
    with place:
        for scene in view.scenes:
            if scene.rows and asked.shows(scene.gives):
                st.markdown(f"**{scene.title}**")
                st.dataframe(dict(scene.rows), hide_index=True, key=f"table-{scene.id}")
        for picture in view.pictures:
            if asked.shows(picture.gives):
                st.markdown(f"**{picture.title}**")
                st.dataframe(picture.table(), hide_index=True, key=f"table-{picture.id}")


def closed(visit: Visit, asked: predict.Asked | None = None, early: bool = False):
    """Takeaways, misconceptions, glossary and sources, the link and the way on.

    Some of these hold results, so they wait with them while a question hides any, or where it is
    too early for them.
    """
    believed, _, used = words.of_page(visit.page)
    answered = not (early or (asked and asked.hidden))
    if answered and not (screen.presenting() and visit.view.pictures):  # there it is a board
        _kept(visit.page)
    if not screen.presenting():
        if believed and answered:
            with st.expander("Common misconceptions"):
                for each in believed:
                    st.html(f"<p class=prose><q>{escape(each.claim)}</q> {terms(each.truth)}</p>")
        if used:
            with st.expander("Glossary"):
                glossary(used)
        if asked:
            asked.share()
        _sources({*visit.view.sources, *(each.source for each in (*believed, *used))} - {""})
    if path.stop(visit.page):
        path.bar(visit.page, partial(_tools, visit))
    else:
        with st.container(horizontal=True, key="tools", vertical_alignment="center"):
            _tools(visit)
            _way_on(visit.page)


def _tools(visit):
    controls.write_address(visit.address, steps=False)
    screen.switch(turning=bool(path.stop(visit.page) or screen.presenting()))


def _kept(page, asked=predict.NOTHING_ASKED):
    """A page's takeaways."""
    kept = words.of_page(page)[1]
    if kept and asked.answered(st):
        st.html("".join(f"<p class='prose kept'><b>{terms(e.text)}</b></p>" for e in kept))


def glossary(entries):
    """Terms, each with its meaning."""
    st.html(
        "".join(f"<p><b>{escape(term.heading)}</b>: {escape(term.meaning)}</p>" for term in entries)
    )


def remedies() -> list[Board]:
    """What helps when the first token is slow, and when streaming is."""
    heads, fields = ("what helps", "why", "its price"), ("text", "why", "risk")
    return [
        Board(title, partial(_rows, f"{title}: {phase}", heads, rows, fields))
        for symptom, title, phase in (
            (words.FIRST, "Slow first token", "prefill"),
            (words.STREAM, "Slow streaming", "decode"),
        )
        for rows in [[each for each in words.remedies().values() if each.symptom == symptom]]
    ]


def measures(page: str) -> Board:
    """The ways to make the cache smaller or share it that a page shows, each with its risk."""
    rows = [each for each in words.measures().values() if each.page == page]
    heads, fields = ("way", "gain", "risk"), ("text", "gain", "risk")
    return Board("Risks", partial(_rows, "What each way risks", heads, rows, fields))


def _rows(title, columns, entries, fields):
    cells = tuple(tuple(getattr(each, field) for field in fields) for each in entries)
    _table(predict.NOTHING_ASKED, Table(title, columns, cells))


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


def terms(text):
    """A text in HTML, the field's terms explained where the pointer rests on them."""
    pieces = (
        f'<abbr title="{escape(meaning)}">{escape(piece)}</abbr>' if meaning else escape(piece)
        for piece, meaning in words.explained(text)
    )
    return "".join(pieces)


def prose(text):
    """A text as HTML in lines of a length that can be read."""
    return f"<p class=prose>{terms(text)}</p>"
