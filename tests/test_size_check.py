"""A sizing against the simulation of its replica: the closed form and the requests agree."""

import numpy as np
import pytest

from planner import Scenario
from planner.sizing import check as checks
from planner.sizing.arrivals import Requests
from planner.sizing.check import check
from planner.sizing.steady import size
from planner.sizing.workload import Lengths, Promise, Workload

CHAT = {"prompt": Lengths(1020, 4083, 1155), "output": Lengths(129, 451, 211)}
SMALL = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm-0.34")
LARGE = Scenario("llama-3.1-70b", device="h100-sxm", tp=4, engine="vllm-0.34", weights="fp8")


def sizing(scenario, replicas=1, **load):
    return size(Workload(**{**CHAT, **load}), Promise(), scenario, replicas)


@pytest.mark.parametrize(
    ("scenario", "load"),
    [
        (SMALL, {"rate": 2, "burst": 1}),
        (SMALL, {"rate": 8, "burst": 1.1}),
        (SMALL, {"rate": 16, "burst": 1.1}),
        (SMALL, {"users": 200, "think_s": 45}),
        (LARGE, {"rate": 8, "burst": 1.1}),
        (LARGE, {"users": 400, "think_s": 45}),
    ],
)
def test_closed_form_and_simulation_agree(scenario, load):
    own = sizing(scenario, **load)
    found = check(own)
    assert own.load == "stable"
    runs = found.simulation.series.running
    full = runs[len(runs) // 5 : -len(runs) // 5]  # neither filling up nor running dry
    assert full.mean() == pytest.approx(float(own.state.running), rel=0.15)
    assert own.ttft_s.low <= found.tail("ttft_s") <= own.ttft_s.high
    # Of short answers a single prompt beside them is a large part: their times spread more.
    assert found.tail("tpot_s") == pytest.approx(float(own.state.tpot_tail_s), rel=0.4)
    assert np.median(found.tpot_s) == pytest.approx(float(own.state.tpot_s), rel=0.2)


def test_what_is_overloaded_grows_without_end():
    own = sizing(LARGE, rate=16)
    short, long = check(own, 2000), check(own, 8000)
    assert own.load == "overloaded"
    assert long.tail("ttft_s") > 2 * short.tail("ttft_s") > 20
    assert not long.keeps


def test_a_replica_gets_its_share():
    half = sizing(SMALL, replicas=4, rate=20, burst=3)
    load = checks.share(half, 20_000)
    assert 1 / np.diff(load.arrival_s).mean() == pytest.approx(5, rel=0.05)
    gaps = np.diff(load.arrival_s)
    # A quarter of a stream, picked at random, is a quarter as far from a Poisson stream.
    assert (gaps.std() / gaps.mean()) ** 2 == pytest.approx(1 + (9 - 1) / 4, rel=0.1)
    some = sizing(SMALL, replicas=4, users=100, think_s=30)
    assert checks.users(some) == 25
    assert checks.thinking(some, 50_000).mean() == pytest.approx(30, rel=0.02)
    assert load.prompt_tokens.mean() == pytest.approx(1155, rel=0.03)
    assert load.output_tokens.mean() == pytest.approx(211, rel=0.03)


def test_a_trace_is_dealt_to_replicas_at_the_rate_that_is_asked_for():
    own = sizing(SMALL, replicas=2, rate=8)
    trace = Requests(np.arange(1000) / 4, np.full(1000, 500), np.arange(1000) + 1)
    load = checks.share_of(own, trace)
    assert len(load) == pytest.approx(500, abs=50)
    assert load.arrival_s[-1] == pytest.approx(125, abs=1)
    assert set(load.output_tokens) <= set(trace.output_tokens)
    found = check(own, trace=trace)
    assert len(found.ttft_s) == len(load)
    assert found.simulation.served.all()


def test_the_same_seed_gives_the_same_answer():
    own = sizing(SMALL, rate=5)
    first, again, other = check(own, 500), check(own, 500), check(own, 500, seed=1)
    assert first.tail("ttft_s") == again.tail("ttft_s") != other.tail("ttft_s")
    assert len(first.ttft_s) == 450
    assert first.keeps


def test_the_factor_of_a_site_makes_both_longer():
    plain, slow = sizing(SMALL, rate=8), sizing(SMALL, rate=8, site=1.5)
    assert slow.state.tpot_s > 1.5 * plain.state.tpot_s  # and more run at once
    assert slow.highest_rate < plain.highest_rate / 1.4
    assert check(slow).tail("ttft_s") > 1.4 * check(plain).tail("ttft_s")
    assert slow.ttft_s.low <= check(slow).tail("ttft_s") <= slow.ttft_s.high
