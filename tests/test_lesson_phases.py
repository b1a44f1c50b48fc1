"""Roofline, time line, streaming speeds and levers: the lesson's numbers and hand counts."""

import numpy as np
import pytest

from planner.charts import lines
from planner.inputs import presets
from planner.inputs.scenario import Scenario
from planner.lesson import levers, roofline, streaming
from planner.lesson.roofline import COMPUTE, DECODE, MEMORY, PREFILL
from planner.lesson.states import start

MHA = Scenario(model="lesson-7b-mha", device="lesson", concurrency=1)
GQA = Scenario(model="lesson-7b-gqa", device="lesson", concurrency=1)


def phase(table, name):
    return table.query("phase == @name").reset_index(drop=True)


def test_decode_of_one_request_by_hand():
    """7·10⁹ multiply-adds of weights and 32 layers × 32 heads × 1,001 tokens × 256 of attention."""
    row = phase(roofline.phases(MHA, 1000, 1), DECODE).iloc[0]
    flops = 2 * (7e9 + 32 * 32 * 1001 * 256)
    moved = 14e9 + 524_288 * 1000
    assert row["flops"] == pytest.approx(flops)
    assert row["moved_bytes"] == moved
    assert row["attainable"] == pytest.approx(flops / moved * 1e12)
    assert row["seconds"] == pytest.approx(0.0145, abs=5e-5)
    assert row["bound"] == MEMORY


def test_prefill_of_a_long_prompt_is_bound_by_compute():
    row = phase(roofline.phases(MHA, 2000, 1), PREFILL).iloc[0]
    flops = 2 * (7e9 * 2000 + 32 * 32 * 256 * 2000 * 2001 / 2)
    assert row["flops"] == pytest.approx(flops)
    assert row["bound"] == COMPUTE
    assert row["seconds"] == pytest.approx(flops / 300e12)
    assert row["share_of_peak"] == 1


def test_ridge_and_roof():
    assert roofline.ridge(MHA) == pytest.approx(300)
    roof = roofline.roof(MHA)
    assert roof["attainable"].max() == 300e12
    assert roof.query("intensity == 300")["attainable"].item() == pytest.approx(300e12)
    assert roof.query("intensity < 1")["attainable"].max() < 1e12
    assert roof["intensity"].is_monotonic_increasing


def test_batch_moves_decode_towards_the_ridge_and_caches_hold_it_back():
    batch = np.array([1, 4, 16, 64, 256, 1024])
    short, long = (phase(roofline.phases(GQA, n, batch), DECODE) for n in (128, 8192))
    assert short["intensity"].is_monotonic_increasing
    assert (short["intensity"].to_numpy() > long["intensity"].to_numpy())[1:].all()
    # However many requests, each brings its own cache: intensity tends to FLOPs / cache bytes.
    limit = (2 * 7e9 + 2 * 32 * 32 * 256 * 8193) / (8192 * 131_072)
    assert long["intensity"].iloc[-1] < limit
    assert limit < 30


def test_prompts_move_prefill():
    prompt = np.array([1, 8, 64, 512, 4096])
    table = phase(roofline.phases(MHA, prompt, 1), PREFILL)
    assert table["intensity"].is_monotonic_increasing
    assert table["bound"].tolist() == [MEMORY] * 3 + [COMPUTE] * 2
    assert table["prompt_tokens"].tolist() == prompt.tolist()


def test_a_batch_of_prompts_shares_the_weights():
    one, eight = (phase(roofline.phases(MHA, 64, b), PREFILL).iloc[0] for b in (1, 8))
    assert eight["flops"] == 8 * one["flops"]
    assert eight["moved_bytes"] == 14e9 + 8 * 64 * 524_288
    assert eight["intensity"] > 7 * one["intensity"]


def test_one_request():
    times = roofline.request_times(MHA, prompt_tokens=1000, new_tokens=5)
    expected = [(14e9 + 524_288 * n) / 1e12 for n in (1001, 1002, 1003, 1004)]
    assert np.allclose(times.steps_s, expected, rtol=1e-12)
    assert times.ttft_s == max(times.prefill_s, times.weights_s)
    assert times.tpot_s == pytest.approx(np.mean(expected))
    assert times.total_s == pytest.approx(times.ttft_s + sum(expected))


def test_one_token_needs_no_decode_step():
    times = roofline.request_times(MHA, prompt_tokens=1000, new_tokens=1)
    assert times.tpot_s == 0
    assert times.total_s == times.ttft_s
    assert roofline.timeline(MHA, 1000, 1)["phase"].tolist() == [PREFILL]


@pytest.mark.parametrize("tokens", [2, 200, 201, 5000])
def test_time_line_has_no_gaps(tokens):
    table = roofline.timeline(MHA, prompt_tokens=500, new_tokens=tokens)
    times = roofline.request_times(MHA, prompt_tokens=500, new_tokens=tokens)
    assert len(table) <= 201
    assert table["start_s"].iloc[0] == 0
    assert table["start_s"].tolist()[1:] == table["end_s"].tolist()[:-1]
    assert table["end_s"].iloc[-1] == pytest.approx(times.total_s)
    assert table["last_token"].iloc[-1] == tokens
    assert (table["first_token"].iloc[1:] == table["last_token"].shift().iloc[1:] + 1).all()
    assert table["step_s"].iloc[1:].is_monotonic_increasing


def test_streaming_speeds_of_the_lesson():
    table = streaming.speeds(MHA)
    mha, gqa = table.query("attention == 'MHA'"), table.query("attention == 'GQA'")
    assert mha["tokens_per_s"].round(1).tolist() == [68.9, 54.7, 32.5]
    assert (mha["step_s"] * 1000).round(1).tolist() == [14.5, 18.3, 30.8]
    assert (gqa["step_s"] * 1000).round(1).tolist() == [14.1, 15.1, 18.2]
    assert (table["times_reading"] > 1).all()
    assert table["times_reading"].iloc[0] == pytest.approx(68.9 / (238 / 60 / 0.75), rel=1e-3)


def test_streamed_text():
    words = streaming.pieces()
    assert "".join(words) == streaming.TEXT
    assert len(words) > 80


# --- levers -------------------------------------------------------------------------------------


def test_levers_of_the_lesson():
    table = levers.compare(context_tokens=8192, concurrency=16).set_index("id")
    per_token = table["bytes_per_token"].to_dict()
    assert per_token == {
        "mha": 524_288,
        "gqa": 131_072,
        "mqa": 16_384,
        "mla": 36_864,  # 32 layers × 576 × 2
        "8-bit": 262_144,
        "4-bit": 131_072,
        "window": 524_288,
    }
    assert table["load_bytes"]["mha"] / 1e9 == pytest.approx(68.7, abs=0.05)
    assert table["load_bytes"]["gqa"] / 1e9 == pytest.approx(17.2, abs=0.05)
    assert table["share"]["window"] == 0.5
    long = levers.compare(context_tokens=128_000).set_index("id")["request_bytes"] / 1e9
    assert long["mha"] == pytest.approx(67.1, abs=0.05)
    assert long["gqa"] == pytest.approx(16.8, abs=0.05)


def test_levers_multiply():
    def end(**changed):
        return levers.chosen({**start("cost"), **changed})

    table = levers.stack(8192, 16, end(heads="8", bits="8", window="4096"))
    assert table["share"].tolist() == [1, 1 / 4, 1 / 8, 1 / 16]
    assert table["lever"].tolist()[1:] == ["8 key-value heads", "8 bits", "window of 4,096"]
    assert len(levers.stack(8192, 1, end())) == 1
    assert levers.stack(8192, 1, end(heads="mla"))["request_bytes"].iloc[-1] == 36_864 * 8192
    assert levers.stack(8192, 1, end(layers=64))["request_bytes"][0] == 2 * 524_288 * 8192


def test_growth_of_a_window_stops():
    window = next(lever for lever in levers.LEVERS if lever.id == "window")
    kept = window.request_bytes(np.array([2048, 4096, 8192]))
    assert kept.tolist() == [2048 * 524_288, 4096 * 524_288, 4096 * 524_288]


def test_the_levers_are_those_of_the_lesson_s_model():
    (layer,) = presets.model(levers.BASE).groups
    assert levers.LEVERS[0].layers == layer.layers
    assert levers.LEVERS[0].head_dim == layer.key_dim == layer.value_dim
    assert levers.LEVERS[0].heads == layer.kv_heads


def test_readers_read_at_one_pace_everywhere():
    assert round(streaming.READING_TOKENS_PER_SECOND, 1) in lines.READING_SPEEDS
