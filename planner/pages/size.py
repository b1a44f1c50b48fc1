"""The Size page: from a workload and a promise to devices, their cost, and what would change it."""

import json
from dataclasses import replace
from datetime import date
from urllib.parse import parse_qsl, urlencode

import pandas as pd
import streamlit as st

from planner.charts.style import MUTED
from planner.compare.comparison import LETTERS, Comparison, Variant
from planner.inputs import presets
from planner.inputs.link import Choice
from planner.models import drafting
from planner.pages import controls, pins, screen, size_check, size_files, turns
from planner.sizing import drawings, levers, published, query, report, view
from planner.sizing.answer import Answer, answer, verdict
from planner.sizing.steady import deployed

state = st.session_state
LOADS = {"users": "Users", "rate": "Requests/s"}
OF_A_WORKLOAD = ("prompt", "prompt_p95", "prompt_mean", "output", "output_p95", "output_mean",
                 "burst", "prefix", "hits")  # fmt: skip
# What no longer holds when another input is changed, and is then what a link without it means.
FOLLOWS = {
    "workload": OF_A_WORKLOAD,
    "prompt": ("prompt_p95", "prompt_mean"),
    "prompt_p95": ("prompt_mean",),
    "output": ("output_p95", "output_mean"),
    "output_p95": ("output_mean",),
    "model": (
        "weights",
        "tp",
        "pp",
        "dp",
        "ep",
        "draft",
        "dcp",
        "host_layers",
        "host_experts",
        "state_format",
    ),
    "device": ("price", "purchase"),
    "rate": ("users",),
    "users": ("rate",),
}
ANY = "Any"
SIGNS = {True: ":green[:material/check_circle:]", False: ":red[:material/cancel:]"}


def ask_again(**values):
    """Replace inputs of the question, as a link that says so would."""
    now = dict(parse_qsl(query.encode(state.ask)))
    for name in values:
        now = {key: text for key, text in now.items() if key not in FOLLOWS.get(name, ())}
    now |= {name: str(value) for name, value in values.items()}
    state.ask, state.ask_notices = query.decode({name: [text] for name, text in now.items()})


def entry(name, value, widget, *given, **options):
    """A widget for one input, which shows it and, when changed, asks again."""
    key = f"size-{name}"
    if state.get(key) != value:
        state[key] = value
    widget(*given, key=key, on_change=lambda: ask_again(**{name: state[key]}), **options)


def number(name, label="", **options):
    """A field for a number."""
    spec = query.PARAMETERS[name]
    kind = int if spec.whole else float
    step = options.pop("step", 1 if spec.whole else 0.1)
    unit = "" if spec.unit in (spec.label.lower(), "") else f" ({spec.unit})"
    entry(
        name,
        kind(getattr(state.ask, name)),
        st.number_input,
        label or f"{spec.label}{unit}",
        kind(spec.minimum),
        kind(spec.maximum),
        step=kind(step),
        format=None if spec.whole else "%g",
        **options,
    )


def choose(name, label, rows, shown, **options):
    """A select box for one named input."""
    entry(name, getattr(state.ask, name), st.selectbox, label, rows, format_func=shown, **options)


def choice(name):
    """A select box for one of a few."""
    spec: Choice = query.PARAMETERS[name]
    choose(name, spec.label, list(spec.options), spec.options.__getitem__)


def any_of(name, label, rows):
    """A select box for one of many, or any."""
    choose(name, label, ["", *rows], lambda key: rows[key].name if key else ANY)


def ask_for_load():
    """Model, workload, and how many ask."""
    models, known = presets.models(), query.workloads()
    own = state.ask.model
    listed = list(models) if own in models else [own, *models]
    choose("model", "Model", listed, lambda key: presets.model(key).name, help="Type to search.")
    choose("workload", "Workload", list(known), lambda key: known[key].name)
    by = "users" if state.ask.users else "rate"
    if state.get("size-by") != by:
        state["size-by"] = by

    def turned():
        if state["size-by"] == "rate":
            ask_again(rate=1)
        elif state["size-by"] == "users":
            ask_again(users=query.USERS)

    st.segmented_control(
        "Load", list(LOADS), format_func=LOADS.get, key="size-by", on_change=turned, required=True
    )
    if by == "users":
        left, right = st.columns(2)
        with left:
            number("users", "Users", step=10)
        with right:
            number("think", "Think time (s)", step=5, help="From an answer to the next request.")
    else:
        number("rate", "Requests per second")
    for name, label in (("prompt", "Prompt"), ("output", "Output")):
        left, right = st.columns(2)
        with left:
            number(name, f"{label} (tokens)", step=64, help="The median.")
        with right:
            number(f"{name}_p95", "95th percentile", step=64)


def ask_for_promise():
    """What users are promised."""
    st.markdown("**Promise**")
    left, right = st.columns(2)
    with left:
        number("ttft", "TTFT (s)", help="Time to first token, at the percentile.")
    with right:
        number("speed", "Speed (tokens/s)", step=1, help="Of each user, at the percentile.")


def ask_for_the_rest():
    """What is one click away."""
    with st.expander("Prefix, cap, bursts"):
        for name, step in (("prefix", 128), ("hits", 5), ("cap", 128), ("burst", 0.5)):
            number(name, step=step)
    with st.expander("From a trace"):
        size_files.ask_for_trace(ask_again)
    with st.expander("Where to look"):
        for name in ("where", "rank", "bits"):
            choice(name)
        number("most", "Devices of a replica, at most")
        any_of("device", "Device", presets.accelerators())
        any_of("engine", "Engine", query.engines())
        any_of("weights", "Weights", presets.weight_formats())
        any_of("cache", "Cache", presets.cache_formats())
    with st.expander("Speculative decoding, host memory"):
        ask_for_drafter()
        for name in ("host_layers", "host_experts", "dcp"):
            number(name)
    with st.expander("Percentile, head room, spares, site"):
        for name, step in (("percentile", 1), ("headroom", 5), ("spares", 1), ("site", 0.05)):
            number(name, step=step)
    with st.expander("Prices"):
        if state.ask.device:
            st.markdown(":small[Leave at 0 to use the median of the offers.]")
            number("price", "Price of a device (USD/h)")
            number("purchase", "Or: bought for (USD)", step=1000)
            number("years", "Years in use")
            number("tariff", "Electricity (USD/kWh)", step=0.01)
        else:
            st.markdown(":small[Choose a device to enter a price of your own.]")


def ask_for_drafter():
    """Who guesses tokens ahead; without anybody, what the change that guesses would yield."""
    rows, model = presets.models(), presets.model(state.ask.model)
    kinds = [kind for kind in drafting.NAMES if not drafting.refusal(model, kind, state.ask.pp)]
    own = state.ask.draft
    listed = [*kinds, *rows] if own in (*kinds, *rows) else [*kinds, *rows, own]
    choose(
        "draft", "Drafter", listed, lambda key: drafting.NAMES.get(key) or presets.model(key).name
    )
    number("drafted")
    number("accepted", help="Tokens that a step yields in the mean, the model's own among them.")


def found() -> Answer:
    """The answer to the question, worked out once for each."""
    kept, asked = state.get("size-found"), replace(state.ask, seed=0)
    if kept is None or kept[0] != asked:
        place = st.empty()
        bar = place.progress(0.0, "Searching…")
        with turns.aside():
            made = answer(asked, lambda part: bar.progress(part, "Searching…"))
        place.empty()
        kept = state["size-found"] = (asked, made)
    return kept[1]


def to_plan(scenario):
    """Open a deployment on the Plan page."""
    state.scenario, state.notices = scenario, ()
    st.switch_page("planner/pages/plan.py")


def to_compare(scenarios):
    """Open several on the Compare page."""
    pins.keep(Comparison(tuple(Variant(each) for each in scenarios)))
    st.switch_page("planner/pages/compare.py")


def head(shown: Answer, today):
    """The verdict, what is behind it, and where to go from here."""
    title, detail = verdict(shown)
    st.title(f"{SIGNS[shown.keeps]} {title.replace('$', '&#36;')}", anchor=False)
    st.markdown(detail.replace("$", "&#36;"))
    with st.container(horizontal=True, gap="small", key="size-tools"):
        if shown.sizing and st.button("Open in Plan", key="size-plan"):
            to_plan(deployed(shown.sizing))
        best = shown.ranked.varied(view.BEST)
        if len(best) > 1 and st.button(f"Compare best {len(best)}", key="size-compare"):
            to_compare([deployed(shown.ranked.sizing(place)) for place in best])
        st.download_button(
            "Export JSON",
            json.dumps(report.as_dict(shown), indent=2, ensure_ascii=False),
            file_name="sizing.json",
            mime="application/json",
            key="size-json",
            on_click="ignore",
        )
    if shown.sizing:
        cards(shown, today)


def cards(shown, today):
    """The figures that lead, each in its card."""
    made = view.cards(shown, today)
    with st.container(key="figures"):
        for place, card in zip(st.columns(len(made), gap="small"), made, strict=True):
            with place.container(border=True, height="stretch"):
                value = card.value.replace("$", "\\$")
                st.metric(card.label, f":gray[{value}]" if card.stale else value)
                st.caption(card.note.replace("$", "\\$"))


def pictures(shown, today):
    """What devices can do, and where this one tips over."""
    left, right = st.columns(2, gap="large")
    with left:
        controls.show_picture(drawings.front(shown, today))
    if shown.sizing and shown.sizing.fits:
        with right:
            controls.show_picture(drawings.tipping(shown.sizing))
            sources = dict.fromkeys(each.source for each in published.runs(shown.sizing))
            if sources:
                st.caption(f"Rings: measured means of one such replica. {'; '.join(sources)}.")


def greyed(table, old):
    """The ranking with what rests on old prices in grey."""
    grey = f"color: {MUTED[screen.dark()]}; font-style: italic"
    shades = [grey if each else "" for each in old]
    styled = pd.DataFrame(table).style.format({"$ / h": "{:,.2f}"}, na_rep="–")
    return styled.apply(lambda _: shades, subset=["$ / h", "price"])


def ranking(shown, today):
    """The best of each device, then all; rows can be opened."""
    ranked = shown.ranked
    st.subheader(f"Ranked by {query.RANKS[state.ask.rank]}", anchor=False)
    for sentence in view.sentences(shown):
        st.markdown(f"- {sentence.replace('$', '&#36;')}")
    whole = st.toggle("Every deployment that keeps the promise", key="size-all")
    places = list(range(min(len(ranked), view.MORE))) if whole else ranked.varied(view.ROWS)
    table = view.table(shown, places, ranges=not whole, today=today)
    old = [view.stale(shown, place, today) for place in places]
    chosen = st.dataframe(
        greyed(table, old),
        hide_index=True,
        key="size-table",
        on_select="rerun",
        selection_mode="multi-row",
        height="content" if not whole else "auto",
        column_config={
            "deployment": st.column_config.TextColumn(width=330),
        },
    )
    rows = [places[row] for row in chosen.selection.rows if row < len(places)]
    with st.container(horizontal=True, gap="small"):
        if rows and st.button("Open the selected in Plan", key="size-open"):
            to_plan(deployed(ranked.sizing(rows[0])))
        if len(rows) > 1 and st.button("Compare the selected", key="size-open-all"):
            first = rows[: len(LETTERS)]
            to_compare([deployed(ranked.sizing(place)) for place in first])
    st.caption(
        f"{len(ranked):,} of {ranked.tried:,} deployments keep it, each with the fewest replicas; "
        f"{ranked.refused:,} have no room for one of the longest requests."
    )


def blame(shown):
    """Which phase holds it back, and what helps."""
    found = levers.diagnosis(shown.sizing)
    lead = "The promise is missed by" if found.missed else "What would give way first:"
    st.markdown(f"**{lead} {found.phase}.** {found.why} What helps: {', '.join(found.remedies)}.")


def changes(shown):
    """Every single change, as a picture and as a table."""
    with controls.folded("size-levers", "What would change it") as open_:
        if open_:
            made = levers.levers(shown.sizing)
            controls.show_picture(drawings.tornado(shown.sizing, made))
            st.dataframe(view.changes(shown, made), hide_index=True, key="size-changes")


def cases(shown):
    """Expected and worst side by side, and what paging and the prefix save."""
    with controls.folded("size-cases", "Worst case, and what is saved") as open_:
        if open_:
            st.dataframe(view.cases(shown), hide_index=True, key="size-worst")
            for sentence in view.savings(shown.sizing):
                st.markdown(f"- {sentence}")


def numbers(shown):
    """Every figure of the deployment, behind a click."""
    with controls.folded("size-numbers", "The numbers") as open_:
        if open_:
            rows = [
                {"what": each.label, "value": report.written(each, float(value))}
                for each in report.ENTRIES
                if (value := each.value(shown)) is not None
            ]
            st.dataframe(rows, hide_index=True, key="size-entries")
            st.markdown(f":small[{view.ASSUMED}]")


if controls.entered("size"):
    given = screen.read(controls.address())
    if given or "ask" not in state:
        state.ask, state.ask_notices = query.decode(given)
address = "&".join(filter(None, [query.encode(state.ask), urlencode(screen.parameters())]))
screen.dress(address)
with st.sidebar:
    ask_for_load()
    ask_for_promise()
    ask_for_the_rest()
    controls.write_address(address)
    screen.switch()
controls.show_notices(state.get("ask_notices", ()))
shown, today = found(), date.today()
head(shown, today)
if shown.sizing and shown.sizing.fits:
    blame(shown)
pictures(shown, today)
if len(shown.ranked):
    ranking(shown, today)
if shown.sizing:
    if shown.sizing.fits:
        changes(shown)
        cases(shown)
        size_check.show(shown.sizing, state.ask.seed, lambda: number("seed", "Seed"))
        size_files.show_benchmark(shown.sizing, ask_again)
    numbers(shown)
    st.caption(" ".join([report.priced(shown, today), *report.site(shown)]).replace("$", "\\$"))
