"""The later Learn pages as figures and pictures: phases, cost, managing, speed."""

from functools import lru_cache

import numpy as np
import pandas as pd

from planner import words
from planner.accelerator import GB
from planner.lesson import allocation, levers, roofline, streaming
from planner.lesson.states import LAST_TICK
from planner.lesson.view import Picture, View, decade
from planner.lesson.words import sources
from planner.plan import TERA
from planner.question import Figure
from planner.scenario import Scenario
from planner.sweep import Drawing, ceiling

BATCHES = 2.0 ** np.arange(11)
CONTEXTS = np.geomspace(128, 131_072, 41).round()
FASTEST = 80.0  # tokens/s at which the speed page's axis ends, above all that it can show


# --- two phases ---------------------------------------------------------------------------------


def phases(values) -> View:
    """Prefill and decode under the device's roof, and one request from arrival to last token."""
    scenario = Scenario(
        model=values["model"],
        device=values["device"],
        concurrency=values["batch"],
        context=values["prompt"],
    )
    times = roofline.request_times(scenario, values["prompt"], values["output"])
    points = roofline.phases(scenario, values["prompt"], values["batch"])
    decode = points[points["phase"] == roofline.DECODE].iloc[0]
    figures = (
        Figure(
            "ttft",
            "First token",
            words.duration(times.ttft_s),
            f"The longer of computing the prompt ({words.duration(times.prefill_s)}) and reading "
            f"the weights ({words.duration(times.weights_s)}).",
            times.ttft_s,
            "s",
        ),
        Figure(
            "tpot",
            "Each later token",
            words.duration(times.tpot_s),
            "Mean of the decode steps: all weights and all caches read once.",
            times.tpot_s * 1e3,
            "ms",
        ),
        Figure(
            "total",
            "Whole answer",
            words.duration(times.total_s),
            f"First token and {values['output'] - 1:,} decode steps.",
            times.total_s,
            "s",
        ),
        Figure(
            "share",
            "Peak used in decode",
            f"{words.significant(100 * decode.share_of_peak, 2)} %",
            "How much of the device's arithmetic decode can use at the speed of its memory.",
            100 * decode.share_of_peak,
            "%",
        ),
    )
    return View(
        figures, (_roof(scenario, points, values), _timeline(scenario, values, times.total_s))
    )


def _roof(scenario, points, values):
    tera = {"attainable": lambda table: table["attainable"] / TERA}
    roof = roofline.roof(scenario).assign(**tera)
    trail = roofline.phases(scenario, values["prompt"], BATCHES).assign(**tera)
    trail = trail[trail["phase"] == roofline.DECODE]
    points = points.assign(**tera, label=points["phase"])
    for table in (points, trail):
        table["sentence"] = [
            f"{row.phase}, batch {row.batch:,.0f}, prompt {row.prompt_tokens:,}: "
            f"{words.significant(row.intensity)} FLOPs per byte, at most "
            f"{words.significant(row.attainable)} TFLOP/s, held back by {row.bound}"
            for row in table.itertuples()
        ]
    low = decade(float(roof["attainable"].min())) / 10
    high = decade(1.5 * float(roof["attainable"].max()))
    columns = {
        "phase": "phase",
        "batch": "batch",
        "prompt_tokens": "prompt (tokens)",
        "intensity": "FLOPs per byte",
        "attainable": "attainable (TFLOP/s)",
        "share_of_peak": "share of peak",
        "bound": "held back by",
    }
    ridge = pd.DataFrame({"at": [roofline.ridge(scenario)], "label": ["ridge"]})
    return Picture(
        "Under the roof",
        "roof",
        Drawing(
            {"rows": pd.concat([points, trail]), "roof": roof, "points": points, "trail": trail,
             "ridge": ridge},
            ((low, high),),
            columns,
            "Roofline. " + ". ".join(points["sentence"]) + ".",
        ),
        ("share",),
    )  # fmt: skip


def _timeline(scenario, values, total):
    bars = roofline.timeline(scenario, values["prompt"], values["output"], bars=60)
    bars["part"] = bars["phase"].map({roofline.PREFILL: "compute", roofline.DECODE: "weights"})
    bars["sentence"] = [
        f"Token {row.first_token:,}: prefill, {words.duration(row.step_s)}"
        if row.phase == roofline.PREFILL
        else f"Tokens {row.first_token:,} to {row.last_token:,}: {words.duration(row.step_s)} each"
        for row in bars.itertuples()
    ]
    most = ceiling(total)
    return Picture(
        "One request in time",
        "timeline",
        Drawing(
            {"rows": bars},
            (most,),
            {
                "phase": "phase",
                "first_token": "first token",
                "last_token": "last token",
                "start_s": "from (s)",
                "end_s": "to (s)",
                "step_s": "each (s)",
            },
            f"Time line of one request: first token after {words.duration(bars['end_s'].iloc[0])}, "
            f"last after {words.duration(total)}.",
        ),
        ("ttft", "tpot", "total"),
        {"ttft": (0, most), "total": (0, most)},
        "x",
    )


# --- what it costs ------------------------------------------------------------------------------


def cost(values) -> View:
    """Cache bytes with the chosen levers pulled, and with each lever alone."""
    context, concurrency = values["context"], values["concurrency"]
    pulled = levers.stack(
        context,
        concurrency,
        heads=None if values["heads"] == "mla" else int(values["heads"]),
        bytes_per_element=int(values["bits"]) / 8,
        window=None if values["window"] == "none" else int(values["window"]),
    )
    now, first = pulled.iloc[-1], pulled.iloc[0]
    figures = (
        Figure(
            "token",
            "One token",
            words.data(now.bytes_per_token),
            f"{words.whole(now.bytes_per_token)} bytes, in all layers of one request.",
            now.bytes_per_token / 1e3,
            "kB",
        ),
        Figure(
            "request",
            "One request",
            words.data(now.request_bytes),
            f"{words.gib(now.request_bytes)}. {context:,} tokens.",
            now.request_bytes / GB,
            "GB",
        ),
        Figure(
            "load",
            "All requests",
            words.data(now.load_bytes),
            f"{words.gib(now.load_bytes)}. {words.requests(concurrency)}.",
            now.load_bytes / GB,
            "GB",
        ),
        Figure(
            "share",
            "Of the start",
            f"{words.significant(100 * now.share)} %",
            "Of MHA at 16 bits without a window.",
            100 * now.share,
            "%",
        ),
    )
    most = ceiling(first.load_bytes / GB)
    pictures = (
        _bars("Levers pulled, one after another", pulled, most, {"load": (0, most)}),
        _bars("Each lever alone", levers.compare(context, concurrency), most, {}),
    )
    return View(figures, pictures)


def _bars(title, table, most, axes):
    table["gigabytes"] = table["load_bytes"] / GB
    table["label"] = table["load_bytes"].map(words.data)
    table["sentence"] = [
        f"{row.lever}: {words.data(row.bytes_per_token)} a token, {row.label} in all. "
        f"{row.note} {sources()[row.source].cited if row.source else ''}".strip()
        for row in table.itertuples()
    ]
    return Picture(
        title,
        "levers",
        Drawing(
            {"rows": table},
            (most, len(table)),
            {
                "lever": "lever",
                "bytes_per_token": "bytes per token",
                "request_bytes": "bytes per request",
                "load_bytes": "bytes in all",
                "note": "what it costs",
            },
            f"{title}. " + "; ".join(f"{r.lever}: {r.label}" for r in table.itertuples()) + ".",
        ),
        ("token", "request", "load", "share"),
        axes,
        "x",
    )


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
                f"{words.significant(row.waste_percent)} %",
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
                words.whole(row.finished),
                f"Requests finished by the end; {words.whole(row.evictions)} were evicted and "
                f"begun again, {words.whole(row.reused_tokens)} tokens were reused.",
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
    table["sentence"] = [
        f"Block {row.block}: {row.state}"
        + (f", request {row.owner}" if row.owner else "")
        + (f", {row.tokens} of {allocation.BLOCK_TOKENS} tokens" if row.state != "free" else "")
        for row in table.itertuples()
    ]
    counts = table["state"].value_counts()
    return Picture(
        f"Blocks at tick {tick}, {way}",
        "blocks",
        Drawing(
            {"rows": table},
            (),
            {"block": "block", "owner": "request", "tokens": "tokens", "state": "state"},
            f"Memory at tick {tick}, {way}: "
            + ", ".join(f"{n} blocks {state}" for state, n in counts.items())
            + ".",
        ),
        (f"waste_{way}",),
    )


def _history(run, way, tick, waste):
    table = run.history[run.history["way"] == way]
    memory = run.load.blocks * allocation.BLOCK_TOKENS
    parts = {
        "filled": table["used_tokens"],
        "held and empty": table["held_tokens"] - table["used_tokens"] - table["leaked_tokens"],
        "never given back": table["leaked_tokens"],
    }
    start, tables = np.zeros(len(table)), []
    for part, tokens in parts.items():
        end = start + 100 * tokens.to_numpy() / memory
        tables.append(
            pd.DataFrame({"tick": table["tick"], "part": part, "start": start, "end": end})
        )
        start = end
    rows = pd.concat(tables, ignore_index=True)
    rows["sentence"] = [
        f"Tick {r.tick}: {r.end - r.start:.0f} % {r.part}" for r in rows.itertuples()
    ]
    return Picture(
        f"Memory over time, {way}",
        "held",
        Drawing(
            {"rows": rows, "now": pd.DataFrame({"tick": [tick]})},
            (LAST_TICK,),
            {"tick": "tick", "part": "part", "start": "from (%)", "end": "to (%)"},
            f"Memory held over time, {way}. Of what is held, {words.significant(waste)} % is "
            "empty over the whole run.",
        ),
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
                words.rate(row.tokens_per_s),
                f"{words.duration(row.step_s)} a token, {words.significant(row.times_reading)} "
                "times a reader's pace.",
                row.tokens_per_s,
                "tokens/s",
            )
        )
    table = streaming.speeds(scenario, CONTEXTS)
    table["sentence"] = [
        f"{row.attention}, {row.context_tokens:,.0f} tokens: {words.rate(row.tokens_per_s)}"
        for row in table.itertuples()
    ]
    points = now.assign(label=now["tokens_per_s"].map(words.significant), sentence="")
    points["sentence"] = [
        f"{row.attention}, {row.context_tokens:,} tokens: {words.rate(row.tokens_per_s)}"
        for row in points.itertuples()
    ]
    pace = streaming.READING_TOKENS_PER_SECOND
    reading = {"at": [pace], "label": [f"reading, {words.significant(pace, 2)} tokens/s"]}
    picture = Picture(
        "Speed over the context",
        "speeds",
        Drawing(
            {
                "rows": table,
                "points": points,
                "ends": table[table["context_tokens"] == CONTEXTS[24]],
                "reading": pd.DataFrame(reading),
            },
            (FASTEST,),
            {
                "attention": "attention",
                "context_tokens": "context (tokens)",
                "tokens_per_s": "tokens/s",
                "times_reading": "times a reader's pace",
            },
            "Tokens per second over the context. " + ". ".join(points["sentence"]) + ".",
        ),
        ("mha", "gqa"),
        {"mha": (0, FASTEST), "gqa": (0, FASTEST)},
    )
    return View(tuple(figures), (picture,))


def lanes(values) -> list[dict]:
    """The texts that stream side by side: `label`, `words_per_s`, `figure` they give away."""
    rates = streaming.speeds(_lesson(values), (values["context"],))
    found = [(row.attention, row.tokens_per_s, row.attention.lower()) for row in rates.itertuples()]
    found.append(("Reading", streaming.READING_TOKENS_PER_SECOND, ""))
    return [
        {
            "label": f"{label}, {words.rate(rate)}",
            "words_per_s": rate * streaming.WORDS_PER_TOKEN,
            "figure": figure,
        }
        for label, rate, figure in found
    ]


def _lesson(values):
    return Scenario("lesson-7b-mha", concurrency=values["concurrency"], context=values["context"])
