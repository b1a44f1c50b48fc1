"""The answers to the questions with numbers: one function a question, named as in its data.

Each takes the drawn numbers by their names in presets/questions/numbers.toml and returns what the
worked solution prints: `answer` in the question's unit, `slip`, the figure that the usual mistake
leads to, and the steps between. All physics is in `planner.formulas`.
"""

import numpy as np

from planner import formulas
from planner.units import GB, GIGA, TERA

MS = 1e-3
FP16_BYTES = 2


def _per_token(layers, kv_heads, head_dim, element_bytes=FP16_BYTES):
    return formulas.kv_bytes_per_token(
        layers, kv_heads, head_dim, head_dim, element_bytes, element_bytes
    )


def _weights(parameters_billion):
    return parameters_billion * GIGA * FP16_BYTES


# --- why a cache --------------------------------------------------------------------------------


def uncached_step(width, step):
    once = formulas.step_multiply_adds_cached(step, width)
    return {"answer": formulas.step_multiply_adds_uncached(step, width), "slip": once}


def cached_step(width, step):
    again = formulas.step_multiply_adds_uncached(step, width)
    return {"answer": formulas.step_multiply_adds_cached(step, width), "slip": again}


def uncached_sum(width):
    each = [formulas.step_multiply_adds_uncached(step, width) for step in (1, 2, 3)]
    total = formulas.total_multiply_adds_uncached(3, width)
    return {"first": each[0], "second": each[1], "third": each[2], "answer": total, "slip": each[2]}


def cached_sum(width, steps):
    last = formulas.step_multiply_adds_cached(steps, width)
    return {"answer": formulas.total_multiply_adds_cached(steps, width), "slip": steps * last}


def saving_ratio(width, steps):
    without = round(formulas.total_multiply_adds_uncached(steps, width))
    cached = formulas.total_multiply_adds_cached(steps, width)
    return {"without": without, "cached": cached, "answer": without / cached, "slip": steps}


# --- what is stored -----------------------------------------------------------------------------


def keys_computed(prompt, new):
    steps = range(new)
    again = sum(prompt + step for step in steps)
    return {"answer": prompt + new - 1, "slip": again}


def cached_elements(layers, query_heads, kv_heads, head_dim):
    answer = _per_token(layers, kv_heads, head_dim, element_bytes=1)
    return {"answer": answer, "slip": _per_token(layers, query_heads, head_dim, element_bytes=1)}


# --- the proof ----------------------------------------------------------------------------------


def causal_pairs(prompt, steps):
    tokens = prompt + steps
    return {
        "tokens": tokens,
        "answer": formulas.attended_pairs(tokens, np.inf),
        "slip": formulas.attended_pairs(tokens, np.inf) * 2 - tokens,
    }


# --- what it costs ------------------------------------------------------------------------------


def token_bytes(layers, kv_heads, head_dim):
    answer = _per_token(layers, kv_heads, head_dim)
    return {"answer": answer, "slip": answer / 2}


def request_cache(layers, kv_heads, head_dim, tokens):
    per_token = _per_token(layers, kv_heads, head_dim)
    cache = formulas.request_cache_bytes(0, per_token, tokens)
    return {"per_token": per_token, "answer": cache / GB, "slip": cache / 2 / GB}


def load_cache(per_token, tokens, requests):
    request = formulas.request_cache_bytes(0, per_token, tokens)
    load = formulas.load_cache_bytes(request, requests)
    return {"request": request, "answer": load / GB, "slip": request / GB}


def shared_heads(query_heads, kv_heads, cache_gb):
    answer = cache_gb * _per_token(1, kv_heads, 1) / _per_token(1, query_heads, 1)
    return {"answer": answer, "slip": cache_gb}


def weight_memory(parameters_billion, bits):
    answer = parameters_billion * GIGA * bits / 8 / GB
    return {"answer": answer, "slip": parameters_billion * bits}


def quantised_cache(per_token, tokens, bits):
    stored = per_token * bits / 8 / FP16_BYTES
    cache = formulas.request_cache_bytes(0, stored, tokens)
    full = formulas.request_cache_bytes(0, per_token, tokens)
    return {"answer": cache / GB, "slip": full / GB}


def window_cache(per_token, tokens, window):
    kept = formulas.cached_tokens(tokens, window)
    cache = formulas.request_cache_bytes(0, per_token, kept)
    full = formulas.request_cache_bytes(0, per_token, tokens)
    return {"kept": int(kept), "answer": cache / GB, "slip": full / GB}


# --- two phases ---------------------------------------------------------------------------------


def first_token_time(parameters_billion, prompt, peak, bandwidth):
    flops = formulas.projection_flops(parameters_billion * GIGA, prompt)
    compute = formulas.compute_seconds(flops, peak * TERA)
    read = formulas.read_seconds(_weights(parameters_billion), bandwidth * GB)
    answer = float(formulas.time_to_first_token_seconds(compute, read))
    parts = {"compute": compute / MS, "read": read / MS}
    return {**parts, "answer": answer / MS, "slip": min(compute, read) / MS}


def request_time(first_ms, step_ms, tokens):
    return {
        "answer": (first_ms + (tokens - 1) * step_ms) * MS,
        "slip": tokens * (first_ms + step_ms) * MS,
    }


def decode_intensity(parameters_billion, batch):
    flops = formulas.projection_flops(parameters_billion * GIGA, batch)
    read = _weights(parameters_billion)
    answer = formulas.arithmetic_intensity(flops, read)
    return {"answer": answer, "slip": 2 * answer}


def ridge_point(peak, bandwidth):
    ridge = formulas.arithmetic_intensity(peak * TERA, bandwidth * GB)
    return {"answer": ridge, "slip": ridge / 1000}


# --- slower as it talks -------------------------------------------------------------------------


def step_time(parameters_billion, per_token, tokens, bandwidth):
    weights = _weights(parameters_billion)
    cache = formulas.request_cache_bytes(0, per_token, tokens)
    step = formulas.decode_step_seconds(weights, cache, bandwidth * GB)
    slip = formulas.read_seconds(weights, bandwidth * GB)
    return {"cache": cache, "answer": step / MS, "slip": slip / MS}


def stream_speed(weights_gb, cache_gb, bandwidth):
    step = formulas.decode_step_seconds(weights_gb * GB, cache_gb * GB, bandwidth * GB)
    slip = formulas.decode_step_seconds(weights_gb * GB, 0, bandwidth * GB)
    return {
        "answer": formulas.tokens_per_second(step),
        "slip": formulas.tokens_per_second(slip),
    }


def total_speed(weights_gb, cache_gb, bandwidth, requests):
    load = formulas.load_cache_bytes(cache_gb * GB, requests)
    step = formulas.decode_step_seconds(weights_gb * GB, load, bandwidth * GB)
    alone = formulas.decode_step_seconds(weights_gb * GB, cache_gb * GB, bandwidth * GB)
    return {
        "step": step / MS,
        "answer": formulas.tokens_per_second(step, requests),
        "slip": formulas.tokens_per_second(alone, requests),
    }


def crossover(weights_gb, per_token, requests):
    answer = formulas.crossover_context(weights_gb * GB, requests, 0, [per_token], [np.inf])
    slip = formulas.crossover_context(weights_gb * GB, 1, 0, [per_token], [np.inf])
    return {"answer": int(answer), "slip": int(slip)}


def bandwidth_needed(weights_gb, cache_gb, speed):
    step = 1 / speed
    need = formulas.bandwidth_for_step(weights_gb * GB, cache_gb * GB, step)
    slip = formulas.bandwidth_for_step(weights_gb * GB, 0, step)
    return {"answer": need / GB, "slip": slip / GB}


# --- managing it --------------------------------------------------------------------------------


def requests_that_fit(memory_gb, weights_gb, per_token, tokens):
    request = formulas.request_cache_bytes(0, per_token, tokens)
    fit = formulas.max_concurrency(memory_gb * GB, weights_gb * GB, request)
    slip = formulas.max_concurrency(memory_gb * GB, 0, request)
    return {"request": request, "answer": int(fit), "slip": int(slip)}


def longest_context(memory_gb, weights_gb, per_token, requests):
    room = (memory_gb * GB, weights_gb * GB)
    fit = formulas.max_context(*room, requests, 0, [per_token], [np.inf])
    slip = formulas.max_context(*room, 1, 0, [per_token], [np.inf])
    return {"answer": int(fit), "slip": int(slip)}


def contiguous_waste(reserved, used):
    return {"answer": 100 * (reserved - used) / reserved, "slip": 100 * used / reserved}


def paged_waste(block, tokens):
    blocks = -(-tokens // block)
    return {
        "blocks": blocks,
        "empty": blocks * block - tokens,
        "answer": blocks * block - tokens,
        "slip": tokens % block,
    }


def shared_prefix(requests, prefix, per_token):
    one = formulas.request_cache_bytes(0, per_token, prefix)
    saved = formulas.load_cache_bytes(one, requests - 1)
    return {"one": one, "answer": saved / GB, "slip": requests * one / GB}


def leak_time(free_gb, leaked_gb, per_hour, share):
    lost = leaked_gb * per_hour * share / 100
    return {"answer": free_gb / lost, "slip": free_gb / (leaked_gb * per_hour)}


def robot_time(memory_gb, weights_gb, per_token, rate):
    room = (memory_gb * GB, weights_gb * GB)
    tokens = formulas.max_context(*room, 1, 0, [per_token], [np.inf])
    slip = formulas.max_context(memory_gb * GB, 0, 1, 0, [per_token], [np.inf])
    return {"tokens": int(tokens), "answer": tokens / rate / 60, "slip": slip / rate / 60}
