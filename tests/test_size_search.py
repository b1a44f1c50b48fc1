"""The search: what one by one gives, in one go; and nothing that our own pool refuses."""

import csv
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from planner import Lengths, Promise, Workload, evaluate, size
from planner.files import rows
from planner.inputs import presets, support
from planner.maintain import prices as maintained
from planner.sizing import prices
from planner.sizing.batch import Tables, curves_of
from planner.sizing.search import COST, DEVICES, search
from planner.sizing.space import Space, choices
from planner.sizing.steady import curve_of, deployed

CHAT = Workload(
    users=300,
    think_s=20,
    prompt=Lengths(1020, 4083, 1155),
    output=Lengths(129, 451, 211),
    burst=1.5,
    prefix=300,
    hit_rate=0.9,
)
PROMISE = Promise(ttft_s=1.5, tpot_s=0.05, spares=1)
SMALL = {
    "llama-3.1-8b": Space("llama-3.1-8b", devices=("h100-sxm", "l4", "mi300x"), most_devices=2),
    "gpt-oss-20b": Space(
        "gpt-oss-20b",
        devices=("b200-sxm", "a100-80-sxm", "rtx-4090"),
        engines=("vllm-0.34", "sglang"),
        most_devices=4,
    ),
    "guesses": Space(
        "llama-3.1-8b",
        devices=("h100-sxm", "l4"),
        engines=("vllm-0.34", "sglang"),
        most_devices=2,
        beside=(("draft", "eagle"), ("accepted", 2.4), ("host_layers", 2), ("set", "layer_us:20")),
    ),
    "shared out": Space(
        "deepseek-v3",
        devices=("h200-sxm", "b200-sxm"),
        engines=("vllm-0.34",),
        weights=("fp8",),
        beside=(("dcp", 4), ("draft", "mtp"), ("set", "pool_gib:20")),
    ),
}


@pytest.fixture(scope="module", params=SMALL)
def small(request):
    space = SMALL[request.param]
    return space, choices(space), search(CHAT, PROMISE, space)


def test_the_search_finds_what_one_by_one_finds(small):
    _space, every, found = small
    usd = {device: each.usd for device, each in prices.priced().items()}
    expected = []
    for row in range(len(every)):
        answer = size(CHAT, PROMISE, every.scenario(row))
        if np.isfinite(answer.needed):
            cost = answer.devices * usd.get(answer.scenario.device, np.inf)
            expected.append((cost, answer.devices, answer.replicas, answer.scenario))
    assert found.tried == len(every) == len({every.scenario(row) for row in range(len(every))})
    ours = [
        (usd_, devices, count, found.scenario(place))
        for place, (usd_, devices, count) in enumerate(
            zip(found.usd, found.devices, found.replicas, strict=True)
        )
    ]
    assert len(ours) == len(expected) > 5

    def ranked(rows):
        return sorted(
            (cost, devices, count, repr(scenario)) for cost, devices, count, scenario in rows
        )

    assert ranked(ours) == ranked(expected)
    assert [row[:2] for row in ours] == sorted(row[:2] for row in expected)


def test_a_row_s_curve_is_the_deployment_s_own(small):
    _space, every, _ = small
    tables = Tables(every, CHAT, PROMISE)
    most = tables.most(every)
    for engine in range(len(every.engines)):
        own = np.flatnonzero((every.engine == engine) & (most >= 1))
        rows = every.only(own)
        together = curves_of(tables, rows, most[own])
        for place in range(0, len(own), 5):
            alone, _ = curve_of(rows.scenario(place), CHAT, PROMISE)
            for name in ("running", "tpot_s", "sway_s", "first_s", "tail_s", "each_s", "most"):
                got = getattr(together, name)[place]
                assert got == pytest.approx(getattr(alone, name), rel=1e-12), name


def test_nothing_is_recommended_that_the_pool_or_an_engine_refuses(small):
    _, _, found = small
    for place in range(0, len(found), 3):
        answer = found.sizing(place)
        assert answer.keeps
        assert evaluate(deployed(answer)).fits
        longest = round(CHAT.longest_tokens)
        assert evaluate(answer.scenario, concurrency=1, context=longest).fits
        assert not support.refusal(answer.scenario.engine, answer.scenario.device)


def test_what_is_ranked_is_what_the_deployment_says(small):
    _, _, found = small
    for place in found.varied(3):
        answer = found.sizing(place)
        assert found.ttft_s[place] == pytest.approx(float(answer.state.ttft_tail_s))
        assert found.tpot_s[place] == pytest.approx(float(answer.state.tpot_tail_s))
        assert found.rate[place] == pytest.approx(answer.rate)


def test_by_devices_or_by_cost(small):
    space, _, found = small
    by_devices = search(CHAT, PROMISE, space, rank=DEVICES)
    assert list(by_devices.devices) == sorted(by_devices.devices)
    priced = found.usd[~np.isnan(found.usd)]
    assert list(priced) == sorted(priced)
    assert sorted(by_devices.usd) == sorted(found.usd)


def test_a_price_of_one_s_own_changes_the_order():
    space = replace(SMALL["llama-3.1-8b"], devices=("h100-sxm", "l4"))
    cheap = search(CHAT, PROMISE, space, usd={"h100-sxm": 0.01, "l4": 9.0}, rank=COST)
    dear = search(CHAT, PROMISE, space, usd={"h100-sxm": 9.0, "l4": 0.01}, rank=COST)
    assert cheap.scenario(0).device == "h100-sxm"
    assert dear.scenario(0).device == "l4"


def test_the_front_is_beaten_by_none(small):
    _, _, found = small
    speed, tokens = found.front
    assert len(speed) == len(found.front_rows) > 1
    assert all(np.diff(speed) < 0)
    assert all(np.diff(tokens) > 0)
    assert len({*found.varied(9)}) == len(found.varied(9))


def test_nothing_is_found_where_nothing_is_fast_enough():
    found = search(CHAT, replace(PROMISE, tpot_s=1e-5), SMALL["llama-3.1-8b"])
    assert len(found) == 0
    assert found.front.shape == (2, 0)


def test_progress_ends_at_all():
    seen = []
    search(CHAT, PROMISE, SMALL["llama-3.1-8b"], progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1


def test_what_is_tried():
    assert Space("llama-3.1-70b").tried_weights() == ("fp16", "fp8")
    assert Space("llama-3.1-70b", least_bits=4).tried_weights() == (
        "fp16",
        "fp8",
        "nvfp4",
        "int4-g128",
    )
    assert Space("gpt-oss-120b", least_bits=4).tried_weights() == (
        presets.model("gpt-oss-120b").dtype,
    )
    dense = Space("llama-3.1-70b", most_devices=16).tried_layouts()
    assert {each.devices for each in dense} == {1, 2, 4, 8, 16}
    assert {each.data for each in dense} == {1}
    every = choices(Space("llama-3.1-8b", devices=("a100-80-sxm",)))
    assert {every.weights[each] for each in every.weight} == {"fp16"}  # it has no 8-bit floats


# --- prices ---------------------------------------------------------------------------------------


def offer(usd, day="2026-05-01", **more):
    day = day and date.fromisoformat(day)
    given = {"provider": "one", "tier": "neocloud", "provisioning": "on-demand"} | more
    return prices.Offer(
        "h100-sxm", given["provider"], given["tier"], given["provisioning"], usd, day, ""
    )


def test_a_price_is_the_median_of_what_is_offered_on_demand():
    offers = [offer(2), offer(3, "2026-06-01"), offer(7), offer(0.1, provisioning="spot")]
    found = prices.price("h100-sxm", among=offers)
    assert (found.usd, found.low, found.high, found.offers) == (3, 2, 7, 3)
    assert found.newest == date(2026, 6, 1)
    assert found.age_days(date(2026, 6, 11)) == 10
    assert not found.stale(date(2026, 6, 11))
    assert found.stale(date(2026, 12, 1))


def test_ends_of_a_survey_widen_the_range_alone():
    offers = [offer(2), offer(9, provider="range high")]
    found = prices.price("h100-sxm", among=offers)
    assert (found.usd, found.high, found.offers) == (2, 9, 1)
    assert prices.price("h100-sxm", among=offers[1:]).usd == 9


def test_without_a_date_a_price_is_old():
    found = prices.price("h100-sxm", among=[offer(2, "")])
    assert found.age_days(date(2026, 1, 1)) is None
    assert found.stale(date(2026, 1, 1))
    assert prices.price("h100-sxm", "hyperscaler", [offer(2)]) is None


def test_every_offer_is_for_a_device_that_is_known():
    assert {each.device for each in prices.offers()} <= set(presets.accelerators())
    assert {each.tier for each in prices.offers()} <= {*prices.CLOUD, "index"}
    assert all(0 < each.usd < 100 and each.source for each in prices.offers())
    assert set(prices.priced("hyperscaler")) < set(prices.priced())


# --- renewing prices ------------------------------------------------------------------------------

CATALOGUE = [
    {"AcceleratorName": "H100", "AcceleratorCount": "8", "Price": "80", "SpotPrice": "40"},
    {"AcceleratorName": "H100", "AcceleratorCount": "1", "Price": "12", "SpotPrice": ""},
    {"AcceleratorName": "", "AcceleratorCount": "", "Price": "0.1", "SpotPrice": ""},
    {"AcceleratorName": "Abacus", "AcceleratorCount": "1", "Price": "1", "SpotPrice": ""},
]


def test_a_catalogue_gives_the_median_price_of_one_device():
    found, unknown = maintained.offered(CATALOGUE)
    assert found == {("h100-sxm", "on-demand"): 11, ("h100-sxm", "spot"): 5}
    assert unknown == {"Abacus"}
    assert set(maintained.DEVICES.values()) <= set(presets.accelerators())


def test_only_the_provider_s_own_rows_are_renewed():
    own = rows("prices.csv")
    mine = {("h100-sxm", "on-demand"): 11.0}
    found = maintained.renewed(own, mine, "aws", "hyperscaler", date(2026, 12, 1), "here")
    gone = [row for row in own if row not in found]
    assert {(row["device"], row["provider"], row["provisioning"]) for row in gone} == {
        ("h100-sxm", "aws", "on-demand")
    }
    assert found[-1]["usd_per_device_hour"] == "11"
    assert len(found) == len(own) - len(gone) + 1
    assert list(found[-1]) == list(own[0])


def test_a_catalogue_s_file_is_read_and_written(tmp_path, monkeypatch):
    monkeypatch.setattr(maintained, "PRESETS", tmp_path)
    source = tmp_path / "vms.csv"
    with open(source, "w", newline="") as file:
        writer = csv.DictWriter(file, list(CATALOGUE[0]))
        writer.writeheader()
        writer.writerows(CATALOGUE)
    given = ["--provider", "aws", "--tier", "hyperscaler", "--date", "2026-12-01", "--source", "x"]
    maintained.main([str(source), *given])
    with open(tmp_path / "prices.csv", newline="") as file:
        written = list(csv.DictReader(file))
    assert [row["provider"] for row in written[-2:]] == ["aws", "aws"]
