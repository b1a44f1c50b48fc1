"""The arithmetic of a plan: each equation with this plan's numbers in it, and its result.

The text is exact: numbers are written with all their digits, so that whoever types it into a
calculator gets the figure on the page (a test does just that).
"""

from dataclasses import dataclass

import numpy as np

from planner import words
from planner.accelerator import GB
from planner.model import FP16_BYTES
from planner.plan import READING_TOKENS_PER_S, TERA, Plan


@dataclass(frozen=True)
class Worked:
    """One equation. `value` is the plan's own, in SI units; `result` is how the page shows it."""

    title: str
    symbols: str
    numbers: str
    result: str
    value: float


def exact(value: float) -> str:
    """A number with all its digits and no more, thousands separated."""
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.12f}".rstrip("0")


def arithmetic(plan: Plan) -> list[Worked]:
    """Every equation behind the plan's figures, in the order in which they build on each other."""
    return [*_memory(plan), *_decode(plan), *_prefill(plan)]


def _group_bytes(group):
    head = f"{group.layers} layers × {group.kv_heads} heads"
    if group.key_dim == group.value_dim:
        return f"2 × {head} × {group.key_dim} × {FP16_BYTES} bytes"
    return f"{head} × ({group.key_dim} + {group.value_dim}) × {FP16_BYTES} bytes"


def _memory(plan):
    weights, request = plan.weights_bytes / GB, plan.cache_bytes_per_request / GB
    usable, context = plan.memory_usable_bytes / GB, plan.context_tokens
    cache, requests = plan.cache_bytes / GB, plan.concurrency
    yield Worked(
        "Weights",
        "P · b",
        f"{exact(plan.model.parameters / 1e9)} billion × {FP16_BYTES} bytes",
        words.data(plan.weights_bytes),
        plan.weights_bytes,
    )
    yield Worked(
        "Cache for one token",
        "2 · L · H_kv · d_h · b",
        " + ".join(_group_bytes(group) for group in plan.model.groups),
        f"{exact(plan.cache_bytes_per_token)} bytes",
        plan.cache_bytes_per_token,
    )
    yield Worked(
        "Cache of one request",
        "bytes per token · n",
        f"{exact(plan.cache_bytes_per_token)} bytes × {context:,} tokens",
        words.data(plan.cache_bytes_per_request),
        plan.cache_bytes_per_request,
    )
    yield Worked(
        "Cache of all requests",
        "C = c · B",
        f"{exact(request)} GB × {requests:,} requests",
        words.data(plan.cache_bytes),
        plan.cache_bytes,
    )
    yield Worked(
        "Memory needed",
        "W + C",
        f"{exact(weights)} GB + {exact(cache)} GB",
        words.data(plan.memory_needed_bytes),
        plan.memory_needed_bytes,
    )
    if plan.memory_usable_bytes < plan.weights_bytes:
        return
    if np.isfinite(plan.max_concurrency):
        yield Worked(
            "Most requests of this context",
            "⌊(M − W) / c⌋",
            f"⌊({exact(usable)} GB − {exact(weights)} GB) / {exact(request)} GB⌋",
            words.whole(plan.max_concurrency),
            plan.max_concurrency,
        )
    if np.isfinite(plan.max_context_tokens):
        token = exact(plan.cache_bytes_per_token / GB)
        yield Worked(
            "Longest context of these requests",
            "⌊(M − W) / B / bytes per token⌋",
            f"⌊({exact(usable)} GB − {exact(weights)} GB) / {requests:,} / {token} GB⌋",
            words.whole(plan.max_context_tokens),
            plan.max_context_tokens,
        )


def _decode(plan):
    read, cache = exact(plan.weights_read_bytes / GB), exact(plan.cache_bytes / GB)
    bandwidth = exact(plan.bandwidth_bytes_per_s / GB)
    step = plan.decode_step_s
    yield Worked(
        "Time per token",
        "(W + C) / BW",
        f"({read} GB + {cache} GB) / {bandwidth} GB/s",
        words.duration(step),
        step,
    )
    yield Worked(
        "What one user sees",
        "BW / (W + C)",
        f"{bandwidth} GB/s / ({read} GB + {cache} GB)",
        words.rate(plan.tokens_per_s_per_request),
        plan.tokens_per_s_per_request,
    )
    yield Worked(
        "All requests together",
        "B · BW / (W + C)",
        f"{plan.concurrency:,} × {bandwidth} GB/s / ({read} GB + {cache} GB)",
        words.rate(plan.tokens_per_s_total),
        plan.tokens_per_s_total,
    )
    yield Worked(
        f"Bandwidth for {READING_TOKENS_PER_S} tokens/s each, the pace of a fast reader",
        "(W + C) / TPOT",
        f"({read} GB + {cache} GB) × {READING_TOKENS_PER_S}/s",
        f"{words.significant(plan.reading_bandwidth_bytes_per_s / GB)} GB/s",
        plan.reading_bandwidth_bytes_per_s,
    )
    if np.isfinite(plan.crossover_context_tokens):
        token = exact(plan.cache_bytes_per_token / GB)
        yield Worked(
            "Context at which the caches take as long to read as the weights",
            "⌊W / B / bytes per token⌋",
            f"⌊{read} GB / {plan.concurrency:,} / {token} GB⌋",
            f"{words.whole(plan.crossover_context_tokens)} tokens",
            plan.crossover_context_tokens,
        )


def _prefill(plan):
    context = plan.context_tokens
    active = exact(plan.model.active_parameters / 1e9)
    yield Worked(
        "Work of the weights on the prompt",
        "2 · P · n",
        f"2 × {active} billion × {context:,} tokens",
        f"{words.significant(plan.projection_flops / TERA)} TFLOP",
        plan.projection_flops,
    )
    yield Worked(
        "Work of attention on the prompt",
        "2 · L · H · 2 · d_h · n (n + 1) / 2",
        " + ".join(
            f"2 × {g.layers} layers × {g.query_heads} heads × ({g.key_dim} + {g.value_dim}) "
            f"× {context:,} × ({context:,} + 1) / 2"
            for g in plan.model.groups
        ),
        f"{words.significant(plan.attention_flops / TERA)} TFLOP",
        plan.attention_flops,
    )
    peak = exact(plan.peak_flops / TERA)
    weights, attention = plan.projection_flops / TERA, plan.attention_flops / TERA
    work = f"({exact(weights)} TFLOP + {exact(attention)} TFLOP)"
    yield Worked(
        "Prefill",
        "FLOPs / peak",
        f"{work} / {peak} TFLOP/s",
        words.duration(plan.prefill_s),
        plan.prefill_s,
    )
    read, bandwidth = exact(plan.weights_read_bytes / GB), exact(plan.bandwidth_bytes_per_s / GB)
    yield Worked(
        "First token",
        "max(prefill, W / BW)",
        f"max({work} / {peak} TFLOP/s, {read} GB / {bandwidth} GB/s)",
        words.duration(plan.ttft_s),
        plan.ttft_s,
    )
