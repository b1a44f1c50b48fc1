"""Two Learn pages as figures and pictures: managing the memory, and slower as it talks."""

from functools import lru_cache

import numpy as np
import pandas as pd

from planner import describe
from planner.charts.picture import Picture
from planner.inputs.question import Figure
from planner.inputs.scenario import Scenario
from planner.lesson import allocation, charts, streaming
from planner.lesson.states import LAST_TICK
from planner.lesson.view import View

CONTEXTS = np.geomspace(128, 131_072, 41).round()
FASTEST = 80.0  # tokens/s at which the speed page's axis ends, above all that it can show


# --- managing it --------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _run(arrivals, prefix, leak, seed):
    load = allocation.Load(
        ticks=LAST_TICK + 1,
        arrivals=arrivals / 100,
        prefix_tokens=prefix,
        leak=leak / 100,
        seed=seed,
    )
    return allocation.simulate(load)


def managing(values) -> View:
    """One memory served two ways: its blocks at a moment, and what is held and filled over time."""
    run = _run(values["arrivals"], int(values["prefix"]), values["leak"], values["seed"])
    tick = values["tick"]
    whole = allocation.summary(run)
    figures = []
    for way in (allocation.CONTIGUOUS, allocation.PAGED):
        row = whole.loc[way]
        figures.append(
            Figure(
                f"waste_{way}",
                f"Waste, {way}",
                f"{describe.significant(row.waste_percent)} %",
                "Room handed out and not filled, over the whole run.",
                float(row.waste_percent),
                "%",
            )
        )
    for way in (allocation.CONTIGUOUS, allocation.PAGED):
        row = whole.loc[way]
        figures.append(
            Figure(
                f"finished_{way}",
                f"Finished, {way}",
                describe.whole(row.finished),
                f"Requests finished by the end; {describe.whole(row.evictions)} were evicted and "
                f"begun again, {describe.whole(row.reused_tokens)} tokens were reused.",
                float(row.finished),
                "requests",
            )
        )
    pictures = []
    for way in (allocation.CONTIGUOUS, allocation.PAGED):
        pictures.append(_blocks(run, way, tick))
    for way in (allocation.CONTIGUOUS, allocation.PAGED):
        pictures.append(_history(run, way, tick, whole.loc[way].waste_percent))
    return View(tuple(figures), tuple(pictures))


def _blocks(run, way, tick):
    table = run.blocks(way, tick)
    table["column"], table["row"] = table["block"] % 16, table["block"] // 16
    table["filled"] = table["row"] + 1 - table["tokens"] / allocation.BLOCK_TOKENS
    table["end"], table["middle"] = table["row"] + 1, table["row"] + 0.5
    table["dark_ink"] = table["tokens"] > allocation.BLOCK_TOKENS / 2  # the sign stands on a fill
    table["dark_ink"] |= table["state"] == allocation.LEAKED
    table["sign"] = [
        "×" if row.state == allocation.LEAKED else str(row.owner) if row.owner else
        "S" if row.state == allocation.PREFIX else ""
        for row in table.itertuples()
    ]  # fmt: skip
    sentences = [
        f"Block {row.block}: {row.state}"
        + (f", request {row.owner}" if row.owner else "")
        + (f", {row.tokens} of {allocation.BLOCK_TOKENS} tokens" if row.state != "free" else "")
        for row in table.itertuples()
    ]
    counts = ", ".join(f"{n} blocks {state}" for state, n in table["state"].value_counts().items())
    return Picture(
        f"blocks_{way}",
        f"Blocks at tick {tick}, {way}",
        charts.blocks,
        (),
        {"rows": table},
        {"block": "block", "owner": "request", "tokens": "tokens", "state": "state"},
        f"Memory at tick {tick}, {way}: {counts}.",
        {"rows": sentences},
        (f"waste_{way}",),
    )


def _history(run, way, tick, waste):
    table = run.history[run.history["way"] == way]
    memory = run.load.blocks * allocation.BLOCK_TOKENS
    parts = {
        "never given back": table["leaked_tokens"],
        "filled": table["used_tokens"],
        "held and empty": table["held_tokens"] - table["used_tokens"] - table["leaked_tokens"],
    }
    start, tables = np.zeros(len(table)), []
    for part, tokens in parts.items():
        end = start + 100 * tokens.to_numpy() / memory
        tables.append(
            pd.DataFrame({"tick": table["tick"], "part": part, "start": start, "end": end})
        )
        start = end
    rows = pd.concat(tables, ignore_index=True)
    sentences = [f"Tick {r.tick}: {r.end - r.start:.0f} % {r.part}" for r in rows.itertuples()]
    return Picture(
        f"history_{way}",
        f"Memory over time, {way}",
        charts.history,
        (LAST_TICK,),
        {"rows": rows, "now": pd.DataFrame({"tick": [tick]})},
        {"tick": "tick", "part": "part", "start": "from (%)", "end": "to (%)"},
        f"Memory held over time, {way}. Of what is held, {describe.significant(waste)} % is "
        "empty over the whole run.",
        {"rows": sentences},
        (f"waste_{way}",),
    )


# --- slower as it talks -------------------------------------------------------------------------


def speed(values) -> View:
    """Streaming speed over the context, MHA beside GQA, against a reader's pace."""
    scenario = _lesson(values)
    now = streaming.speeds(scenario, (values["context"],))
    figures = []
    for row in now.itertuples():
        figures.append(
            Figure(
                row.attention.lower(),
                row.attention,
                describe.rate(row.tokens_per_s),
                f"{describe.duration(row.step_s)} a token, "
                f"{describe.significant(row.times_reading)} times a reader's pace.",
                row.tokens_per_s,
                "tokens/s",
            )
        )
    table = streaming.speeds(scenario, CONTEXTS)
    points = now.assign(label=now["tokens_per_s"].map(describe.significant))
    sentences = {
        name: [
            f"{row.attention}, {row.context_tokens:,.0f} tokens: {describe.rate(row.tokens_per_s)}"
            for row in each.itertuples()
        ]
        for name, each in (("rows", table), ("points", points))
    }
    pace = streaming.READING_TOKENS_PER_SECOND
    reading = {"at": [pace], "label": [f"reading, {describe.significant(pace, 2)} tokens/s"]}
    picture = Picture(
        "speeds",
        "Speed over the context",
        charts.speeds,
        (FASTEST,),
        {
            "rows": table,
            "points": points,
            "ends": table[table["context_tokens"] == CONTEXTS[36]],
            "reading": reading,
        },
        {
            "attention": "attention",
            "context_tokens": "context (tokens)",
            "tokens_per_s": "tokens/s",
            "times_reading": "times a reader's pace",
        },
        f"Tokens per second over the context. {'. '.join(sentences['points'])}.",
        sentences,
        ("mha", "gqa"),
        {"mha": (0, FASTEST), "gqa": (0, FASTEST)},
    )
    return View(tuple(figures), (picture,), sources=(streaming.READING_SOURCE,))


def lanes(values) -> list[dict]:
    """The texts that stream side by side: `label`, `words_per_s`, `figure` they give away."""
    rates = streaming.speeds(_lesson(values), (values["context"],))
    found = [(row.attention, row.tokens_per_s, row.attention.lower()) for row in rates.itertuples()]
    found.append(("Reading", streaming.READING_TOKENS_PER_SECOND, ""))
    return [
        {
            "label": f"{label}, {describe.rate(rate)}",
            "words_per_s": rate * streaming.WORDS_PER_TOKEN,
            "figure": figure,
        }
        for label, rate, figure in found
    ]


def _lesson(values):
    return Scenario("lesson-7b-mha", concurrency=values["concurrency"], context=values["context"])
