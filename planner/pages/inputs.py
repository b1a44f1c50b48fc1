"""The inputs of a plan in the order in which people think of them, for the Plan page's sidebar.

Model, weights, device and how many, engine, load and bandwidth are always there; the rest is folded
away, and one line says how it stands.
"""

import streamlit as st

from planner import describe, explain
from planner.hardware import parallel
from planner.inputs import overrides, presets, support
from planner.inputs.link import Notice
from planner.inputs.scenario import LENGTHS, device_numbers
from planner.pages import controls, folded_inputs, model_dialog, screen
from planner.pages.components import component
from planner.pages.controls import change
from planner.serving import evaluate, time_figure
from planner.units import GIB

_picker = component("picker")
ANOTHER = "Another model…"


def show():
    """Every input, the first ones open."""
    model()
    pick("weights", "Weights")
    devices()
    engine()
    for name in ("concurrency", "context", "bandwidth"):
        controls.number(name)
    with st.container(gap="xsmall"):
        for name, label, shown in FOLDED:
            with controls.folded(f"{name}-box", label) as open_:
                if open_:
                    shown()
    st.markdown(f":small[{describe.as_text(describe.folded(st.session_state.scenario))}]")


# --- what is searched for by name ---


def pick(name: str, label: str, unknown: str = "", counted=None):
    """A search over `choices.choices(name)`; choosing sets the scenario's input of that name.

    unknown: what is offered for a text that no choice goes by; nothing where it is “”. counted:
    called with the number in front of a name, as of “2x H100”.
    """
    now, key = getattr(st.session_state.scenario, name), f"pick-{name}"

    def chosen():
        id, count, _ = st.session_state[key].value.rsplit("@", 2)
        choose(name, id)
        if count:
            counted(int(count))

    def looked_up():
        st.session_state["look-up"] = st.session_state[key].unknown

    _picker(
        key=key,
        data={
            "label": label,
            "value": now,
            "shown": FIND[name](now).name,
            "address": f"{screen.root()}api/choices/{name}",
            "unknown": unknown,
            "counted": counted is not None,
        },
        on_value_change=chosen,
        on_unknown_change=looked_up,
    )


FIND = {
    "model": presets.model,
    "device": presets.accelerator,
    "weights": presets.weight_format,
}
# What else a choice sets: a model's weights are stored as published, a device has its own numbers.
FOLLOWS = {
    "model": lambda id: {"weights": presets.model(id).dtype},
    "device": device_numbers,
    "engine": lambda id: {"set": ""},
}


def with_follows(name: str, value: str) -> dict:
    """An input's new value, and the inputs that follow from it."""
    return {name: value, **FOLLOWS.get(name, lambda _: {})(value)}


def choose(name: str, value: str):
    """Set an input of the scenario by its name, and what follows from it."""
    change(**with_follows(name, value))


def model():
    """Choose a model by any of its names; one that is not in the list is looked up at once."""
    with st.container(gap=None):
        pick("model", "Model", unknown="Look up")
        asked = st.button(ANOTHER, type="tertiary", key="another")
    typed = st.session_state.pop("look-up", None)
    if asked or typed:
        model_dialog.open_dialog(typed or "")


def devices():
    """Choose a device and how many of them; only counts over which the model can be laid."""
    state = st.session_state
    now, owned = state.scenario.layout, state.scenario.the_model
    beside, count = st.columns([3, 1], gap="small")
    with beside:
        pick("device", "Device", counted=use_devices)
    counts = [n for n in range(1, parallel.MOST_DEVICES + 1) if parallel.layouts(owned, n)]
    if state.get("devices") != now.devices:
        state.devices = now.devices
    count.selectbox("Count", counts, key="devices", on_change=lambda: use_devices(state.devices))


def use_devices(count: int):
    """Lay the model over so many devices in the usual way, or say why that cannot be."""
    able = parallel.layouts(st.session_state.scenario.the_model, count)
    if able:
        change(**_sizes(able[0]))
    else:
        text = f"This model cannot be laid over {count:,} devices"
        kept = f"{st.session_state.scenario.layout.devices} kept"
        st.session_state.notices += (Notice("devices", text, kept),)


# --- what is chosen from a short list ---


def _select(label, name, rows, shown, **options):
    """A select box for one named input of the scenario."""
    value = getattr(st.session_state.scenario, name)
    # Written only where it differs: a write goes to the browser and would undo a choice under way.
    if st.session_state.get(name) != value:
        st.session_state[name] = value
    st.selectbox(
        label,
        rows,
        format_func=shown,
        key=name,
        on_change=lambda: choose(name, st.session_state[name]),
        **options,
    )


def engine():
    """Choose the engine: those that run on the device, and none."""
    now = st.session_state.scenario
    able = support.offered(now.device)
    _select(
        "Engine",
        "engine",
        able if now.engine in able else [*able, now.engine],
        _engine_name,
        help="Those that run on the device. Without one, times are lower bounds.",
        filter_mode="contains",  # in the order of the list: on NVIDIA, CUDA before Vulkan
    )
    remark = support.remark(now.engine, now.device)
    if remark:
        st.caption(remark[:1].upper() + remark[1:])


def _engine_name(id):
    own = presets.engine(id)
    if id == "ideal":
        return "None (lower bound)"
    return f"{own.name} ({own.group})" if own.group else own.name


def memory():
    """Memory and compute of a device, where they differ from its data sheet."""
    controls.number("memory")
    st.caption(explain.memory_help(evaluate(st.session_state.scenario)))
    controls.number("peak")


def cache():
    """Choose how keys and values are stored."""
    formats = presets.caches_of(st.session_state.scenario.the_model)
    _select("Keys", "cache_k", list(formats), lambda key: formats[key].name)
    _select("Values", "cache_v", list(formats), lambda key: formats[key].name)
    folded_inputs.state()


def layout():
    """Choose how the model is laid over the devices: only what divides is offered."""
    state = st.session_state
    now = state.scenario.layout
    if now.devices == 1:
        st.caption("One device holds the whole model.")
        return
    folded_inputs.context_parallel()
    if state.get("layout") != now:
        state.layout = now
    st.selectbox(
        "Layout",
        parallel.layouts(state.scenario.the_model, now.devices),
        format_func=describe.layout,
        key="layout",
        on_change=lambda: change(**_sizes(state.layout)),
        help="Tensor parallel splits every matrix; pipeline parallel splits layers; data parallel "
        "splits requests; expert parallel splits experts.",
    )


def _sizes(layout):
    return {
        "tp": layout.tensor,
        "pp": layout.pipeline,
        "dp": layout.data,
        "ep": layout.expert,
    }


# --- lengths, and figures of the engine ---


def lengths():
    """Lengths of prompt and output, 0 where they are not given."""
    for name in LENGTHS:
        controls.number(name)
    st.caption("0: not given")


def figures():
    """Change figures of the engine."""
    st.selectbox(
        "Change a figure",
        list(overrides.KNOWN),
        index=None,
        format_func=lambda key: overrides.KNOWN[key].label,
        key="set-add",
        on_change=_add_setting,
    )
    for key, value in overrides.read(st.session_state.scenario.set).items():
        _setting(key, value)


def _current(key):
    """An engine's figure as it stands, from its memory or its time."""
    now = st.session_state.scenario
    if key == "pool_gib":  # set to what it stands at, it changes nothing
        return float(evaluate(now).reserve.pool_bytes / GIB)
    if key in overrides.MEMORY:
        return float(getattr(now.the_engine, key))
    return float(time_figure(evaluate(now), key))


def _add_setting():
    key = st.session_state["set-add"]
    st.session_state["set-add"] = None
    if key:
        _set(key, overrides.KNOWN[key].nearest(_current(key)))


def _set(key, value):
    own = overrides.read(st.session_state.scenario.set)
    change(set=overrides.write({**own, key: value}))


def _setting(key, value):
    spec, widget = overrides.KNOWN[key], f"set-{key}"
    if st.session_state.get(widget) != value:
        st.session_state[widget] = float(value)
    unit = f" ({spec.unit})" if spec.unit else ""
    st.number_input(
        f"{spec.label}{unit}",
        float(spec.minimum),
        float(spec.maximum),
        key=widget,
        on_change=lambda: _set(key, spec.nearest(st.session_state[widget])),
    )


# Under labels that never change: one that does would close its part while a slider in it moves.
FOLDED = (
    ("memory", "Memory and compute", memory),
    ("cache", "Cache format", cache),
    ("layout", "Layout", layout),
    ("lengths", "Prompt and output", lengths),
    ("host", "Host memory", folded_inputs.host),
    ("draft", "Speculative decoding", folded_inputs.drafter),
    ("lora", "LoRA adapters", folded_inputs.adapters),
    ("engine", "Engine figures", figures),
)
