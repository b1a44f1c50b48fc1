"""Logs as they are pasted: wrapped, cut, coloured, shuffled, from containers and from Windows.

Whatever happens to a log on its way, a figure that is read from it is one that the log prints, or
it is absent; and a row that was right stays right, or says what of it is assumed.
"""

import json
import random
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.files import PRESETS
from planner.logs import clean, from_log, told
from planner.logs.arguments import arguments
from planner.logs.parse import FIGURES, TABLE, read_log
from planner.logs.templates import argument_hits, hits
from tests.browser import ROOT

PATHS = (*PRESETS.glob("logs/*.log"), *(ROOT / "tests" / "data" / "logs").glob("*.log"))
LOGS = {path.stem: path.read_text("utf-8") for path in sorted(PATHS)}
MODELS = {
    "nd": {"model": "qwen3.5-35b-a3b", "device": "rtx-5090", "weights": "nvfp4"},
    "kverr2": {"model": "qwen3-coder-480b-a35b", "device": "mi300x", "weights": "fp8-block"},
    "ik-mla": {"model": "deepseek-v3", "device": "rtx-4090"},
    "vllm-0.31": {"model": "llama-3.1-8b", "device": "h100-sxm"},
    "vllm-v0": {"model": "llama-3.1-8b", "device": "a10"},
    "sglang-rocm": {"model": "qwen3-30b-a3b", "device": "mi350x"},
    "llama-cpp-sliding": {"model": "gpt-oss-20b"},
    "trtllm-engine": {"model": "llama-3.1-8b", "device": "h100-sxm"},
    "qwen3-embed": {"device": "rtx-4090"},
    "qwen36-27b-2x3090-mtp": {"device": "rtx-3090"},
    "lcpp-kv-mixed2": {"device": "rtx-4090"},
}
COUNTED = ("device_count", "tensor_parallel", "pipeline_parallel", "data_parallel")
SUMMED = ("weights_gib", "activation_gib", "pool_gib", "total_gib", "context_gib", "state_gib")


def printed(text):
    """Every value that a log prints of each figure, by all of its lines."""
    whole = "\n".join(line.text for line in clean.lines(text))
    found = {}
    for template in TABLE:
        for row in hits(whole, template):
            for hit in row:
                found.setdefault(hit.name, set()).add(hit.value)
    for argument in arguments(whole):
        for _, hit in argument_hits(argument):
            found.setdefault(hit.name, set()).add(hit.value)
    return found


PRINTED = {name: printed(text) for name, text in LOGS.items()}


def hard(text, width):
    return "\n".join(
        line[at : at + width]
        for line in text.split("\n")
        for at in range(0, max(len(line), 1), width)
    )


def soft(text, width):
    kept = {"break_long_words": False, "break_on_hyphens": False}
    return "\n".join(
        part for line in text.split("\n") for part in (textwrap.wrap(line, width, **kept) or [""])
    )


def prefixed(prefix):
    return lambda text: "\n".join(f"{prefix}{line}" for line in text.split("\n"))


DRESSES = {
    "docker": prefixed("vllm-server-1  | "),
    "journald": prefixed("May 14 12:43:21 gpu-host-3 vllm[4242]: "),
    "kubernetes": prefixed("2026-05-14T12:43:21.123456789Z stdout F "),
    "pod": prefixed("[pod/llm-7d9f8b6c5-x2x4z/server] "),
    "colours": lambda text: "\n".join(f"\x1b[36m{line}\x1b[0m" for line in text.split("\n")),
    "windows": lambda text: text.replace("\n", "\r\n"),
    "json": lambda text: "\n".join(
        json.dumps({"log": f"{line}\n", "stream": "stderr"}) for line in text.split("\n")
    ),
    "quoted": prefixed("> "),
    "indented": prefixed("    "),
}


def same(first, second):
    return {name: getattr(first, name) for name in FIGURES} == {
        name: getattr(second, name) for name in FIGURES
    }


# A terminal wraps what a container has put its words in front of, not the other way round.
BEFORE_WRAPPING = ("journald", "kubernetes", "pod")


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("name", LOGS)
def test_what_stands_around_a_log_changes_nothing(name, dress):
    if name.endswith(".wrap") and dress in BEFORE_WRAPPING:
        return
    assert same(read_log(DRESSES[dress](LOGS[name])), read_log(LOGS[name]))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", LOGS)
def test_a_log_in_any_encoding_is_read(name, encoding):
    assert same(read_log(LOGS[name].encode(encoding)), read_log(LOGS[name]))


@pytest.mark.parametrize("width", [80, 100, 118, 120, 132, 160, 200, 211])
@pytest.mark.parametrize("name", LOGS)
def test_a_wrapped_log_says_nothing_else(name, width):
    for wrapped in (hard(LOGS[name], width), soft(LOGS[name], width)):
        right(read_log(wrapped), name)
        copied = "\n".join(line.rstrip() for line in wrapped.split("\n"))
        right(read_log(copied), name)


def test_nearly_all_figures_of_wrapped_logs_are_read():
    read = whole = 0
    for text in LOGS.values():
        every = {name for name in FIGURES if getattr(read_log(text), name) is not None}
        for width in (80, 100, 118, 120, 132, 160, 200):
            reading = read_log(hard(text, width))
            read += sum(getattr(reading, name) is not None for name in every)
            whole += len(every)
    assert read / whole > 0.97


def right(reading, name):
    """Every figure is one that the log prints, or comes of those that it prints."""
    full = read_log(LOGS[name])
    for figure in FIGURES:
        value = getattr(reading, figure)
        if value is None or value == getattr(full, figure) or figure in COUNTED:
            continue
        known = PRINTED[name].get(figure, set())
        derived = figure not in PRINTED[name] or figure in SUMMED
        assert value in known or derived, (figure, value, known)


def rows_of(reading, text, name):
    found = from_log.plan_of_reading(reading, text, **MODELS.get(name, {}))
    return found, {(row.quantity, row.how.split(",")[0][:8]): row for row in found.rows}


@pytest.mark.parametrize("name", MODELS)
@given(seed=st.integers(0, 10**9), kept=st.floats(0.2, 1), width=st.sampled_from([0, 100, 132]))
def test_what_is_left_of_a_log_is_right_or_marked(name, seed, kept, width):
    chance = random.Random(seed)
    lines = [line for line in LOGS[name].split("\n") if chance.random() < kept]
    chance.shuffle(lines)
    text = "\n".join(lines)
    text = hard(text, width) if width else text
    reading = read_log(text)
    right(reading, name)
    found, rows = rows_of(reading, text, name)
    _, whole = rows_of(read_log(LOGS[name]), LOGS[name], name)
    for key, row in rows.items():
        before = whole.get(key)
        close = before is not None and abs(before.percent) <= 1
        assert not close or abs(row.percent) <= 1 or row.assumed, (key, row)
    assert told.table(found.rows) is not None
    if found.scenario:
        assert told.counted(reading, found).startswith("Of ")


# --- several ranks --------------------------------------------------------------------------------

RANKED = """\
INFO 05-14 12:43:20 [__init__.py:1] Initializing a V1 LLM engine (v0.26.0) with config: \
model='Qwen/Qwen3-32B', dtype=torch.bfloat16, max_seq_len=32768, tensor_parallel_size=4
{ranks}
INFO 05-14 12:45:02 [kv_cache_utils.py:1] GPU KV cache size: {tokens:,} tokens
INFO 05-14 12:45:02 [kv_cache_utils.py:1] Maximum concurrency for 32,768 tokens per request: {more}x
"""
OF_RANK = (
    "(Worker_TP{rank} pid=4{rank}) INFO 05-14 12:44:10 [gpu_model_runner.py:1] "
    "Model loading took {weights} GiB memory and 12.5 seconds",
    "(Worker_TP{rank} pid=4{rank}) INFO 05-14 12:44:50 [gpu_worker.py:1] "
    "Available KV cache memory: {pool} GiB",
)
TOKEN = 64 * 2 * 128 * 2 * 2  # bytes of Qwen3 32B on one of four devices


@given(
    pools=st.lists(st.integers(2_000, 6_000).map(lambda n: n / 100), min_size=4, max_size=4),
    seed=st.integers(0, 10**9),
    kept=st.floats(0.3, 1),
    width=st.sampled_from([0, 120]),
)
def test_ranks_that_write_at_once_are_told_apart(pools, seed, kept, width):
    # The lines of each rank keep their order; between the ranks they come as they like.
    chance, weights = random.Random(seed), [15.3, 15.31, 15.29, 15.3]
    waiting = [
        [line.format(rank=rank, weights=weights[rank], pool=pools[rank]) for line in OF_RANK]
        for rank in range(4)
    ]
    lines = []
    while any(waiting):
        own = chance.choice([rank for rank in waiting if rank])
        lines.append(own.pop(0))
    lines = [line for line in lines if chance.random() < kept]
    tokens = int(min(pools) * 2**30 / TOKEN / 16) * 16
    text = RANKED.format(ranks="\n".join(lines), tokens=tokens, more=f"{tokens / 32768:.2f}")
    reading = read_log(hard(text, width) if width else text)
    left = [each for rank, each in enumerate(pools) if any(f"TP{rank} " in line and "Available" in
            line for line in lines)]  # fmt: skip
    assert reading.pool_gib == (min(left) if left else None)
    assert reading.tensor_parallel == 4
    assert reading.weights_gib is None or reading.weights_gib in weights
    found = from_log.plan_of_reading(reading, text, device="h100-sxm")
    assert found.scenario.tp == 4
    for row in found.rows:
        if row.quantity in ("tokens", "concurrency") and min(pools) in left:
            assert abs(row.percent) < 0.5, row  # the pool that decided was printed


@pytest.mark.parametrize("name", LOGS)
def test_a_log_whose_every_line_stands_twice_says_it_once(name):
    twice = "\n".join(line for line in LOGS[name].split("\n") for _ in range(2))
    if not name.endswith(".wrap"):
        right(read_log(twice), name)
        assert read_log(twice).pool_gib == read_log(LOGS[name]).pool_gib
