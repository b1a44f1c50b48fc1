"""The Plan page without a browser: it shows the plan's own numbers and survives any link."""

from urllib.parse import parse_qsl

import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from planner import Scenario, plan, presets, words
from tests.browser import ROOT
from tests.test_scenario import BAD_LINKS


def opened(query=""):
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    for name, value in parse_qsl(query, keep_blank_values=True):
        kept = page.query_params.get(name, [])
        page.query_params[name] = [*kept, value]
    return page.run()


def figures(page):
    return {metric.label: metric.value for metric in page.metric}


def frames(page, chart):
    """The frames behind one chart, as they are sent to the browser."""
    for element in page.get("vega_lite_chart"):
        sets = {each.name: each.data.data for each in element.proto.datasets}
        if chart in element.proto.alt:
            return {name: pa.ipc.open_stream(d).read_pandas() for name, d in sets.items()}
    raise AssertionError(f"no chart {chart}")


def test_the_start_is_the_lesson():
    page = opened()
    assert not page.exception
    assert page.title[0].value == "Fits, with 48.8 GB to spare."
    assert figures(page) == {
        "Weights": "14.0 GB",
        "Cache": "17.2 GB",
        "Cache per token": "131 kB",
        "Time per token": "31.2 ms",
        "First token": "441 ms",
        "All requests": "513 tok/s",
    }


@pytest.mark.parametrize("example", presets.examples(), ids=lambda example: example.id)
def test_an_example_shows_its_plan(example):
    page = opened(example.query)
    values = dict(parse_qsl(example.query))
    result = plan(
        Scenario(
            model=values["model"],
            device=values["device"],
            concurrency=int(values["concurrency"]),
            context=int(values["context"]),
            bandwidth=float(values["bandwidth"]),
            memory=float(values["memory"]),
            peak=float(values["peak"]),
        )
    )
    assert not page.exception
    assert (page.title[0].value, page.markdown[0].value) == words.verdict(result)
    point = frames(page, "Time per token over")["point"]
    assert point.step[0] == pytest.approx(result.decode_step_s * 1e3)
    parts = frames(page, "Memory at this load")["rows"]
    assert parts.end.max() >= result.memory_needed_bytes / 1e9 * 0.999


@pytest.mark.parametrize(
    "query", [query for query, _, _ in BAD_LINKS], ids=lambda query: query[:40]
)
def test_a_bad_link_is_explained_and_the_page_is_whole(query):
    page = opened(query)
    assert not page.exception
    assert len(page.text) == 1
    assert len(page.metric) == 6
    assert len(page.get("vega_lite_chart")) == 4


def test_choosing_a_device_fills_its_numbers():
    page = opened("concurrency=4&memory=33")
    page.selectbox(key="device").set_value("h200-sxm").run()
    assert not page.exception
    scenario = page.session_state.scenario
    assert (scenario.bandwidth, scenario.memory, scenario.peak) == (4800, 150.109, 989.4)
    assert scenario.concurrency == 4


def test_choosing_a_model_changes_nothing_else():
    page = opened("concurrency=4&memory=33")
    page.selectbox(key="model").set_value("lesson-7b-mha").run()
    assert page.session_state.scenario == Scenario("lesson-7b-mha", concurrency=4, memory=33)
    assert figures(page)["Cache per token"] == "524 kB"


def test_a_change_settles_what_the_link_had_wrong():
    page = opened("concurrency=abc")
    assert "“abc” is not a number" in page.text[0].value
    page.selectbox(key="model").set_value("lesson-7b-mha").run()
    assert not page.text


def test_what_a_link_says_stays_text():
    page = opened("model=<b>x</b>**y**[z](http://z.example)")
    assert page.text[0].value.startswith("model: “<b>x</b>**y**")


@pytest.mark.parametrize("key", ["arithmetic", "numbers", "left-out"])
def test_what_is_folded_opens(key):
    page = opened()
    before = len(page.markdown)
    page.session_state[key] = True
    page.run()
    assert not page.exception
    assert len(page.markdown) > before
    if key == "numbers":
        assert len(page.dataframe) == 4
