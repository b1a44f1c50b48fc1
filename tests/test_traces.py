"""Traces: public formats are read, what is malformed is named, and the summary is right."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner import Scenario
from planner.sizing.simulate import simulate
from planner.sizing.traces import MOST_NAMED, read_trace

SAMPLES = Path(__file__).parent / "data" / "traces"
HEADER = "arrival_s,prompt_tokens,output_tokens"


def table(*rows, header=HEADER):
    return "\n".join([header, *rows]).encode()


def test_azure():
    found = read_trace(SAMPLES / "azure_2023_code.csv")
    assert found.kind == "Azure"
    assert found.malformed == 0
    assert len(found.requests) == 300
    # 18:17:03.9799600 and 18:17:04.0319600
    assert found.requests.arrival_s[:2] == pytest.approx([0, 0.052], abs=1e-6)
    assert found.requests.prompt_tokens[:3].tolist() == [4808, 3180, 110]
    assert found.requests.output_tokens[:3].tolist() == [10, 8, 27]
    assert found.summary().burst > 5  # far from a Poisson stream
    talk = read_trace(SAMPLES / "azure_2023_conversation.csv").summary()
    assert talk.burst == pytest.approx(1.4, abs=0.1)


@pytest.mark.parametrize("zone", ["", "Z", "+00:00"])
def test_dates_may_have_a_zone(zone):
    header = "TIMESTAMP,ContextTokens,GeneratedTokens"
    rows = [f"2024-05-10 00:00:00.009930{zone},2162,5", f"2024-05-10T00:00:01{zone},2399,6"]
    found = read_trace(table(*rows, header=header))
    assert found.requests.arrival_s.tolist() == pytest.approx([0, 0.99007])


def test_burstgpt():
    header = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type"
    rows = ["5,ChatGPT,472,18,490,Conversation log", "45,GPT-4,1087,0,1087,API log"]
    found = read_trace(table(*rows, "118.5,GPT-4,417,276,693,Conversation log", header=header))
    assert found.kind == "BurstGPT"
    assert found.requests.arrival_s.tolist() == [0, 113.5]
    assert found.requests.prompt_tokens.tolist() == [472, 417]
    assert [(each.line, each.text) for each in found.named] == [
        (3, "Response tokens: “0” is not a whole number from 1 on")
    ]


def test_mooncake():
    found = read_trace(SAMPLES / "mooncake_conversation.jsonl")
    assert found.kind == "Mooncake"
    assert found.requests.piece_tokens == 512
    assert found.requests.prefixes[0] == tuple(range(14))
    said = found.summary()
    assert said.reused > 0.9  # all but the first begin with the same block
    assert 0 < said.blocks_reused < 1
    assert said.reused_tokens >= 512


def test_what_prompts_share_is_counted_whole_block_by_whole_block():
    lines = [
        '{"timestamp": 0, "input_length": 1100, "output_length": 5, "hash_ids": [0, 1, 2]}',
        '{"timestamp": 500, "input_length": 1536, "output_length": 5, "hash_ids": [0, 1, 9]}',
        '{"timestamp": 900, "input_length": 600, "output_length": 5, "hash_ids": [7, 8]}',
        '{"timestamp": 1000, "input_length": 512, "output_length": 5, "hash_ids": [0]}',
    ]
    said = read_trace("\n".join(lines).encode()).summary()
    # Whole blocks: 0 1, 0 1 9, 7, 0; of these 0 1 and 0 were seen. Of the last prompt, all but one
    # token.
    assert said.blocks_reused == 3 / 7
    assert said.reused == 2 / 4
    assert said.reused_tokens == (1024 + 511) / 2
    assert said.rate == 3.0


def test_what_it_says_of_its_lengths():
    rows = [f"{at},{10 * at + 10},7" for at in range(101)]
    said = read_trace(table(*rows)).summary()
    assert said.prompt == (510, 960, 510)
    assert said.output == (7, 7, 7)
    assert (said.requests, said.span_s, said.rate, said.burst) == (101, 100, 1, 0)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("x,5,5", "arrival_s: “x” is neither seconds nor a date"),
        ("inf,5,5", "arrival_s: “inf” is neither seconds nor a date"),
        ("1,5.5,5", "prompt_tokens: “5.5” is not a whole number from 1 on"),
        ("1,-5,5", "prompt_tokens: “-5” is not a whole number from 1 on"),
        ("1,5,nan", "output_tokens: “nan” is not a whole number from 1 on"),
        ("1,5", "output_tokens is missing"),
        ("1,99000000,5", "prompt_tokens: “99000000” is more than 2,097,152"),
        ("1,99999999999999999999,5", "prompt_tokens: “99999999999999999999” is not a whole number"),
        ("1,9e400,5", "prompt_tokens: “9e400” is not a whole number from 1 on"),
    ],
)
def test_malformed_rows_are_named(row, why):
    found = read_trace(table("0,5,5", row, "", "2,5.0,6"))
    assert found.named[0].line == 3
    assert found.named[0].text.startswith(why)
    assert found.malformed == 1
    assert found.requests.output_tokens.tolist() == [5, 6]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nonsense", "“nonsense” is not JSON"),
        ("[" * 100_000, "“[[[["),
        ("[1]", "“[1]” is not an object"),
        ('{"timestamp": 1, "input_length": 5}', "output_length is missing"),
        ('{"timestamp": 1, "input_length": "5", "output_length": 5}', "input_length: “5” is not a"),
        ('{"timestamp": 1, "input_length": 0, "output_length": 5}', "input_length: “0” is not a"),
        ('{"timestamp": 1, "input_length": 2.5, "output_length": 5}', "input_length: “2.5” is not"),
        ('{"timestamp": NaN, "input_length": 2, "output_length": 5}', "timestamp: “nan” is too"),
        (f'{{"timestamp": {10**30}, "input_length": 2, "output_length": 5}}', "timestamp: “1000"),
        (
            '{"timestamp": 1, "input_length": 5, "output_length": 5, "hash_ids": ["a"]}',
            "hash_ids is not a list of whole numbers",
        ),
        (
            '{"timestamp": 1, "input_length": 5, "output_length": 5, "hash_ids": [-3]}',
            "hash_ids is not a list of whole numbers",
        ),
    ],
)
def test_malformed_lines_are_named(line, why):
    good = '{"timestamp": 0, "input_length": 5, "output_length": 5}'
    found = read_trace(f"{good}\n{line}\n\n{good}\n".encode())
    assert found.malformed == 1
    assert found.named[0].line == 2
    assert found.named[0].text.startswith(why)
    assert len(found.requests) == 2


def test_many_malformed_rows_are_counted_and_the_first_named():
    rows = [f"{at},5,{'x' if at % 3 == 0 else 5}" for at in range(3000)]
    found = read_trace(table(*rows))
    assert found.malformed == 1000
    assert len(found.requests) == 2000
    assert [each.line for each in found.named] == [2 + 3 * at for at in range(MOST_NAMED)]


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "The file is empty"),
        (b"  \n", "The file is empty"),
        (b"a,b\n1,2", "The columns “a, b” are of no known trace. Known are TIMESTAMP"),
        (table("x,1,1"), "No row of it has arrival_s, prompt_tokens and output_tokens. Line 2:"),
        (b"{", "No row of it has timestamp"),
    ],
)
def test_what_is_no_trace_is_refused_in_a_sentence(raw, why):
    with pytest.raises(ValueError, match=why):
        read_trace(raw)


def test_rows_may_come_in_any_order_and_a_file_with_a_mark_is_read():
    found = read_trace("\ufeff".encode() + table("9,3,1", "4,1,1", "5,2,1"))
    assert found.requests.arrival_s.tolist() == [0, 1, 5]
    assert found.requests.prompt_tokens.tolist() == [1, 2, 3]


def test_progress_ends_at_the_end():
    parts = []
    read_trace(table(*["1,1,1"] * 120_000), parts.append)
    assert parts == sorted(parts)
    assert len(parts) == 3
    assert parts[-1] == pytest.approx(1.0, abs=1e-4)


@given(st.binary(max_size=300))
def test_nothing_breaks_it(raw):
    with contextlib.suppress(ValueError):  # a plain sentence, where it is no trace
        assert len(read_trace(raw).requests) > 0


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["timestamp", "input_length", "output_length", "hash_ids"]),
            st.one_of(st.integers(), st.floats(), st.text(), st.lists(st.integers()), st.none()),
        )
    )
)
def test_no_line_breaks_it(rows):
    good = '{"timestamp": 0, "input_length": 5, "output_length": 5}'
    found = read_trace("\n".join([good, *map(json.dumps, rows)]).encode())
    assert len(found.requests) + found.malformed == 1 + len(rows)


@given(st.text(max_size=300))
def test_no_row_breaks_it(text):
    found = read_trace(table("0,5,5") + b"\n" + text.encode("utf-8", "replace"))
    assert len(found.requests) >= 1


def test_a_trace_is_simulated_with_what_its_prompts_share():
    load = read_trace(SAMPLES / "mooncake_conversation.jsonl").requests
    scenario = Scenario("llama-3.1-8b", device="h200-sxm", engine="vllm-0.34")
    found = simulate(scenario, load)
    assert found.served.all()
    said = read_trace(SAMPLES / "mooncake_conversation.jsonl").summary()
    in_an_endless_cache = said.reused_tokens * said.reused * said.requests
    assert found.reused_tokens == pytest.approx(in_an_endless_cache, rel=0.02)
    assert np.isclose(found.read_tokens + found.reused_tokens, load.prompt_tokens.sum())
