"""The Size page without a browser: what it asks, what it answers, and where it leads."""

import math
from datetime import date, timedelta

import pytest

from planner.files import rows
from planner.inputs.scenario import Scenario
from planner.sizing import drawings, levers, prices, published, query, report, view
from planner.sizing.answer import answer, verdict
from planner.sizing.query import Ask
from planner.sizing.steady import deployed
from tests.test_evidence_pages import opened

LLAMA = "model=llama-3.1-70b"
MISSED = f"{LLAMA}&device=l40s&tp=4&weights=fp16&cache=fp16&engine=vllm-0.34&rate=5"
NO_ROOM = f"{LLAMA}&device=l4&tp=1&weights=fp16&cache=fp16&engine=vllm-0.34&rate=5"


def keyed(elements, key):
    return next(each for each in elements if each.key == key)


@pytest.mark.parametrize(
    "text", ["", LLAMA, MISSED, NO_ROOM, f"{LLAMA}&ttft=0.01", "rate=3&cap=90"]
)
def test_the_page_says_what_the_answer_says(text):
    page = opened("size", text)
    assert not page.exception
    ask, notices = query.decode(text)
    assert notices == ()
    found = answer(ask)
    title, detail = verdict(found)
    assert title in page.title[0].value.replace("&#36;", "$")
    assert detail in [each.value.replace("&#36;", "$") for each in page.markdown]
    assert page.session_state.ask == ask
    cards = view.cards(found, date.today()) if found.sizing else []
    shown = {each.label: each.value.replace("\\$", "$") for each in page.metric}
    assert shown == {
        card.label: f":gray[{card.value}]" if card.stale else card.value for card in cards
    }


def test_a_question_is_changed_by_its_fields():
    page = opened("size", LLAMA)
    keyed(page.number_input, "size-users").set_value(2000).run()
    assert page.session_state.ask.users == 2000
    keyed(page.selectbox, "size-workload").set_value("summary").run()
    ask = page.session_state.ask
    assert (ask.prompt, ask.prompt_p95, ask.output_mean, ask.users) == (8192, 8192, 1024, 2000)
    keyed(page.number_input, "size-prompt").set_value(4096).run()
    assert page.session_state.ask.prompt_p95 == 4096
    keyed(page.button_group, "size-by").set_value("rate").run()
    assert (page.session_state.ask.rate, page.session_state.ask.users) == (1, 0)
    keyed(page.selectbox, "size-device").set_value("h100-sxm").run()
    keyed(page.number_input, "size-price").set_value(1.5).run()
    assert page.session_state.ask.usd == {"h100-sxm": 1.5}
    assert not page.exception
    assert page.session_state.ask_notices == ()


def test_what_a_link_has_wrong_is_said():
    page = opened("size", "model=x&speed=-1&prompt=9")
    assert not page.exception
    told = page.text[0].value
    assert "“x” is not known" in told
    assert "speed" in told
    assert page.session_state.ask == Ask(speed=0.1, **lengths("prompt=9"))


def lengths(text):
    ask, _ = query.decode(text)
    return {name: getattr(ask, name) for name in ("prompt", "prompt_p95", "prompt_mean")}


def test_the_whole_ranking_and_what_is_folded():
    page = opened("size", LLAMA)
    page.session_state["size-numbers"] = True
    page.session_state["size-levers"] = True
    page.session_state["size-cases"] = True
    keyed(page.toggle, "size-all").set_value(True).run()
    assert not page.exception
    found = answer(query.decode(LLAMA)[0])
    tables = [each.value for each in page.dataframe]
    assert len(tables[0]) == min(len(found.ranked), view.MORE)
    assert list(tables[0]["devices"]) == found.ranked.devices[: view.MORE].astype(int).tolist()
    assert len(tables[1]) == len(levers.levers(found.sizing)) + 1
    assert list(tables[2]["case"]) == ["expected", "all at their longest"]
    assert len(tables[3]) <= len(report.ENTRIES)


def test_the_best_opens_in_the_plan():
    page = opened("size", LLAMA)
    keyed(page.button, "size-plan").click().run()
    best = answer(query.decode(LLAMA)[0]).sizing
    assert page.session_state.scenario == deployed(best)
    assert isinstance(page.session_state.scenario, Scenario)


def test_the_best_three_are_compared():
    page = opened("size", LLAMA)
    keyed(page.button, "size-compare").click().run()
    found = answer(query.decode(LLAMA)[0])
    expected = [deployed(found.ranked.sizing(place)) for place in found.ranked.varied(3)]
    assert [each.scenario for each in page.session_state.comparison.variants] == expected


# --- pictures and levers --------------------------------------------------------------------------

TODAY = date(2026, 12, 1)


@pytest.fixture(scope="module")
def found():
    return answer(query.decode(LLAMA)[0])


def test_the_front_s_picture(found):
    picture = drawings.front(found, TODAY)
    points = picture.frames["points"]
    best = found.ranked.varied(drawings.SHOWN)
    assert list(points["tokens"]) == [found.ranked.tokens[each] for each in best]
    assert points["best"].sum() == 1
    assert (points["speed"] >= found.ask.speed).all()
    assert picture.table().shape[1] == 2
    assert all(picture.specification(dark)["layer"] for dark in (False, True))


def test_what_rests_on_old_prices_is_grey(found):
    later = TODAY + timedelta(days=prices.STALE_DAYS + 1)
    for day, some in ((TODAY, False), (later, True)):
        old = [view.stale(found, place, day) for place in range(len(found.ranked))]
        newest = [
            prices.price(found.ranked.scenario(place).device).newest for place in range(len(old))
        ]
        assert old == [each is None or (day - each).days > prices.STALE_DAYS for each in newest]
        points = drawings.front(found, day).frames["points"]
        assert points["stale"][0] == view.cards(found, day)[1].stale == some
        assert ("out of date" in points["sentence"][0]) == some
    own = answer(query.decode(f"{LLAMA}&device=l4&price=1")[0])
    assert not any(view.stale(own, place, later) for place in range(len(own.ranked)))
    page = opened("size", "model=llama-3.1-8b&device=l4&speed=10&ttft=2")  # offers of January
    assert "font-style" in str(page.dataframe[0].proto)
    assert ":gray[" in page.metric[1].value


def test_where_it_tips_over():
    own = answer(query.decode(f"{LLAMA}&speed=1")[0]).sizing  # the first token alone counts
    rows = drawings.tipping(own).frames["rows"]
    for _, line in rows.groupby("line"):
        assert line["ttft"].is_monotonic_increasing
    tail = rows[rows["line"] == "95th percentile"]
    kept = tail[tail["ttft"] <= own.promise.ttft_s]["rate"].max()
    assert kept == pytest.approx(own.highest_rate, rel=0.1)


NEAR_RUNS = "model=llama-3.1-8b&device=h100-sxm&tp=1&weights=fp16&cache=fp16&engine=vllm-0.34"


def test_published_runs_stand_beside_the_curve_with_their_source():
    alone, two = (
        answer(query.decode(f"{NEAR_RUNS}&rate={rate}&replicas={count}")[0]).sizing
        for rate, count in ((8, 1), (16, 2))
    )
    stated = {row["id"]: row for row in rows("measurements/steps.csv")}
    known = {(float(r["requests"]), float(r["step_ms"]), float(r["ttft_ms"]))
             for r in stated.values() if r["ttft_ms"] and r["device"] == "h100-sxm"}  # fmt: skip
    found = published.runs(alone)
    assert len(found) == published.MOST
    for each in found:
        figures = (each.running, 1e3 * each.tpot_s, 1e3 * each.ttft_s)
        assert any(figures == pytest.approx(row, rel=1e-3) for row in known)
        stay = each.ttft_s + (each.output_tokens - 1) * each.tpot_s
        assert each.rate * stay == pytest.approx(each.running)
        assert each.source in each.sentence
    drawn, twice = (drawings.tipping(own).frames["measured"] for own in (alone, two))
    assert list(twice["rate"]) == [2 * rate for rate in drawn["rate"]]
    assert "2 times its rate" in twice["sentence"][0]
    guessed = answer(query.decode(f"{NEAR_RUNS}&rate=8&draft=eagle")[0]).sizing
    assert published.runs(guessed) == []


def test_a_lever_is_a_sizing_with_one_thing_changed(found):
    own = found.sizing
    made = levers.levers(own)
    assert len({each.label for each in made}) == len(made) >= 6
    factors = [each.rate_factor(own) for each in made]
    assert factors == sorted(factors, reverse=True)
    by = {each.label: each for each in made}
    assert by["One more replica"].sizing.replicas == own.replicas + 1
    assert by["Half the prompt"].rate_factor(own) > 1
    assert by["Twice the bandwidth"].rate_factor(own) > 1
    assert by["Prefix reuse"].sizing.workload.spared == own.workload.prompt.mean / 2
    assert by["Half the context"].rate_factor(own) > by["Half the prompt"].rate_factor(own)
    assert by["Twice the devices in a replica"].sizing.devices == 2 * own.devices
    guessed = by["Speculative decoding"].sizing.scenario
    assert (guessed.draft, guessed.drafted, guessed.accepted) == ("eagle", 3, 2)
    assert by["Prefill on devices of its own"].rate_factor(own) >= 1
    rows = view.changes(found, made)
    assert rows["change"] == ["as it is", *(each.label for each in made)]
    bars = drawings.tornado(own, made).frames["rows"]
    assert list(bars["better"]) == [factor >= 1 for factor in factors]


def test_a_longer_acceptance_helps_and_is_part_of_the_question():
    text = f"{LLAMA}&device=h100-sxm&tp=4&weights=fp8&cache=fp8&engine=vllm-0.34&rate=1"
    factors = []
    for accepted in (1, 2.5, 4):
        own = answer(query.decode(f"{text}&accepted={accepted}")[0]).sizing
        (made,) = (each for each in levers.levers(own) if each.label == "Speculative decoding")
        assert f"yields {accepted:g}" in made.note
        factors.append(float(made.sizing.state.tpot_s / own.state.tpot_s))
    assert factors == sorted(factors, reverse=True)
    assert factors[0] > 1 > factors[-1]
    with_it = answer(query.decode(f"{text}&accepted=2.5&draft=eagle")[0]).sizing
    assert with_it.state.tpot_s / own.state.tpot_s == pytest.approx(factors[1], rel=1e-6)
    assert "Without speculative decoding" in {each.label for each in levers.levers(with_it)}


@pytest.mark.parametrize(
    ("text", "missed", "phase"),
    [
        (f"{LLAMA}&speed=44", None, levers.DECODE),
        (f"{LLAMA}&ttft=0.2&speed=1&device=h100-sxm", None, levers.PREFILL),
        (MISSED, True, levers.DECODE),
        (f"{LLAMA}&device=h100-sxm&tp=4&weights=fp16&cache=fp16&engine=vllm-0.34&rate=12"
         "&replicas=1", True, levers.PLACES),
    ],
)  # fmt: skip
def test_which_phase_is_to_blame(text, missed, phase):
    own = answer(query.decode(text)[0]).sizing
    told = levers.diagnosis(own)
    assert told.phase == phase
    assert told.missed == (not own.keeps)
    assert missed in (None, told.missed)
    assert told.remedies


def test_changes_that_bring_nothing_are_drawn_at_the_edge():
    own = answer(query.decode(MISSED)[0]).sizing
    made = levers.levers(own)
    assert own.highest_rate == 0
    bars = drawings.tornado(own, made).frames["rows"]
    assert set(bars["factor"]) == {drawings.LEAST}


def test_cards_of_what_is_overloaded_promise_nothing():
    text = (
        f"{LLAMA}&device=h100-sxm&tp=4&weights=fp16&cache=fp16&engine=vllm-0.34&rate=12&replicas=1"
    )
    shown = view.cards(answer(query.decode(text)[0]), date.today())
    assert {card.label: card.value for card in shown}["TTFT (s)"] == "no end"


def test_ranges_in_words():
    assert view.between(0.234, 1.82, "s") == "0.23–1.8 s"
    assert view.between(0.5, math.inf, "s") == "0.50 s and more"
    assert view.between(30, 30.2, "tokens/s") == "30 tokens/s"
