"""Devices of several kinds are refused in one sentence that names the nearest."""

import pytest

from planner import Scenario, decode
from planner.inputs import presets, unequal


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("2x3090 + 1x4090", "3 × GeForce RTX 3090"),
        ("H100+A100", "2 × A100"),
        ("rtx-4090, rtx-5090", "2 × GeForce RTX 4090"),
        ("4 × H200 and 4 × H100", "8 × H100"),
        ("2x3090   1x4090", "3 × GeForce RTX 3090"),  # as “+” arrives from an address
        ("H100 A100", "2 × A100"),
        ("RTX 3060 & RTX 3090", "2 × GeForce RTX 3060"),
    ],
)
def test_two_kinds_are_refused_with_the_nearest(text, nearest):
    said = unequal.sentence(text)
    assert said.startswith("unequal devices are not modelled")
    assert nearest in said
    scenario, notices = decode({"device": [text]})
    assert scenario == Scenario()
    assert said in notices[0].text
    with pytest.raises(ValueError, match="unequal devices"):
        Scenario(device=text)


@pytest.mark.parametrize(
    "text", ["2x H100", "rtx-4090", "3090 + 3090", "abc + def", "", "+", "a,b"]
)
def test_one_kind_or_none_is_no_mixture(text):
    assert unequal.sentence(text) == ""


def test_no_device_s_own_name_is_a_mixture():
    for id, row in presets.accelerators().items():
        assert unequal.sentence(id) == unequal.sentence(row.name) == ""
