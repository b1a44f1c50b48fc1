"""The first three Learn pages as figures and pictures: why a cache, what is stored, the proof."""

from functools import lru_cache

import pandas as pd

from planner import describe
from planner.charts.axes import ceiling
from planner.charts.picture import Picture
from planner.inputs.question import Figure
from planner.lesson import attention, charts, operations, stored
from planner.lesson.states import MOST_PROMPT, MOST_STEPS
from planner.lesson.view import Line, View, count, decade, scientific

SPELLED_OUT = 3
MOST_DOTS = 24  # steps up to which each one has its dot
LEAST_DIFFERENCE, MOST_DIFFERENCE = 1e-18, 100.0  # the ends of the proof's axis
TOTAL_TOKENS = MOST_PROMPT + MOST_STEPS - 1


def why(values) -> View:
    """Multiply-adds of one attention layer, step by step and summed, with a cache and without."""
    width, steps, log = values["width"], values["steps"], values["axes"] == "log"
    sums = operations.totals(width, steps)
    times = f"{describe.significant(sums.ratio)} times"
    figures = (
        Figure(
            "without",
            "Without a cache",
            count(sums.without),
            "Multiply-adds of all steps together: 4·t·d² + 2·t²·d, summed over t = 1 … T.",
            sums.without,
            "multiply-adds",
            also=("ratio",),
        ),
        Figure(
            "cached",
            "With a cache",
            count(sums.with_cache),
            "Multiply-adds of all steps together: 4·d² + 2·t·d, summed over t = 1 … T.",
            sums.with_cache,
            "multiply-adds",
            also=("ratio",),
        ),
        Figure(
            "ratio",
            "Saving",
            times,
            "The one sum over the other.",
            sums.ratio,
            "times",
        ),
    )
    rows = operations.curves(width, steps).rename(columns={"cache": "way"})
    pictures = tuple(
        _work(name, title, column, rows, width, steps, log, gives, axes)
        for name, title, column, gives, axes in (
            ("work", "Work of each step", "multiply_adds", ("without", "cached"), ()),
            (
                "work_so_far",
                "Work so far",
                "summed",
                ("without", "cached", "ratio"),
                ("without", "cached"),
            ),
        )
    )
    return View(
        figures, pictures, tuple(_why_lines(width, steps, sums)), ("without", "cached", "ratio")
    )


def _work(name, title, column, rows, width, steps, log, gives, axes):
    most = float(rows[column].max())
    low = (1.0, float(rows[column].min())) if log else (0.0, 0.0)
    high = (decade(max(steps, 2)), decade(most)) if log else (ceiling(max(steps, 2)), ceiling(most))
    low = (low[0], decade(low[1]) / 10) if log else low
    sentences = [
        f"Step {step:,}, {way}: {count(value)} multiply-adds"
        for step, way, value in zip(rows["step"], rows["way"], rows[column], strict=True)
    ]
    drawn = rows.assign(value=rows[column], dot=steps <= MOST_DOTS)
    ends = drawn.groupby("way").tail(1)
    last = ", ".join(
        f"{count(value)} {way}" for way, value in zip(ends["way"], ends["value"], strict=True)
    )
    return Picture(
        name,
        title,
        charts.work,
        ("log" if log else "linear", (low[0], high[0]), (low[1], high[1])),
        {"rows": drawn, "ends": ends},
        {"step": "step", "way": "way", column: "multiply-adds"},
        f"{title} over the steps, for width {width:,}. At step {steps:,}: {last}.",
        {"rows": sentences},
        gives,
        dict.fromkeys(axes, (low[1], high[1])),
    )


def _why_lines(width, steps, sums):
    spelled = operations.spelled_out(width, min(steps, SPELLED_OUT))
    for row in spelled.itertuples():
        symbols = "4·t·d² + 2·t²·d" if row.cache == operations.WITHOUT else "4·d² + 2·t·d"
        yield Line(f"Step {row.step}, {row.cache}", symbols, row.equation, count(row.multiply_adds))
    yield Line(
        "All steps, without",
        "2·T·(T + 1)·d² + T·(T + 1)·(2·T + 1)·d / 3",
        f"2 × {steps} × ({steps} + 1) × {width}² "
        f"+ {steps} × ({steps} + 1) × (2 × {steps} + 1) × {width} / 3",
        count(sums.without),
    )
    yield Line(
        "All steps, with",
        "4·T·d² + T·(T + 1)·d",
        f"4 × {steps} × {width}² + {steps} × ({steps} + 1) × {width}",
        count(sums.with_cache),
    )
    yield Line(
        "Leading terms, without",
        "2·T²·d² + 2/3·T³·d",
        f"2 × {steps}² × {width}² + 2 / 3 × {steps}³ × {width}",
        count(sums.leading_without),
    )
    yield Line(
        "Leading terms, with",
        "4·T·d² + T²·d",
        f"4 × {steps} × {width}² + {steps}² × {width}",
        count(sums.leading_with_cache),
    )


SIGNS = {
    stored.NEW: "+",
    stored.AGAIN: "↻",
    stored.READ: "•",
    stored.GONE: "–",
    stored.DONE: "",
    stored.UNSEEN: "",
    stored.EMPTY: "",
}


def what_is_stored(values) -> View:
    """What one step of a small attention works out, reads and leaves."""
    prompt, step, cached = values["prompt"], values["step"], values["cache"] == "with"
    work = stored.work(prompt, step)
    way = operations.WITH if cached else operations.WITHOUT
    now = work.query("cache == @way and step == @step").iloc[0]
    so_far = work.groupby("cache")["computed"].sum()
    figures = (
        Figure(
            "computed",
            "Worked out now",
            describe.whole(now.computed),
            "Pairs of a key and a value that this step works out, in each layer.",
            float(now.computed),
            "pairs",
        ),
        Figure(
            "read",
            "Read from the cache",
            describe.whole(now.read),
            "Pairs that were stored by earlier steps.",
            float(now.read),
            "pairs",
        ),
        Figure(
            "total",
            "Worked out so far",
            describe.whole(so_far[way]),
            f"Over all steps up to this one. {describe.whole(so_far[operations.WITH])} with a "
            f"cache, {describe.whole(so_far[operations.WITHOUT])} without.",
            float(so_far[way]),
            "pairs",
        ),
    )
    return View(figures, tuple(_stored_pictures(prompt, step, cached, now)))


def _stored_pictures(prompt, step, cached, now):
    gives = ("computed", "read", "total")
    vectors = stored.vectors(prompt, step, cached)
    positions = range(1, TOTAL_TOKENS + 1)
    absent = [(p, v, stored.EMPTY) for p in positions for v in ("query", "key", "value")]
    absent = pd.DataFrame(absent, columns=vectors.columns)
    absent = absent[absent["position"] > vectors["position"].max()]
    vectors = pd.concat([vectors, absent], ignore_index=True)
    vectors["sign"] = vectors["state"].map(SIGNS)
    yield Picture(
        "vectors",
        "Queries, keys and values",
        charts.vectors,
        (TOTAL_TOKENS,),
        {"rows": vectors},
        {"position": "token", "vector": "vector", "state": "state"},
        f"Vectors at step {step} of a prompt of {prompt} tokens: key-value "
        f"pairs worked out {now.computed}, read {now.read}.",
        {
            "rows": [
                f"{row.vector} of token {row.position}: {row.state}" for row in vectors.itertuples()
            ]
        },
        gives,
    )
    grid = stored.grid(prompt, step, TOTAL_TOKENS, cached)
    grid["sign"] = grid["state"].map(SIGNS)
    scores = int(grid["state"].isin([stored.NEW, stored.AGAIN]).sum())
    yield Picture(
        "grid",
        "Who looks at whom",
        charts.grid,
        (TOTAL_TOKENS,),
        {"rows": grid},
        {
            "query": "query of token",
            "key": "key of token",
            "state": "state",
            "weight": "weight",
        },
        f"Attention grid of queries and keys at step {step}: {scores} scores worked out.",
        {
            "rows": [
                f"query of token {row.query}, key of token {row.key}: {row.state}"
                + ("" if pd.isna(row.weight) else f"; attention weight {row.weight:.2f}")
                for row in grid.itertuples()
            ]
        },
        gives,
    )
    reads = stored.later_reads(TOTAL_TOKENS)
    reads["state"] = reads["reads"].map(lambda n: stored.READ if n else stored.GONE)
    reads["sign"] = reads["reads"].astype(str)
    yield Picture(
        "later_reads",
        "How many later tokens read it",
        charts.vectors,
        (TOTAL_TOKENS,),
        {"rows": reads},
        {"position": "token", "vector": "vector", "reads": "later tokens that read it"},
        "Queries are read by no later token; keys and values by every later one.",
        {
            "rows": [
                f"{row.vector} of token {row.position}: read by {row.reads} later tokens"
                for row in reads.itertuples()
            ]
        },
    )


@lru_cache(maxsize=64)
def _all_ways(seed):
    return attention.differences(seed=seed)


def proof(values) -> View:
    """The same text run whole and run in cached steps, and how far apart the two come out."""
    mistake = None if values["mistake"] == "none" else values["mistake"]
    found = attention.prove(seed=values["seed"], precision=values["precision"], mistake=mistake)
    right = attention.prove(seed=values["seed"], precision=values["precision"])
    figures = (
        Figure(
            "difference",
            "Largest difference",
            scientific(found.largest),
            "Between the full pass and the cached run, of outputs that are about 1 in size.",
            found.largest,
        ),
        Figure(
            "right",
            "Done right",
            scientific(right.largest),
            "The same run without a mistake: rounding, for sums are added in another order.",
            right.largest,
            also=() if mistake else ("difference",),
        ),
        Figure("tokens", "Tokens", "8 + 4", "A prefill of eight tokens, then four cached steps."),
    )
    table = found.table()
    table["low"] = LEAST_DIFFERENCE
    table["value"] = table["difference"].clip(LEAST_DIFFERENCE)
    ends = (LEAST_DIFFERENCE, MOST_DIFFERENCE)
    gives, axes = ("difference", "right"), {"difference": ends, "right": ends}
    by_token = Picture(
        "differences",
        "Difference at each token",
        charts.differences,
        (ends, len(table)),
        {"rows": table},
        {"position": "token", "phase": "phase", "difference": "largest difference"},
        f"Largest difference at each token, at most {scientific(found.largest)}.",
        {
            "rows": [
                f"Token {row.position}, {row.phase}: {scientific(row.difference)}"
                for row in table.itertuples()
            ]
        },
        gives,
        axes,
    )
    every = _all_ways(values["seed"]).copy()
    every["chosen"] = (every["mistake"] == (mistake or "")) & (
        every["precision"] == values["precision"]
    )
    every["bits"] = every["precision"].map({"float32": "32 bits", "float64": "64 bits"})
    every["value"] = every["largest"].clip(LEAST_DIFFERENCE)
    sentences = [
        f"{name}, {bits}: {scientific(largest)}"
        for name, bits, largest in zip(every["name"], every["bits"], every["largest"], strict=True)
    ]
    coarse = [text for text in sentences if "32 bits" in text]
    all_ways = Picture(
        "mistakes",
        "Every way of doing it",
        charts.mistakes,
        (ends,),
        {"rows": every},
        {"name": "what is done", "bits": "precision", "largest": "largest difference"},
        "Largest difference done right and with each mistake, at both precisions. "
        f"{'. '.join(coarse)}.",
        {"rows": sentences},
        gives,
        axes,
        "x",
    )
    return View(figures, (by_token, all_ways))
