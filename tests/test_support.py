"""Engines and the devices they run on: what is offered, and what a link that asks for more gets."""

import pytest
from streamlit.testing.v1 import AppTest

from planner import Scenario, answer, evaluate
from planner.compare import comparison, differences
from planner.inputs import presets, support
from planner.reports import document, plan_report

MAKERS = {device.maker for device in presets.accelerators().values()}


def served(engine, device):
    return evaluate(Scenario("llama-3.1-8b", device=device, engine=engine))


def test_every_engine_says_what_it_runs_on_and_where_that_was_read():
    known = support.supports()
    assert list(known) == list(presets.engines())
    for rows in known.values():
        assert len({row.vendor for row in rows}) == len(rows)
        for row in rows:
            assert row.vendor in MAKERS | {support.ANY}
            assert row.support in {"documented", "plug-in", "experimental"}
            assert row.source


def test_every_target_that_an_engine_lists_or_a_device_has_is_one():
    targets = {device.target for device in presets.accelerators().values()}
    for device in presets.accelerators().values():
        if device.vendor == "NVIDIA":
            assert 5 <= float(device.target) <= 13
        if device.vendor == "AMD" and device.maker == "AMD":
            assert device.target.startswith("gfx")
    listed = {each for rows in support.supports().values() for row in rows for each in row.targets}
    assert listed - targets <= {"gfx1150"}  # of devices that are not in the list


@pytest.mark.parametrize(
    ("engine", "device", "why"),
    [
        (
            "llama.cpp-metal",
            "rtx-4090",
            "does not run on GeForce RTX 4090: its documents name Apple",
        ),
        ("tensorrt-llm", "mi300x", "does not run on Instinct MI300X: its documents name NVIDIA"),
        ("tensorrt-llm", "t4", "needs compute capability 8.0 or higher; Tesla T4 has 7.5"),
        ("sglang", "v100-sxm2-32", "needs compute capability 8.0 or higher"),
        ("vllm-0.26", "v100-sxm2-32", "needs compute capability 7.5 or higher"),
        ("vllm-0.26", "mi50-32", "does not list Instinct MI50 32GB (gfx906)"),
        ("llama.cpp-vulkan", "gaudi3", "does not list Gaudi 3"),
        ("llama.cpp-cuda", "cpu-epyc-9004-1s", "does not run on AMD EPYC 9004"),
        ("deepspeed-habana", "arc-b580", "does not list Arc B580"),
    ],
)
def test_an_engine_that_is_not_for_a_device_is_not_offered(engine, device, why):
    assert why in support.refusal(engine, device)
    assert engine not in support.offered(device)


@pytest.mark.parametrize(
    ("engine", "device"),
    [
        ("llama.cpp-metal", "apple-m4-max"),
        ("llama.cpp-cuda", "mi50-32"),
        ("llama.cpp-cuda", "p40"),
        ("vllm-0.26", "mi300x"),
        ("vllm-0.26", "t4"),
        ("vllm-0.20", "v100-sxm2-32"),
        ("vllm-0.34", "cpu-xeon6-1s"),
        ("sglang", "ascend-910b3"),
        ("deepspeed-habana", "gaudi2"),
        ("transformers", "raspberry-pi-5-16"),
    ],
)
def test_an_engine_that_is_for_a_device_is_offered(engine, device):
    assert support.refusal(engine, device) == ""
    assert engine in support.offered(device)


def test_the_lesson_s_device_takes_any_engine_and_the_ideal_one_runs_anywhere():
    assert set(support.offered("lesson")) == set(presets.engines())
    assert all("ideal" in support.offered(device) for device in presets.accelerators())


def test_older_engines_stand_at_the_end():
    groups = [presets.engine(id).group for id in support.offered("lesson")]
    assert groups == sorted(groups)
    assert groups.count("older") == 4
    assert served("gpt-fast", "a100-80-sxm").step_s.value > 0


def test_a_plug_in_is_said():
    assert support.remark("vllm-0.26", "apple-m4-max").startswith("plug-in: vllm-metal")
    assert support.remark("vllm-0.26", "h100-sxm") == ""


def test_a_link_that_asks_for_it_is_answered_with_a_warning_beside_the_figures():
    wrong = served("llama.cpp-metal", "rtx-4090")
    warning = answer.engine_warning(wrong)
    assert warning.endswith("Every figure with it is hypothetical.")
    found = plan_report.as_dict(wrong)
    assert found["engine_warning"] == warning
    assert found["engine"] == "llama.cpp-metal"
    assert found["decode_step_calibrated_s"] > 0
    for written in (document.markdown(plan_report.document(wrong)), plan_report.as_csv(wrong)):
        assert warning in written
    right = plan_report.as_dict(served("llama.cpp-metal", "apple-m4-max"))
    assert right["engine_warning"] == ""
    assert right.keys() == found.keys()


def test_a_comparison_warns_too():
    link = "a=device%3Drtx-4090%26engine%3Dllama.cpp-metal&b=device%3Drtx-4090%26engine%3Dvllm"
    shown = differences.shown(comparison.decode(link)[0])
    table = differences.results(shown).set_index("figure")
    first, second, _ = table.loc["Warning"]
    assert "does not run on GeForce RTX 4090" in first
    assert second == ""
    assert "Warning" not in set(differences.results(shown[1:])["figure"])


def test_the_page_offers_what_runs_and_warns_of_what_does_not():
    page = AppTest.from_file("../planner/pages/plan.py", default_timeout=60)
    page.query_params["device"] = "rtx-4090"
    page.query_params["engine"] = "llama.cpp-metal"
    page.session_state["engine-box"] = True
    page.run()
    assert not page.exception
    assert "does not run on GeForce RTX 4090" in page.warning[0].value
    options = page.selectbox("engine").options
    assert options[-1] == "llama.cpp Metal"  # the link's own, after those that run
    assert "TensorRT-LLM" in options
    assert "gpt-fast (older)" in options
    page.selectbox("engine").select("vllm-0.26").run()
    assert not page.warning
    assert "llama.cpp Metal" not in page.selectbox("engine").options
