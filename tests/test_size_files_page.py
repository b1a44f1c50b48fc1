"""The Size page without a browser: a simulation, and a benchmark's result."""

import json

import numpy as np
import pytest

from planner.sizing import query
from planner.sizing.answer import answer
from planner.sizing.arrivals import Requests
from planner.sizing.check import check
from planner.sizing.check_pictures import pictures, verdict
from tests.test_benchmarks import GUIDELLM, LLM_D, VLLM
from tests.test_evidence_pages import opened
from tests.test_size_page import keyed

OWN = "device=h100-sxm&engine=vllm-0.34&weights=fp16&cache=fp16&tp=1&rate=8"


def unfolded(key, text=OWN):
    page = opened("size", text)
    page.session_state[key] = True
    return page.run()


def shown(page):
    return [each.value for each in page.markdown]


def test_a_simulation_is_shown_with_its_seed_in_the_link():
    page = unfolded("size-check", f"{OWN}&seed=3")
    assert not page.exception
    ask, notices = query.decode(f"{OWN}&seed=3")
    assert notices == ()
    assert verdict(check(answer(ask).sizing, seed=3)) in shown(page)
    keyed(page.number_input, "size-seed").set_value(4).run()
    assert page.session_state.ask.seed == 4
    assert verdict(check(answer(ask).sizing, seed=4)) in shown(page)
    keyed(page.selectbox, "size-check-count").set_value(2_000).run()
    assert verdict(check(answer(ask).sizing, 2_000, seed=4)) in shown(page)


def test_pictures_of_a_simulation_say_what_they_show():
    ask, _ = query.decode(OWN)
    found = check(answer(ask).sizing, 2_000)
    spread, queue, blocks = pictures(found)
    assert list(spread.table()["requests (%)"]) == sorted(spread.table()["requests (%)"])
    assert f"{ask.percentile:g} % within" in spread.alt
    assert set(queue.table()["line"]) == {"running", "waiting"}
    assert 0 <= min(blocks.data["rows"]["held"]) <= max(blocks.data["rows"]["held"]) <= 100
    for picture in (spread, queue, blocks):
        assert all(picture.specification(dark)["layer"] for dark in (False, True))


def test_requests_that_are_all_too_long_are_said_to_be():
    ask, _ = query.decode(OWN)
    load = Requests(np.zeros(3), np.full(3, 900_000), np.full(3, 5))
    found = check(answer(ask).sizing, trace=load)
    assert not found.keeps
    assert verdict(found).startswith("None of the requests was served")


def test_what_is_overloaded_is_said():
    page = unfolded("size-check", OWN.replace("rate=8", "rate=40") + "&replicas=1")
    assert not page.exception
    assert any("does not keep the promise" in each for each in shown(page))


@pytest.mark.parametrize(
    ("text", "tool", "runs"),
    [(json.dumps(VLLM), "vllm bench serve", 1), (json.dumps(GUIDELLM), "GuideLLM", 4),
     (LLM_D, "llm-d benchmark report", 1)],
)  # fmt: skip
def test_a_result_is_pasted_and_compared(text, tool, runs):
    page = unfolded("size-benchmark")
    keyed(page.text_area, "size-benchmark-text").set_value(text).run()
    assert not page.exception
    assert sum(each.startswith(f"**{tool}") for each in shown(page)) == runs


def test_the_site_of_a_result_becomes_part_of_the_question():
    page = unfolded("size-benchmark")
    keyed(page.text_area, "size-benchmark-text").set_value(json.dumps(VLLM)).run()
    assert [each.value for each in page.warning] == [
        "2 of 320 requests failed; what they took is not in it."
    ]
    keyed(page.button, "size-site-0").click().run()
    assert not page.exception
    site = page.session_state.ask.site
    assert 1.02 < site < 1.3
    assert f"site={site:g}" in query.encode(page.session_state.ask)
    assert any(f"takes {site:g} times as long as predicted" in each.value for each in page.caption)


def test_what_is_no_result_is_said():
    page = unfolded("size-benchmark")
    keyed(page.text_area, "size-benchmark-text").set_value("nothing: 5").run()
    assert not page.exception
    assert "of no known tool" in page.error[0].value
