"""Two pages to practise on, as figures and pictures: fit it, and find the knee."""

import pandas as pd

from planner import describe
from planner.charts.axes import ceiling
from planner.charts.picture import Picture
from planner.inputs.question import Figure
from planner.lesson import charts_practice, knee, practice
from planner.lesson.view import View, counted, decade
from planner.units import GB

# --- fit it -------------------------------------------------------------------------------------


def pulled(values) -> tuple[str, ...]:
    """The levers that are pulled and belong to the task."""
    named = values["pulled"].split(",")
    return tuple(each.id for each in practice.tasks()[values["task"]].levers if each.id in named)


def fit(values) -> View:
    """A task with the levers that are pulled: what fits, how fast it is, and at what price."""
    task, levers = practice.tasks()[values["task"]], pulled(values)
    found = task.outcome(levers)
    own = found.plan
    memory = Figure(
        "memory",
        "Memory needed",
        describe.data(own.memory_needed_bytes),
        f"Of {describe.data(own.memory_usable_bytes)} on each device.",
        own.memory_needed_bytes / GB,
        "GB",
    )
    speed = Figure(
        "speed",
        "Speed per user",
        describe.rate(own.tokens_per_s_per_request),
        f"The goal is {describe.rate(task.speed)}.",
        own.tokens_per_s_per_request,
        "tokens/s",
    )
    spent = Figure("pulled", "Levers pulled", str(len(levers)), "Each has its price.")
    most = ceiling(max(task.outcome(()).plan.memory_needed_bytes, own.memory_needed_bytes) / GB)
    return View(
        (memory, speed, spent),
        (_memory(own, most),),
        about=f"{describe.inputs(own)}. Ideal: full bandwidth, nothing reserved.",
        says=_fit_says(task, found, levers),
    )


def _fit_says(task, found, levers):
    own = found.plan
    if found.solved:
        least = len(practice.fewest(task.id)[0])
        if len(levers) > least:
            return (
                f"Solved, with {counted(len(levers), 'lever')}. It can be done with "
                f"{describe.whole(least)}: which one was not needed?"
            )
        others = len(practice.fewest(task.id)) - 1
        more = f" There are {counted(others, 'other way')} as short." if others else ""
        return f"Solved, with {counted(len(levers), 'lever')}, as few as it can be.{more}"
    missed = []
    if not found.fits:
        over = own.memory_needed_bytes - own.memory_usable_bytes
        missed.append(f"{describe.data(over)} too much for the memory")
    if not found.fast:
        missed.append(
            f"{describe.rate(own.tokens_per_s_per_request)} where {describe.rate(task.speed)} are "
            "asked for"
        )
    return f"Not yet: {' and '.join(missed)}."


def _memory(own, most):
    parts = {"weights": own.device_weights_bytes, "cache": own.device_cache_bytes}
    starts = {"weights": 0.0, "cache": own.device_weights_bytes / GB}
    rows = {
        "part": list(parts),
        "start": list(starts.values()),
        "end": [starts[part] + size / GB for part, size in parts.items()],
    }
    limit = own.memory_usable_bytes / GB
    return Picture(
        "fitted",
        "Memory of one device",
        charts_practice.fitted,
        (max(most, ceiling(limit)),),
        {"rows": rows, "limit": {"at": [limit], "label": [f"{describe.data(limit * GB)} in all"]}},
        {"part": "part", "start": "from (GB)", "end": "to (GB)"},
        f"Weights {describe.data(parts['weights'])}, caches {describe.data(parts['cache'])}, of "
        f"{describe.data(own.memory_usable_bytes)}.",
        {"rows": [f"{part}: {describe.data(size)}" for part, size in parts.items()]},
        ("memory",),
    )


# --- find the knee ------------------------------------------------------------------------------


def find_the_knee(values) -> View:
    """Time and throughput up to the batch that is tried; measurements once they are asked for."""
    table, own = knee.steps(values["series"]), knee.SERIES[values["series"]]
    place, told = knee.at(table, values["batch"]), values["dots"] == "shown"
    here = table.iloc[place]
    figures = (
        Figure(
            "step",
            "Time per output token",
            describe.duration(here.predicted_s),
            f"Predicted for a batch of {here.batch:,.0f}.",
        ),
        Figure(
            "rate",
            "Throughput",
            describe.rate(here.predicted_rate),
            f"Predicted for a batch of {here.batch:,.0f}, all requests together.",
        ),
    )
    pictures = (
        _curve(table, place, told, "s", "Time per output token (ms)", 1e3),
        _curve(table, place, told, "rate", "Throughput (tokens/s)", 1.0),
    )
    return View(
        figures,
        pictures,
        about=f"{own.name}, {own.context:,} tokens of context. The knee is the "
        f"largest batch whose step takes at most {knee.LONGER:g} times that of one request. These "
        "are steps of a fixed batch; a queue of arriving requests is another matter.",
        says=_knee_says(table, int(here.batch), told),
    )


def _knee_says(table, batch, told):
    if not told:
        return f"The batch is {batch:,}. Show the measurements once you have found the knee."
    measured, predicted = (knee.knee(table, kind) for kind in ("measured", "predicted"))
    said = f"By the published steps the knee is at a batch of {measured:,}"
    agree = ", as predicted" if measured == predicted else f"; {predicted:,} was predicted"
    verdict = "you stand on it" if batch == measured else f"you stand at {batch:,}"
    return f"{said}{agree}, and {verdict}. Published at {table['site'].iloc[0]}."


def _curve(table, place, told, column, title, unit):
    shown = table if told else table.iloc[: place + 1]
    rows = {"batch": shown["batch"], "value": unit * shown[f"predicted_{column}"]}
    rows = pd.DataFrame(rows)
    dots = pd.DataFrame({"batch": table["batch"], "value": unit * table[f"measured_{column}"]})
    dots = dots if told else dots.iloc[:0]
    # As if more requests took no more time: a step as it is for one, and as many times the rate.
    start = unit * float(table[f"predicted_{column}"].iloc[0])
    free = start * table["batch"] ** (column == "rate")
    both = table[[f"measured_{column}", f"predicted_{column}"]]
    ends = (0.0, ceiling(unit * float(both.max().max())))
    if column == "rate":
        ends = (decade(start) / 10, decade(float(free.max())))
    return Picture(
        f"knee_{column}",
        title,
        charts_practice.curve,
        (title, ends, knee.MOST_BATCH),
        {
            "rows": rows,
            "points": rows.iloc[[place]],
            "dots": dots,
            "free": pd.DataFrame({"batch": table["batch"], "value": free}),
        },
        {"batch": "batch", "value": title},
        f"{title} over the batch, predicted up to {int(rows['batch'].iloc[-1]):,}"
        + (", with the published measurements." if told else "."),
        {
            "points": [f"batch {rows['batch'].iloc[place]:,}: predicted"],
            "dots": [
                f"batch {batch:,}: {describe.significant(value)}, measured"
                for batch, value in zip(dots["batch"], dots["value"], strict=True)
            ],
        },
    )
