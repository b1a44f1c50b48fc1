"""What benchmark tools write down of a run, read into one form.

Six formats, each by its own reader: `vllm bench serve`, SGLang's `bench_serving`, GuideLLM,
inference-perf, AIPerf and llm-d's benchmark report. A time per output token is (end-to-end − TTFT)
/ (tokens − 1) here, whatever a tool calls it; the time between what was streamed is kept apart,
since it is one of pieces, which may hold several tokens.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from planner.models.notation import shorten
from planner.sizing.blockyaml import read_yaml

STATISTICS = ("mean", "p50", "p90", "p95", "p99")
MILLI = 1e-3
LONGEST = 2**21  # tokens, beyond which no model serves a request


@dataclass(frozen=True)
class Measured:
    """One run of a benchmark. Times in seconds, by `STATISTICS` as far as the tool has them.

    tool: its name. model: as the tool calls it, “” where it does not. requests: that succeeded.
    prompt_tokens, output_tokens: their means. rate: requests a second that were asked for, ∞ for
    all at once, None where it is not said. users: most requests at once, None for no bound.
    requests_per_s, output_tokens_per_s: reached. gap_s: between two pieces of a stream.
    """

    tool: str
    model: str
    requests: int
    failed: int
    prompt_tokens: float
    output_tokens: float
    rate: float | None
    users: int | None
    requests_per_s: float | None
    output_tokens_per_s: float | None
    ttft_s: dict[str, float] = field(default_factory=dict)
    tpot_s: dict[str, float] = field(default_factory=dict)
    gap_s: dict[str, float] = field(default_factory=dict)
    e2e_s: dict[str, float] = field(default_factory=dict)


def read_benchmark(source: str | Path | bytes) -> list[Measured]:
    """Every run in a file by its path, or in the bytes of one.

    ValueError, a plain sentence, where it is of no known tool or lacks what a comparison needs.
    """
    raw = source if isinstance(source, bytes) else Path(source).read_bytes()
    text = raw.decode("utf-8-sig", errors="replace").strip()
    if not text:
        raise ValueError("The file is empty.")
    found = [run for document in _documents(text) for run in _runs(document)]
    if not found:
        raise ValueError("It holds no finished run.")
    return found


def _documents(text) -> Iterator[dict]:
    """A JSON document, one a line, or YAML."""
    try:
        whole = json.loads(text)
    except RecursionError:
        raise ValueError("It is nested too deep.") from None
    except ValueError:
        whole = None
    if whole is not None:
        yield from whole if isinstance(whole, list) else [whole]
        return
    if text[0] not in "{[":
        yield read_yaml(text)
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                shown = shorten(line.strip())
                raise ValueError(f"Line {number} is not JSON: “{shown}”.") from None


def _runs(document) -> Iterator[Measured]:
    if not isinstance(document, dict):
        raise ValueError("A result is an object with named figures.")
    for known, read in READERS:
        if known(document):
            try:
                runs = list(read(document))
            except RecursionError:
                raise ValueError("It is nested too deep.") from None
            except (KeyError, TypeError, AttributeError, ArithmeticError) as problem:
                raise ValueError(f"The result lacks {problem}, which every run has.") from None
            for run in runs:
                _check(run)
            yield from runs
            return
    names = ", ".join(map(str, list(document)[:5]))
    raise ValueError(
        "It is of no known tool: vllm bench serve, SGLang's bench_serving, GuideLLM, "
        f"inference-perf, AIPerf or llm-d's benchmark report. It begins with {shorten(names)}."
    )


def _check(run):
    """ValueError where requests are none that any model serves."""
    for name, tokens in (("prompt", run.prompt_tokens), ("output", run.output_tokens)):
        if not 0 <= tokens <= LONGEST:
            raise ValueError(f"A mean {name} of {tokens:,.0f} tokens cannot be.")


def _number(value):
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _rate(value):
    """Requests a second, ∞ where all were sent at once, None where nothing says so."""
    if value is None:
        return None
    return math.inf if str(value).lower() in ("inf", "infinity") else _number(value)


def _count(value):
    found = _number(value)
    return int(found) if found and found >= 1 else None


def _picked(block, names, scale=1.0):
    """The statistics of a block of numbers: names has the tool's own, by ours."""
    found = {}
    for ours, theirs in names.items():
        value = _number(block.get(theirs)) if isinstance(block, dict) else None
        if value is not None:
            found[ours] = value * scale
    return found


def _nested(document, *path):
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


# --- vLLM and SGLang ------------------------------------------------------------------------------


def _flat(document):
    """Both write milliseconds as mean_ttft_ms, median_ttft_ms, p99_ttft_ms.

    https://github.com/vllm-project/vllm/blob/main/vllm/benchmarks/serve.py,
    https://github.com/sgl-project/sglang/blob/main/python/sglang/bench_serving.py
    """
    sglang = "mean_e2e_latency_ms" in document

    def times(name):
        theirs = {ours: f"{ours}_{name}_ms" for ours in STATISTICS}
        theirs["p50"] = f"median_{name}_ms"
        return _picked(document, theirs, MILLI)

    done = int(document["completed"])
    if done:
        yield Measured(
            tool="SGLang bench_serving" if sglang else "vllm bench serve",
            model=str(document.get("model_id") or document.get("model") or ""),
            requests=done,
            failed=_count(document.get("failed")) or 0,
            prompt_tokens=document["total_input_tokens"] / done,
            output_tokens=document["total_output_tokens"] / done,
            rate=_rate(document.get("request_rate")),
            users=_count(document.get("max_concurrency")),
            requests_per_s=_number(document["request_throughput"]),
            output_tokens_per_s=_number(document["output_throughput"]),
            ttft_s=times("ttft"),
            tpot_s=times("tpot"),
            gap_s=times("itl"),
            e2e_s=times("e2e_latency" if sglang else "e2el"),
        )


# --- GuideLLM -------------------------------------------------------------------------------------

GUIDELLM = {"mean": "mean", "p50": "median"}


def _guidellm(document):
    """https://github.com/vllm-project/guidellm/blob/main/src/guidellm/benchmark/schemas/metrics.py

    Its time per output token counts the first token too; its inter-token latency does not.
    """
    for benchmark in document["benchmarks"]:
        metrics, strategy = benchmark["metrics"], _nested(benchmark, "config", "strategy") or {}

        def stats(name, scale=1.0, metrics=metrics):
            block = _nested(metrics, name, "successful") or {}
            percentiles = {each: each for each in STATISTICS[1:]}
            return {
                **_picked(block.get("percentiles"), percentiles, scale),
                **_picked(block, GUIDELLM, scale),
            }

        totals = metrics["request_totals"]
        kind = str(strategy.get("type_", ""))
        users = strategy.get("streams") or strategy.get("max_concurrency")
        if totals["successful"]:
            yield Measured(
                tool="GuideLLM",
                model=str(_nested(document, "args", "model") or ""),
                requests=int(totals["successful"]),
                failed=int(totals.get("errored") or 0),
                prompt_tokens=stats("prompt_token_count")["mean"],
                output_tokens=stats("output_token_count")["mean"],
                rate=math.inf if kind == "throughput" else _rate(strategy.get("rate")),
                users=1 if kind == "synchronous" else _count(users),
                requests_per_s=stats("requests_per_second").get("mean"),
                output_tokens_per_s=stats("output_tokens_per_second").get("mean"),
                ttft_s=stats("time_to_first_token_ms", MILLI),
                tpot_s=stats("inter_token_latency_ms", MILLI),
                e2e_s=stats("request_latency"),
            )


# --- inference-perf -------------------------------------------------------------------------------

LIFECYCLE = {"mean": "mean", "p50": "median", "p90": "p90", "p95": "p95", "p99": "p99"}


def _inference_perf(document):
    """summary_lifecycle_metrics.json or that of a stage; seconds.

    https://github.com/kubernetes-sigs/inference-perf/blob/main/inference_perf/reportgen/base.py
    """
    served, load = document["successes"], document.get("load_summary") or {}
    latency, reached = served["latency"], served["throughput"]
    prompts = served.get("prompt_len") or served["prompt_tokens"]
    if served["count"]:
        yield Measured(
            tool="inference-perf",
            model="",
            requests=int(served["count"]),
            failed=int(_nested(document, "failures", "count") or 0),
            prompt_tokens=float(prompts["mean"]),
            output_tokens=float(served["output_len"]["mean"]),
            rate=_rate(load.get("requested_rate")),
            users=_count(load.get("concurrency")),
            requests_per_s=_number(reached["requests_per_sec"]),
            output_tokens_per_s=_number(reached["output_tokens_per_sec"]),
            ttft_s=_picked(latency.get("time_to_first_token"), LIFECYCLE),
            tpot_s=_picked(latency.get("time_per_output_token"), LIFECYCLE),
            gap_s=_picked(latency.get("inter_token_latency"), LIFECYCLE),
            e2e_s=_picked(latency.get("request_latency"), LIFECYCLE),
        )


# --- AIPerf ---------------------------------------------------------------------------------------

SECONDS = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def _aiperf(document):
    """profile_export_aiperf.json; its inter-token latency is the time per output token.

    https://docs.nvidia.com/aiperf/reference/json-export-schema
    """
    names = {"mean": "avg", **{each: each for each in STATISTICS[1:]}}

    def times(name):
        block = document.get(name) or {}
        return _picked(block, names, SECONDS[block.get("unit", "ms")])

    def average(name):
        return _number(_nested(document, name, "avg"))

    config = document.get("input_config") or {}
    yield Measured(
        tool="AIPerf",
        model=str(_first(_sought(config, "model_names")) or ""),
        requests=int(document["request_count"]["avg"]),
        failed=int(average("error_request_count") or 0),
        prompt_tokens=float(document["input_sequence_length"]["avg"]),
        output_tokens=float(document["output_sequence_length"]["avg"]),
        rate=_rate(_sought(config, "request_rate")),
        users=_count(_sought(config, "concurrency")),
        requests_per_s=average("request_throughput"),
        output_tokens_per_s=average("output_token_throughput"),
        ttft_s=times("time_to_first_token"),
        tpot_s=times("inter_token_latency"),
        gap_s=times("inter_chunk_latency"),
        e2e_s=times("request_latency"),
    )


def _sought(config, name):
    """The first value of that name, however deep; None where there is none."""
    if isinstance(config, list):
        return next((f for each in config if (f := _sought(each, name)) is not None), None)
    if not isinstance(config, dict):
        return None
    if config.get(name) is not None:
        return config[name]
    return _sought(list(config.values()), name)


def _first(value):
    return value[0] if isinstance(value, list) and value else value


# --- llm-d ----------------------------------------------------------------------------------------


def _llm_d(document):
    """The benchmark report, v0.2 and v0.2.1.

    https://github.com/llm-d/llm-d-benchmark/blob/main/benchmark-report
    """
    found = document["results"]["request_performance"]["aggregate"]
    latency, asked, reached = found["latency"], found["requests"], found["throughput"]
    load = _nested(document, "scenario", "load", "standardized") or {}
    statistics = {each: each for each in STATISTICS}

    def times(name):
        block = latency.get(name) or {}
        unit = str(block.get("units", "s")).partition("/")[0]
        return _picked(block, statistics, SECONDS[unit])

    failed = int(asked.get("failures") or 0)
    stack = _nested(document, "scenario", "stack") or [{}]
    yield Measured(
        tool="llm-d benchmark report",
        model=str(_nested(_first(stack), "standardized", "model", "name") or ""),
        requests=int(asked["total"]) - failed,
        failed=failed,
        prompt_tokens=float(asked["input_length"]["mean"]),
        output_tokens=float(asked["output_length"]["mean"]),
        rate=_rate(load.get("rate_qps")),
        users=_count(load.get("concurrency")),
        requests_per_s=_number(_nested(reached, "request_rate", "mean")),
        output_tokens_per_s=_number(_nested(reached, "output_token_rate", "mean")),
        ttft_s=times("time_to_first_token"),
        tpot_s=times("time_per_output_token"),
        gap_s=times("inter_token_latency"),
        e2e_s=times("request_latency"),
    )


# How each format is known, and who reads it.
READERS = (
    (lambda found: _nested(found, "results", "request_performance"), _llm_d),
    (lambda found: isinstance(found.get("benchmarks"), list), _guidellm),
    (lambda found: isinstance(found.get("successes"), dict), _inference_perf),
    (lambda found: "mean_ttft_ms" in found, _flat),
    (lambda found: isinstance(found.get("time_to_first_token"), dict), _aiperf),
)
