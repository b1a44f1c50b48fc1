"""The simulator: nothing is lost in it, and it finds what is known without it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import Scenario, evaluate
from planner.sizing import batching
from planner.sizing.arrivals import Requests, drawn
from planner.sizing.batching import Batching
from planner.sizing.blocks import Pool, cut
from planner.sizing.simulate import most_seats, simulate
from planner.sizing.steps import steps

LLAMA = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm-0.20")
# Every way of counting blocks and of timing passes: windows, latents, states, experts.
OTHERS = [
    LLAMA,
    Scenario("gemma-3-27b", device="h100-sxm", engine="vllm-0.34", weights="fp8"),
    Scenario("deepseek-v2-lite", device="h100-sxm", engine="sglang"),
    Scenario("gpt-oss-20b", device="h100-sxm", engine="tensorrt-llm"),
    Scenario("qwen3-next-80b-a3b", device="h100-sxm", tp=4, engine="vllm-0.34"),
    Scenario("llama-3.1-8b", device="rtx-4090", engine="llama.cpp-cuda", weights="q4_k_m"),
    Scenario("lesson-7b-gqa"),
    # Guesses, host memory, tokens shared out over devices, a pool that was printed.
    Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm-0.34", draft="eagle", accepted=2.5),
    Scenario("deepseek-v3", weights="fp8", device="h200-sxm", tp=8, engine="sglang", draft="mtp"),
    Scenario("lesson-7b-gqa", draft="llama-3.2-1b", drafted=2, accepted=1.5),
    Scenario("llama-3.1-8b", device="rtx-4090", engine="vllm-0.34", host_layers=8),
    Scenario("gpt-oss-20b", device="rtx-4090", engine="llama.cpp-cuda", host_experts=12),
    Scenario("llama-3.1-70b", weights="fp8", device="h100-sxm", tp=16, dcp=2, engine="vllm-0.34",
             set="pool_gib:12"),
]  # fmt: skip


def stream(count=400, seed=0, **given):
    load = {"rate": 8.0, "prompt": (800, 3000), "output": (100, 400), **given}
    return drawn(count, seed=seed, **load)


def one_by_one(times=3, prompt=1000, output=101, apart=1000.0):
    """Requests so far apart that each is alone."""
    return Requests(np.arange(times) * apart, np.full(times, prompt), np.full(times, output))


def run(scenario, load, *, blocks=None, seats=32, **given):
    """The scheduler itself, to look at its pool while it works."""
    found = evaluate(scenario)
    lengths = load.prompt_tokens + load.output_tokens
    table = steps(found, seats, int(lengths.max()), 1000, 100)
    made = {
        "pass_tokens": 2048,
        "whole": False,
        "users": 0,
        "think_s": [0.0] * len(load),
        "skip": True,
    }
    made = {"seats": seats, "lags": False, **made, **given}
    return Batching(table, cut(found, blocks), load, **made)


# --- nothing is lost ------------------------------------------------------------------------------


@st.composite
def loads(draw):
    count = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    prompts = rng.integers(1, 600, count)
    pieces = draw(st.booleans())
    chains = tuple(tuple(range(rng.integers(0, 5))) for _ in range(count)) if pieces else ()
    arrival = np.cumsum(rng.exponential(draw(st.sampled_from([0.001, 0.05])), count))
    leaves = np.where(rng.random(count) < 0.3, arrival + rng.exponential(0.5, count), np.inf)
    return Requests(
        arrival,
        prompts,
        rng.integers(1, 200, count),
        chains,
        64 if pieces else 0,
        leaves if draw(st.booleans()) else None,
    )


@settings(max_examples=60, deadline=None)
@given(loads(), st.integers(50, 400), st.booleans(), st.integers(0, 8))
def test_no_block_and_no_token_is_lost(load, blocks, whole, users):
    made = run(LLAMA, load, blocks=blocks, seats=8, whole=whole, users=users)
    pool, seen = made.pool, []

    def look(_):
        listed = sum(count for count, _ in pool.order)
        shared = sum(size for _, size in pool.held.values())
        assert listed == pool.free >= 0
        alone = 0
        for request, state in enumerate(made.state):
            if state in (batching.READING, batching.WRITING):
                alone += made.own[request]
                if state == batching.WRITING and made.counts:
                    stored = made.base[request] + made.step - made.since[request]
                    alone += -(-stored // 16) - -(-made.base[request] // 16)
        assert pool.blocks - pool.free == alone + shared
        seen.append(made.clock)
        return False

    batching.REPORT_EVENTS, usual = 1, batching.REPORT_EVENTS
    try:
        made.serve(look)
    finally:
        batching.REPORT_EVENTS = usual
    assert pool.free == pool.blocks
    assert not pool.held
    assert made.writing == 0
    assert np.all(np.diff(seen) >= 0)
    first, last = np.array(made.first), np.array(made.last)
    left = np.isfinite(load.cancel_s) if load.cancel_s is not None else np.zeros(len(load), bool)
    served = np.isfinite(last)
    assert np.all(served | left | np.array(made.refused))
    assert np.all(last[served] >= first[served])
    if not left.any():
        assert made.preempted == 0 or not whole
        once = load.prompt_tokens[served].sum()
        assert made.read_tokens + made.reused_tokens >= once
        if not made.preempted:
            assert made.read_tokens + made.reused_tokens == once


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), max_size=60))
def test_a_pool_adds_up(moves):
    pool, alone = Pool(40), []
    for key, count in moves:
        keys = tuple(range(key))
        if pool.missing(keys, 4) + count <= pool.free:
            there = pool.hold(keys, 4)
            assert 0 <= there <= 4 * key
            pool.take(count)
            alone.append((keys, count))
        elif alone:
            keys, count = alone.pop(0)
            pool.give(count)
            for each in reversed(keys):
                pool.drop(each)
        held = sum(size for _, size in pool.held.values()) + sum(own for _, own in alone)
        assert pool.free + held == pool.blocks == sum(size for size, _ in pool.order) + held


def test_a_kept_prefix_is_found_until_its_room_is_needed():
    pool = Pool(10)
    assert pool.hold(("a", "b"), 3) == 0
    pool.drop("b")
    pool.drop("a")
    pool.take(5)  # the four never used, and one of b
    pool.give(5)
    assert pool.hold(("a", "b"), 3) == 5


def test_a_request_longer_than_the_pool_is_refused_and_the_others_go_on():
    load = Requests([0.0, 0.1, 0.2], [100, 5000, 100], [10, 10, 10])
    found = simulate(LLAMA, load, blocks=100)
    assert found.refused.tolist() == [False, True, False]
    assert found.served.tolist() == [True, False, True]
    assert not found.stopped
    assert not simulate(LLAMA, Requests([0.0], [9_000_000], [10])).served.any()


def test_it_can_be_stopped_and_says_how_far_it_is():
    parts = []

    def watch(part):
        parts.append(part)
        return len(parts) == 3

    found = simulate(LLAMA, stream(20_000), progress=watch)
    assert found.stopped
    assert len(parts) == 3
    assert 0 < parts[0] < parts[1] < parts[2] < 1
    assert 0 < found.served.sum() < 20_000


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"arrival_s": [1.0, 0.0]}, "arrival_s: times"),
        ({"prompt_tokens": [1, 0]}, "prompt_tokens: whole"),
        ({"output_tokens": [1]}, "output_tokens: 1 for 2"),
        ({"prefixes": ((1,),)}, "prefixes: 1 for 2"),
        ({"prefixes": ((1,), ())}, "piece_tokens"),
        ({"cancel_s": [1.0]}, "cancel_s"),
    ],
)
def test_impossible_requests_are_named(given, said):
    right = {"arrival_s": [0.0, 1.0], "prompt_tokens": [5, 5], "output_tokens": [5, 5]}
    with pytest.raises(ValueError, match=said):
        Requests(**{**right, **given})


# --- what is known without it ---------------------------------------------------------------------


@pytest.mark.parametrize("scenario", OTHERS, ids=lambda each: f"{each.model}-{each.engine}")
def test_steps_alike_are_one_jump(scenario):
    load = stream(60, prefix_tokens=256, hit_rate=0.5)
    tight = int(cut(evaluate(scenario)).fixed(4000)) + 400
    given = {"blocks": tight, "seats": 24}
    fast, slow = (simulate(scenario, load, skip=skip, **given) for skip in (True, False))
    assert fast.events < slow.events
    for name in ("scheduled_s", "first_token_s", "last_token_s"):
        assert np.allclose(getattr(fast, name), getattr(slow, name), rtol=1e-9, equal_nan=True)
    assert fast.preempted == slow.preempted
    assert fast.passes == slow.passes


@pytest.mark.parametrize("scenario", OTHERS, ids=lambda each: f"{each.model}-{each.engine}")
def test_a_request_alone_is_the_plan(scenario):
    load = one_by_one(prompt=1000, output=100)
    found = simulate(scenario, load, seats=8)
    alone = replace(scenario, concurrency=1, context=1050, prompt=1000, output=100)
    wanted = evaluate(alone)
    assert found.tpot_s == pytest.approx(float(wanted.tpot_s.value), rel=1e-3)
    # A local engine's prompt is one piece there.
    wanted_first = evaluate(replace(alone, context=1000)).ttft_s.value
    assert found.ttft_s == pytest.approx(float(wanted_first), rel=1e-3)


def test_waiting_for_one_seat_is_that_of_an_md1_queue():
    """W = ρ S / (2 (1 − ρ)): Poisson arrivals, one at a time, all of one length."""
    alone = simulate(LLAMA, one_by_one(prompt=1500, output=1), seats=1)
    service = alone.last_token_s[0] - alone.scheduled_s[0]
    for busy in (0.3, 0.7):
        load = drawn(60_000, rate=busy / service, prompt=(1500, 1500), output=(1, 1), seed=3)
        found = simulate(LLAMA, load, seats=1)
        waited = (found.scheduled_s - found.requests.arrival_s).mean()
        assert waited == pytest.approx(busy * service / (2 * (1 - busy)), rel=0.05)


def test_littles_law():
    """Requests that run = their rate · the time each runs; those that wait alike."""
    load = stream(5000, rate=40.0)
    found = simulate(LLAMA, load, seats=64)
    long = found.last_token_s.max() - load.arrival_s[0]
    runs = (found.last_token_s - found.scheduled_s).sum() / long
    waits = (found.scheduled_s - load.arrival_s).sum() / long
    assert found.series.running.mean() == pytest.approx(runs, rel=0.01)
    assert found.series.waiting.mean() == pytest.approx(waits, rel=0.01)
    assert found.series.running.max() < 64 + 1e-9


@pytest.mark.parametrize("engine", ["vllm-0.34", "sglang", "tensorrt-llm"])
@pytest.mark.parametrize("together", [8, 64])
def test_a_steady_load_is_that_of_the_closed_form(engine, together):
    """Users who ask again at once, with lengths that differ, so that prompts do not bunch."""
    scenario = replace(LLAMA, engine=engine)
    load = drawn(together * 60, rate=1e6, prompt=(1024, 1500), output=(256, 500), seed=1)
    found = simulate(scenario, load, users=together)
    prompt, output = load.prompt_tokens.mean(), load.output_tokens.mean()
    held = prompt + (load.output_tokens**2).mean() / output / 2
    wanted = evaluate(scenario, concurrency=together, context=held, prompt=prompt, output=output)
    step = (found.last_token_s - found.first_token_s).sum() / (load.output_tokens - 1).sum()
    assert step == pytest.approx(float(wanted.tpot_s.value), rel=0.05)


def test_throughput_tends_to_that_of_full_passes():
    """Nothing but prompts: as fast as passes are read that are full. Nothing but answers: a token
    of every seat each step."""
    table = steps(evaluate(LLAMA), 64, 8192, 1024, 1)
    load = Requests(np.zeros(800), np.full(800, 1024), np.full(800, 1))
    found = simulate(LLAMA, load, seats=64)
    full = table.prompts_s(0, 8192, 8, 0.0, 8 * table.first_flops[1024])
    assert found.span_s == pytest.approx(800 * 1024 / 8192 * full, rel=0.01)

    load = Requests(np.zeros(64), np.full(64, 16), np.full(64, 4000))
    found = simulate(LLAMA, load, seats=64)
    wanted = evaluate(LLAMA, concurrency=64, context=2016, prompt=16, output=4000)
    step = wanted.step_s.value * wanted.estimate.pull(4000) / wanted.estimate.pull(np.inf)
    assert found.output_tokens_per_s == pytest.approx(64 / float(step), rel=0.01)


def test_no_throughput_is_above_the_ideal_engines():
    load = stream(600, rate=1000.0)
    own = simulate(replace(LLAMA, engine="vllm-0.34"), load, seats=256)
    ideal = simulate(replace(LLAMA, engine="ideal"), load, seats=256)
    assert own.output_tokens_per_s < ideal.output_tokens_per_s


# --- how engines differ ---------------------------------------------------------------------------


def test_whole_requests_are_never_preempted_but_wait_longer():
    load = stream(300, rate=100.0)
    short = {"blocks": 1200, "seats": 256}
    grows = simulate(LLAMA, load, **short)
    whole = simulate(replace(LLAMA, engine="tensorrt-llm"), load, blocks=600, seats=256)
    assert grows.preempted > 0
    assert grows.read_tokens > load.prompt_tokens.sum()
    assert whole.preempted == 0
    assert whole.read_tokens == load.prompt_tokens.sum()


def test_the_youngest_gives_up_its_blocks_and_is_read_again():
    load = Requests([0.0, 0.0], [160, 160], [160, 160])
    found = simulate(LLAMA, load, blocks=30, seats=2)
    assert found.preempted == 1
    assert found.last_token_s[0] < found.last_token_s[1]
    alone = simulate(LLAMA, load, blocks=100, seats=2)
    assert found.last_token_s[1] > alone.last_token_s[1]


def test_prompts_in_passes_of_their_own_hold_up_what_decodes():
    load = Requests([0.0, 1.0], [100, 8000], [2000, 1])
    gaps = []
    for engine in ("sglang", "vllm-0.20"):
        found = simulate(replace(LLAMA, engine=engine), load)
        gaps.append(found.tpot_s[0] * 1999)
    table = steps(evaluate(LLAMA), 8, 8000, 1000, 1000)
    alone = table.prompts_s(0, 8000, 1, 0.0, table.first_flops[8000])
    assert gaps[0] > gaps[1] - 0.5 * alone


def test_a_shared_prefix_is_read_once_and_stored_once():
    plain = stream(200, rate=50.0, prompt=(2000, 2000), prefix_tokens=1600)
    shared = replace(plain, prefixes=((0,),) * 200, piece_tokens=1600)
    before, after = (simulate(LLAMA, each, seats=64) for each in (plain, shared))
    assert after.reused_tokens == 199 * 1600
    assert after.ttft_s.mean() < before.ttft_s.mean()
    assert after.series.held.max() < 0.4 * before.series.held.max()


def test_a_step_that_is_scheduled_ahead_makes_newcomers_wait_for_one_more():
    load = Requests([0.0, 1.0], [100, 100], [3000, 2])
    early, late = run(LLAMA, load), run(LLAMA, load, lags=True)
    for each in (early, late):
        each.serve()
    step = early.table.decode_s(1, early.table.cache_s(300, 0))
    assert late.first[1] - early.first[1] == pytest.approx(step, rel=0.02)


def test_users_ask_again_after_they_have_thought():
    load = Requests(np.zeros(10), np.full(10, 100), np.full(10, 20))
    found = simulate(LLAMA, load, users=2, think_s=5.0)
    asked, last = found.requests.arrival_s, found.last_token_s
    assert asked[2:].tolist() == pytest.approx((last[:-2] + 5.0).tolist())
    assert found.series.running.max() < 2 + 1e-9
    mixed = simulate(LLAMA, load, users=2, think_s=np.tile([9.0, 0.5], 5))
    assert np.all(np.diff(mixed.requests.arrival_s) >= 0)
    assert mixed.served.all()


def test_who_leaves_gives_the_room_to_those_who_wait():
    arrival, leaves = np.zeros(3), np.array([0.5, np.inf, 0.2])
    load = Requests(arrival, [160] * 3, [3000, 50, 50])
    stays = simulate(LLAMA, load, seats=1)
    goes = simulate(LLAMA, replace(load, cancel_s=leaves), seats=1)
    assert goes.served.tolist() == [False, True, False]
    assert goes.scheduled_s[1] == pytest.approx(0.5, abs=0.02)
    assert goes.scheduled_s[1] < stays.scheduled_s[1]


def test_an_engine_seats_as_many_as_it_does_by_default():
    assert most_seats(evaluate(LLAMA)) == 1024
    small = Scenario("llama-3.1-8b", device="rtx-4090", engine="vllm-0.20", weights="fp8")
    assert most_seats(evaluate(small)) == 256
    assert most_seats(evaluate(replace(LLAMA, set="logit_rows:12"))) == 12
    assert most_seats(evaluate(replace(LLAMA, engine="sglang"))) == 4096


def test_a_stream_is_drawn_as_it_was_asked_for():
    load = drawn(50_000, rate=4, burst=3, prompt=(1000, 4000), output=(100, 100), seed=5,
                 prefix_tokens=500, hit_rate=0.25)  # fmt: skip
    gaps = np.diff(load.arrival_s)
    assert gaps.mean() == pytest.approx(0.25, rel=0.05)
    assert gaps.std() / gaps.mean() == pytest.approx(3, rel=0.05)
    assert np.median(load.prompt_tokens) == pytest.approx(1000, rel=0.02)
    assert np.percentile(load.prompt_tokens, 95) == pytest.approx(4000, rel=0.03)
    assert set(load.output_tokens) == {100}
    long = load.prompt_tokens > 500
    assert np.mean([bool(each) for each in load.prefixes]) == pytest.approx(
        0.25 * long.mean(), rel=0.05
    )
    again = drawn(50_000, rate=4, burst=3, prompt=(1000, 4000), output=(100, 100), seed=5)
    assert np.array_equal(again.arrival_s, load.arrival_s)
    longer = drawn(50_000, rate=4, prompt=(1000, 4000, 2000), output=(100, 100), seed=5)
    assert longer.prompt_tokens.mean() == pytest.approx(2000, rel=0.02)
