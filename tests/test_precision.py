"""Formats of weights and caches: true bits, and what real files and engine logs weigh."""

import re
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.inputs import presets
from planner.models.precision import CHECKPOINT, weight_bytes

WEIGHTS = presets.weight_formats()
CACHE = presets.cache_formats()
GIB = 2**30


@dataclass(frozen=True)
class Shape:
    """Parameters of a model, counted from its config. A tied head has no embedding of its own."""

    parameters: int
    embedding: int = 0
    head: int = 0
    experts: int = 0

    def weights(self, format_id, file_bytes=None):
        return weight_bytes(
            self.parameters,
            WEIGHTS[format_id],
            embedding_parameters=self.embedding,
            head_parameters=self.head,
            expert_parameters=self.experts,
            file_bytes=file_bytes,
        )


def untied(parameters, vocabulary, width, experts=0):
    return Shape(parameters, vocabulary * width, vocabulary * width, experts)


def tied(parameters, vocabulary, width):
    return Shape(parameters, 0, vocabulary * width)


LLAMA_2_7B = untied(6_738_415_616, 32_000, 4096)
CODELLAMA_7B = untied(6_738_546_688, 32_016, 4096)
LLAMA_3_8B = untied(8_030_261_248, 128_256, 4096)
LLAMA_3_70B = untied(70_553_706_496, 128_256, 8192)
TINYLLAMA = untied(1_100_048_384, 32_000, 2048)
PHI_3_MINI = untied(3_821_079_552, 32_064, 3072)
PHI_4 = untied(14_659_507_200, 100_352, 5120)
MISTRAL_7B_V03 = untied(7_248_023_552, 32_768, 4096)
GEMMA_2_9B = tied(9_241_705_984, 256_000, 3584)
LLAMA_32_1B = tied(1_235_814_400, 128_256, 2048)
QWEN3_8B = untied(8_190_735_360, 151_936, 4096)
QWEN3_14B = untied(14_768_307_200, 151_936, 5120)
QWEN3_30B = untied(30_532_122_624, 151_936, 2048, experts=48 * 128 * 3 * 2048 * 768)
QWEN25_7B = untied(7_615_616_512, 152_064, 3584)
QWEN25_72B = untied(72_706_203_648, 152_064, 8192)
MIXTRAL = untied(46_702_792_704, 32_000, 4096, experts=32 * 8 * 3 * 4096 * 14_336)
GPT_OSS_20B = untied(20_914_757_184, 201_088, 2880, experts=24 * 32 * 3 * 2880 * 2880)
GPT_OSS_120B = untied(116_829_156_672, 201_088, 2880, experts=36 * 128 * 3 * 2880 * 2880)
DEEPSEEK_V3 = untied(671_026_404_352, 129_280, 7168, experts=58 * 256 * 3 * 7168 * 2048)

BENCHES = "https://github.com/ggml-org/llama.cpp/blob/4c7e989/benches/dgx-spark.md"
XIONGJIE = "https://github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference"

# Sizes of real files: safetensors indices to the byte, GGUF files as llama-bench prints them.
# The tolerances are what was measured, rounded up; the sign says where the estimate is off.
FILES = [
    # format, model, bytes, lowest and highest relative error of the estimate, source
    (
        "fp16",
        LLAMA_3_8B,
        16_060_522_496,
        0,
        1e-6,
        "https://huggingface.co/meta-llama/Meta-Llama-3-8B",
    ),
    (
        "fp16",
        LLAMA_3_70B,
        141_107_412_992,
        0,
        1e-6,
        "https://huggingface.co/meta-llama/Llama-3.1-70B",
    ),
    (
        "fp16",
        MIXTRAL,
        93_405_585_408,
        0,
        1e-6,
        "https://huggingface.co/mistralai/Mixtral-8x7B-v0.1",
    ),
    ("fp16", QWEN3_30B, 61_064_245_248, 0, 1e-6, "https://huggingface.co/Qwen/Qwen3-30B-A3B"),
    (
        "mxfp4-experts",
        GPT_OSS_20B,
        13_761_264_768,
        -1e-5,
        1e-5,
        "https://huggingface.co/openai/gpt-oss-20b",
    ),
    # 14.0 GB of the file are the draft layer, which the 671 billion parameters leave out.
    (
        "fp8-block",
        DEEPSEEK_V3,
        688_586_727_753,
        -0.024,
        -0.020,
        "https://huggingface.co/deepseek-ai/DeepSeek-V3",
    ),
    (
        "q8_0",
        CODELLAMA_7B,
        7_161_860_000,
        -1e-3,
        1e-3,
        "https://github.com/ggml-org/llama.cpp/pull/4766",
    ),
    (
        "q8_0",
        LLAMA_3_8B,
        8_536_250_000,
        -1e-3,
        1e-3,
        "https://huggingface.co/posts/csabakecskemeti/458514085783723",
    ),
    (
        "q8_0",
        GEMMA_2_9B,
        9_824_740_000,
        -1e-3,
        1e-3,
        "https://github.com/ggml-org/llama.cpp/pull/14554",
    ),
    ("q8_0", QWEN3_30B, 32_480_700_000, -2e-3, 1e-3, BENCHES),
    (
        "q4_0",
        LLAMA_2_7B,
        3_822_520_000,
        -2e-3,
        2e-3,
        "https://gist.github.com/andrewginns/cf95867c2d79458bd894c07b9e7d5cbd",
    ),
    (
        "q4_0",
        LLAMA_3_8B,
        4_649_300_000,
        -2e-3,
        2e-3,
        "https://github.com/ggml-org/llama.cpp/pull/19378",
    ),
    ("q4_k_m", LLAMA_3_8B, 4_917_740_000, -2e-3, 2e-3, XIONGJIE),
    ("q4_k_m", LLAMA_3_70B, 42_509_400_000, -2e-3, 2e-3, XIONGJIE),
    (
        "q4_k_m",
        TINYLLAMA,
        667_083_000,
        0,
        0.01,
        "https://github.com/geerlingguy/ai-benchmarks/issues/48",
    ),
    # Fused query-key-value matrices take a wider type of the mix.
    (
        "q4_k_m",
        PHI_3_MINI,
        2_394_440_000,
        -0.04,
        -0.03,
        "https://github.com/ggml-org/llama.cpp/pull/14554",
    ),
    ("mxfp4-gguf", GPT_OSS_20B, 12_101_000_000, -4e-3, 0, BENCHES),
    ("mxfp4-gguf", GPT_OSS_120B, 63_372_200_000, -4e-3, 0, BENCHES),
]

# What vLLM printed for the weights, GiB. It counts what the allocator took, so small models and
# loaded adapters weigh more than their file.
LOGS = [
    ("fp16", LLAMA_3_8B, 14.9888, -4e-3, 0, "https://github.com/vllm-project/vllm/issues/10517"),
    ("fp16", QWEN3_14B, 27.52, -1e-3, 1e-3, "vLLM start-up log of Qwen3-14B"),
    ("int8", LLAMA_3_70B, 67.7229, -2e-3, 2e-3, "https://github.com/vllm-project/vllm/pull/12569"),
    (
        "int4-g128",
        QWEN25_72B,
        38.5260,
        -3e-3,
        3e-3,
        "https://github.com/vllm-project/vllm/issues/11230",
    ),
    ("int4-g128", QWEN25_7B, 5.29, -0.02, -0.01, "vLLM start-up log of Qwen2.5-7B-Instruct-AWQ"),
    ("fp8-block", LLAMA_32_1B, 1.4721, -0.06, -0.04, "unslothai/notebooks nb/Llama_FP8_GRPO.ipynb"),
    ("nf4-double", PHI_4, 8.4900, -5e-3, 5e-3, "unslothai/notebooks nb/Phi_4_(14B)-GRPO.ipynb"),
    (
        "nf4-double",
        MISTRAL_7B_V03,
        4.0423,
        -0.05,
        -0.04,
        "unslothai/notebooks nb/Mistral_v0.3_(7B)-GRPO.ipynb",
    ),
    # A checkpoint that keeps some layers at 16 bits.
    (
        "nf4-double",
        QWEN3_8B,
        5.9071,
        -0.05,
        -0.04,
        "unslothai/notebooks nb/DeepSeek_R1_0528_Qwen3_(8B)_GRPO.ipynb",
    ),
]

# Bits per weight of Llama-3.1-8B that llama.cpp publishes (tools/quantize/README.md).
PUBLISHED_BITS = {
    **{"q8_0": 8.5008, "q6_k": 6.5633, "q5_k_m": 5.7036, "q5_k_s": 5.5704, "q4_k_m": 4.8944},
    **{"q4_k_s": 4.6672, "q3_k_l": 4.2979, "q3_k_m": 3.9960, "q3_k_s": 3.6429, "q2_k": 3.1593},
    **{"q2_k_s": 2.9697, "iq4_nl": 4.6818, "iq4_xs": 4.4597, "iq3_m": 3.7628, "iq3_s": 3.6606},
    **{"iq3_xs": 3.4977, "iq3_xxs": 3.2548, "iq2_m": 2.9294, "iq2_s": 2.7403, "iq2_xs": 2.5882},
    **{"iq2_xxs": 2.3824, "iq1_m": 2.1460, "iq1_s": 2.0042},
}


def error(estimate, real):
    return estimate / real - 1


@pytest.mark.parametrize(("format_id", "shape", "size", "low", "high", "source"), FILES)
def test_estimate_against_the_size_of_a_real_file(format_id, shape, size, low, high, source):
    off = error(shape.weights(format_id).total, size)
    assert low <= off <= high, f"{off:+.3%} for {format_id}, {source}"


@pytest.mark.parametrize(("format_id", "shape", "gib", "low", "high", "source"), LOGS)
def test_estimate_against_what_an_engine_printed(format_id, shape, gib, low, high, source):
    off = error(shape.weights(format_id).total, gib * GIB)
    assert low <= off <= high, f"{off:+.3%} for {format_id}, {source}"


@pytest.mark.parametrize(("format_id", "bits"), PUBLISHED_BITS.items())
def test_gguf_mixes_give_the_published_bits_per_weight(format_id, bits):
    whole = LLAMA_3_8B.weights(format_id).total * 8 / LLAMA_3_8B.parameters
    assert whole == pytest.approx(bits, abs=0.001)


@pytest.mark.parametrize(
    ("format_id", "bits"),
    [
        ("fp32", 32),
        ("fp16", 16),
        ("fp8", 8),
        ("fp8-block", 8 + 32 / 128**2),
        ("int8", 8),
        ("int4-g128", 4 + (16 + 4) / 128),
        ("int4-g64", 4 + (16 + 4) / 64),
        ("int4-g32", 4 + (16 + 4) / 32),
        ("nvfp4", 4 + 8 / 16),
        ("mxfp4", 4 + 8 / 32),
        ("nf4", 4 + 32 / 64),
        ("nf4-double", 4 + 8 / 64 + 32 / (64 * 256)),
        ("q8_0", 8 * 34 / 32),
        ("q6_k", 8 * 210 / 256),
        ("q5_1", 8 * 24 / 32),
        ("q5_0", 8 * 22 / 32),
        ("q4_1", 8 * 20 / 32),
        ("q4_0", 8 * 18 / 32),
    ],
)
def test_bits_follow_from_the_block(format_id, bits):
    assert WEIGHTS[format_id].body_bits == bits


def test_cache_bytes_per_element():
    assert {id_: row.bytes for id_, row in CACHE.items()} == {
        "fp16": 2,
        "fp8": 1,
        "int8": 1,
        "q8_0": 1.0625,
        "q4_1": 0.625,
        "q4_0": 0.5625,
        "iq4_nl": 0.5625,
        "nvfp4": 0.5625,
        "fp8-ds-mla": pytest.approx(656 / 576),
        "fp8-ds-v4": 584 / 512,
    }


def test_formats_that_quantise_experts_alone_leave_a_dense_model_wide():
    dense = LLAMA_3_8B
    assert dense.weights("nvfp4-experts").total == dense.weights("fp16").total
    assert GPT_OSS_20B.weights("nvfp4-experts").total < GPT_OSS_20B.weights("fp16").total / 2


def test_no_format_rounds_four_bits_to_nothing_or_narrows_the_head_below_its_layers():
    for row in WEIGHTS.values():
        assert 1 < row.body_bits <= 32, row.id
        assert row.head_bits >= row.expert_bits, row.id


def test_ids_can_stand_in_a_link_and_every_row_names_its_source():
    for row in [*WEIGHTS.values(), *CACHE.values()]:
        assert re.fullmatch(r"[a-z0-9_-]{3,14}", row.id)
        assert re.match(r"https://", row.source)
        assert row.confidence in {"high", "medium"}
        assert row.name
        assert row.note


def test_the_real_file_wins_and_says_so():
    size = 688_586_727_753
    real, estimated = DEEPSEEK_V3.weights("fp8-block", size), DEEPSEEK_V3.weights("fp8-block")
    assert real.total == size
    assert (real.measured, estimated.measured) == (True, False)
    assert real.basis == CHECKPOINT
    assert estimated.basis == "estimated from the format"
    assert real.estimate == estimated.total
    assert real.experts / real.total == pytest.approx(estimated.experts / estimated.total)


def test_parts_that_exceed_the_whole_are_refused():
    with pytest.raises(ValueError, match="more parameters than the whole"):
        weight_bytes(10, WEIGHTS["fp16"], embedding_parameters=11)


def test_broadcasts_over_arrays():
    sizes = np.array([7e9, 70e9])
    total = weight_bytes(sizes, WEIGHTS["fp16"]).total
    np.testing.assert_array_equal(total, 2 * sizes)


@given(
    st.sampled_from(sorted(WEIGHTS)),
    st.lists(st.integers(1, 10**12), min_size=4, max_size=4),
    st.none() | st.integers(1, 10**13),
)
def test_the_kinds_add_up_to_the_total(format_id, parts, file_bytes):
    shape = Shape(sum(parts), *parts[:3])
    made = shape.weights(format_id, file_bytes)
    assert made.body + made.experts + made.embedding + made.head == pytest.approx(made.total)
