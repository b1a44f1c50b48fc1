"""The report: its promised names, its numbers against the plan's, and texts that stay texts."""

import csv
import io
import json
import math
import re

import pytest
from hypothesis import given

from planner import Scenario, __version__, answer, describe, encode, evaluate, figures, plan
from planner.inputs import presets
from planner.pools import engine_band, longest_context, most_requests, reserve
from planner.reports import document, plan_report
from tests.test_plan import scenarios

# Named in the README: never taken away.
PROMISED = """
fits weights_bytes cache_bytes_per_token cache_fixed_bytes_per_request cache_bytes
memory_needed_bytes memory_usable_bytes max_concurrency max_context_tokens decode_step_s
tokens_per_s_per_request tokens_per_s_total prefill_s ttft_s
""".split()  # noqa: SIM905
TIMES = ("decode_step_s", "tokens_per_s_per_request", "tokens_per_s_total", "prefill_s", "ttft_s")
EVIL = '=cmd|"/c calc"!A1 <script>alert(1)</script> [x](javascript:1) `$(rm -rf ~)` ![i](http://e)'
NAMES = ("=1+1", "＝1+1", "+1", "-1", "@SUM(A1)", "|x", "%x", EVIL[:80])


def served(**inputs):
    return evaluate(Scenario(**inputs))


def named(name):
    """A scenario whose model somebody gave a name of his own."""
    text = "".join(f"~{byte:02x}" for byte in name.encode())
    return f"m1~32q32k8d128~p8030261248~{text}"


def calibrated(name, end=""):
    base, ending = (name[:-2], "_s") if name.endswith("_s") else (name, "")
    return f"{base}_calibrated{end}{ending}"


def test_the_lesson_in_json():
    found = plan_report.as_dict(served())
    assert found["fits"] is True
    assert found["weights_bytes"] == 14 * 10**9
    assert found["cache_bytes_per_token"] == 131_072
    assert found["cache_bytes"] == 17_179_869_184
    assert found["decode_step_s"] == 0.031179869184
    assert found["max_concurrency"] == 61
    assert found["app_version"] == __version__
    assert found["decode_step_calibrated_s"] is None


@given(scenarios())
def test_a_report_has_the_plans_numbers(scenario):
    own = evaluate(scenario)
    found = plan_report.as_dict(own)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["link"] == encode(scenario)
    for name in PROMISED[1:]:
        value = float(getattr(own.plan, name))
        assert found[name] == (None if math.isinf(value) else value), name
    assert found["fits"] == (own.plan.fits if own.ideal else own.fits)
    for name in TIMES:
        ends = [found[calibrated(name, end)] for end in ("_low", "", "_high")]
        assert ends == ([None] * 3 if own.ideal else sorted(ends)), name
    assert found.keys() == plan_report.as_dict(served()).keys()
    table = {row["key"]: row for row in csv.DictReader(io.StringIO(plan_report.as_csv(own)))}
    for each in figures.entries(own):
        written = table[each.key]["value"]
        assert written == "" if each.value is None else float(written) == each.value
        assert table[each.key]["kind"]


@pytest.mark.parametrize("engine", [name for name in presets.engines() if name != "ideal"])
@pytest.mark.parametrize("model", ["lesson-7b-gqa", "gemma-3-27b"])
def test_the_longest_context_of_an_engine_is_the_last_that_fits(engine, model):
    own = served(engine=engine, model=model, memory=120)
    longest = longest_context(own.plan, own.engine)

    def holds(context):
        held = reserve(plan(own.plan.scenario, context=context), own.engine)
        return most_requests(held, own.plan.scenario) >= own.plan.concurrency

    assert holds(longest)
    assert not holds(longest + 1)
    most, least = (reserve(own.plan, each).pool_bytes for each in engine_band(own.engine))
    assert most <= own.reserve.pool_bytes <= least


@pytest.mark.parametrize("name", NAMES)
def test_a_name_from_outside_stays_a_text(name):
    own = served(model=named(name))
    assert own.plan.model.name == name
    for row in csv.reader(io.StringIO(plan_report.as_csv(own))):
        for each in row:
            assert not each.startswith(("=", "+", "@", "|", "%", "＝")), each
            assert re.fullmatch(r"-[\d.e+]+", each) or not each.startswith("-"), each
    written = document.markdown(plan_report.document(own))
    line = next(line for line in written.splitlines() if "16 requests × " in line)
    assert line.startswith(describe.as_text(name))
    assert "<" not in line.replace("\\<", "")
    assert plan_report.as_dict(own)["model_name"] == name


def test_markdown_carries_link_version_verdict_and_arithmetic():
    own = served(engine="vllm")
    written = document.markdown(plan_report.document(own, "http://localhost:8501/"))
    assert f"http://localhost:8501/?{encode(own.plan.scenario)}" in written
    assert __version__ in written
    assert "# Fits: vLLM 0.20 to 0.25 holds up to 54 requests" in written
    assert "2 × 32 layers × 8 heads × 128 × 2 bytes" in written


@pytest.mark.parametrize("groups", ["2q8k1w16_2q8k1d64", "2q8w16x4_2q8k1d64"])
def test_a_model_whose_layers_store_next_to_nothing_has_its_report(groups):
    own = served(model=f"m1~{groups}~p1000000~x")
    written = document.markdown(plan_report.document(own))
    assert f"{own.plan.cache_bytes_per_token:,.0f} bytes" in written


def test_every_number_is_there_with_its_source():
    own = served(engine="sglang", device="h100-sxm")
    found = plan_report.with_sources(own)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert {key: found[key] for key in plan_report.as_dict(own)} == plan_report.as_dict(own)
    listed = {each["key"]: each for each in found["numbers"]}
    assert listed.keys() == {each.key for each in figures.entries(own)}
    for key, each in listed.items():
        assert each["value"] == found[key]
        assert each["unit"]
        assert each["kind"] in ("given", "data sheet", "computed", "ideal", "calibrated")
    step = listed["decode_step_calibrated_s"]
    assert step["low"] < step["value"] < step["high"]
    assert "fitted on" in step["source"]
    assert "H100" in listed["bandwidth_bytes_per_s"]["source"]


@pytest.mark.parametrize(
    ("model", "kind"), [("llama-3.1-8b", "file size"), ("lesson-7b-gqa", "computed")]
)
def test_weights_are_of_the_kind_that_the_page_says(model, kind):
    own = served(model=model, device="h100-sxm")
    kinds = {each.key: each.kind for each in figures.entries(own)}
    assert figures.headlines(own)[0].note == figures.NOTES.get(kind, kind)
    assert kinds["weights_bytes"] == kinds["device_weights_bytes"] == kind
    assert kinds["cache_bytes"] == "computed"


@pytest.mark.parametrize(("model", "sparse"), [("deepseek-v3.2", True), ("deepseek-v3", False)])
def test_sparse_attention_is_said_to_be_charged_in_full(model, sparse):
    own = served(model=model, tp=8, device="h200-sxm")
    assert ("attention is **sparse**" in " ".join(answer.limits(own))) == sparse
    assert ("attention is **sparse**" in document.markdown(plan_report.document(own))) == sparse


def test_a_report_begins_with_what_a_manager_reads():
    own = served(model="llama-3.3-70b", weights="fp8", device="h100-sxm", tp=2, engine="vllm-0.34")
    first, *rest = plan_report.document(own).sections
    question, said, sure = first.paragraphs
    assert question == (
        "Question: can 2 × H100 SXM5 80GB serve 16 requests of 8,192 tokens at once, with "
        "Llama 3.3 70B (FP8) with vLLM since 0.34?"
    )
    assert said.startswith("Answer: Fits: vLLM since 0.34 holds up to ")
    assert "80 % of measurements" in sure
    shown = {label: value for label, value, _ in first.table.rows}
    assert len(shown) == 3
    assert shown["Max concurrent requests"] == f"{own.max_concurrency:,.0f}"
    assert [each.heading for each in rest] == [
        "",
        "The numbers",
        "The arithmetic",
        "Assumptions and limits",
    ]


def test_one_token_is_not_tokens():
    own = served(model="llama-3.1-8b", device="h100-sxm", engine="vllm-0.34", prompt=1, output=1)
    help = figures.BY_KEY["first_token_s"].headline.help(own)
    assert "A prompt of 1 token," in help
    assert "each writing 1 token." in help
