"""Two Learn pages as figures and pictures: the two phases, and what a cache costs."""

import numpy as np
import pandas as pd

from planner import describe
from planner.charts.axes import ceiling
from planner.charts.picture import Picture
from planner.inputs import presets
from planner.inputs.question import Figure
from planner.inputs.scenario import Scenario
from planner.lesson import charts, clock, equations, levers, roofline
from planner.lesson.view import Line, View, counted, decade
from planner.lesson.words import sources
from planner.plan import Plan, plan
from planner.units import GB, TERA

BATCHES = 2.0 ** np.arange(11)


def about(own: Plan) -> str:
    """A dense model of one kind of layer and a device, in their numbers."""
    (layer,) = own.model.groups
    return (
        f"{own.model.name}: {layer.layers} layers, {layer.query_heads} query heads, "
        f"{layer.kv_heads} key-value heads of dimension {layer.key_dim}, weights "
        f"{describe.data(own.weights_bytes)} at 16 bits. {own.scenario.the_device.name}: "
        f"{own.scenario.bandwidth:,} GB/s, {own.scenario.peak:,} TFLOP/s, "
        f"{own.scenario.memory:,} GB."
    )


# --- two phases ---------------------------------------------------------------------------------


def phases(values) -> View:
    """Prefill and decode under the device's roof, and one request from arrival to last token."""
    scenario = Scenario(
        model=values["model"],
        device=values["device"],
        concurrency=values["batch"],
        context=values["prompt"],
        prefix=values["prefix"],
    )
    times = roofline.request_times(scenario, values["prompt"], values["output"])
    points = roofline.phases(scenario, values["prompt"], values["batch"])
    decode = points[points["phase"] == roofline.DECODE].iloc[0]
    figures = (
        Figure(
            "ttft",
            "Time to first token",
            describe.duration(times.ttft_s),
            f"The longer of computing the prompt ({describe.duration(times.prefill_s)}) and "
            f"reading the weights ({describe.duration(times.weights_s)}).",
            times.ttft_s,
            "s",
            also=("total",),
        ),
        Figure(
            "tpot",
            "Time per output token",
            describe.duration(times.tpot_s),
            "Mean of the decode steps: all weights and all caches read once.",
            times.tpot_s * 1e3,
            "ms",
        ),
        Figure(
            "total",
            "Whole answer",
            describe.duration(times.total_s),
            f"Prefill and {values['output'] - 1:,} decode steps.",
            times.total_s,
            "s",
        ),
        Figure(
            "share",
            "Peak used in decode",
            f"{describe.significant(100 * decode.share_of_peak, 2)} %",
            "How much of the device's peak decode can use at the speed of its memory.",
            100 * decode.share_of_peak,
            "%",
        ),
    )
    own = plan(scenario)
    gives = ("ttft", "tpot", "total", "share")
    shown = clock.scene(scenario, values["prompt"], values["batch"], values["prefix"], gives)
    return View(
        figures,
        (_roof(scenario, points, values), _timeline(scenario, values, times.total_s)),
        about=f"{about(own)} Full bandwidth and full peak: a lower bound.",
        says=_phases_says(points, roofline.ridge(scenario), times, values),
        scenes=(shown,),
    )


def _phases_says(points, ridge, times, values):
    prefill, decode = (
        points[points["phase"] == phase].iloc[0] for phase in (roofline.PREFILL, roofline.DECODE)
    )
    said = [
        f"The ridge of this device is at {describe.significant(ridge)} FLOPs per byte: below it a "
        f"phase waits for memory, above it for arithmetic."
    ]
    for name, row in (("Prefill", prefill), ("Decode", decode)):
        bound = "memory-bound" if row.bound == roofline.MEMORY else "compute-bound"
        said.append(f"{name} does {describe.significant(row.intensity)}: it is {bound}.")
    if times.prefill_s < times.weights_s:
        new = max(values["prompt"] - values["prefix"], 1)
        said.append(
            f"A prompt of {counted(new, 'new token')} is so short that reading the weights takes "
            "longer than computing it."
        )
    return " ".join(said)


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
            f"{describe.significant(row.attainable)} TFLOP/s, limited by {row.bound}"
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
            "bound": "limited by",
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
    lever = levers.chosen(values)
    pulled = levers.stack(context, concurrency, lever)
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
            "Of MHA at 16 bits",
            f"{describe.significant(100 * now.share)} %",
            "Of the same load with 32 key-value heads at 16 bits and no window.",
            100 * now.share,
            "%",
        ),
    )
    gives = ("token", "request", "load", "share")
    most = ceiling(first.load_bytes / GB)
    alone = levers.compare(context, concurrency, levers.alone(lever.layers, lever.head_dim))
    pictures = (
        _bars("levers", "Levers pulled, one after another", pulled, most, {"load": (0, most)}),
        _bars("each_lever", "Each lever alone", alone, most, {}),
    )
    return View(
        figures,
        pictures,
        tuple(_cost_lines(lever, values, now)),
        gives,
        tuple(each.source for each in levers.LEVERS),
        about=_cost_about(values),
        says=_cost_says(values, now),
        scenes=(equations.cache_bytes(values, gives),),
    )


def _cost_about(values):
    if equations.is_lesson_s(values):
        return f"{about(plan(Scenario(levers.BASE)))} Scales of quantised formats are left out."
    return "A model of your own. Scales of quantised formats are left out."


def _cost_says(values, now):
    load = describe.data(now.load_bytes)
    count = values["concurrency"]
    hold = "holds" if count == 1 else "hold"
    said = f"{describe.requests(count)} of {values['context']:,} tokens {hold} {load}"
    if not equations.is_lesson_s(values):
        return f"{said}."
    weights = plan(Scenario(levers.BASE)).weights_bytes
    memory = presets.accelerators()["lesson"].memory_gb * GB
    beside = f"{describe.significant(now.load_bytes / weights)} times the weights"
    room = now.load_bytes + weights
    fits = (
        f"together {describe.data(room)}, which fits into {describe.data(memory)}"
        if room <= memory
        else f"together {describe.data(room)}, {describe.data(room - memory)} more than the "
        f"{describe.data(memory)} of the device"
    )
    return f"{said}, {beside} of {describe.data(weights)}; {fits}."


def _cost_lines(lever, values, now):
    heads, key_dim, value_dim = lever.stored
    vectors, width = (2, key_dim) if value_dim else (1, key_dim)
    each = f"{lever.bytes_per_element:g}"
    yield Line(
        "Bytes of one token",
        "2·L·H_kv·d_h·b" if value_dim else "L·d_latent·b",
        f"{vectors} × {lever.layers} × {heads} × {width} × {each}",
        f"{describe.whole(now.bytes_per_token)} bytes",
    )
    kept = int(lever.kept(values["context"]))
    yield Line(
        "Cache of all requests",
        "2·L·H_kv·d_h·b·n·B" if value_dim else "L·d_latent·b·n·B",
        f"{vectors} × {lever.layers} × {heads} × {width} × {each} × {kept} × "
        f"{values['concurrency']}",
        describe.data(now.load_bytes),
    )


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
