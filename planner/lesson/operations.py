"""Why a cache: the multiply-adds of one attention layer that writes T tokens, with and without.

Width d and steps T are whole numbers from 1; the counts are exact for all that a page offers.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from planner import formulas

WITHOUT, WITH = "without a cache", "with a cache"

# The two states that the lesson opens with: 496 against 240, and about 611 times.
FIRST_WIDTH, FIRST_STEPS = 4, 3
LATER_WIDTH, LATER_STEPS = 128, 1000


@dataclass(frozen=True)
class Totals:
    """Steps 1 … T summed: exact, by the leading terms alone, and how many times more without."""

    without: float
    with_cache: float
    leading_without: float
    leading_with_cache: float

    @property
    def ratio(self):
        return self.without / self.with_cache


def totals(width, steps) -> Totals:
    """The sums over steps 1 … T, from their closed forms."""
    return Totals(
        without=formulas.total_multiply_adds_uncached(steps, width),
        with_cache=formulas.total_multiply_adds_cached(steps, width),
        leading_without=formulas.leading_multiply_adds_uncached(steps, width),
        leading_with_cache=formulas.leading_multiply_adds_cached(steps, width),
    )


@dataclass(frozen=True)
class Step:
    """One step's multiply-adds. `projections` and `attention` are the parts of it without a cache.

    `even` is the step at which the two parts are equal.
    """

    without: float
    with_cache: float
    projections: float
    attention: float
    even: float


def step_parts(width, step) -> Step:
    """What a step of one layer takes: projections, 4td², grow with t, attention, 2t²d, with t²."""
    token = formulas.step_multiply_adds_cached(0, width)  # one token's projections
    without = formulas.step_multiply_adds_uncached(step, width)
    return Step(
        without=without,
        with_cache=formulas.step_multiply_adds_cached(step, width),
        projections=step * token,
        attention=without - step * token,
        even=2 * width,
    )


def curves(width, steps, points=300) -> pd.DataFrame:
    """One row a step and way: `step`, `cache`, `multiply_adds` of that step, `summed` up to it.

    At most about `points` steps, evenly spaced on a logarithmic axis; the first and last are in.
    """
    shown = np.unique(np.geomspace(1, steps, min(points, steps)).round().astype(int))
    shown = np.arange(1, steps + 1) if steps <= points else shown
    step = shown.astype(float)  # cubes of large steps would overflow a 64-bit integer
    ways = {
        WITHOUT: (
            formulas.step_multiply_adds_uncached(step, width),
            formulas.total_multiply_adds_uncached(step, width),
        ),
        WITH: (
            formulas.step_multiply_adds_cached(step, width),
            formulas.total_multiply_adds_cached(step, width),
        ),
    }
    return pd.concat(
        [
            pd.DataFrame({"step": shown, "cache": way, "multiply_adds": each, "summed": summed})
            for way, (each, summed) in ways.items()
        ],
        ignore_index=True,
    )


def spelled_out(width, steps=FIRST_STEPS) -> pd.DataFrame:
    """Steps 1 … `steps` in full: `step`, `cache`, `equation` with its numbers, `multiply_adds`.

    Meant for a handful of steps. The equation's text evaluates to the count beside it.
    """
    rows = []
    for step in range(1, steps + 1):
        without = f"4 × {step} × {width}² + 2 × {step}² × {width}"
        cached = f"4 × {width}² + 2 × {step} × {width}"
        rows.append((step, WITHOUT, without, formulas.step_multiply_adds_uncached(step, width)))
        rows.append((step, WITH, cached, formulas.step_multiply_adds_cached(step, width)))
    return pd.DataFrame(rows, columns=["step", "cache", "equation", "multiply_adds"])
