"""The benchmark that asks a served plan for the plan's own load, as one command.

What its tool writes down is read again by `planner.sizing.benchmarks`. vLLM's tool asks any engine
that speaks OpenAI's protocol; SGLang has its own.
Flags: https://github.com/vllm-project/vllm/blob/v0.34.0/vllm/benchmarks/serve.py,
https://github.com/sgl-project/sglang/blob/v0.5.23/python/sglang/bench_serving.py
"""

from planner.inputs.scenario import Scenario

ROUNDS = 10  # requests of each user, so that the first and the last weigh little
OUTPUT = 256  # tokens of an answer where a plan has none
PORTS = {"tensorrt-llm": 8000, "llama.cpp": 8080}


def words(scenario: Scenario, engine: str, name: str) -> tuple[str, ...]:
    """The words of the command for an engine by its id and a model by its published name."""
    output = scenario.output or OUTPUT
    prompt = scenario.prompt or max(scenario.context - output, 1)
    shared = min(scenario.prefix, prompt - 1)
    requests = str(ROUNDS * scenario.concurrency)
    load = ("--num-prompts", requests, "--max-concurrency", str(scenario.concurrency))
    if engine == "sglang":
        return (
            *("python3", "-m", "sglang.bench_serving", "--backend", "sglang", "--model", name),
            *_lengths("random-ids", prompt, output),
            *("--random-range-ratio", "1"),
            *load,
            *("--output-file", "benchmark.jsonl"),
        )
    port = PORTS.get(engine.partition("-")[0] if "llama" in engine else engine)
    served = ("--backend", "vllm") if port is None else (
        "--backend", "openai", "--base-url", f"http://127.0.0.1:{port}"
    )  # fmt: skip
    return (
        *("vllm", "bench", "serve", *served, "--model", name),
        *_lengths("random", prompt - shared, output),
        *(("--random-prefix-len", str(shared)) if shared else ()),
        *("--ignore-eos", *load),
        *("--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,90,95,99"),
        "--save-result",
    )


def _lengths(dataset, prompt, output):
    lengths = ("--random-input-len", str(prompt), "--random-output-len", str(output))
    return ("--dataset-name", dataset, *lengths)
