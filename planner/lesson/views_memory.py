"""Two Learn pages as figures and pictures: managing the memory, and slower as it talks."""

from functools import lru_cache

import numpy as np
import pandas as pd

from planner import describe
from planner.charts.axes import ceiling
from planner.charts.picture import Picture
from planner.inputs.question import Figure
from planner.inputs.scenario import Scenario
from planner.lesson import allocation, blocks, charts, equations, streaming
from planner.lesson.blocks import WAYS
from planner.lesson.states import LAST_TICK
from planner.lesson.view import Line, View
from planner.lesson.views_serving import about
from planner.plan import plan
from planner.units import GB

CONTEXTS = np.geomspace(128, 131_072, 41).round()
# Tokens/s at which the speed page's axis ends, above all that it can show at that bandwidth.
FASTEST, LESSON_BANDWIDTH = 80.0, 1000


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
    for way in WAYS:
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
    for way in WAYS:
        row = whole.loc[way]
        figures.append(
            Figure(
                f"finished_{way}",
                f"Finished, {way}",
                describe.whole(row.finished),
                f"By the end of the run; {describe.whole(row.evictions)} were preempted and begun "
                "again.",
                float(row.finished),
                "requests",
            )
        )
    gives = tuple(f"waste_{way}" for way in WAYS)
    return View(
        tuple(figures),
        tuple(_history(run, way, tick, whole.loc[way].waste_percent) for way in WAYS),
        about=f"A memory of {run.load.blocks} blocks of {allocation.BLOCK_TOKENS} tokens; a tick "
        "is one decode step. Both sides serve the same requests.",
        says=_managing_says(run, whole, tick),
        scenes=(blocks.scene(run, tick, gives),),
    )


def _managing_says(run, whole, tick):
    now = run.history[run.history["tick"] == tick].set_index("way")
    running = " and ".join(f"{now.loc[way].running:.0f} with {way}" for way in WAYS)
    waste = " and ".join(
        f"{describe.significant(whole.loc[way].waste_percent)} % with {way}" for way in WAYS
    )
    said = (
        f"Requests that run at tick {tick}: {running} allocation. Over the whole run, of the room "
        f"that was held, {waste} allocation was empty."
    )
    reused = whole.loc[allocation.PAGED].reused_tokens
    if reused:
        spared = plan(Scenario("lesson-7b-gqa", context=reused)).prefill_s
        said += (
            f" The shared prefix spared {describe.whole(reused)} prompt tokens a prefill, which "
            f"would be some {describe.duration(spared)} of computing for the lesson's 7B model: "
            "those first tokens came sooner."
        )
    lost = int(now.loc[allocation.PAGED].leaked_tokens)
    if lost:
        said += (
            f" {describe.whole(lost)} token places have leaked by now: their requests ended, by "
            "themselves or because they were cancelled, and were never freed."
        )
    return said


def _history(run, way, tick, waste):
    table = run.history[run.history["way"] == way]
    memory = run.load.blocks * allocation.BLOCK_TOKENS
    parts = {
        "leaked": table["leaked_tokens"],
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
    scenario, most = _lesson(values), ceiling(FASTEST * values["bandwidth"] / LESSON_BANDWIDTH)
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
        (most,),
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
        {"mha": (0, most), "gqa": (0, most)},
    )
    gives = ("mha", "gqa")
    return View(
        tuple(figures),
        (picture,),
        tuple(_speed_lines(scenario)),
        gives,
        (streaming.READING_SOURCE,),
        about=f"{about(plan(scenario))} A lower bound: weights and cache read once at full "
        "bandwidth.",
        says=_speed_says(scenario),
        scenes=(equations.step_seconds(scenario, gives),),
    )


def _both(scenario):
    for model in (scenario.the_model, scenario.the_model.counterpart()):
        yield model.attention, plan(scenario, model=model)


def _speed_says(scenario):
    parts = [
        f"with {name} {describe.significant(100 * own.cache_share_of_step, 2)} % of a step is "
        f"reading the cache, {describe.data(own.cache_read_bytes)} beside "
        f"{describe.data(own.weights_read_bytes)} of weights"
        for name, own in _both(scenario)
    ]
    users = scenario.concurrency
    shared = f" with {users:,} requests in the batch" if users > 1 else ""
    return f"After {scenario.context:,} tokens{shared}, {'; '.join(parts)}."


def _speed_lines(scenario):
    for name, own in _both(scenario):
        yield Line(
            f"Cache, {name}",
            "bytes a token · n · B",
            f"{own.cache_bytes_per_token:.0f} × {scenario.context} × {scenario.concurrency} / 10⁹",
            describe.data(own.cache_bytes),
        )
        yield Line(
            f"Step, {name}",
            "(W + C) / BW",
            f"({own.weights_bytes / GB:g} + {own.cache_bytes / GB:.6g}) / {scenario.bandwidth} "
            "× 1000",
            describe.duration(own.decode_step_s),
        )


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
    return Scenario(
        "lesson-7b-mha",
        concurrency=values["concurrency"],
        context=values["context"],
        bandwidth=values["bandwidth"],
    )
