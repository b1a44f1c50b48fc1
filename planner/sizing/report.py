"""An answer as flat JSON and as lines of text; its numbers in one table, as all writers use it.

Keys say their unit (SI, US dollars) and are always there; null means without end, or that there is
no deployment, price or users to speak of. A key keeps its meaning.
"""

import math
from collections.abc import Callable
from datetime import date
from typing import NamedTuple

import numpy as np

from planner import __version__, describe
from planner.inputs import scenario as scenarios
from planner.sizing import prices
from planner.sizing.answer import Answer, dollars, verdict
from planner.sizing.curve import NEAR
from planner.sizing.query import encode, narrowed
from planner.sizing.steady import deployed

REPORT_VERSION = 1
RANKED_SHOWN = 20


class Entry(NamedTuple):
    """A number of an answer: its key, what it is, its unit, and where it comes from."""

    key: str
    label: str
    unit: str
    value: Callable[[Answer], float | None]


def _of(name):
    return lambda found: getattr(found.sizing, name)


def _state(name):
    return lambda found: getattr(found.sizing.state, name)


def _end(name, end):
    return lambda found: getattr(getattr(found.sizing, name), end)


def _worst(name):
    return lambda found: getattr(found.sizing.worst, name)


ENTRIES = (
    Entry("replicas_needed", "Replicas that keep the promise", "replicas", _of("needed")),
    Entry("replicas", "Replicas that share the load", "replicas", _of("replicas")),
    Entry("devices", "Devices", "devices", _of("devices")),
    Entry("usd_per_device_hour", "A device", "USD/h", lambda f: f.usd_each),
    Entry("usd_per_hour", "All devices", "USD/h", lambda f: f.usd),
    Entry("usd_per_hour_low", "All devices, cheapest offer", "USD/h", lambda f: _range(f, 0)),
    Entry("usd_per_hour_high", "All devices, costliest offer", "USD/h", lambda f: _range(f, 1)),
    Entry("usd_per_million_tokens", "A million tokens", "USD", lambda f: f.usd_per_million_tokens),
    Entry(
        "usd_per_million_output_tokens",
        "A million output tokens",
        "USD",
        lambda f: f.usd_per_million_output,
    ),
    Entry("utilisation", "Part of capacity in use", "", _state("utilisation")),
    Entry("rate_per_s", "Requests per second", "requests/s", _of("rate")),
    Entry("highest_rate_per_s", "Highest rate", "requests/s", _of("highest_rate")),
    Entry("highest_users", "Most users", "users", _of("highest_users")),
    Entry("running", "Running requests of a replica", "requests", _state("running")),
    Entry(
        "most_running", "Requests that a replica admits", "requests", lambda f: f.sizing.own.most
    ),
    Entry("waiting", "Waiting requests of a replica", "requests", _state("waiting")),
    Entry("ttft_s", "Time to first token, at the percentile", "s", _end("ttft_s", "value")),
    Entry("ttft_low_s", "Its short end", "s", _end("ttft_s", "low")),
    Entry("ttft_high_s", "Its long end", "s", _end("ttft_s", "high")),
    Entry("tpot_s", "Time per output token, at the percentile", "s", _end("tpot_s", "value")),
    Entry("tpot_low_s", "Its short end", "s", _end("tpot_s", "low")),
    Entry("tpot_high_s", "Its long end", "s", _end("tpot_s", "high")),
    Entry("bandwidth_used", "Bandwidth in use", "", _of("bandwidth_used")),
    Entry("arithmetic_used", "16-bit peak in use", "", _of("arithmetic_used")),
    Entry("blocks_used", "Cache blocks in use", "", _of("blocks_used")),
    Entry("worst_replicas_needed", "Replicas, all at their longest", "replicas", _worst("needed")),
    Entry(
        "worst_highest_rate_per_s",
        "Highest rate of one replica, all at their longest",
        "requests/s",
        lambda f: f.sizing.worst.highest_rate / f.sizing.worst.replicas,
    ),
    Entry(
        "paging_saves_bytes",
        "Memory that paging saves a replica",
        "bytes",
        lambda f: f.sizing.paging_saves_bytes,
    ),
    Entry(
        "prefix_saves_bytes",
        "Memory that the shared prefix saves a replica",
        "bytes",
        lambda f: f.sizing.prefix_saves_bytes,
    ),
    Entry(
        "prefix_saves_s",
        "Time to first token that the prefix saves",
        "s",
        lambda f: f.sizing.prefix_saves_s,
    ),
)
KEYS_OF_RANKED = ("devices", "replicas", "usd_per_hour", "rate_per_s", "utilisation", "ttft_s",
                  "tpot_s")  # fmt: skip


def _range(found, end):
    return None if found.usd_range is None else found.usd_range[end]


def as_dict(found: Answer) -> dict:
    """The flat report, and under `ranked` the best deployments; ready for strict JSON."""
    title, detail = verdict(found)
    own, price = found.sizing, found.price
    report = {
        "report_version": REPORT_VERSION,
        "app_version": __version__,
        "link": encode(found.ask),
        "verdict": title,
        "verdict_detail": detail,
        "keeps": found.keeps,
        "load": own.load if own else None,
        "deployment": name(own.scenario) if own else None,
        "plan_link": scenarios.encode(deployed(own)) if own else None,
        "newest_price": price.newest.isoformat() if price and price.newest else None,
    }
    for entry in ENTRIES:
        report[entry.key] = _plain(entry.value(found)) if own else None
    ranked = found.ranked
    report |= {
        "deployments_tried": ranked.tried,
        "deployments_refused": ranked.refused,
        "deployments_kept": len(ranked),
        "ranked": [_row(found, place) for place in range(min(len(ranked), RANKED_SHOWN))],
    }
    return report


def _row(found, place):
    """One ranked deployment, its figures by their keys; no percentile near saturation."""
    ranked = found.ranked
    values = [ranked.devices, ranked.replicas, ranked.usd, ranked.rate, ranked.utilisation]
    near = ranked.utilisation >= NEAR
    values += [np.where(near, np.nan, each) for each in (ranked.ttft_s, ranked.tpot_s)]
    scenario = ranked.scenario(place)
    return {
        "deployment": name(scenario),
        "link": encode(narrowed(found.ask, scenario)),
        **{key: _plain(each[place]) for key, each in zip(KEYS_OF_RANKED, values, strict=True)},
    }


def _plain(value):
    """A number as strict JSON has it: null for what is without end, or not there."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() else float(value)


def name(scenario) -> str:
    """A deployment in a line: device, weights, cache, engine, layout of one replica."""
    weights, cache = _formats(scenario)
    parts = (f"{weights} weights", f"{cache} cache", scenario.the_engine.name)
    return ", ".join([scenario.the_device.name, *parts, describe.layout(scenario.layout)])


def short_name(scenario) -> str:
    """The same for a table: H100 SXM5 80GB, FP8, 8-bit cache, vLLM since 0.34, tensor 2."""
    weights, cache = _formats(scenario)
    layout = [describe.layout(scenario.layout)] if scenario.layout.devices > 1 else []
    device = scenario.the_device.name.partition(" (")[0]
    return ", ".join([device, weights, f"{cache} cache", scenario.the_engine.name, *layout])


def _formats(scenario):
    """The formats of weights and cache, in short."""
    known = {"fp16": "16-bit"}
    formats = (scenario.weights, scenario.cache_k)
    return [known.get(each, each.upper()) for each in formats]


def priced(found: Answer, today: date) -> str:
    """Where the price comes from and how old it is, a sentence; “” without a deployment."""
    if found.sizing is None:
        return ""
    if found.ask.own_usd is not None:
        return f"{dollars(found.ask.own_usd)} for a device and hour, as you say."
    price = found.price
    if price is None:
        return "Nobody here offers this device: no cost is known."
    age = price.age_days(today)
    offers = f"{price.offers} offer{'' if price.offers == 1 else 's'}"
    old = "of unknown date" if age is None else f"the newest {age} days old"
    stale = f" Older than {prices.STALE_DAYS} days: a hint, no more." if price.stale(today) else ""
    ends = f"{dollars(price.low)} to {dollars(price.high)}"
    median = f"{dollars(price.usd)} for a device and hour, the median of {offers}"
    return f"{median} ({ends}), {old}.{stale}"


def lines(found: Answer, today: date):
    """The answer for a terminal."""
    yield from verdict(found)
    if found.sizing:
        yield name(found.sizing.scenario)
        yield priced(found, today)
        yield from site(found)
        yield ""
        for entry in ENTRIES:
            value = entry.value(found)
            if value is not None:
                yield f"{entry.label}: {written(entry, float(value))}"
    if len(found.ranked):
        yield ""
        yield f"Of {found.ranked.tried:,} deployments {len(found.ranked):,} keep the promise:"
        for place in range(min(len(found.ranked), RANKED_SHOWN)):
            row = _row(found, place)
            cost = (
                "no price" if row["usd_per_hour"] is None else f"{dollars(row['usd_per_hour'])}/h"
            )
            yield f"{row['devices']:,} × {row['deployment']}; {cost}"


def site(found: Answer) -> list[str]:
    """A sentence on the factor of a site where there is one."""
    factor = found.ask.site
    told = f"Everything takes {factor:g} times as long as predicted: the factor of the site."
    return [] if factor == 1 else [told]


def written(entry: Entry, value: float) -> str:
    """A number of the table in words, with its unit."""
    if math.isnan(value):
        return "known as a range only"
    if entry.unit in ("USD", "USD/h"):
        return f"{dollars(value)}{'/h' * (entry.unit == 'USD/h')}"
    if entry.unit == "s":
        return describe.duration(value)
    if entry.unit == "bytes":
        return describe.data(value)
    if entry.unit == "":
        return f"{100 * value:.0f} %"
    if entry.unit == "requests/s":
        return f"{describe.significant(value)} {entry.unit}"
    return f"{describe.whole(value)} {entry.unit.removesuffix('s') if value == 1 else entry.unit}"
