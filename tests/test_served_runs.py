"""Published runs against the simulation of the same requests."""

import numpy as np
import pytest

from planner.evidence import measurements
from planner.serving import evaluate
from planner.sizing import runs
from planner.sizing.arrivals import Requests
from planner.sizing.simulate import simulate
from tests.test_evidence_pages import opened

RUNS = {each.id: each for each in runs.runs()}
# The step of Llama-3.1-8B on an RTX 4090 is 4 to 9 % too long here (a step of 29 requests took
# 24.3 ms in the run, and takes 26.5), and with all waiting that adds up in the queue.
KNOWN_BLOCKS = {"ttft_s": 0.11, "tpot_s": 0.10, "e2e_s": 0.10}
BLIND = {"ttft_s": 0.20, "tpot_s": 0.20, "e2e_s": 0.20}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize(("blind", "bounds"), [(False, KNOWN_BLOCKS), (True, BLIND)])
def test_means_are_near_what_was_measured(name, blind, bounds):
    run = RUNS[name]
    measured, predicted = run.measured(), run.predicted(blind)
    for measure, bound in bounds.items():
        assert predicted[measure] == pytest.approx(measured[measure], rel=bound), measure


def test_the_pool_is_near_the_printed_one():
    run = RUNS["llama-3.1-8b-rtx-4090"]
    own = evaluate(run.scenario).reserve.blocks
    assert own == pytest.approx(run.blocks, rel=0.07)


def test_every_request_is_near_its_own_time():
    """Not the means alone: one request after the other, where no pool was full."""
    run = RUNS["llama-3.1-8b-rtx-pro-6000"]
    found = run.simulated()
    measured = run.last_token_s - run.requests.arrival_s
    error = np.abs((found.last_token_s - run.requests.arrival_s) / measured - 1)
    assert np.median(error) < 0.05
    assert np.percentile(error, 90) < 0.10


def test_a_full_pool_preempts_as_the_run_did():
    """The run counted 30 to 40 running while hundreds waited, and so does the simulation."""
    found = RUNS["llama-3.1-8b-rtx-4090"].simulated()
    busy = (found.series.time_s > 40) & (found.series.time_s < 150)
    assert found.preempted > 0
    assert found.series.running[busy].mean() == pytest.approx(34.7, rel=0.05)
    assert found.series.held[busy].mean() == pytest.approx(0.98, abs=0.02)


def test_the_accuracy_page_shows_every_run_and_its_error():
    page = opened("accuracy")
    assert not page.exception
    shown = runs.table()
    assert len(shown["run"]) == 9
    assert list(page.dataframe[-1].value["error"]) == shown["error"]
    run = RUNS["llama-3.1-8b-rtx-4090"]
    factor = run.predicted()["e2e_s"] / run.measured()["e2e_s"]
    assert shown["error"][2] == f"{100 * (factor - 1):+.0f} %"


EVERY = 12  # of 1,272 closed loops; over all of them the medians are 7 and 31 %


def test_closed_loops_are_as_near_as_the_closed_form():
    """Published runs in which so many requests were kept at once, with lengths that differ by 10 %
    as theirs do; most of them have a say in the step's constants, none in the simulator's."""
    columns = measurements.steps()
    here = (columns["load"] == "asked") & (columns["prompt_tokens"] > 0)
    here &= columns["output_tokens"] > 0
    errors = []
    for place in np.flatnonzero(here)[::EVERY]:
        row = {name: values[place] for name, values in columns.items()}
        found = evaluate(
            measurements.scenario_of(row),
            model=measurements.model_of(row),
            device=measurements.devices()[row["device"]],
            timed_as=row["engine"],
        )
        count, users = 4 * int(row["requests"]) + 20, int(row["requests"])
        near = np.random.default_rng(0).uniform(0.9, 1.1, (2, count))
        lengths = [
            np.maximum(np.round(row[name] * each), 1)
            for name, each in zip(("prompt_tokens", "output_tokens"), near, strict=True)
        ]
        run = simulate(found, Requests(np.zeros(count), *lengths), users=users)
        tpot, first = np.nanmean(run.tpot_s) * 1e3, run.ttft_s.mean() * 1e3
        errors.append((tpot / row["step_ms"] - 1, first / row["ttft_ms"] - 1))
    tpot, first = np.array(errors).T
    assert len(tpot) == 106
    assert np.median(np.abs(tpot)) < 0.09
    assert abs(np.median(tpot)) < 0.03
    assert np.median(np.abs(first)) < 0.36
