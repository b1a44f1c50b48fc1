"""The equations against the lesson's numbers, and the properties they must have."""

import inspect
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import formulas as f

GB = 1e9
MHA, GQA = 524_288, 131_072  # bytes per token of the lesson's 7B model with 32 and 8 KV heads
WEIGHTS, BANDWIDTH = 14 * GB, 1e12

memory = st.floats(1e9, 1e12)
weights = st.floats(1e8, 2e11)
requests = st.integers(1, 4096)
tokens = st.integers(1, 2**20)
per_token = st.integers(1, 10**7)


def shown(value, digits):
    """Rounded as the lesson prints it."""
    return round(value, digits)


# --- the lesson, to the digit it shows ------------------------------------------------------------


def test_cache_bytes_per_token():
    assert f.kv_bytes_per_token(32, 32, 128, 128, 2, 2) == MHA
    assert f.kv_bytes_per_token(32, 8, 128, 128, 2, 2) == GQA
    assert f.kv_bytes_per_token(24, 8, 64, 64, 2, 2) == 49_152


def test_cache_of_requests():
    assert shown(f.request_cache_bytes(0, MHA, 8192) / GB, 2) == 4.29
    assert shown(f.load_cache_bytes(MHA * 8192, 16) / GB, 1) == 68.7
    assert shown(f.load_cache_bytes(GQA * 8192, 16) / GB, 1) == 17.2
    assert shown(f.request_cache_bytes(0, MHA, 128_000) / GB, 0) == 67
    assert shown(f.request_cache_bytes(0, GQA, 128_000) / GB, 1) == 16.8
    assert shown(f.request_cache_bytes(0, MHA, 32_000) / GB, 1) == 16.8
    assert f.request_cache_bytes(0, 49_152, 2000) == 98_304_000


@pytest.mark.parametrize(
    ("context", "mha_ms", "gqa_ms", "mha_rate"),
    [(1000, 14.5, 14.1, 68.9), (8192, 18.3, 15.1, 54.7), (32_000, 30.8, 18.2, 32.5)],
)
def test_decode_step(context, mha_ms, gqa_ms, mha_rate):
    mha = f.decode_step_seconds(WEIGHTS, MHA * context, BANDWIDTH)
    gqa = f.decode_step_seconds(WEIGHTS, GQA * context, BANDWIDTH)
    assert shown(mha * 1e3, 1) == mha_ms
    assert shown(gqa * 1e3, 1) == gqa_ms
    assert shown(f.tokens_per_second(mha), 1) == mha_rate


def test_operations_of_a_small_layer():
    steps = np.arange(1, 4)
    assert f.step_multiply_adds_uncached(steps, 4).tolist() == [72, 160, 264]
    assert f.step_multiply_adds_cached(steps, 4).tolist() == [72, 80, 88]
    assert f.total_multiply_adds_uncached(3, 4) == 496
    assert f.total_multiply_adds_cached(3, 4) == 240
    assert shown(496 / 240, 4) == 2.0667


def test_operations_of_a_large_layer():
    ratio = f.total_multiply_adds_uncached(1000, 128) / f.total_multiply_adds_cached(1000, 128)
    assert shown(ratio, 0) == 611


def test_leading_terms_of_the_sums():
    steps, width = 1e6, 128
    leading = 2 * steps**2 * width**2 + 2 / 3 * steps**3 * width
    assert f.total_multiply_adds_uncached(steps, width) == pytest.approx(leading, rel=1e-5)
    leading = 4 * steps * width**2 + steps**2 * width
    assert f.total_multiply_adds_cached(steps, width) == pytest.approx(leading, rel=1e-5)


# --- closed forms against the sums they stand for -------------------------------------------------


@given(st.integers(1, 300), st.integers(1, 512))
def test_totals_are_the_sums_of_the_steps(steps, width):
    each = np.arange(1, steps + 1)
    uncached = f.step_multiply_adds_uncached(each, width).sum()
    assert f.total_multiply_adds_uncached(steps, width) == pytest.approx(uncached)
    assert (
        f.total_multiply_adds_cached(steps, width) == f.step_multiply_adds_cached(each, width).sum()
    )


@given(st.integers(1, 300), st.integers(1, 400))
def test_attended_pairs_counts_what_each_token_sees(prompt, window):
    assert f.attended_pairs(prompt, window) == sum(min(t, window) for t in range(1, prompt + 1))
    assert f.attended_pairs(prompt, math.inf) == prompt * (prompt + 1) / 2


def test_one_cached_step_does_the_work_of_attention_and_projections():
    # A multiply-add is two FLOPs: one head as wide as the model, four d x d matrices, t keys.
    step, width = 17, 64
    attention = f.attention_flops(1, 1, width, width, step)
    projections = f.projection_flops(4 * width**2, 1)
    assert attention + projections == 2 * f.step_multiply_adds_cached(step, width)


# --- numbers at the end of what is allowed --------------------------------------------------------

LARGEST = {
    "layers": 2000, "query_heads": 4096, "kv_heads": 4096, "key_dim": 65_536, "value_dim": 65_536,
    "key_bytes": 4, "value_bytes": 4, "context_tokens": 2**20, "prompt_tokens": 2**20,
    "tokens": 2**20, "window": 10**9, "fixed_bytes": 64 * 2000 * 10**10,
    "bytes_per_token": 2000 * (4096 * 65_536 * 8 + 10**6), "request_bytes": 10**17,
    "concurrency": 4096, "weight_bytes": 10**16, "cache_bytes": 10**18, "memory_bytes": 10**18,
    "experts": 65_536, "experts_per_token": 65_536, "step": 10**5, "steps": 10**6, "width": 10**6,
    "pairs": 2**39, "active_parameters": 10**15, "per_width": 64, "per_logit": 64, "rows": 2**20,
    "vocabulary": 10**12, "devices": 64,
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    """kv_bytes_per_token cached_tokens request_cache_bytes load_cache_bytes memory_needed_bytes
    experts_covered activation_bytes step_multiply_adds_uncached step_multiply_adds_cached
    total_multiply_adds_uncached total_multiply_adds_cached leading_multiply_adds_uncached
    leading_multiply_adds_cached attended_pairs attention_flops projection_flops max_concurrency
    all_reduce_bytes""".split(),  # noqa: SIM905
)
def test_whole_numbers_do_not_wrap_round_in_an_array(name):
    names = [each for each in inspect.signature(getattr(f, name)).parameters if each in LARGEST]
    arrays = {each: np.array([LARGEST[each]], np.int64) for each in names}
    plain = {each: LARGEST[each] for each in names}
    (found,) = getattr(f, name)(**arrays)
    assert found == pytest.approx(float(getattr(f, name)(**plain)))
    assert found > 0


def test_whole_numbers_do_not_wrap_round_over_kinds_of_layers():
    sizes, windows = [LARGEST["bytes_per_token"]] * 64, [10**9] * 64
    whole = np.array(sizes, np.int64), np.array(windows, np.int64)
    expected = 64.0 * sizes[0] * 2**20
    assert f.layered_cache_bytes(0, *whole, np.int64(2**20)) == pytest.approx(expected)
    assert f.max_context(1e40, 0, 1, 0, *whole) == math.inf
    assert f.max_context(expected, 0, 1, 0, *whole) == pytest.approx(2**20)


# --- inverses -------------------------------------------------------------------------------------


@given(memory, weights, st.floats(1, 1e12))
def test_one_request_more_does_not_fit(memory, weights, request):
    most = f.max_concurrency(memory, weights, request)
    room = memory - weights
    assert most == int(most)
    assert most >= 0
    if room >= 0:
        assert f.load_cache_bytes(request, most) <= room < f.load_cache_bytes(request, most + 1)
    else:
        assert most == 0


@given(
    memory,
    weights,
    requests,
    st.integers(0, 10**9),
    st.lists(st.tuples(per_token, st.one_of(tokens, st.just(math.inf))), max_size=5),
)
def test_one_token_more_does_not_fit(memory, weights, requests, fixed, layers):
    sizes, windows = [size for size, _ in layers], [window for _, window in layers]

    def need(context):
        return f.layered_cache_bytes(fixed, sizes, windows, context)

    longest = f.max_context(memory, weights, requests, fixed, sizes, windows)
    room = (memory - weights) / requests
    if room < fixed:
        assert longest == 0
    elif math.isinf(longest):
        assert need(math.inf) <= room
    else:
        # The division by B rounds: a hair's breadth is allowed on the side of the room.
        assert need(longest) <= room * (1 + 1e-9) + 1e-6
        assert need(longest + 1) >= room * (1 - 1e-9) - 1e-6


@given(weights, st.floats(0, 1e12), st.floats(1e9, 1e14))
def test_bandwidth_for_a_step_gives_that_step(weights, cache, bandwidth):
    step = f.decode_step_seconds(weights, cache, bandwidth)
    assert f.bandwidth_for_step(weights, cache, step) == pytest.approx(bandwidth)


def test_lesson_load_turned_around():
    assert f.max_concurrency(80 * GB, WEIGHTS, GQA * 8192) == 61
    assert f.max_context(80 * GB, WEIGHTS, 16, 0, [GQA], [math.inf]) == 31_471
    assert f.max_context(13 * GB, WEIGHTS, 16, 0, [GQA], [math.inf]) == 0
    assert f.crossover_context(WEIGHTS, 1, 0, [MHA], [math.inf]) == 26_702


def test_no_cache_means_no_limit():
    assert f.max_concurrency(80 * GB, WEIGHTS, 0) == math.inf
    assert f.max_context(80 * GB, WEIGHTS, 1, 0, [], []) == math.inf
    assert f.max_context(80 * GB, WEIGHTS, 1, 100, [5.0], [1024]) == math.inf


# --- more is never less, and arrays are loops -----------------------------------------------------


@given(weights, per_token, tokens, requests, st.floats(1e9, 1e14))
def test_a_step_grows_with_context_and_concurrency(
    weights, per_token, context, requests, bandwidth
):
    def step(context, requests):
        return f.decode_step_seconds(weights, per_token * context * requests, bandwidth)

    assert step(context, requests) < step(context * 2, requests)
    assert step(context, requests) < step(context, requests + requests)


@given(st.lists(st.tuples(memory, weights, st.floats(1, 1e12)), min_size=1, max_size=20))
def test_max_concurrency_of_arrays_is_a_loop(rows):
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    together = f.max_concurrency(*columns)
    assert together.tolist() == [f.max_concurrency(*row) for row in rows]


@given(st.lists(st.tuples(memory, weights, requests), min_size=1, max_size=20))
def test_max_context_of_arrays_is_a_loop(rows):
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    shape = (1000, [GQA, 4096], [math.inf, 1024])
    together = f.max_context(*columns, *shape)
    assert together.tolist() == [f.max_context(*row, *shape) for row in rows]
