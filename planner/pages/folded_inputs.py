"""Controls of what few plans need, each in a box that is closed at first."""

import streamlit as st

from planner.hardware import context
from planner.inputs import presets
from planner.inputs.scenario import DRAFT, HOST, LORA
from planner.models import drafting, states
from planner.pages import controls


def host():
    """Choose what of the model is in host memory, and how fast that is read and sent."""
    st.caption(
        "Layers or experts that find no room on the device are worked on by the host's processor: "
        "llama.cpp's --n-gpu-layers and --n-cpu-moe."
    )
    for name, spec in HOST.items():
        number(name, spec)


def context_parallel():
    """Choose over how many devices the tokens of a request are shared out, where any can."""
    now = st.session_state.scenario
    sizes = [
        size
        for size in range(1, now.tp + 1)
        if not context.refusal(now.the_model.groups, now.tp, size)
    ]
    if len(sizes) == 1:
        return
    if st.session_state.get("dcp") != now.dcp:
        st.session_state["dcp"] = now.dcp
    st.selectbox(
        "Decode context parallel",
        sizes,
        key="dcp",
        on_change=lambda: controls.change(dcp=st.session_state["dcp"]),
        help="Devices that would store the same keys and values share out the tokens instead.",
    )


def state():
    """Choose how recurrent states are stored, where the model has any whose type is a choice."""
    now = st.session_state.scenario
    formats = [each for each in states.FORMATS if not states.refusal(now.the_model, each)]
    if formats == [states.AUTO]:
        return
    if st.session_state.get("state_format") != now.state_format:
        st.session_state["state_format"] = now.state_format
    st.selectbox(
        "Recurrent states",
        formats,
        key="state_format",
        format_func=lambda each: states.FORMATS[each].name,
        on_change=lambda: controls.change(state_format=st.session_state["state_format"]),
        help="vLLM's --mamba-ssm-cache-dtype, SGLang's --mamba-ssm-dtype. Where the file names no "
        "type, vLLM takes the model's own 16 bits. The inputs that a convolution keeps stay at 16 "
        "bits. How many states SGLang holds is an engine figure.",
    )


def drafter():
    """Choose who guesses tokens ahead, how many, and how many a step yields."""
    now, rows = st.session_state.scenario, presets.models()
    own = [kind for kind in drafting.NAMES if not drafting.refusal(now.the_model, kind, now.pp)]
    others = [] if now.pp > 1 else list(rows)
    known = [*own, *others]
    if st.session_state.get("draft") != now.draft:
        st.session_state["draft"] = now.draft
    st.selectbox(
        "Drafter",
        known if now.draft in known else [*known, now.draft],
        format_func=lambda key: drafting.NAMES.get(key) or presets.model(key).name,
        key="draft",
        on_change=lambda: controls.change(draft=st.session_state["draft"]),
        help="Guesses tokens ahead, which the model checks in one pass: speculative decoding. "
        "A drafter model must have the same tokenizer.",
    )
    for name, spec in DRAFT.items() if now.draft else ():
        number(name, spec)


def adapters():
    """Choose how many adapters there is room for at once, and of which rank."""
    st.caption("vLLM's --max-loras and --max-lora-rank: room is set apart when the engine starts.")
    for name, spec in LORA.items():
        number(name, spec)


def number(name, spec):
    """A field for one number of the scenario; 0 or its default where it is left alone."""
    value = getattr(st.session_state.scenario, name)
    kind = int if spec.whole else float
    if st.session_state.get(name) != value:
        st.session_state[name] = kind(value)
    unit = "" if spec.unit in spec.label.lower() else f" ({spec.unit})"
    st.number_input(
        f"{spec.label}{unit}",
        kind(spec.minimum),
        kind(spec.maximum),
        step=kind(1),
        key=name,
        on_change=lambda: controls.change(**{name: spec.nearest(st.session_state[name])}),
    )
