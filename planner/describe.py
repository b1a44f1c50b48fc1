"""Numbers and results in words, as the page, the charts and the report show them."""

import math
import re

from planner.hardware import parallel
from planner.inputs import presets
from planner.inputs.scenario import device_numbers
from planner.models import drafting, states
from planner.plan import Plan
from planner.units import GIB, GIGA, TERA

MORE = "∞"


def significant(value: float, digits: int = 3) -> str:
    """A number to so many significant digits, thousands separated: 31.2, 0.0014, 1,230."""
    if math.isinf(value):
        return MORE
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(float(value), decimals)  # NumPy rounds its own numbers in another way
    # 99.96 rounds up to 100: one digit more before the point, one fewer behind it.
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(decimals, 0)}f}"


def _scaled(value: float, steps) -> str:
    """The value in the largest unit of which there is at least one, else in the smallest."""
    for step in steps:
        if abs(value) >= step[0] * 0.9995:
            break
    size, unit = step
    return f"{significant(value / size)} {unit}"


def data(count: float) -> str:
    """Bytes in decimal units: 131 kB, 14.0 GB."""
    return _scaled(
        count, ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "B"))
    )


def enough(count: float) -> str:
    """Bytes rounded up to three digits, so that whoever takes the text at its word has enough."""
    step = 10 ** (math.floor(math.log10(count)) - 2)
    return data(math.ceil(count / step * (1 - 1e-12)) * step)


def gib(count: float) -> str:
    """Bytes in GiB, as engines print them (some write GB and mean GiB)."""
    return f"{significant(count / GIB)} GiB"


def duration(seconds: float) -> str:
    """A time: 31.2 ms, 150 s, 20.0 min; one that grows for ever is without end."""
    if math.isinf(seconds):
        return "unbounded"
    if seconds >= 1000:
        return _scaled(seconds, ((3600, "h"), (60, "min")))
    return _scaled(seconds, ((1, "s"), (1e-3, "ms"), (1e-6, "µs")))


def rate(per_second: float) -> str:
    """Tokens per second."""
    return f"{significant(per_second)} tokens/s"


def amount(value: float, unit: str) -> str:
    """A number in an SI unit; one whose unit is not written says it in its label."""
    if unit == "bytes" and math.isfinite(value):
        return data(value) if value >= 0 else f"−{data(-value)}"
    if unit == "s":
        return duration(value)
    if unit in ("tokens", "requests", "devices"):
        return whole(value)
    if unit in ("bytes/s", "FLOP/s", "FLOP"):
        size, name = (GIGA, "GB/s") if unit == "bytes/s" else (TERA, f"T{unit}")
        return f"{significant(value / size)} {name}"
    return significant(value)


def between(low: float, high: float, unit: str) -> str:
    """The ends of a band, from a number to a greater; “” where they are one."""
    if math.isinf(high) and low < high:
        return f"at least {amount(low, unit)}"
    return f"{amount(low, unit)} – {amount(high, unit)}" if low < high else ""


def whole(count: float) -> str:
    """A count, thousands separated."""
    return MORE if math.isinf(count) else f"{count:,.0f}"


def requests(count: float) -> str:
    """A number of requests, with its noun."""
    return "1 request" if count == 1 else f"{whole(count)} requests"


def tokens(count: float) -> str:
    """A number of tokens, with its noun."""
    return "1 token" if count == 1 else f"{whole(count)} tokens"


def factor(ratio: float) -> str:
    """A ratio as a difference: ×4.00, +12.5 %, −48.0 %; a hair's breadth is no difference."""
    if math.isclose(ratio, 1, rel_tol=5e-4):
        return "the same"
    if ratio >= 2 or ratio <= 0.5:
        return f"×{significant(ratio)}"
    sign = "+" if ratio > 1 else "−"
    return f"{sign}{significant(100 * abs(ratio - 1))} %"


def variant(model) -> str:
    """A model's attention as a chart labels it: GQA, 8 KV heads."""
    heads = sorted({group.kv_heads for group in model.groups if group.kv_heads})
    if model.attention == "MLA":
        return "MLA, one latent"
    if not heads:
        return "recurrent, no KV heads"
    count = f"{heads[0]}" if len(heads) == 1 else f"{heads[0]}–{heads[-1]}"
    return f"{model.attention}, {count} KV head{'' if count == '1' else 's'}"


def devices(plan: Plan) -> str:
    """The device and how many, and whether its numbers were changed."""
    scenario = plan.scenario
    numbers = {name: getattr(scenario, name) for name in device_numbers(scenario.device)}
    changed = "" if numbers == device_numbers(scenario.device) else " (changed)"
    return f"{device(scenario)}{changed}"


def device(scenario) -> str:
    """The device and how many, of a scenario."""
    count = scenario.layout.devices
    return f"{f'{count} × ' if count > 1 else ''}{scenario.the_device.name}"


def precision(scenario) -> str:
    """The formats in use, in short."""
    keys, values = scenario.cache_k, scenario.cache_v
    cache = keys if keys == values else f"{keys}/{values}"
    return f"weights {scenario.weights}, cache {cache}"


def cache_format(scenario) -> str:
    """How keys and values are stored, in short."""
    stored = (scenario.cache_k, scenario.cache_v)
    keys, values = (presets.cache_format(each).name for each in stored)
    return keys if keys == values else f"{keys} and {values}"


def folded(scenario) -> str:
    """The inputs that the page folds away, in one line; lengths where they are given."""
    memory = f"{scenario.memory:,} GB, {scenario.peak:,} TFLOP/s"
    given = {"prompt": scenario.prompt, "cached": scenario.prefix, "output": scenario.output}
    lengths = [f"{name} {whole(tokens)}" for name, tokens in given.items() if tokens]
    figures = ["engine figures changed"] if scenario.set else []
    cache = f"{cache_format(scenario)} cache"
    return " · ".join([memory, cache, layout(scenario.layout), *lengths, *figures])


def layout(found: parallel.Layout) -> str:
    """How a model lies on its devices, in short."""
    parts = {
        "tensor": found.tensor,
        "pipeline": found.pipeline,
        "data": found.data,
        "expert": found.expert,
    }
    named = [f"{name} {ways}" for name, ways in parts.items() if ways > 1]
    return ", ".join(named) or "one device"


def inputs(plan: Plan) -> str:
    """The inputs in one line, for a screen on which the controls are folded away."""
    scenario = plan.scenario
    load = f"{requests(scenario.concurrency)} × {whole(scenario.context)} tokens"
    device = f"{scenario.memory:,} GB at {scenario.bandwidth:,} GB/s, {scenario.peak:,} TFLOP/s"
    each = " each" if scenario.layout.devices > 1 else ""
    parts = [plan.model.name, load, f"{devices(plan)}: {device}{each}", precision(scenario)]
    parts += [layout(scenario.layout)] if each else []
    parts += [f"decode context {scenario.dcp}"] if scenario.dcp > 1 else []
    parts += [on_host(scenario)] if scenario.placed.any else []
    parts += [adapters(scenario)] if scenario.loras else []
    state = scenario.state_format
    parts += [f"states in {state}"] if state != states.AUTO else []
    return " · ".join([*parts, f"drafted by {drafter(scenario)}"] if scenario.draft else parts)


def adapters(scenario) -> str:
    """How many adapters there is room for: 8 LoRA adapters of rank 16."""
    count = scenario.loras
    return f"{count:,} LoRA adapter{'s' if count > 1 else ''} of rank {scenario.lora_rank}"


def drafter(scenario) -> str:
    """Who guesses tokens ahead, and how many: EAGLE-3 head (3 drafted, 2 a step)."""
    other = presets.draft_model(scenario.draft)
    name = other.name if other else drafting.NAMES[scenario.draft]
    return f"{name} ({scenario.drafted} drafted, {scenario.accepted:g} a step)"


def on_host(scenario) -> str:
    """What of the model is in host memory, in short; “” where all is on devices."""
    layers, experts = scenario.host_layers, scenario.host_experts
    parts = [f"{layers} layers"] if layers else []
    parts += [f"experts of {experts} layers"] if experts > layers else []
    held = " and ".join(parts)
    return f"in host memory at {scenario.host_bandwidth:,} GB/s: {held}" if held else ""


def model_sentence(model) -> str:
    """What a model is, in its numbers: parameters, layers, and the three numbers of its cache."""
    shape = model.cache_shape()
    experts = ""
    if model.experts:
        active = f"{significant(model.active_parameters / GIGA)} billion active"
        experts = f" ({active}; {model.experts_per_token} of {model.experts} experts a token)"
    parts = [f"**{whole(shape.per_token)} bytes per token**"]
    parts += [f"{whole(each)} bytes per token until {whole(most)}" for each, most in shape.windowed]
    parts += [f"{data(shape.fixed)} fixed"] if shape.fixed else []
    return (
        f"{significant(model.parameters / GIGA)} billion parameters{experts}, "
        f"{model.layers} layers. Cache of one request at 16 bits: {', '.join(parts)}."
    )


def columns(rows, right=()):
    """Rows of texts as lines in columns; those numbered in `right` stand to the right."""
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            f"{text:{'>' if place in right else '<'}{wide[place]}}"
            for place, text in enumerate(row)
        ]
        yield "  ".join(cells).rstrip()


def as_text(words: str) -> str:
    """A text from outside as Markdown that shows it as it stands: no links, pictures or HTML."""
    # Bare addresses become links even with every sign escaped; a joiner of no width prevents it.
    apart = re.sub(r"(https?:|ftp:|www|@)", "\\1\u2060", words, flags=re.IGNORECASE)
    escaped = re.sub(r"([!#$&*<>@\[-`{-~]|:(?=\S))", r"\\\1", apart)
    escaped = re.sub(r"^(\s*)([-+=])", r"\1\\\2", escaped)  # no list and no line begins here
    return re.sub(r"^(\s*\d+)([.)])(?=\s|$)", r"\1\\\2", escaped)
