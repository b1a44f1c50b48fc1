"""What the Size page shows beside its pictures: cards, sentences, and the table of the ranking."""

from datetime import date
from typing import NamedTuple

import numpy as np

from planner import describe
from planner.sizing import prices
from planner.sizing.answer import Answer, counted, dollars
from planner.sizing.levers import Lever
from planner.sizing.report import name, priced, short_name
from planner.sizing.steady import OVERLOADED, Sizing

BEST = 3
ROWS = 12  # of the table at first, the best of as many devices
MORE = 200  # of the whole table
KNOWN = {  # how much of a deployment was measured, by `Estimate.case`
    "sweep": "this set-up",
    "setup": "this model elsewhere",
    "model": "device and engine",
    "stranger": "neither",
    "": "whole steps of others",
}


class Card(NamedTuple):
    """A figure that leads: its label, its value, what is said below it, and whether it rests on
    prices that are out of date."""

    label: str
    value: str
    note: str
    stale: bool = False


def cards(found: Answer, today: date) -> list[Card]:
    """Devices, cost, time to first token, speed, highest load."""
    own, ask = found.sizing, found.ask
    percentile = f"{ask.percentile:g}th percentile"
    worst = own.worst
    each = worst.highest_rate / worst.replicas * own.replicas
    stable = own.load != OVERLOADED
    if own.highest_users is None:
        most = Card("Highest requests/s", describe.significant(own.highest_rate), "")
        yours = rate(own.rate)
    else:
        most = Card("Most users", describe.whole(own.highest_users), "")
        yours = f"{ask.users:,} users, {rate(own.rate)}"
    return [
        Card("Devices", f"{own.devices:,}", name(own.scenario)),
        _cost(found, today),
        Card(
            "TTFT (s)",
            between(own.ttft_s.low, own.ttft_s.high) if stable else "no end",
            f"{percentile}; promise {ask.ttft:g} s",
        ),
        Card(
            "Tokens/s per user",
            between(1 / own.tpot_s.high, 1 / own.tpot_s.low)
            if stable
            else f"≤ {describe.significant(1 / own.tpot_s.low, 2)}",
            f"{percentile}; promise {ask.speed:g} tokens/s",
        ),
        most._replace(note=f"yours: {yours}; all at their longest: {rate(each)}"),
    ]


def _cost(found, today):
    if found.usd is None:
        return Card("Cost", "not known", priced(found, today))
    ends = ""
    if found.usd_range:
        ends = f", {dollars(found.usd_range[0])} to {dollars(found.usd_range[1])}"
    note = f"{dollars(found.usd)} an hour{ends}{age(found, today)}"
    million = found.usd_per_million_tokens
    old = found.price is not None and found.price.stale(today)
    return Card("A million tokens", dollars(million), note, old)


def age(found: Answer, today: date) -> str:
    """How old the price is, after a semicolon; “” of one's own."""
    if found.price is None:
        return ""
    days = found.price.age_days(today)
    if days is None:
        return "; prices of unknown date"
    stale = ", out of date" if days > prices.STALE_DAYS else ""
    return f"; prices {describe.whole(days)} days old{stale}"


def rate(per_second: float) -> str:
    """Requests per second in words."""
    return f"{describe.significant(per_second)} requests/s"


def between(low: float, high: float, unit: str = "") -> str:
    """A range: 0.6–0.9 s; from its low end alone where it has no other."""
    unit = f" {unit}" if unit else ""
    if not np.isfinite(high):
        return f"{describe.significant(low, 2)}{unit} and more"
    first, last = describe.significant(low, 2), describe.significant(high, 2)
    return f"{first}{unit}" if first == last else f"{first}–{last}{unit}"


def sentences(found: Answer) -> list[str]:
    """The best of three devices, a sentence each."""
    ranked = found.ranked
    return [_sentence(ranked, place) for place in ranked.varied(BEST)]


def _sentence(ranked, place):
    scenario = ranked.scenario(place)
    cost = "" if np.isnan(ranked.usd[place]) else f", {dollars(ranked.usd[place])} an hour"
    count = int(ranked.replicas[place])
    replicas = counted(count, "replica").lower() if count < 10 else f"{count:,} replicas"
    return (
        f"{describe.whole(ranked.devices[place])} × {name(scenario)}: {replicas}{cost}, at "
        f"{100 * ranked.utilisation[place]:.0f} % of capacity."
    )


def known_from(own: Sizing) -> str:
    """How much of a deployment was measured, in words."""
    return KNOWN[own.found.estimate.case]


def table(found: Answer, places: list[int], ranges: bool, today: date) -> dict[str, list]:
    """The ranking at some places, by column. ranges: with bands, which take a moment each."""
    ranked = found.ranked
    first = {
        "devices": [int(ranked.devices[place]) for place in places],
        "deployment": [short_name(ranked.scenario(place)) for place in places],
        "$ / h": [_or_none(ranked.usd[place]) for place in places],
    }
    load = {"load": [f"{100 * ranked.utilisation[place]:.0f} %" for place in places]}
    load["price"] = [_price_age(found, ranked.scenario(place).device, today) for place in places]
    if not ranges:
        return first | load
    all_ = [ranked.sizing(place) for place in places]
    return {
        **first,
        "TTFT": [between(own.ttft_s.low, own.ttft_s.high, "s") for own in all_],
        "tokens/s": [between(1 / own.tpot_s.high, 1 / own.tpot_s.low) for own in all_],
        **load,
        "known from": [known_from(own) for own in all_],
    }


def changes(found: Answer, made: list[Lever]) -> dict[str, list]:
    """Each change with what it does to rate, times and cost, by column; today's first."""
    today = Lever("as it is", found.sizing)
    rows = [_change(found, each) for each in (today, *made)]
    return {name: [row[name] for row in rows] for name in rows[0]}


def _change(found, lever):
    own, usd = lever.sizing, found.usd_each
    needed = own.needed
    priced = usd is not None and np.isfinite(needed)
    devices = (needed + own.promise.spares) * own.scenario.layout.devices
    return {
        "change": lever.label,
        "highest rate": rate(own.highest_rate) if own.highest_rate else "none",
        "TTFT": between(own.ttft_s.low, own.ttft_s.high, "s"),
        "tokens/s": between(1 / own.tpot_s.high, 1 / own.tpot_s.low),
        "devices needed": describe.whole(devices),
        "$ / h": round(usd * devices, 2) if priced else None,
        "assumed": lever.note,
    }


def cases(found: Answer) -> dict[str, list[str]]:
    """What is expected beside the worst case, in which every request is as long as it may be."""
    own = found.sizing
    sizings = {"expected": own, "all at their longest": own.worst}
    return {"case": list(sizings)} | {
        label: [written(each) for each in sizings.values()]
        for label, written in {
            "devices": lambda e: describe.whole(
                (e.needed + e.promise.spares) * e.scenario.layout.devices
            ),
            "$ / h": lambda e: _dollars(found, e),
            "highest rate of a replica": lambda e: rate(e.highest_rate / e.replicas),
            "requests that a replica admits": lambda e: describe.whole(float(e.own.most)),
        }.items()
    }


def _dollars(found, own):
    if found.usd_each is None or not np.isfinite(own.needed):
        return "—"
    return dollars(found.usd_each * (own.needed + own.promise.spares) * own.scenario.layout.devices)


def savings(own: Sizing) -> list[str]:
    """What paging and the shared prefix save, a sentence each."""
    found = [
        f"Paging: {describe.data(own.paging_saves_bytes)} less in each replica than if every "
        "running request had reserved its longest."
    ]
    if own.prefix_saves_s > 0:
        found.append(
            f"Prefix reuse: {describe.duration(own.prefix_saves_s)} less prefill for each prompt, "
            f"and up to {describe.data(own.prefix_saves_bytes)} of memory in each replica."
        )
    return found


def _price_age(found, device, today):
    """How old a device's price is, for the table."""
    if found.ask.own_usd is not None:
        return "yours"
    own = prices.price(device, found.ask.tier)
    if own is None:
        return "none"
    days = own.age_days(today)
    age = "undated" if days is None else f"{days} days"
    return f"{age}, out of date" if own.stale(today) else age


def stale(found: Answer, place: int, today: date) -> bool:
    """Whether the price of a row of the ranking is an offer that is out of date."""
    device = found.ranked.scenario(place).device
    own = None if found.ask.own_usd is not None else prices.price(device, found.ask.tier)
    return own is not None and own.stale(today)


def _or_none(value):
    return None if np.isnan(value) else round(float(value), 2)


ASSUMED = (
    "In the steady state: what runs follows from Little's law and the step under load; waits are "
    "those of two queues, for prompts and for places; percentiles add what strays about the mean. "
    "Lengths are log-normal, replicas are dealt requests at random, and the shared prefix saves "
    "prefill, while its memory is not counted on. Ranges are 80 % bands of published measurements."
)
