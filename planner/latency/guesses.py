"""Tokens guessed ahead: a step checks the guesses of all requests in one pass and yields several.

A step is one pass of the model over every request's guesses and one token more, and as many passes
of the drafter, one after the other. With few requests the pass reads what one token would read;
with many, or with experts, it costs more than it yields, and guessing loses.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

from planner import formulas
from planner.engines.calibration import StepTime, Timing
from planner.engines.passes import PassTime, Work
from planner.engines.timing import KernelTiming

MOST_TRIED = 4096  # requests up to which it is looked where guessing loses


@dataclass(frozen=True)
class Guess:
    """What guessing asks of a device. work, timing: of one guess; tokens: guessed in a step;
    accepted: that a step yields in the mean."""

    work: Work
    timing: Timing | KernelTiming
    tokens: int
    accepted: float


def step(timing, work: Work, requests, guess: Guess | None) -> PassTime | StepTime:
    """The time per token by its parts; a plain decode step where nobody guesses."""
    if guess is None:
        return timing.decode(work, requests)
    check = timing.decode(work, requests, 1 + guess.tokens)
    one = guess.timing.guess(guess.work, requests)
    return replace(
        check,
        **{
            part.name: formulas.speculative_seconds(
                getattr(check, part.name), guess.tokens * getattr(one, part.name), guess.accepted
            )
            for part in fields(check)
        },
    )


def least_s(work: Work, requests, guess: Guess | None, covered_power=1.0):
    """The least time per token: every weight and cache read once a pass, at full bandwidth."""
    if guess is None:
        return work.ideal_step_s(requests, covered_power)
    check = work.ideal_step_s(requests, covered_power, 1 + guess.tokens)
    one = guess.work.ideal_step_s(requests, covered_power)
    return formulas.speculative_seconds(check, guess.tokens * one, guess.accepted)


def gain(timing, work: Work, requests, guess: Guess):
    """How many times as fast guessing makes a token.

    By counting alone a pass takes as long as reading or as its arithmetic at full peak, the longer.
    """
    if timing.group != "ideal":
        with_guesses = step(timing, work, requests, guess).total_s
        return timing.decode(work, requests).total_s / with_guesses
    check = _roofline_s(work, requests, 1 + guess.tokens)
    one = _roofline_s(guess.work, requests, 1)
    with_guesses = formulas.speculative_seconds(check, guess.tokens * one, guess.accepted)
    return _roofline_s(work, requests, 1) / with_guesses


def _roofline_s(work, requests, each):
    flops = requests * each * (2 * work.parameters + work.attention_flops)
    return np.maximum(work.ideal_step_s(requests, 1.0, each), flops / work.peak)


def gains_up_to(timing, work: Work, data, guess: Guess):
    """The most requests at which guessing still gains; 0 for none, ∞ where it never stops.

    data: data-parallel groups. Looked for up to `MOST_TRIED` requests.
    """
    counts = np.arange(1, MOST_TRIED + 1)
    each = np.ceil(counts / data)
    own = replace(guess, work=replace(guess.work, groups=counts / each))
    gained = gain(timing, replace(work, groups=counts / each), each, own) > 1
    lost = np.flatnonzero(~gained)
    return float(lost[0]) if len(lost) else np.inf
