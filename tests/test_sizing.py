"""Sizing in closed form: queues and lengths with known answers, and what must hold everywhere."""

import itertools
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import Lengths, Promise, Scenario, Workload, evaluate, size
from planner.sizing import queueing
from planner.sizing.curve import curve, highest, replicas, steady
from planner.sizing.steady import NEARLY, OVERLOADED, STABLE, curve_of, deployed

CHAT = Workload(rate=4, prompt=Lengths(1020, 4083, 1155), output=Lengths(129, 451, 211), burst=1.1)
PROMISE = Promise(ttft_s=1.0, tpot_s=0.04)
LLAMA = Scenario("llama-3.1-70b", weights="fp8", device="h100-sxm", tp=2, engine="vllm-0.34")


# --- queues ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_a_fixed_service_waits_as_in_the_m_d_1_queue(load):
    expected = load * 3 / (2 * (1 - load))
    assert queueing.wait(load, 1, 3, (1 + 0) / 2).mean_s == pytest.approx(expected)


@pytest.mark.parametrize("load", [0.1, 0.5, 0.9])
def test_a_random_service_waits_as_in_the_m_m_1_queue(load):
    found = queueing.wait(load, 1, 3, (1 + 1) / 2)
    assert found.mean_s == pytest.approx(load * 3 / (1 - load))
    # P(W > t) = ρ · e^(−(1 − ρ) t / S)
    late = found.quantile_s(0.99)
    assert load * np.exp(-(1 - load) * late / 3) == pytest.approx(0.01)


def test_many_servers_wait_as_erlang_says():
    # M/M/c by Erlang's C, c = 10, ρ = 0.9: chance 0.6687, mean wait 0.6687 services
    assert queueing.wait(0.9, 10, 1, 1).mean_s == pytest.approx(0.6687, rel=0.05)


def test_a_gamma_s_percentile():
    # of an exponential distribution, shape 1: −ln(1 − q)
    assert queueing.gamma_quantile(2.0, 4.0, 1.6449) == pytest.approx(2 * -np.log(0.05), rel=0.02)
    assert queueing.gamma_quantile(2.0, 0.0, 1.6449) == 2
    assert queueing.gamma_quantile(2.0, np.inf, 1.6449) == np.inf


@pytest.mark.parametrize("far", [-3.0, -0.4, 0.0, 0.7, 2.5])
def test_how_often_a_normal_is_above(far):
    expected = 1 - NormalDist().cdf(far)
    assert queueing.above(10 + 2 * far, 10.0, 2.0) == pytest.approx(expected, abs=1e-6)
    assert queueing.above(10.0, 9.0, 0.0) == 0


def test_a_wait_s_variance_is_that_of_its_mixture():
    drawn = np.random.default_rng(2).exponential(3.0, 400_000)
    drawn[np.random.default_rng(3).random(400_000) > 0.4] = 0
    found = queueing.Wait(0.4, 3.0)
    assert found.mean_s == pytest.approx(drawn.mean(), rel=0.01)
    assert found.variance == pytest.approx(drawn.var(), rel=0.02)


def test_requests_that_meet_many_prompts_are_alike():
    few, many = queueing.sway_s(0.01, 1.0, 0.0, np.array([2.0, 200.0]))
    assert few == pytest.approx(0.01)
    assert many == pytest.approx(0.001)


def test_who_comes_late_into_a_pass_makes_it_longer():
    # half a step of 0.02, and what is left of a prompt: 5 · 0.1² / 2; times the load, 0.5
    assert queueing.behind_s(0.02, 5, 0.1, 0.0) == pytest.approx(0.5 * (0.01 + 0.025))


def test_a_full_server_waits_without_end():
    assert queueing.wait(1.0, 1, 1, 1).mean_s == np.inf
    assert queueing.wait(1.2, 5, 1, 1).quantile_s(0.95) == np.inf
    assert queueing.wait(0.0, 1, 1, 1).mean_s == 0


def test_a_stream_dealt_to_many_is_poisson():
    assert queueing.divided_burst(169, 1) == 169
    assert queueing.divided_burst(169, 1e9) == pytest.approx(1)


def test_places_between_grid_points():
    grid, values = np.array([0.0, 1, 2]), np.array([[0.0, 10, 30], [5, 5, 5]])
    assert queueing.between(grid, np.array([1.5, 0.5]), values)[0].tolist() == [20, 5]
    assert queueing.between(grid, 2.0, values[0], values[1]) == [30, 5]


# --- lengths --------------------------------------------------------------------------------------


@pytest.mark.parametrize("cap", [30, 129, 300, 2000])
def test_capped_lengths_have_the_mean_of_drawn_ones(cap):
    own = Lengths(129, 451)
    drawn = np.random.default_rng(1).lognormal(np.log(129), own.sigma, 400_000)
    assert own.mean == pytest.approx(drawn.mean(), rel=0.01)
    assert own.capped(cap).mean == pytest.approx(np.minimum(drawn, cap).mean(), rel=0.01)
    assert own.quantile(0.95) == pytest.approx(451)


def test_a_cap_above_a_fixed_length_changes_nothing():
    assert Lengths(100).capped(200) == Lengths(100)
    assert Lengths(100).capped(60) == Lengths(60)
    assert Lengths(100, 300).capped(0) == Lengths(100, 300)


def test_what_runs_holds_its_prompt_and_half_of_its_output():
    assert Workload(rate=1, prompt=1000, output=200).held_tokens == 1100
    # of long and short outputs the long ones are met more often
    assert Workload(rate=1, prompt=1000, output=Lengths(100, 800)).held_tokens > 1000 + 145


@pytest.mark.parametrize(
    ("wrong", "name"),
    [
        ({"rate": 0}, "rate"),
        ({"users": 5}, "rate"),
        ({"burst": 0.5}, "burst"),
        ({"hit_rate": 2}, "hit_rate"),
        ({"prefix": -1}, "prefix"),
    ],
)
def test_a_workload_says_what_is_wrong(wrong, name):
    with pytest.raises(ValueError, match=name):
        Workload(**{"rate": 1} | wrong)
    with pytest.raises(ValueError, match="median"):
        Lengths(100, 50)
    with pytest.raises(ValueError, match="percentile"):
        Promise(percentile=100)


# --- the steady state -----------------------------------------------------------------------------


def flat(workload, service=0.1, step=0.01, most=64):
    """A replica whose times do not depend on what runs."""
    running = np.minimum(np.arange(0, 70.0), most)
    same = np.ones_like(running)
    return curve(
        workload, running, step * same, 0 * same, service * same, service * same, 1e-9 * same
    )


def test_what_runs_is_the_rate_times_the_stay():
    workload = Workload(rate=5, prompt=100, output=101)
    found = steady(flat(workload), 5, PROMISE, 1)
    assert found.running == pytest.approx(5 * (0.1 + 100 * 0.01))
    assert found.rate == pytest.approx(5)


def test_users_are_running_or_thinking():
    workload = Workload(users=60, think_s=9, prompt=100, output=91)
    found = steady(flat(workload), 60, PROMISE, 1)
    assert found.rate == pytest.approx(60 / (9 + 0.1 + 0.9))
    assert found.running + found.rate * 9 == pytest.approx(60)


def test_without_queues_a_replica_takes_what_its_places_hold():
    workload = Workload(rate=1, prompt=100, output=91)
    most = highest(flat(workload), Promise(ttft_s=1e9, tpot_s=1), 1)
    assert most == pytest.approx(64 / (0.1 + 0.9), rel=1e-3)
    assert highest(flat(workload, step=0.1), PROMISE, 1) == 0


def test_the_fixed_point_is_that_of_evaluate():
    answer = size(CHAT, PROMISE, LLAMA, replicas=1)
    running = float(answer.state.running)
    found = evaluate(
        LLAMA,
        concurrency=running + 1,  # a request sees itself and those that run
        context=CHAT.held_tokens,
        prompt=CHAT.prompt.mean,
        output=CHAT.written.mean,
    )
    assert float(answer.state.tpot_s) == pytest.approx(found.tpot_s.value, rel=0.02)
    stay = running / float(answer.state.rate)
    assert stay > (CHAT.written.mean - 1) * float(answer.state.tpot_s)


def test_so_many_replicas_and_one_less_not():
    busy = replace(CHAT, rate=60)
    answer = size(busy, PROMISE, LLAMA)
    assert answer.keeps
    assert answer.load == STABLE
    assert answer.needed == answer.replicas > 2
    own, _ = curve_of(LLAMA, busy, PROMISE)
    for count, enough in ((answer.replicas, True), (answer.replicas - 1, False)):
        burst = queueing.divided_burst(busy.burst**2, count)
        each = busy.asked / count / (1 - PROMISE.headroom)
        assert steady(own, each, PROMISE, burst).keeps(PROMISE) == enough


def test_more_is_never_worse():
    busy = replace(CHAT, rate=30)
    counts = [size(busy, PROMISE, LLAMA, replicas=count) for count in (1, 2, 3, 5, 8, 40)]
    for fewer, more in itertools.pairwise(counts):
        assert more.state.ttft_tail_s <= fewer.state.ttft_tail_s
        assert more.state.tpot_tail_s <= fewer.state.tpot_tail_s
        assert more.state.utilisation < fewer.state.utilisation
        assert more.highest_rate > fewer.highest_rate


@settings(max_examples=40, deadline=None)
@given(
    rate=st.floats(0.1, 500),
    more=st.floats(1.01, 5),
    burst=st.floats(1, 13),
    ttft=st.floats(0.3, 10),
)
def test_a_heavier_load_never_needs_less(rate, more, burst, ttft):
    own, _ = curve_of(LLAMA, CHAT, PROMISE)
    promise = replace(PROMISE, ttft_s=ttft)
    light = replace(CHAT, rate=rate, burst=burst)
    own = replace(own, workload=light)
    heavy = replace(own, workload=replace(light, rate=rate * more))
    needed = replicas(own, promise)
    assert replicas(heavy, promise) >= needed
    assert replicas(own, replace(promise, headroom=0.5)) >= needed
    assert replicas(own, replace(promise, ttft_s=ttft * 2)) <= needed


def test_near_saturation_only_ends_and_beyond_it_no_end():
    most = size(CHAT, Promise(1e6, 1e6), LLAMA, replicas=1).highest_rate
    loads = {
        part: size(replace(CHAT, rate=part * most), PROMISE, LLAMA, replicas=1)
        for part in (0.5, 0.95, 1.2)
    }
    assert [each.load for each in loads.values()] == [STABLE, NEARLY, OVERLOADED]
    assert np.isfinite(loads[0.5].ttft_s.value)
    assert np.isnan(loads[0.95].ttft_s.value)
    assert loads[0.95].ttft_s.low < loads[0.95].ttft_s.high
    assert loads[1.2].ttft_s.value == np.inf
    assert not loads[1.2].keeps


def test_a_band_holds_its_value():
    answer = size(CHAT, PROMISE, LLAMA)
    for band in (answer.ttft_s, answer.tpot_s):
        assert band.low < band.value < band.high


def test_what_the_pool_refuses_has_no_replicas():
    small = size(CHAT, PROMISE, replace(LLAMA, tp=1, weights="fp16"))
    assert not small.fits
    assert small.needed == np.inf
    assert small.load == OVERLOADED
    assert not small.keeps
    assert small.highest_rate == 0


def test_the_plan_of_a_deployment_fits():
    answer = size(CHAT, PROMISE, LLAMA)
    assert evaluate(deployed(answer)).fits


def test_the_worst_case_asks_for_more():
    answer = size(CHAT, PROMISE, LLAMA)
    assert answer.worst.highest_rate < answer.highest_rate
    assert answer.worst.needed >= answer.needed


def test_a_shared_prefix_helps():
    with_prefix = size(replace(CHAT, prefix=800), PROMISE, LLAMA)
    assert with_prefix.highest_rate > size(CHAT, PROMISE, LLAMA).highest_rate


def test_used_parts_are_parts():
    answer = size(replace(CHAT, rate=5), PROMISE, LLAMA, replicas=1)
    for part in (answer.bandwidth_used, answer.arithmetic_used, answer.blocks_used):
        assert 0 < part < 1
