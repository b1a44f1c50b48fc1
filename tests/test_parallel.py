"""Several devices: shares that add up, what is replicated, and the sizes that are refused."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import formulas
from planner.hardware.parallel import (
    ONE_DEVICE,
    DeviceMemory,
    Layout,
    Refusal,
    device_memory,
    kv_heads_per_device,
    layouts,
    max_concurrency,
    max_context,
    refusals,
    requests_per_group,
    stage_kinds,
    stage_layers,
    stages,
    state_share,
    step_read_bytes,
)
from planner.models.model import LayerGroup
from planner.models.precision import Weights


@dataclass(frozen=True)
class Shape:
    groups: tuple
    experts: int = 0


def weigh(body=0.0, experts=0.0, embedding=0.0, head=0.0):
    total = body + experts + embedding + head
    return Weights(body, experts, embedding, head, 0.0, total, total, False)


LLAMA_70B = Shape((LayerGroup(80, 64, 8, 128, 128),))
KIMI_K2 = Shape((LayerGroup(61, 64, 1, 576, 0),), experts=384)
LLAMA_70B_WEIGHTS = weigh(body=136.9e9, embedding=2.1e9, head=2.1e9)


# --- the cache ----------------------------------------------------------------------------------


def test_kimi_k2_costs_70272_bytes_per_token_on_every_device_of_tensor_8():
    (stage,) = stages(Layout(tensor=8), KIMI_K2.groups, weigh(body=1.0))
    assert stage.request_bytes(1) == 70_272 == 61 * 576 * 2


@pytest.mark.parametrize(
    ("kv_heads", "tensor", "each"),
    [(8, 1, 8), (8, 4, 2), (8, 8, 1), (8, 16, 1), (10, 4, 3), (1, 8, 1), (0, 8, 0), (71, 1, 71)],
)
def test_key_value_heads_of_a_device(kv_heads, tensor, each):
    assert kv_heads_per_device(kv_heads, tensor) == each


def test_past_the_key_value_heads_the_cache_is_stored_again():
    def per_token(tensor):
        (stage,) = stages(Layout(tensor=tensor), LLAMA_70B.groups, LLAMA_70B_WEIGHTS)
        return stage.request_bytes(1)

    assert per_token(1) == 327_680
    assert per_token(8) == 40_960
    assert per_token(16) == per_token(64) == 40_960


def test_a_recurrent_state_is_cut_by_heads_and_does_not_grow():
    state = 48 * 128 * 128 * 4
    hybrid = (LayerGroup(48, 48, 0, 0, 0, state_bytes=state), LayerGroup(16, 24, 4, 256, 256))
    (stage,) = stages(Layout(tensor=8), hybrid, weigh(body=1.0))
    assert stage.fixed_bytes == 48 * state / 8
    assert stage.request_bytes(1) - stage.request_bytes(0) == 16 * 1 * 512 * 2
    assert state_share(0, 8) == 1
    assert state_share(10, 4) == 0.3


def test_indexer_keys_are_whole_on_every_device():
    layers = (LayerGroup(61, 128, 1, 576, 0, index_bytes=132),)
    (stage,) = stages(Layout(tensor=8), layers, weigh(body=1.0))
    assert stage.request_bytes(1) == 61 * (1152 + 132)


def test_a_window_caps_its_layers_on_each_device_too():
    gemma = (LayerGroup(52, 32, 16, 128, 128, window=1024), LayerGroup(10, 32, 16, 128, 128))
    (stage,) = stages(Layout(tensor=4), gemma, weigh(body=1.0))
    assert stage.request_bytes(131_072) == 4 * 512 * (52 * 1024 + 10 * 131_072)


def test_keys_and_values_may_take_different_widths():
    (stage,) = stages(
        Layout(tensor=2), LLAMA_70B.groups, weigh(body=1.0), key_bytes=1.0625, value_bytes=0.5625
    )
    assert stage.request_bytes(1) == 80 * 4 * 128 * 1.625


# --- weights ------------------------------------------------------------------------------------


def test_embedding_sits_on_the_first_stage_and_head_on_the_last():
    first, middle, last = stages(Layout(tensor=2, pipeline=3), LLAMA_70B.groups, LLAMA_70B_WEIGHTS)
    assert (first.layers, middle.layers, last.layers) == (27, 27, 26)
    assert first.weights_bytes == pytest.approx((136.9e9 * 27 / 80 + 2.1e9) / 2)
    assert middle.weights_bytes == pytest.approx(136.9e9 * 27 / 80 / 2)
    assert last.weights_bytes == pytest.approx((136.9e9 * 26 / 80 + 2.1e9) / 2)
    # The embedding is looked up, not read.
    assert first.read_bytes() == middle.read_bytes()


def test_a_tied_matrix_is_held_at_both_ends_of_a_pipeline_and_once_without_one():
    tied = weigh(body=8e9, head=1e9)
    first, last = stages(Layout(pipeline=2), LLAMA_70B.groups, tied)
    assert first.weights_bytes == last.weights_bytes == 5e9
    assert first.read_bytes() == 4e9
    (only,) = stages(ONE_DEVICE, LLAMA_70B.groups, tied)
    assert only.weights_bytes == 9e9


def test_experts_are_shared_out_by_the_whole_stage_and_attention_is_not():
    weights = weigh(body=40e9, experts=960e9)
    for expert in (1, 2, 8, 16):
        (stage,) = stages(Layout(tensor=2, data=8, expert=expert), KIMI_K2.groups, weights)
        assert stage.weights_bytes == 40e9 / 2 + 960e9 / 16


def test_a_step_reads_only_the_experts_that_are_hit():
    weights = weigh(body=40e9, experts=960e9)
    (stage,) = stages(Layout(tensor=8), KIMI_K2.groups, weights)
    assert stage.read_bytes(8 / 384) == 40e9 / 8 + 960e9 / 8 * 8 / 384
    assert stage.read_bytes() == stage.weights_bytes


# --- time ---------------------------------------------------------------------------------------


def test_tensor_adds_bandwidth_and_a_pipeline_does_not():
    def read(layout):
        made = stages(layout, LLAMA_70B.groups, LLAMA_70B_WEIGHTS)
        return step_read_bytes(layout, made, 16, 8192)

    weights, cache = read(ONE_DEVICE)
    assert (weights, cache) == (139.0e9, 16 * 8192 * 327_680)
    np.testing.assert_allclose(read(Layout(tensor=8)), (weights / 8, cache / 8))
    np.testing.assert_allclose(read(Layout(pipeline=8)), (weights, cache))
    np.testing.assert_allclose(read(Layout(tensor=4, pipeline=2)), (weights / 4, cache / 4))
    np.testing.assert_allclose(read(Layout(data=8)), (weights, cache / 8))


# --- room ---------------------------------------------------------------------------------------


def test_one_device_is_what_the_formulas_say():
    made = stages(ONE_DEVICE, LLAMA_70B.groups, LLAMA_70B_WEIGHTS)
    expected = formulas.max_concurrency(200e9, 141.1e9, 327_680 * 8192)
    assert max_concurrency(ONE_DEVICE, made, 200e9, 8192) == expected == 21


def test_the_fullest_stage_decides_and_groups_multiply():
    layout = Layout(pipeline=2)
    one = stages(layout, LLAMA_70B.groups, weigh(body=80e9, head=40e9))
    first_only = stages(layout, LLAMA_70B.groups, weigh(body=80e9))
    assert max_concurrency(layout, one, 85e9, 8192) < max_concurrency(
        layout, first_only, 85e9, 8192
    )

    layout = Layout(tensor=8, data=2)
    made = stages(layout, LLAMA_70B.groups, LLAMA_70B_WEIGHTS)
    (stage,) = made
    alone = formulas.max_concurrency(80e9, stage.weights_bytes, stage.request_bytes(8192))
    assert max_concurrency(layout, made, 80e9, 8192) == 2 * alone


def test_broadcasts_over_context_and_concurrency():
    layout = Layout(tensor=2, pipeline=2, data=2)
    made = stages(layout, LLAMA_70B.groups, LLAMA_70B_WEIGHTS)
    context, concurrency = np.array([[1024], [8192]]), np.array([1, 2, 3])
    weights, cache = step_read_bytes(layout, made, concurrency, context)
    assert np.ndim(weights) == 0
    assert cache.shape == (2, 3)
    assert cache[1, 2] == step_read_bytes(layout, made, 3, 8192)[1]
    assert cache[1, 0] == cache[1, 1]  # one request on each group is the same time
    room = max_concurrency(layout, made, 80e9, context)
    assert room.shape == (2, 1)
    assert room[1, 0] == max_concurrency(layout, made, 80e9, 8192)


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(layouts(LLAMA_70B, 8)), st.integers(1, 300))
def test_longest_context_fits_and_one_token_more_does_not(layout, concurrency):
    made = stages(layout, LLAMA_70B.groups, LLAMA_70B_WEIGHTS)
    longest = max_context(layout, made, 192e9, concurrency)

    def fits(context):
        drawn = device_memory(layout, made, concurrency, context)
        return all(each.weights_bytes + each.cache_bytes <= 192e9 for each in drawn)

    assert fits(longest)
    assert not fits(longest + 1)


# --- every device -------------------------------------------------------------------------------


def test_each_device_can_be_drawn():
    layout = Layout(tensor=2, pipeline=2, data=2)
    drawn = device_memory(layout, stages(layout, LLAMA_70B.groups, LLAMA_70B_WEIGHTS), 5, 8192)
    assert [each.device for each in drawn] == list(range(8))
    assert [each.stage for each in drawn] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert [each.group for each in drawn] == [0, 0, 1, 1, 0, 0, 1, 1]
    assert [each.requests for each in drawn] == [3, 3, 2, 2, 3, 3, 2, 2]
    cache = 40 * 4 * 256 * 2 * 8192
    assert drawn[0] == DeviceMemory(0, 0, 0, 40, 3, (136.9e9 / 2 + 2.1e9) / 2, 3 * cache)


@st.composite
def cases(draw):
    """A model, its weights and a layout that divides."""
    heads = draw(st.sampled_from([8, 16, 24, 32, 64]))
    kv_heads = st.sampled_from([each for each in (1, 2, 4, 8, heads) if heads % each == 0])
    groups = tuple(
        LayerGroup(
            layers=draw(st.integers(1, 40)),
            query_heads=heads,
            kv_heads=draw(kv_heads),
            key_dim=draw(st.sampled_from([64, 128])),
            value_dim=draw(st.sampled_from([64, 128])),
            window=draw(st.none() | st.integers(128, 4096)),
        )
        for _ in range(draw(st.integers(1, 3)))
    )
    model = Shape(groups, draw(st.sampled_from([0, 8, 60, 128])))
    size = st.integers(0, 10**12).map(float)
    weights = weigh(draw(size), draw(size), draw(size), draw(size))
    devices = draw(st.sampled_from([1, 2, 4, 6, 8, 16, 64]))
    return model, weights, draw(st.sampled_from(layouts(model, devices))), devices


@settings(max_examples=100, deadline=None)
@given(cases(), st.integers(1, 200), st.integers(1, 100_000))
def test_shares_add_up_to_the_whole(case, concurrency, context):
    model, weights, layout, devices = case
    drawn = device_memory(layout, stages(layout, model.groups, weights), concurrency, context)
    assert len(drawn) == devices

    copies = weights.body + weights.embedding + weights.head
    if weights.embedding == 0 and layout.pipeline > 1:
        copies += weights.head
    held = sum(each.weights_bytes for each in drawn)
    assert held == pytest.approx(layout.data * copies + weights.experts)

    (alone,) = stages(ONE_DEVICE, model.groups, weights)
    whole = concurrency * alone.request_bytes(context)
    kept = sum(each.cache_bytes for each in drawn)
    if all(group.kv_heads % layout.tensor == 0 for group in model.groups):
        assert kept == pytest.approx(whole)
    else:
        assert whole < kept <= whole * layout.tensor * (1 + 1e-9)


@given(st.integers(1, 200), st.integers(1, 64))
def test_stages_hold_every_layer_once_and_the_largest_is_the_ceiling(layers, pipeline):
    dealt = stage_layers(layers, pipeline)
    assert len(dealt) == pipeline
    assert sum(dealt) == layers
    assert max(dealt) == -(-layers // pipeline)
    assert max(dealt) - min(dealt) <= 1


@given(st.lists(st.integers(1, 120), min_size=1, max_size=5), st.integers(1, 64))
def test_stages_hold_every_layer_of_every_kind_once(kinds, pipeline):
    dealt = stage_kinds(kinds, pipeline)
    assert tuple(map(sum, dealt)) == stage_layers(sum(kinds), pipeline)
    assert list(map(sum, zip(*dealt, strict=True))) == kinds


@given(st.integers(1, 120), st.integers(1, 64))
def test_two_kinds_as_many_of_each_come_by_turns(layers, pipeline):
    dealt = stage_kinds([layers, layers], pipeline)
    assert all(abs(first - second) <= 1 for first, second in dealt)


def test_a_stage_of_gemma_has_whole_layers_of_both_kinds():
    assert stage_kinds([23, 23], 8) == ((3, 2), *[(3, 3)] * 6, (2, 3))
    # Of five windows and a full layer, the full one stands in the middle.
    assert stage_kinds([5, 1], 6) == ((1, 0), (1, 0), (1, 0), (0, 1), (1, 0), (1, 0))


@given(st.integers(0, 10_000), st.integers(1, 64))
def test_groups_hold_every_request(concurrency, data):
    most = requests_per_group(concurrency, data)
    assert (most - 1) * data < concurrency <= most * data or concurrency == most == 0


# --- what cannot be -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layout", "model", "devices", "expected"),
    [
        (
            Layout(tensor=6),
            LLAMA_70B,
            6,
            Refusal(
                "tensor",
                "64 query heads cannot be cut into 6; tensor can be 1, 2, 4, 8, 16, 32 or 64.",
            ),
        ),
        (
            Layout(pipeline=8),
            Shape((LayerGroup(4, 32, 8, 128, 128),)),
            8,
            Refusal("pipeline", "4 layers cannot fill 8 stages; pipeline can be 1 to 4."),
        ),
        (
            Layout(tensor=2, data=4, expert=5),
            KIMI_K2,
            8,
            Refusal("expert", "384 experts on 8 devices of a stage; expert can be 1, 2, 4 or 8."),
        ),
        (
            Layout(tensor=8, expert=8),
            LLAMA_70B,
            8,
            Refusal("expert", "The model has no routed experts; expert can be 1."),
        ),
        (
            Layout(tensor=2, pipeline=2),
            LLAMA_70B,
            8,
            Refusal(
                "tensor",
                "Tensor 2 × pipeline 2 × data 1 makes 4 devices, not 8; "
                "with this pipeline and data, tensor can be 4.",
            ),
        ),
        (
            Layout(tensor=3, pipeline=3),
            Shape((LayerGroup(6, 6, 6, 64, 64),)),
            4,
            Refusal(
                "devices",
                "Tensor 3 × pipeline 3 × data 1 makes 9 devices, not 4; "
                "with this data, tensor × pipeline can be 2 × 2 or 1 × 4.",
            ),
        ),
        (
            Layout(tensor=2, data=3),
            LLAMA_70B,
            4,
            Refusal(
                "data",
                "Tensor 2 × pipeline 1 × data 3 makes 6 devices, not 4; data can be 1, 2 or 4.",
            ),
        ),
        (
            Layout(tensor=128),
            LLAMA_70B,
            128,
            Refusal("devices", "128 devices: there can be 1 to 64."),
        ),
        (
            Layout(tensor=0),
            LLAMA_70B,
            1,
            Refusal("tensor", "Tensor parallelism must be 1 or more."),
        ),
    ],
)
def test_sizes_that_cannot_be_are_refused_with_those_that_can(layout, model, devices, expected):
    assert refusals(layout, model, devices) == (expected,)


def test_recurrent_layers_without_heads_do_not_bind_tensor():
    hybrid = Shape((LayerGroup(48, 0, 0, 0, 0, state_bytes=10), LayerGroup(16, 24, 4, 256, 256)))
    assert refusals(Layout(tensor=8), hybrid, 8) == ()


def test_several_things_wrong_are_all_named():
    found = refusals(Layout(tensor=6, pipeline=100, expert=2), LLAMA_70B, 8)
    assert [each.name for each in found] == ["tensor", "pipeline", "expert", "devices"]


def test_layouts_are_all_that_is_not_refused_and_start_with_the_most_tensor():
    offered = layouts(KIMI_K2, 8)
    assert offered[0] == Layout(tensor=8)
    assert len(set(offered)) == len(offered)
    sizes = range(1, 9)
    every = {
        layout
        for tensor in sizes
        for pipeline in sizes
        for data in sizes
        for expert in sizes
        if not refusals(layout := Layout(tensor, pipeline, data, expert), KIMI_K2, 8)
    }
    assert every == set(offered)


@given(st.integers(1, 64))
def test_every_number_of_devices_has_a_layout(devices):
    assert layouts(LLAMA_70B, devices)
