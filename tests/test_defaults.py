"""What engines set by themselves on a device, held against their own code."""

import numpy as np
import pytest

from planner import Scenario, evaluate
from planner.engines import defaults
from planner.inputs import presets
from planner.reports import commands
from planner.units import GB, GIB
from planner.ways import enough_memory

DEVICES = presets.accelerators()
VLLM = ("vllm-0.34", "vllm-0.26", "vllm", "vllm-0.20")


def own(engine, device, **how):
    row = DEVICES[device]
    return defaults.on_device(presets.engine(engine), device, row.memory_gb * GB, **how)


def test_every_row_is_of_an_engine_and_of_devices_that_there_are_and_the_last_takes_all():
    for engine, rows in defaults.step_defaults().items():
        assert engine in presets.engines()
        assert all(row.source.startswith("https://") for row in rows)
        assert {id for row in rows for id in row.devices} <= set(DEVICES)
        assert rows[-1].least_gib == 0
        assert not rows[-1].devices
        sizes = [row.least_gib for row in rows if not row.devices]
        assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("engine", VLLM)
@pytest.mark.parametrize(
    ("device", "tokens", "requests"),
    [
        ("rtx-4090", 2048, 256),
        ("l40s", 2048, 256),
        ("h100-sxm", 8192, 1024),
        ("h200-sxm", 8192, 1024),
        ("rtx-pro-5000-72", 8192, 1024),
        ("a100-80-sxm", 2048, 256),  # by its name
        ("a800-sxm", 8192, 1024),
        ("dgx-spark", 2048, 256),
        ("mi250x", 2048, 256),  # two devices of 64 GB
        ("mi250x-gcd", 2048, 256),
        ("tpu-v5e", 512, 256),
        ("cpu-epyc-9005-1s", 2048, 128),
    ],
)
def test_vllm_s_step_is_the_device_s_own(engine, device, tokens, requests):
    # get_batch_defaults in https://github.com/vllm-project/vllm/blob/v0.34.0/vllm/engine/arg_utils.py
    found = own(engine, device)
    assert (found.batched_tokens, found.logit_rows) == (tokens, requests)
    assert found.figures["batched_tokens"].kind == "documented"
    assert "arg_utils.py" in found.figures["batched_tokens"].source


@pytest.mark.parametrize("device", ["b200-sxm", "mi300x", "gb300"])
def test_the_largest_devices_have_a_class_of_their_own_since_0_28(device):
    assert own("vllm-0.26", device).batched_tokens == 16_384
    assert own("vllm", device).batched_tokens == 8192


@pytest.mark.parametrize(
    ("mib", "how", "fraction"),
    [
        (15_360, {}, 0.735),  # T4
        (24_564, {}, 0.704),  # RTX 4090
        (32_607, {}, 0.777),  # RTX 5090
        (46_068, {}, 0.843),  # L40S
        (81_559, {}, 0.830),  # A100 and H100 with 80 GB
        (81_559, {"tensor": 8}, 0.812),
        (143_771, {}, 0.903),  # H200
        (143_771, {"tensor": 8, "latent": True}, 0.886),
        (183_359, {}, 0.854),  # B200
    ],
)
def test_sglang_s_fraction_follows_memory_devices_and_step(mib, how, fraction):
    # https://github.com/sgl-project/sglang/blob/v0.5.23/python/sglang/srt/arg_groups/memory_hook.py,
    # worked out by hand from what nvidia-smi shows.
    found = defaults.on_device(presets.engine("sglang"), "", mib * 2**20, **how)
    assert found.fraction == pytest.approx(fraction, abs=0.0006)
    chunk = {15_360: 2048, 183_359: 16_384}.get(mib, 4096 if mib < 60_000 else 8192)
    assert found.batched_tokens == chunk


def test_memories_may_be_an_array_and_a_tiny_device_is_no_error():
    found = defaults.on_device(presets.engine("sglang"), "", np.array([1, 24, 80, 180]) * GIB)
    assert found.batched_tokens.tolist() == [2048, 4096, 8192, 16_384]
    assert found.fraction[0] == defaults.LEAST_FRACTION
    assert (np.diff(found.fraction[:3]) > 0).all()


@pytest.mark.parametrize("engine", ["ideal", "llama.cpp-cuda", "tensorrt-llm", "vllm-0.5"])
def test_an_engine_without_classes_is_as_it_is(engine):
    assert own(engine, "h100-sxm") is presets.engine(engine)


def test_a_figure_that_is_set_counts_before_the_device_s_own():
    scenario = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm-0.26")
    assert scenario.the_engine.batched_tokens == 8192
    told = Scenario(
        "llama-3.1-8b", device="h100-sxm", engine="vllm-0.26", set="batched_tokens:4096"
    )
    assert told.the_engine.batched_tokens == 4096
    assert told.the_engine.logit_rows == 1024
    assert told.the_engine.figures["batched_tokens"].kind == "given"


@pytest.mark.parametrize(
    ("engine", "device", "flag"),
    [
        ("vllm-0.34", "rtx-4090", "--max-num-batched-tokens 2048"),
        ("vllm-0.26", "b200-sxm", "--max-num-batched-tokens 16384"),
        ("sglang", "rtx-4090", "--chunked-prefill-size 4096"),
        ("sglang", "h200-sxm", "--mem-fraction-static 0.903"),
    ],
)
def test_the_start_command_states_the_step_of_the_device(engine, device, flag):
    served = evaluate(Scenario("llama-3.1-8b", device=device, engine=engine))
    assert flag in commands.of(served)[0].text
    # Without an engine, the commands of four are shown, each with the device's own step.
    shown = commands.of(evaluate(Scenario("llama-3.1-8b", device=device)))
    assert len(shown) == 4
    assert any(flag in each.text for each in shown)


@pytest.mark.parametrize(
    ("device", "engines"),
    [
        ("mi300x", ["vllm-0.34", "sglang", "llama.cpp-cuda", "llama.cpp-vulkan"]),
        ("apple-m4-max", ["vllm-0.34", "sglang", "llama.cpp-metal", "mlx"]),
        ("raspberry-pi-5-8", ["llama.cpp-vulkan"]),
    ],
)
def test_start_commands_are_of_engines_that_run_on_the_device(device, engines):
    shown = commands.of(evaluate(Scenario("llama-3.2-1b", device=device)))
    assert [each.engine.id for each in shown] == engines


def test_enough_memory_is_enough_for_the_class_that_so_much_memory_is_of():
    """More memory may mean larger steps, which take memory: the answer holds in its own class."""
    scenario = Scenario(
        "llama-3.1-8b", device="rtx-4090", engine="vllm-0.26", concurrency=60, context=8192
    )
    own = evaluate(scenario)
    assert not own.fits
    found = enough_memory(own) / GB
    assert found * GB / GIB > 70  # another class than the device's own
    larger = Scenario(
        "llama-3.1-8b",
        device="rtx-4090",
        engine="vllm-0.26",
        concurrency=60,
        context=8192,
        memory=found,
    )
    assert larger.the_engine.batched_tokens == 8192
    assert evaluate(larger).fits
