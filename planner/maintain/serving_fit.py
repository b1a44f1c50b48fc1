"""Fits the constants of `passes.Host`, one set for all serving engines, and leaves rows out.

What kernels reach is not fitted here (see kernels.py). Rows of one set-up (model, format, device,
engine) share an error of their own; it is taken off in part before the constants are fitted, so
that a set-up with sixty rows does not pull them thirty times as much as one with two (a random
effect: Laird and Ware 1982). A ridge holds each constant near a plausible start.
"""

import numpy as np

from planner.engines.passes import Host
from planner.latency import measured
from planner.maintain.rows import Rows
from planner.maintain.solve import least_squares, soft

# Where each constant starts, and how far from it the ridge lets it go.
START = {
    "launch_factor": (1.3, 0.3),
    "step_us": (300.0, 300.0),
    "request_us": (10.0, 10.0),
    "expert_layer_us": (10.0, 15.0),
    "pass_layer_us": (500.0, 300.0),
    "vendor_factor": (1.3, 0.3),
}
BETWEEN, WITHIN = 0.12, 0.07  # how far set-ups and rows of one scatter, in logarithms
OUTLIER = 0.1  # logarithm of predicted / measured from which on a row counts by its size alone
MOST_OFF = 0.6  # beyond which it counts no more than that
RIDGE = 0.1


def fit(rows: Rows) -> Host:
    """The constants that make all rows' |log(predicted / measured)| small."""
    start, width = np.array(list(START.values())).T

    def host(x):
        return Host(**dict(zip(START, start + x * width, strict=True)))

    def residuals(x):
        off = np.log(rows.step_s(host(x)) / rows.measured_s)
        off = np.clip(_without_own_error(off, rows.group), -MOST_OFF, MOST_OFF)
        return np.append(soft(off, OUTLIER), RIDGE * x)

    return host(least_squares(residuals, np.zeros(len(start)), -start / width))


def _without_own_error(off, groups):
    """Residuals less the part that their set-up has in common, as far as its rows bear it out."""
    _, place, count = np.unique(groups, return_inverse=True, return_counts=True)
    mean = np.bincount(place, off) / count
    part = 1 - np.sqrt(WITHIN**2 / (WITHIN**2 + count * BETWEEN**2))
    return off - (part * mean)[place]


def left_out(rows: Rows, keys, targets, refit=True, pull=True) -> np.ndarray:
    """Seconds of the rows `targets`, each predicted without any row of its key; NaN elsewhere.

    keys: a name for each row. refit: constants too are fitted without them; else only witnesses
    are left out, and the constants are those of all rows.
    """
    found = np.full(len(rows), np.nan)
    plain = rows.step_s(fit(rows.only(rows.fitted)))
    for key in np.unique(keys[targets]):
        out = keys == key
        use = rows.fitted & ~out
        if refit:
            plain = rows.step_s(fit(rows.only(use)))
        here = out & targets
        found[here] = plain[here]
        if pull:
            found[here] *= np.exp(offsets(rows, here, use, plain))
    return found


def offsets(rows: Rows, targets, use, predicted_s) -> np.ndarray:
    """How far the rows `use` pull each of the rows `targets`, in logarithms."""
    found = np.zeros(len(rows))
    witnesses = rows.witnesses(predicted_s)
    places = {}
    for place in np.flatnonzero(targets):
        places.setdefault(rows.setups[place], []).append(place)
    shapes = np.array([hash(setup.shape) for setup in rows.setups])
    for setup, at in places.items():
        among = measured.panel(witnesses.only(use & (shapes == hash(setup.shape))))
        found[at] = measured.offset(
            setup, rows.requests[at], rows.work.prompt_tokens[at], rows.output_tokens[at], among
        )
    return found[targets]
