"""Where axes end and what they are written in, so that they hold still while a slider moves."""

import math

import numpy as np

from planner.inputs.scenario import NUMBERS

SHORTEST, LONGEST = NUMBERS["context"].minimum, NUMBERS["context"].maximum
MOST = NUMBERS["concurrency"].maximum
CONTEXTS = np.geomspace(SHORTEST, LONGEST, 53).round()  # four an octave
CONCURRENCIES = np.unique(np.geomspace(1, MOST, 49).round())

# What an axis is written in, from the least value at which it is: 10,000 GB are 10 TB.
MEMORY_UNITS = ((1e16, 1e15, "PB"), (1e13, 1e12, "TB"), (0, 1e9, "GB"))
TIME_UNITS = ((36e3, 3600, "h"), (10, 1, "s"), (0, 1e-3, "ms"))
LADDER = (1, 1.5, 2, 3, 4, 5, 6, 8, 10)


def ceiling(value: float) -> float:
    """The next round number at or above a value: where an axis ends, so that it moves seldom."""
    size = 10 ** math.floor(math.log10(value))
    return next(step for step in LADDER if step * size >= value * 0.999999) * size


def axis(most: float, units) -> tuple[float, float, str]:
    """Where an axis ends that must hold a value, the size of its unit, and the unit."""
    size, unit = next((size, unit) for least, size, unit in units if most >= least)
    return ceiling(most / size), size, unit


def along(contexts):
    """Where contexts lie on their logarithmic axis, 0 to 1; of any shape."""
    return np.log(np.divide(contexts, SHORTEST)) / math.log(LONGEST / SHORTEST)


def up(concurrencies):
    """Where numbers of requests lie on their logarithmic axis, 0 to 1; of any shape."""
    return np.log(concurrencies) / math.log(MOST)
