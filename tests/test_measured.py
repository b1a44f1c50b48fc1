"""What measurements say of a plan: how far they pull it, how sure it is, which are nearest."""

from dataclasses import replace

import numpy as np
import pytest

from planner import Scenario, describe, evaluate, explain
from planner.charts import labelled, lines
from planner.evidence import measurements
from planner.files import rows
from planner.inputs import presets
from planner.latency import measured
from planner.latency.measured import CASES, Setup, panel, witnesses
from planner.serving import comparable, neighbours

KNOWN = Scenario(
    "llama-3.1-70b", weights="fp8", device="h100-sxm", tp=4, concurrency=16, context=1383,
    prompt=922, output=922, engine="vllm",
)  # fmt: skip


def served(**changes):
    return evaluate(replace(KNOWN, **changes))


def setup(**changes):
    return replace(served().estimate.setup, **changes)


@pytest.mark.parametrize(
    ("changes", "case"),
    [
        ({}, "sweep"),
        ({"concurrency": 200, "tp": 8}, "sweep"),
        ({"weights": "fp16"}, "setup"),
        ({"device": "a100-80-sxm"}, "setup"),
        ({"engine": "lmdeploy"}, "setup"),
        ({"model": "qwen2.5-7b", "weights": "fp16"}, "model"),
        ({"model": "qwen2.5-7b", "weights": "fp16", "device": "l40s", "tp": 1}, "stranger"),
    ],
)
def test_a_plan_says_how_much_of_it_was_measured(changes, case):
    changes = {"bandwidth": None, "memory": None, "peak": None, **changes}
    own = served(**changes)
    assert own.estimate.case == case
    assert CASES[case] in explain.step_help(own)
    assert own.step_s.low < own.step_s.value < own.step_s.high


def test_the_less_was_measured_the_wider_the_band():
    widths = [measured.half_width(case, "vllm") for case in ("sweep", "setup", "model")]
    assert widths == sorted(widths)
    for way in ("dense", "experts", "fixed"):
        assert measured.half_width("stranger", "", (way,)) > measured.half_width("sweep", "vllm")


def test_the_same_shape_is_the_same_family_under_any_name():
    own = presets.models()["llama-3.1-70b"]
    assert measured.shape(replace(own, id="mine", name="Mine")) == measured.shape(own)
    assert measured.shape(own) != measured.shape(presets.models()["llama-2-70b"])


def test_what_was_never_measured_is_not_pulled():
    own = served(model="qwen2.5-7b", weights="fp16")
    assert own.estimate.pull(922) == 1
    assert neighbours(own) == []
    assert served(engine="llama.cpp-cuda").estimate.case == ""


def test_measurements_pull_the_more_the_nearer_they_are():
    every = witnesses()
    mine = every.only(every.id == "c1885")  # this set-up at 16 requests
    assert len(mine) == 1
    once = panel(replace(mine, predicted_s=mine.measured_s / np.exp(0.2)))
    point = (mine.running[0], mine.prompt_tokens[0], mine.output_tokens[0])
    same = setup(tensor=int(mine.tensor[0]))
    at = measured.offset(same, *point, once)
    # One witness whose variance is that of a row and of a run: 0.04² + 0.06² against 0.12².
    assert at == pytest.approx(0.2 / (1 + (0.04**2 + 0.06**2) / 0.12**2))
    away = [
        measured.offset(same, 8 * point[0], *point[1:], once),
        measured.offset(replace(same, device="b200-sxm"), *point, once),
        measured.offset(replace(same, weights="fp16"), *point, once),
        measured.offset(replace(same, family="sglang"), *point, once),
        measured.offset(replace(same, tensor=8), *point, once),
    ]
    assert all(0 < each < at for each in away)


def test_a_publisher_s_set_ups_share_its_error():
    every = witnesses()
    other = every.only(every.source == "s38")
    assert not other.reference.any()
    one, many = other.only(np.arange(len(other)) < 1), other
    pulls = [
        abs(
            measured.offset(
                setup(), 16, 922, 922, panel(replace(each, predicted_s=each.measured_s / np.e))
            )
        )
        for each in (one, many)
    ]
    # However many there are: a tenth, 0.12² / (0.12² + 0.40²), is all that they can move.
    assert pulls[0] <= pulls[1] <= 0.12**2 / (0.12**2 + 0.40**2) + 1e-9


def test_arrays_are_loops():
    own = setup()
    counts, prompts = np.array([1, 7, 300]), np.array([[100], [9000]])
    grid = measured.offset(own, counts, prompts, 500)
    assert grid.shape == (2, 3)
    for i, prompt in enumerate(prompts[:, 0]):
        for j, count in enumerate(counts):
            assert grid[i, j] == pytest.approx(measured.offset(own, count, prompt, 500))
    assert measured.offset(own, 16, 922, 0) == measured.offset(own, 16, 922, np.inf)


def test_the_nearest_measurements_come_first():
    found = neighbours(served())
    assert len(found) > 300
    first = found[0]
    assert (first.device, first.family, first.weights, first.tensor) == (
        "h100-sxm", "vllm", "fp8", 4,
    )  # fmt: skip
    assert (first.running, first.prompt_tokens) == (16, 922)
    assert first.measured_s == pytest.approx(13.19e-3, rel=1e-3)
    sources = {row["id"]: row for row in measurements.rows("sources.csv")}
    assert all(each.source in sources for each in found)
    text = explain.certainty(served())
    assert "measurements of this model on this device, the nearest 13.2 ms at 16 requests" in text
    assert (
        f"of 922 + 922 tokens, where {describe.duration(first.predicted_s)} is predicted." in text
    )


def test_what_stands_beside_a_line_was_measured_under_such_a_load():
    own = served()
    found = comparable(own)
    assert found
    assert found == [each for each in neighbours(own) if each in found]
    for each in found:
        assert (each.device, each.weights, each.tensor) == ("h100-sxm", "fp8", 4)
        assert 8 <= each.running <= 32
        assert 461 <= each.output_tokens <= 1844
    assert comparable(served(output=0)) == []
    assert comparable(served(device="l40s")) == []


def test_measurements_stand_on_the_chart_of_time_per_token():
    own, both = labelled.pair(served())
    picture = lines.latency("engine_latency", both, own)
    drawn, nearest = picture.frames["measured"], comparable(served())[0]
    _, unit, _ = picture.bounds
    assert unit == "ms"
    first = drawn.iloc[0]
    assert first.step == pytest.approx(1e3 * nearest.measured_s)
    assert first.context == 922 + 922 / 2
    assert first.sentence.startswith("Measured: 13.2 ms a token at 16 requests of 922 + 922 tokens")
    assert first.sentence.endswith("Source: InferenceX, runs collected in aiconfigurator")
    assert len(drawn) == min(len(comparable(served())), lines.MOST_MEASURED)
    own, both = labelled.pair(served(output=0))
    assert lines.latency("engine_latency", both, own).frames["measured"].empty


def test_a_pull_never_goes_below_the_ideal():
    for each in (served(), served(concurrency=1), served(model="gpt-oss-120b", weights=None, tp=1)):
        assert each.tpot_s.low >= each.estimate.least_step_s * (1 - 1e-12)
        parts = sum(seconds for _, seconds in each.mixed.parts())
        assert parts == pytest.approx(each.tpot_s.value)


# --- files ----------------------------------------------------------------------------------------


def test_every_witness_is_a_fitted_measurement():
    steps = measurements.steps()
    fitted = dict(zip(steps["id"], steps["fitted"], strict=True))
    every = witnesses()
    assert all(fitted[id] for id in every.id)
    assert (every.measured_s > 0).all()
    assert (every.predicted_s > 0).all()
    seconds = dict(zip(steps["id"], steps["measured_s"], strict=True))
    assert every.measured_s == pytest.approx([seconds[id] for id in every.id], rel=1e-3)
    assert set(every.model) <= set(measured.models())


def test_bands_have_a_width_for_every_case():
    table = rows("bands.csv")
    assert {row["case"] for row in table} == {*CASES, "first token"}
    assert len({(row["case"], row["engine"], row["regime"]) for row in table}) == len(table)
    for row in table:
        assert 0.1 < float(row["factor"]) < 3
    for case in ("sweep", "setup", "model"):
        assert 0.1 < measured.half_width(case, "vllm") < 0.4
    assert measured.half_width("first token", "vllm") < measured.half_width("first token", "x")


def test_a_setup_is_whom_to_ask():
    own = setup()
    assert own == Setup(measured.shape(served().plan.model), "h100-sxm", "vllm", "fp8", 4)
    assert measured.architecture("gh200-96") == measured.architecture("h100-sxm") == "hopper"
    assert measured.architecture("l40s") == "l40s"
