"""On the Size page: what is dropped there, a trace as its load, a benchmark's result beside it."""

from collections.abc import Callable

import streamlit as st

from planner.pages import controls, turns
from planner.sizing import from_trace, view_benchmarks
from planner.sizing.against import Comparison, compare
from planner.sizing.benchmarks import read_benchmark
from planner.sizing.steady import Sizing
from planner.sizing.traces import Trace, read_trace

state = st.session_state
MOST_COMPARED = 8  # runs of one file


def ask_for_trace(ask_again: Callable):
    """A field for a trace, which becomes the load; ask_again: replaces inputs of the question."""
    file = st.file_uploader(
        "Trace (CSV or JSON Lines)",
        key="size-trace",
        help="Azure, BurstGPT or Mooncake, or a table of arrival_s, prompt_tokens and "
        "output_tokens. It stays in this session; the link carries its summary.",
    )
    if file is None:
        state.pop("size-traced", None)
        return
    kept = state.get("size-traced")
    if kept is None or kept[0] != file.file_id:
        bar = st.progress(0.0, "Reading…")
        try:
            with turns.aside():
                found = read_trace(file.getvalue(), lambda part: bar.progress(part, "Reading…"))
        except ValueError as problem:
            found = str(problem)
        bar.empty()
        kept = state["size-traced"] = (file.file_id, found)
        if isinstance(found, Trace):
            ask_again(**from_trace.values(found.summary()))
            st.rerun()
    if isinstance(kept[1], str):
        st.error(kept[1])
    else:
        first, *rest = from_trace.said(kept[1])
        st.markdown(f":small[{first}]")
        if rest:
            st.warning("\n\n".join(rest))


def trace() -> Trace | None:
    """The trace that was dropped in this session; None where there is none."""
    kept = state.get("size-traced")
    return kept[1] if kept and isinstance(kept[1], Trace) else None


def show_benchmark(own: Sizing, ask_again: Callable):
    """A benchmark's result against what is predicted of its load on this deployment."""
    with controls.folded("size-benchmark", "Compare with a benchmark") as open_:
        if open_:
            _benchmark(own, ask_again)


def _benchmark(own, ask_again):
    st.markdown(
        "A result of `vllm bench serve`, SGLang's `bench_serving`, GuideLLM, inference-perf, "
        "AIPerf or llm-d's benchmark report (v0.2), of one replica of this deployment."
    )
    file = st.file_uploader("Result (JSON, JSON Lines or YAML)", key="size-benchmark-file")
    text = st.text_area("Or paste it", key="size-benchmark-text", height=100)
    raw = file.getvalue() if file else text.encode()
    if not raw.strip():
        return
    try:
        runs = read_benchmark(raw)
    except ValueError as problem:
        st.error(str(problem))
        return
    if len(runs) > MOST_COMPARED:
        st.info(f"It holds {len(runs)} runs; the first {MOST_COMPARED} are compared.")
    for place, run in enumerate(runs[:MOST_COMPARED]):
        _run(place, _compared(own.scenario, run), ask_again)


@st.cache_data(max_entries=64, show_spinner="Simulating its load…")
def _compared(scenario, run) -> Comparison:
    return compare(scenario, run)


def _run(place, found, ask_again):
    st.markdown(f"**{view_benchmarks.title(found.run)}**")
    for problem in found.problems:
        st.warning(problem)
    if found.rows:
        st.dataframe(
            view_benchmarks.table(found), hide_index=True, key=f"size-benchmark-rows-{place}"
        )
    if found.site is not None:
        st.markdown(view_benchmarks.site(found))
        st.button(
            f"Size with a site factor of {found.site:.2f}",
            key=f"size-site-{place}",
            on_click=lambda: ask_again(site=f"{found.site:.3g}"),
        )
