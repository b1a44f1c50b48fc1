"""Results of benchmark tools: each format is read, and what cannot be is said."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Scenario
from planner.sizing.against import compare, load
from planner.sizing.benchmarks import STATISTICS, Measured, read_benchmark
from planner.sizing.blockyaml import read_yaml
from planner.sizing.simulate import simulate

H100 = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm-0.34")

# As their sources write them: see `planner.sizing.benchmarks`.
VLLM = {
    "date": "20261101-120000",
    "endpoint_type": "openai",
    "backend": "vllm",
    "model_id": "meta-llama/Llama-3.1-8B-Instruct",
    "num_prompts": 320,
    "request_rate": "inf",
    "burstiness": 1.0,
    "max_concurrency": 32,
    "duration": 60.0,
    "completed": 318,
    "failed": 2,
    "total_input_tokens": 318 * 1024,
    "total_output_tokens": 318 * 256,
    "request_throughput": 5.3,
    "output_throughput": 1356.8,
    "total_token_throughput": 6784.0,
    "mean_ttft_ms": 210.0,
    "median_ttft_ms": 180.0,
    "p99_ttft_ms": 900.0,
    "mean_tpot_ms": 12.0,
    "median_tpot_ms": 11.5,
    "p99_tpot_ms": 15.0,
    "mean_itl_ms": 12.1,
    "median_itl_ms": 10.0,
    "p99_itl_ms": 60.0,
    "mean_e2el_ms": 3270.0,
}
SGLANG = {
    "backend": "sglang",
    "dataset_name": "random-ids",
    "request_rate": 4.0,
    "max_concurrency": None,
    "random_input_len": 1024,
    "random_output_len": 256,
    "duration": 80.0,
    "completed": 320,
    "total_input_tokens": 320 * 1000,
    "total_output_tokens": 320 * 250,
    "request_throughput": 4.0,
    "input_throughput": 4000.0,
    "output_throughput": 1000.0,
    "mean_e2e_latency_ms": 2600.0,
    "median_e2e_latency_ms": 2500.0,
    "p99_e2e_latency_ms": 4000.0,
    "mean_ttft_ms": 110.0,
    "median_ttft_ms": 100.0,
    "p99_ttft_ms": 300.0,
    "mean_tpot_ms": 10.0,
    "median_tpot_ms": 9.8,
    "p99_tpot_ms": 13.0,
    "mean_itl_ms": 10.0,
    "median_itl_ms": 9.0,
    "p95_itl_ms": 12.0,
    "p99_itl_ms": 40.0,
    "concurrency": 10.4,
}


def summary(mean, scale=1.0):
    percentiles = {"p50": mean * scale, "p90": mean * scale, "p95": 2 * mean, "p99": 3 * mean}
    return {"successful": {"mean": mean, "median": mean * scale, "percentiles": percentiles}}


GUIDELLM = {
    "metadata": {"version": 1},
    "args": {"target": "http://localhost:8000", "model": "RedHatAI/Meta-Llama-3.1-8B"},
    "benchmarks": [
        {
            "type_": "generative_benchmark",
            "config": {"strategy": {"type_": kind, **strategy}},
            "metrics": {
                "request_totals": {"successful": 100, "errored": 3, "incomplete": 1, "total": 104},
                "requests_per_second": summary(2.0),
                "request_latency": summary(2.5),
                "prompt_token_count": summary(1000.0),
                "output_token_count": summary(200.0),
                "output_tokens_per_second": summary(400.0),
                "time_to_first_token_ms": summary(150.0),
                "time_per_output_token_ms": summary(12.5),
                "inter_token_latency_ms": summary(11.8, 0.9),
            },
        }
        for kind, strategy in (
            ("synchronous", {}),
            ("constant", {"rate": 2.0, "max_concurrency": 512}),
            ("concurrent", {"streams": 16}),
            ("throughput", {"max_concurrency": 256}),
        )
    ],
}


def block(mean):
    return {"mean": mean, "min": 0.0, "median": mean, "p90": 2 * mean, "p99": 3 * mean}


INFERENCE_PERF = {
    "benchmark_time_seconds": 60.0,
    "load_summary": {"count": 483, "requested_rate": 8.0, "achieved_rate": 7.9},
    "successes": {
        "count": 480,
        "latency": {
            "request_latency": block(3.3),
            "normalized_time_per_output_token": block(0.02),
            "time_per_output_token": block(0.015),
            "time_to_first_token": block(0.2),
            "inter_token_latency": block(0.016),
        },
        "throughput": {
            "input_tokens_per_sec": 8000.0,
            "output_tokens_per_sec": 1600.0,
            "total_tokens_per_sec": 9600.0,
            "requests_per_sec": 8.0,
        },
        "prompt_tokens": {"total": 480_000.0, "cached": 0.0, **block(1000.0)},
        "output_len": block(200.0),
    },
    "failures": {"count": 3},
}
AIPERF = {
    "schema_version": "1.5",
    "aiperf_version": "0.14.0",
    "input_config": {
        "endpoint": {"model_names": ["Qwen/Qwen3-8B"]},
        "loadgen": {"concurrency": 10, "request_rate": None},
    },
    "request_latency": {"unit": "ms", "avg": 2620.7, "p50": 2568.7, "p99": 3371.2, "count": 20},
    "time_to_first_token": {"unit": "ms", "avg": 120.0, "p50": 110.0, "p95": 190.0},
    "inter_token_latency": {"unit": "us", "avg": 9800.0, "p50": 9700.0},
    "inter_chunk_latency": {"unit": "ms", "avg": 9.9},
    "output_sequence_length": {"unit": "tokens", "avg": 256.0},
    "input_sequence_length": {"unit": "tokens", "avg": 1024.0},
    "request_throughput": {"unit": "requests/sec", "avg": 1.45},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 371.2},
    "request_count": {"unit": "requests", "avg": 20.0},
}
LLM_D = """
results:
  observability:
    components:
    - aggregate:
        kv_cache_usage:
          mean: 42.5
          units: percent
      component_label: vllm-svc-0
      logs: 's3://path/to/it''s/logs' # kept
  request_performance:
    aggregate:
      latency:
        inter_token_latency:
          mean: 15.5
          units: ms/token
        request_latency:
          mean: 3.1
          units: s
        time_per_output_token:
          mean: 0.015
          p99: 0.02
          units: s/token
        time_to_first_token:
          mean: 0.05
          p50: 0.045
          units: s
      requests:
        failures: 5
        input_length:
          mean: 1000.5
          units: count
        output_length:
          mean: 200.0
          units: count
        total: 500
      throughput:
        output_token_rate:
          mean: 1990.0
          units: tokens/s
        request_rate:
          mean: 9.9
          units: queries/s
run:
  time:
    start: '2025-11-05T18:00:42Z'
scenario:
  load:
    standardized:
      concurrency: .inf
      rate_qps: 10.0
      tool: inference-perf
  stack:
  - metadata:
      label: vllm-svc-0
    standardized:
      model:
        name: Qwen/Qwen3-8B
      parallelism: {}
version: 0.2.1
"""


def only(document):
    (found,) = read_benchmark(
        document.encode() if isinstance(document, str) else json.dumps(document).encode()
    )
    return found


def test_vllm():
    run = only(VLLM)
    assert (run.tool, run.model) == ("vllm bench serve", "meta-llama/Llama-3.1-8B-Instruct")
    assert (run.requests, run.failed, run.users, run.rate) == (318, 2, 32, math.inf)
    assert (run.prompt_tokens, run.output_tokens) == (1024, 256)
    assert run.ttft_s == pytest.approx({"mean": 0.21, "p50": 0.18, "p99": 0.9})
    assert run.tpot_s == pytest.approx({"mean": 0.012, "p50": 0.0115, "p99": 0.015})
    assert run.e2e_s == pytest.approx({"mean": 3.27})
    assert (run.requests_per_s, run.output_tokens_per_s) == (5.3, 1356.8)


def test_sglang_appends_a_line_a_run():
    raw = json.dumps(SGLANG) + "\n" + json.dumps({**SGLANG, "max_concurrency": 64}) + "\n"
    first, second = read_benchmark(raw.encode())
    assert first.tool == "SGLang bench_serving"
    assert (first.rate, first.users, second.users) == (4.0, None, 64)
    assert first.e2e_s == pytest.approx({"mean": 2.6, "p50": 2.5, "p99": 4.0})
    assert first.gap_s["p95"] == pytest.approx(0.012)


def test_guidellm_has_a_benchmark_for_each_rate():
    alone, steady, streams, flood = read_benchmark(json.dumps(GUIDELLM).encode())
    assert {each.tool for each in (alone, steady, streams, flood)} == {"GuideLLM"}
    assert (alone.users, alone.rate) == (1, None)
    assert (steady.users, steady.rate) == (512, 2.0)
    assert (streams.users, streams.rate) == (16, None)
    assert (flood.users, flood.rate) == (256, math.inf)
    # Its own time per output token has the first token in it.
    assert steady.tpot_s["mean"] == pytest.approx(0.0118)
    assert steady.tpot_s["p50"] == pytest.approx(0.0118 * 0.9)
    assert steady.e2e_s["mean"] == 2.5
    assert (steady.requests, steady.failed) == (100, 3)


def test_inference_perf():
    run = only(INFERENCE_PERF)
    assert (run.tool, run.requests, run.failed) == ("inference-perf", 480, 3)
    assert (run.rate, run.users) == (8.0, None)
    assert (run.prompt_tokens, run.output_tokens) == (1000, 200)
    assert run.tpot_s == {"mean": 0.015, "p50": 0.015, "p90": 0.03, "p99": 0.045}


def test_aiperf_says_its_units():
    run = only(AIPERF)
    assert (run.tool, run.model, run.users) == ("AIPerf", "Qwen/Qwen3-8B", 10)
    assert run.tpot_s == pytest.approx({"mean": 0.0098, "p50": 0.0097})
    assert run.ttft_s["p95"] == pytest.approx(0.19)
    assert (run.rate, run.requests) == (None, 20)


@pytest.mark.parametrize("json_too", [False, True])
def test_llm_d_in_yaml_and_json(json_too):
    run = only(json.dumps(read_yaml(LLM_D)) if json_too else LLM_D)
    assert (run.tool, run.model) == ("llm-d benchmark report", "Qwen/Qwen3-8B")
    assert (run.requests, run.failed) == (495, 5)
    assert (run.rate, run.users) == (10.0, None)
    assert run.gap_s["mean"] == pytest.approx(0.0155)
    assert run.tpot_s == {"mean": 0.015, "p99": 0.02}
    assert run.prompt_tokens == 1000.5


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "The file is empty"),
        (b"42", "A result is an object"),
        (b'{"a": 1}', "It is of no known tool: .* It begins with a"),
        (b'{"a": 1}\n{"a"', "It is of no known tool|Line 2 is not JSON"),
        (b'{"a": [1, 2', "Line 1 is not JSON"),
        (b"mean_ttft_ms: 3", "The result lacks 'completed'"),
        (b"- &a 5", "Line 1 has “&a 5”"),
        (b'{"mean_ttft_ms": 1, "completed": 0}', "It holds no finished run"),
        (b'{"benchmarks": [{"metrics": 5}]}', "The result lacks"),
        (b'{"successes": {"latency": {}, "throughput": {}}}', "The result lacks"),
        (b"a\n  b: 5", "Line 1 is neither"),
        (b"[" * 100_000, "It is nested too deep"),
        (b'{"mean_ttft_ms": 1, "completed": Infinity}', "The result lacks"),
        (
            json.dumps({**VLLM, "total_output_tokens": 10**15}).encode(),
            "A mean output of .* cannot",
        ),
    ],
)
def test_what_is_no_result_is_refused_in_a_sentence(raw, why):
    with pytest.raises(ValueError, match=why):
        read_benchmark(raw)


@given(st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from([*VLLM, *AIPERF, "benchmarks", "metrics", "successes", "results",
                             "request_performance", "aggregate", "latency", "mean"]),
            inner, max_size=4,
        ),
    ),
))  # fmt: skip
def test_nothing_breaks_it(document):
    try:
        found = read_benchmark(json.dumps(document).encode())
    except ValueError:
        return
    assert all(isinstance(each, Measured) for each in found)


@given(st.text())
def test_no_text_breaks_it(text):
    try:
        read_benchmark(text.encode("utf-8", "replace"))
    except ValueError:
        return


def dumped(value, indent=0):
    """YAML of a nested value, as programs write it."""
    pad = " " * indent
    if isinstance(value, dict) and value:
        lines = []
        for name, inner in value.items():
            nested = isinstance(inner, (dict, list)) and inner
            lines.append(f"{pad}{json.dumps(name)}:" + ("" if nested else f" {dumped(inner)}"))
            lines += [dumped(inner, indent + 2 * isinstance(inner, dict))] if nested else []
        return "\n".join(lines)
    if isinstance(value, list) and value:
        lines = []
        for inner in value:
            if isinstance(inner, (dict, list)) and inner:
                lines.append(f"{pad}- " + dumped(inner, indent + 2).lstrip(" "))
            else:
                lines.append(f"{pad}- {dumped(inner)}")
        return "\n".join(lines)
    if isinstance(value, float) and math.isinf(value):
        return ".inf"
    return json.dumps(value)


@given(st.dictionaries(st.text(min_size=1), st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(),
              st.floats(allow_nan=False, min_value=-1e9)),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(min_size=1), inner)),
    max_leaves=12,
), min_size=1))  # fmt: skip
def test_block_yaml_comes_back_as_it_was(value):
    assert read_yaml(dumped(value)) == value


# --- predicted against measured -------------------------------------------------------------------


def run_of(**given):
    made = {
        "tool": "vllm bench serve", "model": "", "requests": 300, "failed": 0,
        "prompt_tokens": 1024.0, "output_tokens": 256.0, "rate": math.inf, "users": 32,
        "requests_per_s": 5.0, "output_tokens_per_s": 1300.0,
    }  # fmt: skip
    return Measured(**{**made, **given})


def test_a_run_is_compared_figure_by_figure():
    found = compare(H100, only(VLLM))
    assert {(row.measure, row.statistic) for row in found.rows} >= {
        ("ttft_s", "p99"), ("tpot_s", "mean"), ("e2e_s", "mean")
    }  # fmt: skip
    assert all(row.low < row.predicted < row.high for row in found.rows)
    assert found.simulation.requests.output_tokens[0] == 256
    assert found.simulation.series.running.max() < 32 + 1e-9
    assert found.problems == ("2 of 320 requests failed; what they took is not in it.",)
    tpot = next(row for row in found.rows if (row.measure, row.statistic) == ("tpot_s", "mean"))
    assert found.site == tpot.factor


def test_what_the_simulator_itself_measures_has_the_site_that_it_was_given():
    fast = compare(H100, run_of()).simulation
    slow = simulate(H100, load(run_of()), users=32, site=1.3).summary()
    run = run_of(**{name: slow[name] for name in ("ttft_s", "tpot_s", "e2e_s")})
    found = compare(H100, run)
    assert found.site == pytest.approx(1.3, rel=0.01)
    assert all(each in STATISTICS for row in found.rows for each in [row.statistic])
    same = compare(H100, run_of(tpot_s=fast.summary()["tpot_s"]))
    assert same.site == pytest.approx(1.0)
    assert all(row.inside for row in same.rows)


def test_a_time_per_token_below_the_weights_is_impossible():
    found = compare(H100, run_of(tpot_s={"mean": 0.001}, e2e_s={"mean": 3.0}))
    assert found.impossible == ("tpot_s",)
    assert "1.00 ms is below the lower bound of 4.52 ms" in found.problems[0]
    assert {row.measure for row in found.rows} == {"e2e_s"}
    assert found.site == found.rows[0].factor


def test_answers_in_pieces_and_answers_at_once_are_told_apart():
    pieces = compare(H100, run_of(tpot_s={"mean": 0.012}, gap_s={"mean": 0.048}))
    assert "Tokens came in pieces of 4.0" in pieces.problems[0]
    assert pieces.impossible == ()
    whole = compare(H100, run_of(ttft_s={"mean": 3.0}, e2e_s={"mean": 3.05}))
    assert "not streamed" in whole.problems[0]
    assert whole.impossible == ("ttft_s",)


def test_the_load_of_a_run_is_its_rate_or_its_users():
    assert load(run_of()).arrival_s.max() == 0
    timed = load(run_of(rate=2.0, users=None))
    assert timed.arrival_s[-1] == pytest.approx(150, rel=0.2)
    unsaid = load(run_of(rate=None, users=None))
    assert unsaid.arrival_s[-1] == pytest.approx(60, rel=0.2)
    assert len(load(run_of(requests=100_000))) == 4000
