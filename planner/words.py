"""Numbers and results in words, as the page, the charts and the report show them."""

import math
from dataclasses import replace

from planner import parallel, presets
from planner.accelerator import GIB
from planner.plan import Plan
from planner.plan import plan as plan_of
from planner.scenario import NUMBERS, Scenario, device_numbers

MORE = "∞"
EIGHT_BIT = presets.cache_format("fp8")
DEVICE_COUNTS = (2, 4, 8, 16, 32, 64)


def significant(value: float, digits: int = 3) -> str:
    """A number to so many significant digits, thousands separated: 31.2, 0.0014, 1,230."""
    if math.isinf(value):
        return MORE
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, decimals)
    # 99.96 rounds up to 100: one digit more before the point, one fewer behind it.
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:,.{max(decimals, 0)}f}"


def _scaled(value: float, steps) -> str:
    """The value in the largest unit of which there is at least one, else in the smallest."""
    size, unit = next((step for step in steps if abs(value) >= step[0] * 0.9995), steps[-1])
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
    """A time: 31.2 ms, 150 s, 20.0 min."""
    if seconds >= 1000:
        return _scaled(seconds, ((3600, "h"), (60, "min")))
    return _scaled(seconds, ((1, "s"), (1e-3, "ms"), (1e-6, "µs")))


def rate(per_second: float) -> str:
    """Tokens per second."""
    return f"{significant(per_second)} tokens/s"


def whole(count: float) -> str:
    """A count, thousands separated."""
    return MORE if math.isinf(count) else f"{count:,.0f}"


def requests(count: float) -> str:
    """A number of requests, with its noun."""
    return "1 request" if count == 1 else f"{whole(count)} requests"


def short_tokens(tokens: float) -> str:
    """A round token count as axes write it: 512, 8k, 1M (k = 1,024)."""
    for size, unit in ((2**20, "M"), (2**10, "k")):
        if tokens >= size and tokens % size == 0:
            return f"{tokens // size:.0f}{unit}"
    return whole(tokens)


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
    count = scenario.layout.devices
    return f"{f'{count} × ' if count > 1 else ''}{scenario.the_device.name}{changed}"


def precision(scenario) -> str:
    """The formats in use, in short."""
    keys, values = scenario.cache_k, scenario.cache_v
    cache = keys if keys == values else f"{keys}/{values}"
    return f"weights {scenario.weights}, cache {cache}"


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
    return " · ".join([*parts, layout(scenario.layout)] if each else parts)


def model_sentence(model) -> str:
    """What a model is, in its numbers: parameters, layers, and the three numbers of its cache."""
    shape = model.cache_shape()
    experts = ""
    if model.experts:
        active = f"{significant(model.active_parameters / 1e9)} billion active"
        experts = f" ({active}; {model.experts_per_token} of {model.experts} experts a token)"
    parts = [f"**{whole(shape.per_token)} bytes per token**"]
    parts += [f"{whole(each)} bytes per token until {whole(most)}" for each, most in shape.windowed]
    parts += [f"{data(shape.fixed)} fixed"] if shape.fixed else []
    return (
        f"{significant(model.parameters / 1e9)} billion parameters{experts}, "
        f"{model.layers} layers. Cache of one request at 16 bits: {', '.join(parts)}."
    )


def figures(plan: Plan) -> list[tuple[str, str, str]]:
    """The headline figures: name, value, and what it is."""
    stored = presets.weight_format(plan.scenario.weights)
    many = plan.scenario.layout.devices > 1
    together = " On all devices together." if many else ""
    tokens = f"{whole(plan.cache_bytes_per_token)} bytes that one more token adds to one request"
    windowed = "".join(
        f", and {whole(each)} bytes until {whole(most)} tokens"
        for each, most in plan.cache.windowed
    )
    fixed = f"; {data(plan.cache.fixed)} whatever the context" if plan.cache.fixed else ""
    return [
        (
            "Weights",
            data(plan.weights_bytes),
            f"{gib(plan.weights_bytes)}, {plan.weights.basis}: {stored.name}.{together}",
        ),
        (
            "Cache",
            data(plan.cache_bytes),
            f"{gib(plan.cache_bytes)}. Keys and values of all past tokens, all requests.{together}",
        ),
        ("Cache per token", data(plan.cache_bytes_per_token), f"{tokens}{windowed}{fixed}."),
        (
            "Time per token",
            duration(plan.decode_step_s),
            "Reading the weights and every cache once, at full bandwidth. The least it can be.",
        ),
        (
            "First token",
            duration(plan.ttft_s),
            f"Reading a prompt of {whole(plan.context_tokens)} tokens at full peak; no queue.",
        ),
        (
            "All, tokens/s",
            significant(plan.tokens_per_s_total),
            "Tokens per second of all requests together.",
        ),
    ]


LEFT_OUT = """
- This is the **ideal engine**: full bandwidth, full peak, nothing reserved. Over 1,673 published
  measurements the ideal time per token was about half of the measured one (median error 48 %; 38 %
  with the fastest engines).
- All requests have the same context, and nothing is shared between them. With some hundred requests
  at once, computing may take longer than reading; that is not in the time per token.
- Several devices: what they send each other takes no time here, and the stages of a pipeline wait
  for one another. Experts are taken to be chosen evenly, which reads the most of them.
- Memory that an engine takes for itself (activations, graphs, fragments) is not counted.
"""


def verdict(plan: Plan) -> tuple[str, str]:
    """The answer: whether it fits and by how much, and the sentence that goes with it.

    Where it does not fit, the second sentence says what would make it fit.
    """
    scenario = plan.scenario
    tokens = f"{whole(scenario.context)} tokens"
    count = scenario.layout.devices
    where = f" on each of {count} devices" if count > 1 else ""
    if plan.fits:
        each = "it" if scenario.concurrency == 1 else "each"
        limit = NUMBERS["concurrency"].maximum
        most = plan.max_concurrency
        up_to = f"More than {requests(limit)}" if most > limit else f"Up to {requests(most)}"
        return (
            f"Fits, with {data(plan.memory_free_bytes)} to spare{where}.",
            f"{up_to} of {tokens}; with "
            f"{whole(scenario.concurrency)}, {each} sees {rate(plan.tokens_per_s_per_request)}.",
        )
    missing = f"Does not fit: {data(-plan.memory_free_bytes)} too much{where}."
    more = f"{enough(plan.memory_needed_bytes)} of memory{where}"
    ways = [f"{n} devices" for n in [more_devices(scenario)] if n]
    if plan.device_weights_bytes > plan.memory_usable_bytes:
        need = f"The weights alone need {data(plan.device_weights_bytes)}{where}."
        return missing, f"{need} It would fit with {', or '.join([*ways, more])}."
    if plan_of(with_small_cache(scenario)).fits:
        ways.insert(0, "an 8-bit cache")
    if plan.max_context_tokens >= NUMBERS["context"].minimum:
        each = " each" if scenario.concurrency > 1 else ""
        ways.insert(0, f"{whole(plan.max_context_tokens)} tokens{each}")
    if plan.max_concurrency >= 1:
        ways.insert(0, requests(plan.max_concurrency))
    return missing, f"It would fit with {', or '.join([*ways, more])}."


def with_small_cache(scenario: Scenario) -> Scenario:
    """The scenario with keys and values at 8 bits, or as small as they are already."""
    small = {}
    for name in ("cache_k", "cache_v"):
        wide = presets.cache_format(getattr(scenario, name)).bits > EIGHT_BIT.bits
        small[name] = EIGHT_BIT.id if wide else getattr(scenario, name)
    return replace(scenario, **small)


def more_devices(scenario: Scenario) -> int:
    """The fewest devices, more than now and a power of two, on which it fits; 0 where none do."""
    for count in DEVICE_COUNTS:
        if count > scenario.layout.devices:
            for each in parallel.layouts(scenario.the_model, count)[:1]:
                words = {"tp": each.tensor, "pp": each.pipeline, "dp": each.data, "ep": each.expert}
                if plan_of(replace(scenario, **words)).fits:
                    return count
    return 0
