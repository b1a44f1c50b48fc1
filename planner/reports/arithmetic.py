"""The arithmetic of a plan: each equation with this plan's numbers in it, and its result.

The text is exact: numbers are written with all their digits, so that whoever types it into a
calculator gets the figure on the page (a test does just that).
"""

import math
from dataclasses import dataclass, replace

from planner import describe
from planner.engines.memory import TERMS
from planner.figures import BY_KEY
from planner.hardware import parallel
from planner.inputs import presets
from planner.models.model import FP16_BYTES
from planner.plan import READING_TOKENS_PER_S, Plan
from planner.serving import Evaluation, parts
from planner.units import GB, GIB, GIGA, TERA


@dataclass(frozen=True)
class Worked:
    """One equation. `value` is the plan's own, in SI units; `result` is how the page shows it."""

    title: str
    symbols: str
    numbers: str
    result: str
    value: float


def _worked(plan: Plan, key: str, numbers: str) -> Worked:
    """The equation of a figure of the table, with this plan's numbers in it."""
    figure = BY_KEY[key]
    value = getattr(plan, key)
    return Worked(figure.label, figure.formula, numbers, figure.text(value), value)


def exact(value: float) -> str:
    """A number with all its digits and no more, thousands separated."""
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.15g}" if abs(value) >= 1e-4 else f"{value:.20f}".rstrip("0")


def gb(count: float) -> str:
    """Bytes as exact decimal GB."""
    return f"{exact(count / GB)} GB"


def arithmetic(plan: Plan) -> list[Worked]:
    """Every equation behind the plan's figures, in the order in which they build on each other."""
    return [
        *_weights(plan),
        *_cache(plan),
        *_memory(plan),
        *_decode(plan),
        *_crossovers(plan),
        *_prefill(plan),
    ]


def _weights(plan):
    stored, total = presets.weight_format(plan.scenario.weights), plan.weights_bytes
    if plan.weights.measured:
        text = f"{exact(total)} bytes"
        yield Worked("Weights, the size of the checkpoint", "W", text, describe.data(total), total)
        return
    model = plan.model
    parts = {
        stored.body_bits: model.parameters
        - model.embedding_parameters
        - model.head_parameters
        - model.expert_parameters
        - model.host_parameters
    }
    for count, bits in (
        (model.expert_parameters, stored.expert_bits),
        (model.embedding_parameters, stored.embedding_bits),
        (model.head_parameters, stored.head_bits),
    ):
        parts[bits] = parts.get(bits, 0) + count
    text = " + ".join(
        f"{exact(count / GIGA)} billion × {exact(bits)} bits / 8"
        for bits, count in parts.items()
        if count
    )
    yield _worked(plan, "weights_bytes", text)


def _layer_bytes(plan, group):
    """One group's bytes for a stored token: of its heads, of its indexer; “” where it has none."""
    scenario = plan.scenario
    key, value, indexed = scenario.cache_widths
    head = f"{group.layers} layers × {group.kv_heads} heads"
    if group.key_dim == group.value_dim and key == value:
        text = f"2 × {head} × {group.key_dim} × {exact(key)} bytes"
    elif group.value_dim:
        parts = f"{group.key_dim} × {exact(key)} bytes + {group.value_dim} × {exact(value)} bytes"
        text = f"{head} × ({parts})"
    else:  # a latent is stored once, for keys and values together
        text = f"{head} × {group.key_dim} × {exact(key)} bytes"
    stores = group.kv_heads and (group.key_dim or group.value_dim)
    each = exact(group.index_bytes * indexed / FP16_BYTES)
    index = f"{group.layers} layers × {each} bytes" if group.index_bytes else ""
    return text if stores else "", index


def _cache(plan):
    growing, windowed = [], []
    for group in plan.model.groups:
        heads, index = _layer_bytes(plan, group)
        both = " + ".join(text for text in (heads, index) if text)
        if group.stride > 1:
            growing.append(f"({both}) / {group.stride}" if both else "")
            windowed.append(heads if group.window else "")
        else:
            (windowed if group.window else growing).append(both)
    growing = [text for text in growing if text]
    windowed = [text for text in windowed if text]
    if growing:
        token = _worked(plan, "cache_bytes_per_token", " + ".join(growing))
        yield replace(token, result=f"{exact(plan.cache_bytes_per_token)} bytes")
    for text, (each, most) in zip(windowed, plan.cache.windowed, strict=True):
        yield Worked(
            f"Cache per token in layers that keep {most:,} tokens",
            "2 · L · H_kv · d_h · b",
            text,
            f"{exact(each)} bytes",
            each,
        )
    states = [
        f"{group.layers} layers × {group.state_bytes:,} bytes"
        for group in plan.model.groups
        if group.state_bytes
    ]
    if states:
        yield Worked(
            "State of one request in recurrent layers, whatever its context",
            "Σ L · s",
            " + ".join(states),
            describe.data(plan.cache_fixed_bytes_per_request),
            plan.cache_fixed_bytes_per_request,
        )
    context, request = f"{plan.context_tokens:,}", plan.cache_bytes_per_request
    parts = [
        f"{exact(plan.cache.fixed)} bytes" if plan.cache.fixed else "",
        f"{exact(plan.cache.per_token)} bytes × {context} tokens" if plan.cache.per_token else "",
        *(f"{exact(p)} bytes × min({context}, {w:,}) tokens" for p, w in plan.cache.windowed),
    ]
    text = " + ".join(part for part in parts if part) or "0 bytes"
    yield _worked(plan, "cache_bytes_per_request", text)
    yield _worked(plan, "cache_bytes", f"{gb(request)} × {plan.concurrency:,} requests")


def _memory(plan):
    text = f"{gb(plan.device_weights_bytes)} + {gb(plan.device_cache_bytes)}"
    yield _worked(plan, "memory_needed_bytes", text)
    if len(plan.stages) > 1 or plan.memory_usable_bytes < plan.device_weights_bytes:
        return  # the smallest over the stages of a pipeline is no one line
    (stage,) = plan.stages
    layout = plan.scenario.layout
    room = f"({gb(plan.memory_usable_bytes)} − {gb(stage.weights_bytes)})"
    request = stage.request_bytes(plan.context_tokens)
    groups = f"{layout.data} × " if layout.data > 1 else ""
    if math.isfinite(plan.max_concurrency):
        yield _worked(plan, "max_concurrency", f"{groups}⌊{room} / {gb(request)}⌋")
    grows = sum(
        p for p, w in zip(stage.bytes_per_token, stage.windows, strict=True) if math.isinf(w)
    )
    full = [
        (p, w)
        for p, w in zip(stage.bytes_per_token, stage.windows, strict=True)
        if math.isfinite(w)
    ]
    longest = plan.max_context_tokens
    if grows and longest > 0 and all(longest >= w for _, w in full):
        requests = parallel.requests_per_group(plan.concurrency, layout.data)
        fixed = stage.fixed_bytes + sum(p * w for p, w in full)
        less = f" − {gb(fixed)}" if fixed else ""
        text = f"⌊({room} / {exact(requests)}{less}) / {gb(grows)}⌋"
        yield _worked(plan, "max_context_tokens", text)


def _checked(plan):
    """Tokens that a step passes through the model."""
    return plan.concurrency * (1 + plan.draft.tokens if plan.draft else 1)


def _decode(plan):
    if plan.model.experts:
        model = plan.model
        yield Worked(
            "Experts that a step reads, of all",
            "1 − (1 − k / E) ^ B",
            f"1 − (1 − {model.experts_per_token} / {model.experts}) ^ {_checked(plan):,}",
            f"{describe.significant(100 * plan.experts_read)} %",
            plan.experts_read,
        )
    read, cache = gb(plan.weights_read_bytes), gb(plan.cache_read_bytes)
    bandwidth = exact(plan.bandwidth_bytes_per_s / GB)
    rate = f"{bandwidth} GB/s / ({read} + {cache})"
    step, host_s = f"({read} + {cache}) / {bandwidth} GB/s", ""
    if plan.host_read_bytes:
        step = f"{step} + {_host(plan, plan.host_read_bytes)}"
        rate = f"1 / ({step})"
        host_s = f" / (1 − {READING_TOKENS_PER_S}/s × {_host(plan, plan.host_read_bytes)})"
    if plan.draft:
        yield from _guessed(plan, step, bandwidth)
        return
    yield _worked(plan, "decode_step_s", step)
    yield _worked(plan, "tokens_per_s_per_request", rate)
    yield _worked(plan, "tokens_per_s_total", f"{plan.concurrency:,} × {rate}")
    if not math.isfinite(plan.reading_bandwidth_bytes_per_s):
        return
    yield Worked(
        f"Bandwidth for {READING_TOKENS_PER_S} tokens/s each, the pace of a fast reader",
        "(W + C) / TPOT",
        f"({read} + {cache}) × {READING_TOKENS_PER_S}/s{host_s}",
        f"{describe.significant(plan.reading_bandwidth_bytes_per_s / GB)} GB/s",
        plan.reading_bandwidth_bytes_per_s,
    )


def _guessed(plan, step, bandwidth):
    """The time per token where a step checks guesses and yields several."""
    checked = f"({step} + {gb(plan.draft_read_bytes)} / {bandwidth} GB/s)"
    yielded = exact(plan.draft.accepted)
    symbols = "(check + guesses) / τ"
    token = _worked(plan, "decode_step_s", f"{checked} / {yielded}")
    each = _worked(plan, "tokens_per_s_per_request", f"{yielded} / {checked}")
    total = _worked(plan, "tokens_per_s_total", f"{plan.concurrency:,} × {yielded} / {checked}")
    yield from (replace(own, symbols=symbols) for own in (token, each, total))


def _host(plan, count):
    """The time of reading so many bytes of host memory."""
    return f"{gb(count)} / {exact(plan.host_bandwidth_bytes_per_s / GB)} GB/s"


def _crossovers(plan):
    read, bandwidth = gb(plan.weights_read_bytes), exact(plan.bandwidth_bytes_per_s / GB)
    grows = [pair for stage in plan.own_stages for pair in stage.reads]
    fixed = sum(stage.fixed_bytes for stage in plan.own_stages)
    endless = sum(p for p, w in grows if math.isinf(w))
    full = [(p, w) for p, w in grows if math.isfinite(w)]
    context = plan.crossover_context_tokens
    requests = parallel.requests_per_group(plan.concurrency, plan.scenario.dp)
    if 0 < context < math.inf and endless and all(context >= w for _, w in full):
        fixed += sum(p * w for p, w in full)
        less = f" − {gb(fixed)}" if fixed else ""
        text = f"⌊({read} / {exact(requests)}{less}) / {gb(endless)}⌋"
        yield _worked(plan, "crossover_context_tokens", text)
    if math.isfinite(plan.crossover_concurrency) and not plan.model.experts:
        layout = plan.scenario.layout
        each = f"{exact(plan.decode_flops / plan.concurrency / TERA)} TFLOP"
        peak = f"{exact(plan.peak_flops * layout.stage_devices / TERA)} TFLOP/s"
        cache = gb(plan.cache_read_bytes / requests / layout.data)
        text = f"({read} / {bandwidth} GB/s) / ({each} / {peak} − {cache} / {bandwidth} GB/s)"
        requests = _worked(plan, "crossover_concurrency", text)
        yield replace(requests, result=describe.significant(requests.value))


def _sum_of_times(title, pieces, total):
    """A time as the sum of its named pieces; what takes none is left out."""
    pieces = [(part, seconds) for part, seconds in pieces if seconds > 0]
    return Worked(
        title,
        " + ".join(part for part, _ in pieces),
        " + ".join(f"{exact(seconds * 1e3)} ms" for _, seconds in pieces),
        describe.duration(total),
        total,
    )


def with_engine(evaluation: Evaluation) -> list[Worked]:
    """What the engine makes of it: the sum of a step's parts, and what is left for the cache."""
    name, step, first = evaluation.engine.name, evaluation.step, evaluation.first
    named = (("compute", first.compute_s), ("fixed", first.floor_s), ("link", first.link_s))
    found = [
        _sum_of_times(f"{BY_KEY['decode_step_s'].label} with {name}", parts(step), step.total_s),
        _sum_of_times(f"{BY_KEY['ttft_s'].label} with {name}", named, first.total_s),
    ]
    reserve = evaluation.reserve
    before, inside = 0.0, 0.0
    for term in TERMS:
        when = getattr(evaluation.engine, f"{term}_charged")
        count = float(getattr(reserve, f"{term}_bytes"))
        before += count * (when == "before")
        inside += count * (when == "inside")
    pool = evaluation.engine.pool_gib
    if pool and reserve.pool_bytes > 0:
        text, value = f"{exact(pool * GIB / GB)} GB", float(reserve.pool_bytes)
        found.append(Worked(f"Cache pool of {name}", "as set", text, describe.data(value), value))
    elif reserve.pool_bytes > 0:
        less = f"({gb(reserve.total_bytes)} − {gb(before)})" if before else gb(reserve.total_bytes)
        found.append(
            Worked(
                f"Cache pool of {name}",
                "f · (M − taken before) − taken inside",
                f"{exact(evaluation.engine.fraction)} × {less} − {gb(inside)}",
                describe.data(reserve.pool_bytes),
                float(reserve.pool_bytes),
            )
        )
    return found


def _prefill(plan):
    prompt, new = plan.prompt_tokens, plan.new_prompt_tokens
    spared = prompt - new
    tokens = f"({prompt:,} − {spared:,} in cache)" if spared else f"{prompt:,}"
    yield Worked(
        "Work of the weights on the prompt",
        "2 · P · n",
        f"2 × {exact(plan.model.active_parameters / GIGA)} billion × {tokens} tokens",
        f"{describe.significant(plan.projection_flops / TERA)} TFLOP",
        plan.projection_flops,
    )

    def pairs(group):
        seen = _pairs(group, prompt)
        return f"({seen} − {_pairs(group, spared)})" if spared else seen

    yield Worked(
        "Work of attention on the prompt",
        "Σ 2 · L · H · (d_q + d_v) · pairs",
        " + ".join(
            f"2 × {g.layers} layers × {g.query_heads} heads × ({g.query_dim} + {g.output_dim}) "
            f"× {pairs(g)}"
            for g in plan.model.groups
            if g.query_heads and g.query_dim + g.output_dim
        )
        or "0",
        f"{describe.significant(plan.attention_flops / TERA)} TFLOP",
        plan.attention_flops,
    )
    peak = exact(plan.prefill_peak_flops / TERA)
    weights, attention = plan.projection_flops / TERA, plan.attention_flops / TERA
    work = f"({exact(weights)} TFLOP + {exact(attention)} TFLOP)"
    computing = f"{work} / {peak} TFLOP/s"
    reading = f"{gb(plan.prefill_read_bytes)} / {exact(plan.bandwidth_bytes_per_s / GB)} GB/s"
    left = plan.host.read_bytes(plan.model.experts_read(new))
    reading = f"{reading} + {_host(plan, left)}" if left else reading
    yield _worked(plan, "prefill_s", computing)
    yield _worked(plan, "ttft_s", f"max({computing}, {reading})")


def _pairs(group, tokens):
    """Query-key pairs as the equation for them reads; the triangle where no window cuts it."""
    triangle = f"{tokens:,} × ({tokens:,} + 1) / 2"
    if group.stride > 1:
        near = _window_pairs(group.window, tokens) if group.window else "0"
        return f"({near} + {triangle} / {group.stride})"
    return triangle if group.window is None else _window_pairs(group.window, tokens)


def _window_pairs(window, tokens):
    seen = f"{min(window, tokens):,}"
    return f"({seen} × {tokens:,} − {seen} × ({seen} − 1) / 2)"
