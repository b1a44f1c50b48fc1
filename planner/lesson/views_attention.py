"""The first two Learn pages as figures and pictures: why a cache, and what is stored."""

import pandas as pd

from planner import describe
from planner.charts.axes import ceiling
from planner.charts.picture import Picture
from planner.inputs.question import Figure
from planner.lesson import charts, operations, player, stored
from planner.lesson.player import TOTAL_TOKENS, WORDS
from planner.lesson.view import Line, View, count, counted, decade

SPELLED_OUT = 3
MOST_DOTS = 24  # steps up to which each one has its dot
WHY_ABOUT = (
    "Counted: the multiply-adds of one attention layer, four projections and the two products of "
    "attention. A layer's feed-forward part is left out; a cache spares it in the same way."
)


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
            "Times as much",
            times,
            "The sum without a cache over the sum with one.",
            sums.ratio,
            "times",
            also=("without", "cached"),
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
        figures,
        pictures,
        tuple(_why_lines(width, steps, sums)),
        ("without", "cached", "ratio"),
        about=WHY_ABOUT,
        says=_why_says(width, steps, times),
    )


def _why_says(width, steps, times):
    step = operations.step_parts(width, steps)
    return (
        f"Without a cache step {steps:,} processes {counted(steps, 'token')}: "
        f"{count(step.projections)} multiply-adds of projections, which grow with the length, and "
        f"{count(step.attention)} of attention, which grow with its square; the two are equal at "
        f"step 2·d = {step.even:,}. With a cache it processes one token: {count(step.with_cache)}. "
        f"Summed over {counted(steps, 'step')} the work without is {times} the work with."
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
        "Leading terms alone, close for long texts only, without",
        "2·T²·d² + 2/3·T³·d",
        f"2 × {steps}² × {width}² + 2 / 3 × {steps}³ × {width}",
        count(sums.leading_without),
    )
    yield Line(
        "Leading terms alone, with",
        "4·T·d² + T²·d",
        f"4 × {steps} × {width}² + {steps}² × {width}",
        count(sums.leading_with_cache),
    )


SIGNS = {
    stored.NEW: "+",
    stored.AGAIN: "↻",
    stored.DONE: "",
    stored.UNSEEN: "",
    stored.EMPTY: "",
}


def what_is_stored(values) -> View:
    """What one step of a small attention computes, reads and stores."""
    prompt, step, cached = values["prompt"], values["step"], values["cache"] == "with"
    work = stored.work(prompt, step)
    way = operations.WITH if cached else operations.WITHOUT
    now = work.query("cache == @way and step == @step").iloc[0]
    so_far = work.groupby("cache")["computed"].sum()
    figures = (
        Figure(
            "computed",
            "Computed now",
            describe.whole(now.computed),
            "Pairs of a key and a value that this step computes, in each layer.",
            float(now.computed),
            "pairs",
        ),
        Figure(
            "read",
            "Read from the cache",
            describe.whole(now.read),
            "Pairs that were stored by earlier steps, in each layer.",
            float(now.read),
            "pairs",
        ),
        Figure(
            "total",
            "Computed so far",
            describe.whole(so_far[way]),
            "Pairs that all steps up to this one have computed, in each layer.",
            float(so_far[way]),
            "pairs",
        ),
    )
    return View(
        figures,
        tuple(_stored_pictures(prompt, step, cached, now)),
        says=_stored_says(prompt, step, cached, now, so_far),
        scenes=(player.scene(prompt, step, cached, ("computed", "read", "total")),),
    )


def _stored_says(prompt, step, cached, now, so_far):
    newest = WORDS[prompt + step - 2]
    if step == 1:
        first = (
            f"Step 1 is the prefill: it computes {counted(now.computed, 'pair')} of a key and a "
            "value in each layer, one for each token of the prompt. Each query looks at the tokens "
            "up to its own, never at later ones: that is the causal mask."
        )
        return first + (" The pairs are stored." if cached else " Nothing is stored.")
    if cached:
        return (
            f"Step {step} computes one pair, for “{newest}”, and reads the "
            f"{counted(now.read, 'pair')} stored before it. None of those has changed: no earlier "
            f"token could look at “{newest}”. Its query is used in this step only and not stored."
        )
    return (
        f"Step {step} computes {counted(now.computed, 'pair')} and keeps none of them. All but "
        f"the one for “{newest}” were computed before, with the same result. So far that makes "
        f"{describe.whole(so_far[operations.WITHOUT])} where a cache would have needed "
        f"{describe.whole(so_far[operations.WITH])}."
    )


def _stored_pictures(prompt, step, cached, now):
    gives = ("computed", "read", "total")
    grid = stored.grid(prompt, step, TOTAL_TOKENS, cached)
    grid["sign"] = grid["state"].map(SIGNS)
    scores = int(grid["state"].isin([stored.NEW, stored.AGAIN]).sum())
    yield Picture(
        "grid",
        "Which token looks at which",
        charts.grid,
        (WORDS,),
        {"rows": grid},
        {
            "query": "query of token",
            "key": "key of token",
            "state": "state",
            "weight": "attention weight",
        },
        f"Attention grid of queries and keys at step {step}: {scores} scores computed. Later "
        "tokens are masked.",
        {
            "rows": [
                f"query of “{WORDS[row.query - 1]}”, key of “{WORDS[row.key - 1]}”: {row.state}"
                + ("" if pd.isna(row.weight) else f"; attention weight {row.weight:.2f}")
                for row in grid.itertuples()
            ]
        },
        gives,
    )
    reads = stored.later_reads(prompt + step - 1)
    reads["sign"] = reads["reads"].astype(str)
    yield Picture(
        "later_reads",
        "How many later tokens have read it",
        charts.vectors,
        (WORDS,),
        {"rows": reads},
        {"position": "token", "vector": "vector", "reads": "later tokens that read it"},
        "Queries are read by no later token; keys and values by every later one.",
        {
            "rows": [
                f"{row.vector} of “{WORDS[row.position - 1]}”: {row.state}; read by "
                f"{counted(row.reads, 'later token')} so far"
                for row in reads.itertuples()
            ]
        },
        ("read",),
    )
