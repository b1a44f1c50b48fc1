"""Numbers and results in words, as the page, the charts and the report show them."""

import math

from planner.accelerator import GIB
from planner.plan import Plan

MORE = "∞"


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


def gib(count: float) -> str:
    """Bytes in GiB, as engines print them (some write GB and mean GiB)."""
    return f"{significant(count / GIB)} GiB"


def duration(seconds: float) -> str:
    """A time: 31.2 ms, 1.25 s, 2.50 min."""
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
    heads = {group.kv_heads for group in model.groups}
    return f"{model.attention}, {max(heads)} KV heads"


def inputs(plan: Plan) -> str:
    """The inputs in one line, for a screen on which the controls are folded away."""
    scenario = plan.scenario
    load = f"{requests(scenario.concurrency)} × {whole(scenario.context)} tokens"
    device = f"{scenario.memory:,} GB at {scenario.bandwidth:,} GB/s, {scenario.peak:,} TFLOP/s"
    return f"{plan.model.name} · {load} · {scenario.the_device.name}: {device}"


def figures(plan: Plan) -> list[tuple[str, str, str]]:
    """The headline figures: name, value, and what it is."""
    return [
        (
            "Weights",
            data(plan.weights_bytes),
            f"{gib(plan.weights_bytes)}. Every parameter at 16 bits, read once for each token.",
        ),
        (
            "Cache",
            data(plan.cache_bytes),
            f"{gib(plan.cache_bytes)}. Keys and values of all past tokens of all requests.",
        ),
        (
            "Cache per token",
            data(plan.cache_bytes_per_token),
            f"{whole(plan.cache_bytes_per_token)} bytes that one more token adds to one request.",
        ),
        (
            "Time per token",
            duration(plan.decode_step_s),
            "Reading all weights and every cache once, at full bandwidth. The least it can be.",
        ),
        (
            "First token",
            duration(plan.ttft_s),
            f"Reading a prompt of {whole(plan.context_tokens)} tokens at full peak; no queue.",
        ),
        (
            "All requests",
            f"{significant(plan.tokens_per_s_total)} tok/s",
            "Tokens per second of all requests together.",
        ),
    ]


LEFT_OUT = """
- This is the **ideal engine**: full bandwidth, full peak, nothing reserved. Over 1,673 published
  measurements the ideal time per token was about half of the measured one (median error 48 %; 38 %
  with the fastest engines).
- Weights and cache are stored at 16 bits, and nothing is shared between requests.
- One device, and all requests have the same context. With some hundred requests at once, computing
  may take longer than reading; that is not in the time per token.
- Memory that an engine takes for itself (activations, graphs, fragments) is not counted.
"""


def verdict(plan: Plan) -> tuple[str, str]:
    """The answer: whether it fits and by how much, and the sentence that goes with it.

    Where it does not fit, the second sentence says what would make it fit.
    """
    scenario = plan.scenario
    tokens = f"{whole(scenario.context)} tokens"
    if plan.fits:
        each = "it" if scenario.concurrency == 1 else "each"
        return (
            f"Fits, with {data(plan.memory_free_bytes)} to spare.",
            f"Up to {requests(plan.max_concurrency)} of {tokens}; with "
            f"{whole(scenario.concurrency)}, {each} sees {rate(plan.tokens_per_s_per_request)}.",
        )
    missing = f"Does not fit: {data(-plan.memory_free_bytes)} too much."
    more = f"{data(plan.memory_needed_bytes)} of memory"
    if plan.weights_bytes > plan.memory_usable_bytes:
        load = f"with {requests(scenario.concurrency)} of {tokens}"
        return (
            missing,
            f"The weights alone need {data(plan.weights_bytes)}; {load} it takes {more}.",
        )
    ways = [more]
    if plan.max_context_tokens >= 1:
        ways.insert(0, f"{whole(plan.max_context_tokens)} tokens each")
    if plan.max_concurrency >= 1:
        ways.insert(0, requests(plan.max_concurrency))
    return missing, f"It would fit with {', or '.join(ways)}."
