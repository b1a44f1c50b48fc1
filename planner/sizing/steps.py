"""What any pass of a plan's engine takes, as a few tables: the same step function, looked up.

A simulation asks for millions of passes, each of other requests with other contexts. A pass is a
sum of what depends on the requests that decode, on all its tokens, on how many of them meet the
head, on the tokens of the caches it reads and on the attention within its prompts; so each part is
tabulated once with the very functions that time a plan, and a pass is their sum. Where tokens are
guessed ahead a pass that decodes is the part of a step that one token takes in the mean, as a plan
has it.
"""

from dataclasses import dataclass, replace

import numpy as np

from planner.asked import guess_of, work_of
from planner.engines.passes import pass_time
from planner.engines.timing import KernelTiming
from planner.latency import guesses
from planner.serving import Evaluation

MOST_TABULATED = 32_768  # tokens of a pass; beyond, kernels take so much more for each token
FAR = 1e6  # tokens beyond the last window
# What a pass takes of a request's own cache and prompt.
BARE = dict.fromkeys(
    ("cache_bytes", "host_cache_bytes", "latent_flops", "attention_flops", "prompt_flops"), 0.0
)
MANY = 1e6  # tokens from which what one token takes is told apart from what is fixed


@dataclass(frozen=True)
class Steps:
    """Seconds of passes over one device; lists by whole numbers, so that a lookup is cheap.

    decode: a pass of so many requests that decode, without their caches. by_requests, by_tokens,
    by_last: what a pass with prompts takes for those that decode, for all its tokens, and for
    those that meet the head. token_s: for each token beyond the table. floor_s: the least of a
    pass with prompts. flop_s: of one FLOP of attention within a prompt. pull: the factor by which
    measurements of this model move a pass in which so many decode. knots: contexts from which a
    window is full, from 0 on; cache_at, cache_per_token: seconds to read one request's cache there,
    and for each token beyond. first_flops: FLOPs of attention of the first n tokens of a prompt.
    alone: the same for a prompt while nothing decodes, where an engine has other constants for it.
    mixes: whether prompts share passes with decoding.
    """

    decode: list[float]
    by_requests: list[float]
    by_tokens: list[float]
    by_last: list[float]
    token_s: float
    floor_s: float
    flop_s: float
    pull: list[float]
    knots: list[float]
    cache_at: list[float]
    cache_per_token: list[float]
    first_flops: list[float]
    mixes: bool
    alone: "Steps | None" = None

    def cache_s(self, tokens, place):
        """Seconds to read the cache of one request of so many tokens of a kind, not pulled."""
        return self.cache_at[place] + self.cache_per_token[place] * (tokens - self.knots[place])

    def kind(self, tokens):
        """How many windows are full, 0 for none: the index of what a further token takes."""
        place = len(self.knots) - 1
        while tokens < self.knots[place]:
            place -= 1
        return place

    def decode_s(self, requests, cache_s):
        """A pass that writes one token for each of so many requests."""
        return self.pull[requests] * (self.decode[requests] + cache_s)

    def prompts_s(self, writing, tokens, last, cache_s, flops):
        """A pass over `tokens` of prompts, `last` of which end in it, while so many others write.

        cache_s: of those that write. flops: of attention within the prompts.
        """
        made = self if writing or not self.alone else self.alone
        beside = writing if self.mixes else 0
        every, top = beside + tokens, len(made.by_tokens) - 1
        total = made.by_requests[beside] + made.by_last[beside + last] + made.flop_s * flops
        if every > top:
            total += made.by_tokens[top] + (every - top) * made.token_s
        else:
            total += made.by_tokens[every]
        if beside:
            total += cache_s
        return self.pull[writing] * max(total, made.floor_s)


def steps(
    found: Evaluation,
    seats: int,
    longest_tokens: int,
    prompt_tokens: float,
    output_tokens: float,
    site: float = 1.0,
) -> Steps:
    """The tables of a scenario for up to `seats` requests at once, none longer than that many.

    prompt_tokens, output_tokens: means of the load, by which measurements are weighed. site: how
    much longer every pass takes where it was measured than here.
    """
    work, timing = found.estimate.work, found.timing
    bare, guess = replace(work, **BARE), _bare(found.estimate.guess)
    counts = np.arange(seats + 1)
    decode = guesses.step(timing, bare, counts, guess).total_s
    knots, cache_at, per_token, least = _caches(found, bare, guess)
    asked = replace(work, prompt_tokens=prompt_tokens)
    pull = replace(found.estimate, work=asked, requests=np.maximum(counts, 1)).pull(output_tokens)
    # Neither the weights nor the caches are read faster than the bandwidth allows.
    bound = guesses.least_s(bare, counts, guess, timing.covered_power) / decode
    pull = np.where(counts > 0, np.maximum(pull, np.maximum(bound, least)), 1.0)
    lengths = np.arange(longest_tokens + 1.0)
    flops = found.plan.model.attention_flops(lambda group: group.attended_pairs(lengths))
    shared = {
        "decode": decode.tolist(),
        "pull": (site * pull).tolist(),
        "knots": knots,
        "cache_at": cache_at,
        "cache_per_token": per_token,
        "first_flops": np.broadcast_to(flops / work.devices, lengths.shape).tolist(),
    }
    if not isinstance(timing, KernelTiming):
        return _by_fit(timing, bare, counts, decode, shared)
    most = max(found.engine.batched_tokens, seats)
    made = _by_kernels(timing, timing.kernels, timing.floor_s(bare), bare, counts, most, shared)
    if timing.prompt_peak_share is None and timing.prompt_floor_steps is None:
        return made
    floor_s = timing.prompt_floor_s(work)
    own = _by_kernels(timing, timing.prompt_kernels, floor_s, bare, counts, most, shared)
    return replace(made, alone=own)


def _bare(guess):
    """What guessing asks for beside the cache; None where nobody guesses."""
    return None if guess is None else replace(guess, work=replace(guess.work, **BARE))


def _caches(found, bare, bare_guess):
    """(knots, seconds there, seconds of a further token) of one request's cache; and the least
    pull with which that is not faster than the bandwidth."""
    plan, timing, power = found.plan, found.timing, found.timing.covered_power
    groups = plan.model.groups + (plan.draft.drafter.model.groups if plan.draft else ())
    windows = {most for group in groups for _, most in group.stores() if np.isfinite(most)}
    knots = [0.0, *sorted(map(float, windows))]
    plan = replace(plan, context_tokens=np.array([*knots, knots[-1] + FAR]))
    asked = replace(work_of(plan), groups=bare.groups)
    guess = guess_of(plan, plan.scenario.engine, bare.groups)

    def more(full, empty):
        return np.broadcast_to(np.subtract(full, empty), (len(knots) + 1,))

    seconds = more(
        guesses.step(timing, asked, 1, guess).total_s,
        guesses.step(timing, bare, 1, bare_guess).total_s,
    )
    read = more(
        guesses.least_s(asked, 1, guess, power), guesses.least_s(bare, 1, bare_guess, power)
    )
    least = np.max(read / np.where(seconds > 0, seconds, np.inf))
    per_token = np.diff(seconds) / np.diff([*knots, knots[-1] + FAR])
    return knots, seconds[:-1].tolist(), per_token.tolist(), least


def _by_kernels(timing, kernels, floor_s, bare, counts, pass_tokens, shared):
    """A serving engine: every table is a pass with all else left out."""

    def passed(tokens=0.0, decoding=0.0, prompts=0.0, work=bare):
        return pass_time(work, kernels, timing.host, tokens, decoding, prompts)

    top = int(min(pass_tokens, MOST_TABULATED))
    lasts = np.arange(2 * len(counts))
    nothing = passed()
    ends = passed(tokens=np.array([top, 4.0 * top])).total_s
    # Prompts cost what they do where nobody guesses, beside what guessing takes or spares.
    guessed = np.where(counts > 0, shared["decode"] - timing.decode(bare, counts).total_s, 0.0)
    return Steps(
        **shared,
        by_requests=(passed(decoding=counts).host_s - nothing.host_s + guessed).tolist(),
        by_tokens=passed(tokens=np.arange(top + 1.0)).total_s.tolist(),
        by_last=(passed(prompts=lasts).weights_s - nothing.weights_s).tolist(),
        token_s=float(ends[1] - ends[0]) / (3 * top),
        floor_s=float(floor_s),
        flop_s=float(passed(prompts=1.0, work=replace(bare, prompt_flops=1.0)).prompts_s),
        mixes=timing.mixes,
    )


def _by_fit(timing, bare, counts, decode, shared):
    """A local, older or ideal engine: a step and its prompts' arithmetic, one after the other."""
    headless = replace(bare, head_parameters=0.0)
    step = timing.decode(bare, 1)

    def beside(tokens, flops, work=headless):
        asked = replace(work, prompt_tokens=tokens, prompt_flops=flops)
        return float(timing.shared_s(asked, step, 1, tokens) - step.total_s)

    def alone(tokens, flops, work=headless):
        asked = replace(work, prompt_tokens=tokens, prompt_flops=flops)
        return float(timing.prompt(asked, np.inf).total_s)

    copied_s = float(timing.copied_s(bare, MANY))  # for each pass, out of host memory
    made = []
    for seconds in (beside, alone):
        token_s = (seconds(2 * MANY, 0.0) - seconds(MANY, 0.0)) / MANY
        fixed_s = seconds(MANY, 0.0) - token_s * MANY
        last_s = seconds(MANY, 0.0, bare) - seconds(MANY, 0.0)
        # A step has a fixed time and its own requests' heads; a prompt alone both but once.
        steps_s = decode + fixed_s if seconds is beside else copied_s + 0.0 * decode
        ends_s = 0.0 if seconds is beside else fixed_s - copied_s + last_s
        made.append(
            Steps(
                **shared,
                by_requests=(steps_s - token_s * counts).tolist(),
                by_tokens=[0.0],
                by_last=(ends_s * np.arange(2 * len(counts))).tolist(),
                token_s=token_s,
                floor_s=0.0,
                flop_s=(seconds(MANY, MANY * 1e9) - seconds(MANY, 0.0)) / (MANY * 1e9),
                mixes=True,
            )
        )
    return replace(made[0], alone=made[1])
