"""Two Learn pages as figures and pictures: the two phases, and what a cache costs."""

import numpy as np
import pandas as pd

from planner import describe
from planner.charts.axes import ceiling
from planner.charts.picture import Picture
from planner.inputs.question import Figure
from planner.inputs.scenario import Scenario
from planner.lesson import charts, levers, roofline
from planner.lesson.view import View, decade
from planner.lesson.words import sources
from planner.units import GB, TERA

BATCHES = 2.0 ** np.arange(11)


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
            describe.duration(times.ttft_s),
            f"The longer of computing the prompt ({describe.duration(times.prefill_s)}) and "
            f"reading the weights ({describe.duration(times.weights_s)}).",
            times.ttft_s,
            "s",
        ),
        Figure(
            "tpot",
            "Each later token",
            describe.duration(times.tpot_s),
            "Mean of the decode steps: all weights and all caches read once.",
            times.tpot_s * 1e3,
            "ms",
        ),
        Figure(
            "total",
            "Whole answer",
            describe.duration(times.total_s),
            f"First token and {values['output'] - 1:,} decode steps.",
            times.total_s,
            "s",
        ),
        Figure(
            "share",
            "Peak used in decode",
            f"{describe.significant(100 * decode.share_of_peak, 2)} %",
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
    sentences = {
        name: [
            f"{row.phase}, batch {row.batch:,.0f}, prompt {row.prompt_tokens:,}: "
            f"{describe.significant(row.intensity)} FLOPs per byte, at most "
            f"{describe.significant(row.attainable)} TFLOP/s, held back by {row.bound}"
            for row in table.itertuples()
        ]
        for name, table in (("points", points), ("trail", trail))
    }
    low = decade(float(roof["attainable"].min())) / 10
    high = decade(1.5 * float(roof["attainable"].max()))
    ridge = pd.DataFrame({"at": [roofline.ridge(scenario)], "label": ["ridge"]})
    rows = pd.concat([points, trail])
    return Picture(
        "roof",
        "Under the roof",
        charts.roof,
        ((low, high),),
        {"rows": rows, "roof": roof, "points": points, "trail": trail, "ridge": ridge},
        {
            "phase": "phase",
            "batch": "batch",
            "prompt_tokens": "prompt (tokens)",
            "intensity": "FLOPs per byte",
            "attainable": "attainable (TFLOP/s)",
            "share_of_peak": "share of peak",
            "bound": "held back by",
        },
        f"Roofline. {'. '.join(sentences['points'])}.",
        sentences,
        ("share",),
    )


def _timeline(scenario, values, total):
    bars = roofline.timeline(scenario, values["prompt"], values["output"], bars=60)
    sentences = [
        f"Token {row.first_token:,}: prefill, {describe.duration(row.step_s)}"
        if row.phase == roofline.PREFILL
        else f"Tokens {row.first_token:,} to {row.last_token:,}: "
        f"{describe.duration(row.step_s)} each"
        for row in bars.itertuples()
    ]
    most = ceiling(total)
    return Picture(
        "timeline",
        "One request in time",
        charts.timeline,
        (most,),
        {"rows": bars},
        {
            "phase": "phase",
            "first_token": "first token",
            "last_token": "last token",
            "start_s": "from (s)",
            "end_s": "to (s)",
            "step_s": "each (s)",
        },
        f"Time line of one request: first token after "
        f"{describe.duration(bars['end_s'].iloc[0])}, last after {describe.duration(total)}.",
        {"rows": sentences},
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
            describe.data(now.bytes_per_token),
            f"{describe.whole(now.bytes_per_token)} bytes, in all layers of one request.",
            now.bytes_per_token / 1e3,
            "kB",
        ),
        Figure(
            "request",
            "One request",
            describe.data(now.request_bytes),
            f"{describe.gib(now.request_bytes)}. {context:,} tokens.",
            now.request_bytes / GB,
            "GB",
        ),
        Figure(
            "load",
            "All requests",
            describe.data(now.load_bytes),
            f"{describe.gib(now.load_bytes)}. {describe.requests(concurrency)}.",
            now.load_bytes / GB,
            "GB",
        ),
        Figure(
            "share",
            "Of the start",
            f"{describe.significant(100 * now.share)} %",
            "Of MHA at 16 bits without a window.",
            100 * now.share,
            "%",
        ),
    )
    most = ceiling(first.load_bytes / GB)
    alone = levers.compare(context, concurrency)
    pictures = (
        _bars("levers", "Levers pulled, one after another", pulled, most, {"load": (0, most)}),
        _bars("each_lever", "Each lever alone", alone, most, {}),
    )
    return View(figures, pictures, sources=tuple(lever.source for lever in levers.LEVERS))


def _bars(name, title, table, most, axes):
    table["gigabytes"] = table["load_bytes"] / GB
    table["label"] = table["load_bytes"].map(describe.data)
    sentences = [
        f"{row.lever}: {describe.data(row.bytes_per_token)} a token, {row.label} in all. "
        f"{row.note} {sources()[row.source].cited if row.source else ''}".strip()
        for row in table.itertuples()
    ]
    return Picture(
        name,
        title,
        charts.levers,
        (most,),
        {"rows": table},
        {
            "lever": "lever",
            "bytes_per_token": "bytes per token",
            "request_bytes": "bytes per request",
            "load_bytes": "bytes in all",
            "note": "what it costs",
        },
        f"{title}. {'; '.join(f'{row.lever}: {row.label}' for row in table.itertuples())}.",
        {"rows": sentences},
        ("token", "request", "load", "share"),
        axes,
        "x",
    )
