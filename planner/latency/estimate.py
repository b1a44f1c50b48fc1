"""Times with what is known of them: pulled by measurements, held above the bound, with a band."""

from dataclasses import dataclass, fields, replace

import numpy as np

from planner import formulas
from planner.engines.calibration import Timing
from planner.engines.passes import HOST_BAND, Work
from planner.engines.timing import KernelTiming, LoadedStep
from planner.latency import guesses, measured
from planner.latency.guesses import Guess
from planner.latency.measured import Setup

# Requests asked for, in those that the pool holds: from where saturation is near, and from where
# the others wait without end.
NEAR, OVER = 0.85, 1.15
STABLE, NEARLY, SATURATED = "stable", "near saturation", "saturated"
# Near saturation an error of the step comes back so many times in the wait for the first token.
WAIT_POWER = 2.5
# By how much longer a step with guesses may take: published runs became 1.29 and 1.36 times as fast
# where 1.7 is predicted (https://github.com/vllm-project/vllm/pull/16035).
GUESS_BAND = 1.35
# Prompts of models with experts on local engines that were measured on dense ones alone: what those
# of one source took (9 of 10 of them 1.3 to 2.5 times as long) lies within so much of its median.
EXPERT_BAND = 1.5
# First tokens were measured up to so many tokens of a prompt. Beyond, the band is wider by this
# much for each doubling, in logarithms: assumed.
LONGEST_PROMPT, DOUBLING_BAND = 8192, 0.1


@dataclass(frozen=True)
class Band:
    """A time in seconds and the ends of its 80 % band; all three equal where nothing is fitted.

    value: NaN where only the ends are known; ∞ where it grows without end.
    """

    value: float
    low: float
    high: float


def around(value, low, high, least=0.0) -> Band:
    """A band by its factors, no part of it below the least that can be."""
    return Band(*(np.maximum(value * factor, least) for factor in (1.0, low, high)))


def load_state(fullness):
    """Stable, near saturation or saturated, by the requests asked for in those that fit."""
    return np.select([fullness < NEAR, fullness < OVER], [STABLE, NEARLY], SATURATED)[()]


def prompt_bound_s(timing: Timing | KernelTiming, work: Work):
    """The least time of a prompt's arithmetic: every product at the full peak of its format.

    Where the engine sums at 16 bits, at the device's rate for that; where it sends pieces of a
    prompt through the stages of a layer split, on all of them at once; where data-parallel groups
    share experts, with this prompt alone.
    """
    routed = work.expert_parameters * work.taken_share
    parts = (
        (2 * work.dense_parameters * work.prompt_tokens, work.peak),
        (2 * routed * work.prompt_tokens, work.expert_peak),
        (2 * work.head_parameters + work.prompt_flops, work.peak16),
    )
    faster = work.half_sum_peak / work.peak16 if timing.sums_at_16_bit else 1.0
    faster = faster * (work.stages if timing.pieces_under_way > 1 else 1)
    return sum(formulas.compute_seconds(flops, peak * faster) for flops, peak in parts)


def first_token_bound_s(timing: Timing | KernelTiming, work: Work):
    """The least time to a first token: its arithmetic, or every weight it needs read once."""
    alone = replace(work, groups=1)
    read = formulas.read_seconds(alone.read_bytes(work.prompt_tokens), work.bandwidth)
    left = alone.host_weights_bytes(work.prompt_tokens)
    read = read + formulas.read_seconds(left, work.host_bandwidth)
    return formulas.time_to_first_token_seconds(prompt_bound_s(timing, work), read)


@dataclass(frozen=True)
class Estimate:
    """The times of one load on one engine. requests: those that run, of each data-parallel group.

    given: whether a person has set the engine's figures of time, which then count as they are.
    """

    timing: Timing | KernelTiming
    work: Work
    setup: Setup
    requests: float
    given: bool
    guess: Guess | None = None

    @property
    def case(self):
        """How much of the set-up was measured: a key of `measured.CASES`; “” of other engines."""
        return measured.case(self.setup) if self._by_kernels else ""

    @property
    def _by_kernels(self):
        return isinstance(self.timing, KernelTiming)

    @property
    def least_step_s(self):
        """The ideal formula for the requests that run, as the engine draws experts."""
        power = self.timing.covered_power
        return guesses.least_s(self.work, self.requests, self.guess, power)

    def pull(self, output_tokens):
        """By which factor measurements of the same model move a step; ∞: of a fixed batch."""
        if self.given or not self._by_kernels:
            return 1.0
        return np.exp(
            measured.offset(self.setup, self.requests, self.work.prompt_tokens, output_tokens)
        )

    def step(self, plain, output_tokens=np.inf):
        """(the step by its parts, its band): pulled, and never below the ideal formula.

        The parts of a pulled step are all moved by the same factor.
        """
        least = self.least_step_s
        pulled = np.maximum(plain.total_s * self.pull(output_tokens), least)
        moved = _scaled(plain, pulled / plain.total_s)
        low, high = self.step_band(isinstance(plain, LoadedStep))
        wide = HOST_BAND ** (self.host_s() / pulled)
        low, high = low / wide, high * wide
        if self.guess and self.timing.group != "ideal":
            high = high * GUESS_BAND
        return moved, around(moved.total_s, low, high, least)

    def host_s(self):
        """What of a step is spent on host memory, whose speed is assumed; 0 of the ideal engine."""
        if self.timing.group == "ideal":
            return 0.0
        each, accepted = 1, 1.0
        if self.guess:
            each, accepted = 1 + self.guess.tokens, self.guess.accepted
        tokens = np.asarray(self.requests * each, float) ** self.timing.covered_power
        left = self.work.host_weights_bytes(tokens) + self.requests * self.work.host_cache_bytes
        return self.work.host_read_s(left) / accepted

    def step_band(self, loaded, case=None):
        """The ends of a step's band as factors: of its own case, where no other is named."""
        if self.timing.group == "ideal":
            return 1.0, 1.0
        if not self._by_kernels and not loaded:
            return self.timing.decode_low, self.timing.decode_high
        experts, case = bool(np.any(self.work.experts)), case or self.case
        if case in ("", "stranger"):
            way = ("experts" if experts else "dense") if loaded else "fixed"
            width = measured.half_width("stranger", "", (way,))
        else:
            ways = measured.regimes(experts, self.requests, self.work.prompt_tokens)
            width = measured.half_width(case, self.timing.family, ways)
        return np.exp(-width), np.exp(width)

    def alone(self, first, least) -> Band:
        """Time to first token of one prompt by itself."""
        if self.timing.group == "ideal" and not self.given:
            return Band(least, least, least)  # to the last digit, as counting has it
        if not self._by_kernels:
            strange = self.timing.expert_prefill_factor != 1 and np.any(self.work.experts)
            wide = EXPERT_BAND if strange else 1.0
            return around(
                np.maximum(first.total_s, least),
                self.timing.prefill_low / wide,
                self.timing.prefill_high * wide,
                least,
            )
        doublings = np.log2(np.maximum(self.work.prompt_tokens / LONGEST_PROMPT, 1))
        width = measured.half_width("first token", self.timing.family) + DOUBLING_BAND * doublings
        return around(first.total_s, np.exp(-width), np.exp(width), least)

    def under_load(self, pass_tokens, step_s: Band, state) -> Band | None:
        """Time to first token in a closed loop; None of engines without such measurements.

        Near saturation only the ends are known, beyond it there is no end.
        """
        if not self._by_kernels:
            return None
        usual, least = self.timing.first_token_s(self.work, self.requests, pass_tokens)
        factor = np.exp(measured.half_width("first token", self.timing.family))
        low = np.maximum(
            np.minimum(usual / factor, least), first_token_bound_s(self.timing, self.work)
        )
        wait = (step_s.high / step_s.value) ** WAIT_POWER
        states = [np.equal(state, STABLE), np.equal(state, NEARLY)]
        return Band(
            value=np.select(states, [np.maximum(usual, low), np.nan], np.inf)[()],
            low=low,
            high=np.select(states, [usual * factor, usual * factor * wait], np.inf)[()],
        )


def _scaled(step, factor):
    """A step with all its parts longer by a factor."""
    if isinstance(step, LoadedStep):
        return replace(step, alone=_scaled(step.alone, factor), prompts_s=step.prompts_s * factor)
    return replace(step, **{f.name: getattr(step, f.name) * factor for f in fields(step)})
