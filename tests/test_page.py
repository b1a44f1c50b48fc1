"""The Plan page without a browser: it shows the plan's own numbers and survives any link."""

import json
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from planner import Scenario, answer, decode, describe, encode, evaluate, ways
from planner.hardware.parallel import Layout
from planner.inputs import presets, support
from planner.pages import controls, inputs, reasons
from planner.reports import commands
from tests.browser import ROOT
from tests.scenes import figures, frames, notes, sent, shown
from tests.test_scenario import BAD_LINKS


def opened(query=""):
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    for name, value in parse_qsl(query, keep_blank_values=True):
        kept = page.query_params.get(name, [])
        page.query_params[name] = [*kept, value]
    return page.run()


def test_the_start_is_the_lesson():
    page = opened()
    assert not page.exception
    assert shown(page)["title"] == "Fits, with 48.8 GB to spare."
    assert figures(page) == {
        "Speed per user": "32.1 tokens/s",
        "Max concurrent requests": "61",
        "Weights": "14.0 GB",
        "Cache": "17.2 GB",
        "Cache per token": "131 kB",
        "Time per output token": "31.2 ms",
        "Time to first token": "441 ms",
        "Throughput (tokens/s)": "513",
    }


@pytest.mark.parametrize("example", presets.examples(), ids=lambda example: example.id)
def test_an_example_shows_its_plan(example):
    page = opened(example.query)
    evaluation = evaluate(decode(example.query)[0])
    assert not page.exception
    scene = shown(page)
    assert (scene["title"], scene["detail"]) == answer.stated(evaluation)
    assert [each["text"] for each in scene["ways"]] == (
        [] if evaluation.fits else ways.ways_to_fit(evaluation)
    )
    result = evaluation.plan
    latency = frames(page, "Time per output token")
    # The time stands at its dot where there is room for it, and always under the pointer.
    time = describe.duration(evaluation.tpot_s.value)
    assert latency["words"].query("fontWeight == 'bold'").label.tolist() in ([time], [])
    assert time in latency["points"].sentence.item()
    assert latency["points"].context.tolist() == [result.context_tokens]
    parts = frames(page, "Memory at this load")["rows"]
    assert any(describe.data(result.memory_needed_bytes) in each for each in parts.sentence)


@pytest.mark.parametrize(
    "query", [query for query, _, _ in BAD_LINKS], ids=lambda query: query[:40]
)
def test_a_bad_link_is_explained_and_the_page_is_whole(query):
    page = opened(query)
    assert not page.exception
    assert len(page.text) == 1
    assert len(figures(page)) == 8
    assert len(shown(page)["charts"]) == 4


def test_the_presenter_view_enlarges_and_stays_in_the_link():
    page = opened("context=4096&present=1")
    assert not page.exception
    assert not page.text
    assert page.session_state.scenario == Scenario(context=4096)
    (large, *_) = sent(page)["specifications"].values()
    assert any("&amp;present=1" in each.proto.body for each in page.get("html"))
    page.toggle(key="present-switch").set_value(False).run()
    assert page.session_state.scenario == Scenario(context=4096)
    assert not any("present=1" in each.proto.body for each in page.get("html"))
    (usual, *_) = sent(page)["specifications"].values()
    assert large["height"] > usual["height"]


def choose(page, name, value):
    """Choose in a search, whose field is not there without a browser."""
    state = page.session_state
    values = inputs.with_follows(name, value)
    state.scenario, state.notices = controls.changed(state.scenario, **values)
    return page.run()


def test_choosing_a_device_fills_its_numbers():
    page = opened("concurrency=4&memory=33")
    choose(page, "device", "h200-sxm")
    assert not page.exception
    scenario = page.session_state.scenario
    assert (scenario.bandwidth, scenario.memory, scenario.peak) == (4800, 150.109, 989.4)
    assert scenario.concurrency == 4


def test_a_bound_is_named_and_the_engines_of_the_device_are_one_click_away():
    page = opened("model=llama-3.3-70b&weights=fp8&device=h100-sxm&tp=2")
    offered = [each.key for each in page.button if (each.key or "").startswith("forecast-")]
    assert offered == [f"forecast-{each}" for each in support.suggested("h100-sxm")]
    assert "Lower bound" in "".join(each.value for each in page.markdown)
    page.button(key="forecast-sglang").click().run()
    assert page.session_state.scenario.engine == "sglang"
    assert not any((each.key or "").startswith("forecast-") for each in page.button)
    assert support.suggested("rtx-4090", gguf=True)[0] == "llama.cpp-cuda"


def test_starting_points_are_there_until_something_changes():
    def starts(page):
        return [each for each in page.get("html") if 'class="starts"' in each.proto.body]

    page = opened()
    assert starts(page)
    wanted = [each for each in presets.examples() if each.start]
    assert len(wanted) == 3
    assert all(each.title in starts(page)[0].proto.body for each in wanted)
    assert not starts(opened("concurrency=17"))


def test_choosing_a_model_changes_nothing_else():
    page = opened("concurrency=4&memory=33")
    choose(page, "model", "lesson-7b-mha")
    assert page.session_state.scenario == Scenario("lesson-7b-mha", concurrency=4, memory=33)
    assert figures(page)["Cache per token"] == "524 kB"


def test_a_change_settles_what_the_link_had_wrong():
    page = opened("concurrency=abc")
    assert "“abc” is not a number" in page.text[0].value
    choose(page, "model", "lesson-7b-mha")
    assert not page.text


def test_what_a_link_says_stays_text():
    page = opened("model=<b>x</b>**y**[z](http://z.example)")
    assert page.text[0].value.startswith("model: “<b>x</b>**y**")


@pytest.mark.parametrize("tab", reasons.SHOWN)
def test_a_tab_is_worked_out_only_while_it_is_open(tab):
    page = opened()
    first = next(iter(reasons.SHOWN))
    assert [each.label for each in page.tabs if each.children] == [first]
    page.session_state["more"] = tab
    page.run()
    assert not page.exception
    assert [each.label for each in page.tabs if each.children] == [tab]
    if tab == "Tables":
        assert len(page.dataframe) == 4


@pytest.mark.parametrize("engine", ["ideal", "sglang"])
def test_the_plan_can_be_taken_along(engine):
    name = "m1~32q32k8d128~p8030261248~~27~3b~20touch~20x~3b~20~3cb~3e"  # '; touch x; <b>
    page = opened(f"model={name}&engine={engine}")
    page.session_state["take-along"] = True
    page.run()
    assert not page.exception
    assert len(page.get("download_button")) == 5
    own = evaluate(Scenario(model=name, engine=engine))
    scripts = [each.script() for each in commands.of(own)]
    assert [each.value for each in page.code][: len(scripts)] == scripts
    assert encode(own.plan.scenario) in page.code[-1].value


LLAMA = json.dumps(
    {
        "model_type": "llama",
        "hidden_size": 2048,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "intermediate_size": 8192,
        "vocab_size": 128256,
        "head_dim": 64,
        "tie_word_embeddings": True,
    }
)


def asked(way):
    """The dialog for another model, by itself, at one of its ways."""

    def script():
        import streamlit as st

        from planner import Scenario
        from planner.pages import model_dialog

        st.session_state.setdefault("scenario", Scenario("gemma-3-27b", concurrency=4))
        model_dialog.ask()

    page = AppTest.from_function(script, default_timeout=30).run()
    return page.segmented_control[0].set_value(way).run()


def click(page, label):
    next(button for button in page.button if button.label == label).click().run()


def test_a_pasted_config_becomes_the_model_and_travels_in_the_link():
    page = asked("config.json")
    page.text_area(key="config-text").set_value(LLAMA)
    page.text_input(key="config-name").set_value("Mine").run()
    assert any("32,768 bytes per token" in each.value for each in page.markdown)
    click(page, "Use this model")
    assert not page.exception
    scenario = page.session_state.scenario
    assert scenario.the_model.name == "Mine"
    assert scenario.concurrency == 4
    again = opened(encode(scenario))
    assert not again.text
    assert figures(again)["Cache per token"] == "32.8 kB"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "not JSON"),
        ("[1, 2]", "not an object"),
        ('{"model_type": "martian"}', "“martian” is not known"),
        ('{"model_type": "llama"}', "hidden_size"),
    ],
)
def test_a_config_that_cannot_be_read_is_refused_with_its_reason(text, why):
    page = asked("config.json")
    page.text_area(key="config-text").set_value(text).run()
    assert not page.exception
    assert len(page.text) == 1
    assert why in page.text[0].value


def test_a_model_that_cannot_be_looked_up_says_why(monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    page = asked("Model id")
    page.text_input(key="hub-id").set_value("org/name").run()
    click(page, "Look up")
    assert not page.exception
    assert page.text[0].value.endswith(".")


def test_a_model_by_hand_starts_from_the_one_shown():
    page = asked("By hand")
    page.number_input(key="hand-parameters").set_value(30.0).run()
    click(page, "Use this model")
    assert not page.exception
    model = page.session_state.scenario.the_model
    assert model.name == "My model"
    assert model.parameters == 30e9
    assert model.cache_shape() == presets.model("gemma-3-27b").cache_shape()


def test_a_model_by_hand_that_cannot_be_says_why():
    page = asked("By hand")
    page.number_input(key="hand-experts_per_token").set_value(5).run()
    click(page, "Use this model")
    assert not page.exception
    assert "experts_per_token is more than there are experts" in page.text[0].value


def test_a_model_s_name_from_a_link_stays_text():
    page = opened("model=m1~32q32k8d128~p7000000000~~21~5bx~5d~28http~3a~2f~2fz.example~2fa.png~29")
    assert not page.exception
    assert page.session_state.scenario.the_model.name == "![x](http://z.example/a.png)"
    assert all("![x]" not in each.value for each in [*page.markdown, *page.caption])


def test_precision_and_devices_change_the_plan():
    page = opened("model=llama-3.1-70b&device=h100-sxm&concurrency=64")

    def select(box, key, value):
        page.session_state[box] = True
        page.run()
        page.selectbox(key=key).set_value(value)
        page.session_state[box] = True
        page.run()
        assert not page.exception
        return page.session_state.scenario

    scenario = select("cache-box", "cache_k", "q8_0")
    assert (scenario.cache_k, scenario.cache_v) == ("q8_0", "fp16")
    assert select("layout-box", "devices", 8).layout == Layout(tensor=8)
    pipeline = Layout(tensor=4, pipeline=2)
    assert select("layout-box", "layout", pipeline).layout == pipeline
    assert len(shown(page)["charts"]) == 5
    # A model that these sizes do not divide is met with ones that do, and with a reason.
    choose(page, "model", "phi-4")
    scenario = page.session_state.scenario
    assert scenario.the_model.id == "phi-4"
    assert scenario.layout.devices == 8
    assert not page.exception


@pytest.mark.slow
@pytest.mark.parametrize("model", presets.models(), ids=str)
def test_every_model_s_page_is_whole(model):
    page = opened(f"model={model}&device=b200-sxm")
    assert not page.exception
    assert not page.text
    for tab in ("Model", "Arithmetic"):
        page.session_state["more"] = tab
        page.run()
        assert not page.exception


@pytest.mark.parametrize("engine", presets.engines(), ids=str)
def test_every_engine_s_page_is_whole(engine):
    page = opened(f"model=llama-3.1-8b&device=h100-sxm&engine={engine}&prompt=1000&output=200")
    assert not page.exception
    assert not page.text
    page.session_state["engine-box"] = True
    for tab in ("Arithmetic", "Engine memory"):
        page.session_state["more"] = tab
        page.run()
        assert not page.exception
    assert len(shown(page)["charts"]) == (4 if engine == "ideal" else 5)
    kinds = notes(page)
    counted = [kinds.pop(name) for name in ("weights", "cache", "token")]
    assert counted == ["file size", "exact", "exact"]
    bounds = {"lower bound", "upper bound"}
    assert all((kind in bounds) == (engine == "ideal") for kind in kinds.values())


def test_the_engine_and_its_figures_can_be_changed():
    page = opened("model=llama-3.1-8b&device=h100-sxm&concurrency=50")

    def choose(widget, value):
        page.session_state["engine-box"] = True
        page.run()
        widget().set_value(value)
        page.session_state["engine-box"] = True
        page.run()
        assert not page.exception
        return page.session_state.scenario

    assert choose(lambda: page.selectbox(key="engine"), "vllm").engine == "vllm"
    assert shown(page)["title"].startswith("Fits: vLLM 0.20 to 0.25 holds up to")
    assert choose(lambda: page.selectbox(key="set-add"), "fraction").set == "fraction:0.92"
    assert choose(lambda: page.number_input(key="set-fraction"), 0.4).set == "fraction:0.4"
    assert shown(page)["title"].startswith("Does not fit: vLLM 0.20 to 0.25 holds")
    # Another engine has its own figures.
    assert choose(lambda: page.selectbox(key="engine"), "sglang").set == ""


def test_a_type_of_states_is_offered_where_a_model_has_one_to_choose():
    def boxed(page):
        page.session_state["cache-box"] = True
        return page.run()

    page = boxed(opened("model=granite-4.0-h-small&device=h100-sxm&tp=2"))
    page.selectbox(key="state_format").set_value("bfloat16")
    boxed(page)
    assert page.session_state.scenario.state_format == "bfloat16"
    keys = [each.key for each in boxed(opened("model=llama-3.1-8b")).selectbox]
    assert "cache_v" in keys
    assert "state_format" not in keys
