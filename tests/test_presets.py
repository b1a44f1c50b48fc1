"""The data files: every row complete, in bounds, named once, with a source."""

import csv
import re

import pytest

from planner import decode
from planner.files import PRESETS
from planner.hardware.accelerator import MEMORY_FROM
from planner.inputs import presets
from planner.inputs.scenario import NUMBERS, device_numbers

DEVICES = list(presets.accelerators().values())
MODELS = list(presets.models().values())


@pytest.mark.parametrize(
    "name", ["models.csv", "accelerators.csv", "scenarios.csv", "comparisons.csv"]
)
def test_ids_are_short_stable_and_named_once(name):
    rows = list(csv.DictReader((PRESETS / name).read_text("utf-8").splitlines()))
    ids = [row["id"] for row in rows]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,39}", each) for each in ids)
    assert not any(None in row or None in row.values() for row in rows)


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.id)
def test_a_device_is_complete(device):
    assert device.name
    assert device.source
    assert device.memory_from in MEMORY_FROM
    assert device.confidence in {"high", "medium", "low", "assumed"}
    for name, value in device_numbers(device.id).items():
        assert NUMBERS[name].nearest(value) == value
    # What can be allocated is less than the label, read as GiB, says; not much less, save where
    # the system keeps a share for itself.
    assert 0.6 * device.label_gb <= device.memory_gb <= device.label_gb * 2**30 / 1e9 + 0.01
    # Peaks are dense: 8 bits at most twice 16 bits (four times on Turing and GeForce, whose 16-bit
    # figure is the one with 32-bit sums; more than four on Rubin, whose 16-bit units grew least).
    for peak in (device.fp8_tflops, device.int8_tops, device.fp4_tflops):
        assert peak is None or 0 < peak <= (9 if device.id == "vr200" else 8) * device.fp16_tflops
    sums = device.fp16_sum_tflops
    assert sums is None or device.fp16_tflops < sums <= 2.01 * device.fp16_tflops


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.id)
def test_a_model_is_complete(model):
    assert model.name
    assert model.source
    assert model.parameters > 0
    assert model.layers > 0
    assert model.dtype in presets.weight_formats()
    for group in model.groups:
        if group.kv_heads:
            assert group.query_heads % group.kv_heads == 0


def test_there_are_enough_devices_from_a_robot_s_to_a_cluster_s():
    assert len(DEVICES) >= 60
    assert {"jetson-agx-orin-32", "h200-sxm", "lesson"} <= set(presets.accelerators())


def test_an_engine_s_total_is_what_its_log_prints():
    # An "80 GB" H100 offers 79.1 GiB, an H200 139.8, a 5090 31.36.
    for device, gib in (("h100-sxm", 79.10), ("h200-sxm", 139.80), ("rtx-5090", 31.36)):
        assert presets.accelerators()[device].memory_gb == round(gib * 2**30 / 1e9, 3)


def test_examples_show_the_lesson_s_cases_and_a_robot():
    loads = [decode(example.query)[0] for example in presets.examples()]
    cases = {(each.concurrency, each.context) for each in loads}
    assert {(1, 1000), (1, 8192), (1, 32_000), (16, 8192), (1, 128_000)} <= cases
    assert any(each.device.startswith("jetson") for each in loads)
    assert all(example.sentence and example.title for example in presets.examples())
