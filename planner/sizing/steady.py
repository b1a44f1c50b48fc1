"""Scenario + workload + promise -> Sizing: replicas, and the steady state that each of them is in.

Every time is one of `evaluate`; here it is only asked for at the loads that a workload makes.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from planner import formulas
from planner.engines import defaults
from planner.engines.memory import Engine
from planner.engines.passes import Work
from planner.engines.timing import KernelTiming
from planner.inputs.scenario import LENGTHS, NUMBERS, Scenario
from planner.latency.estimate import Band, first_token_bound_s
from planner.serving import Evaluation, evaluate
from planner.sizing import curve as curves
from planner.sizing import queueing
from planner.sizing.curve import GRID, MOST_RUNNING, NEAR, Curve, State
from planner.sizing.workload import Promise, Workload

TAIL = 0.95
STABLE, NEARLY, OVERLOADED = "stable", "near saturation", "overloaded"


@dataclass(frozen=True)
class Sizing:
    """A deployment of so many replicas under a workload, with the ends of its 80 % band.

    needed: replicas that keep the promise with its head room, ∞ where none do; without a count of
    one's own, so many are taken, and where none do, so many as can take the load. replicas: those
    that share the load, spares not counted. own: the curve of each, and state where on it each is;
    fast, slow: the same at the short and the long end of the band of times. highest: what all of
    them can be asked for and keep the promise, in requests per second, and in users where they are
    counted. found: of one replica, with what runs on it.

    >>> from planner import Promise, Scenario, Workload, size
    >>> small = Scenario("llama-3.1-70b", device="l4", engine="vllm-0.34")
    >>> answer = size(Workload(rate=1), Promise(), small)
    >>> print(answer.fits, answer.needed)
    False inf
    """

    scenario: Scenario
    workload: Workload
    promise: Promise
    needed: float
    replicas: int
    own: Curve
    fast_own: Curve
    slow_own: Curve
    state: State
    fast: State
    slow: State
    highest_rate: float
    highest_users: float | None
    found: Evaluation

    @property
    def fits(self):
        """Whether the pool of a replica holds one of the longest requests at least."""
        return float(self.own.most) >= 1

    @property
    def keeps(self):
        """Whether the promise is kept, head room not counted."""
        return self.fits and bool(self.state.keeps(self.promise))

    @property
    def kept_for_sure(self):
        """Whether it is kept at the slow end of the band as well."""
        return self.keeps and bool(self.slow.keeps(self.promise))

    @property
    def load(self):
        """Stable, near saturation or overloaded."""
        if not self.fits or self.state.utilisation >= 1:
            return OVERLOADED
        return NEARLY if self.state.utilisation >= NEAR else STABLE

    @property
    def devices(self):
        """All of them, those of the spare replicas too."""
        return self.scenario.layout.devices * (self.replicas + self.promise.spares)

    @property
    def rate(self):
        """Requests per second of the whole deployment."""
        return self.workload.rate or float(self.state.rate) * self.replicas

    @property
    def ttft_s(self) -> Band:
        """Time to first token at the promise's percentile."""
        return self._tail("ttft_tail_s")

    @property
    def tpot_s(self) -> Band:
        """Time per output token at the promise's percentile."""
        return self._tail("tpot_tail_s")

    def _tail(self, name):
        """Ends alone near saturation; without end beyond it."""
        value, low, high = (
            float(getattr(each, name)) for each in (self.state, self.fast, self.slow)
        )
        if self.load == OVERLOADED:
            return Band(np.inf, low, np.inf)
        return Band(value if self.load == STABLE else np.nan, low, high)

    @property
    def bandwidth_used(self):
        """Part of the bandwidth that reads weights and caches, 0 to 1."""
        return float(self.found.plan.decode_step_s / self.found.tpot_s.value)

    @property
    def arithmetic_used(self):
        """Part of the 16-bit peak that multiplies, 0 to 1 and more where products are of 8 bits."""
        plan, layout = self.found.plan, self.scenario.layout
        tokens = plan.decode_flops / plan.concurrency * self.workload.written.mean
        flops = float(self.state.rate) * (tokens + plan.prefill_flops)
        return float(flops / (plan.peak_flops * layout.devices))

    @property
    def blocks_used(self):
        """Part of the cache's blocks that hold requests, 0 to 1."""
        return float(self.state.running / self.found.max_concurrency) if self.fits else 1.0

    @property
    def paging_saves_bytes(self):
        """Memory of a replica that would be taken if each request reserved its longest at once."""
        cache = self.found.plan.cache
        longest, held = self.workload.longest_tokens, self.workload.held_tokens
        spared = cache.request_bytes(longest) - cache.request_bytes(held)
        return float(self.state.running * max(spared, 0.0))

    @property
    def prefix_saves_bytes(self):
        """Memory of a replica that requests share instead of holding the prefix once each."""
        shared = max(float(self.state.running) * self.workload.hit_rate - 1, 0.0)
        return shared * float(self.found.plan.cache.request_bytes(self.workload.prefix))

    @property
    def prefix_saves_s(self):
        """Time to first token of a prompt alone that the cached prefix saves."""
        plain = evaluate(replace(self.scenario, prefix=0), concurrency=1, **_numbers(self.workload))
        return float(plain.first.total_s - self.found.first.total_s)

    @cached_property
    def worst(self) -> "Sizing":
        """The same deployment's sizing where every request is as long as it may be."""
        return size(self.workload.worst(), self.promise, self.scenario)


def size(
    workload: Workload,
    promise: Promise,
    scenario: Scenario,
    replicas: int | None = None,
    prompts_apart: bool = False,
) -> Sizing:
    """How many replicas of a scenario keep a promise, and how they then run.

    scenario: model, device, layout, formats and engine; its own load and lengths are not looked at.
    replicas: answer for so many instead of the fewest. prompts_apart: prompts are read by devices
    of their own, which are not counted: a bound.

    >>> from planner import Promise, Scenario, Workload, size
    >>> one = Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm-0.34")
    >>> answer = size(Workload(rate=20, prompt=1000, output=200), Promise(ttft_s=0.5), one)
    >>> print(answer.load, answer.replicas, answer.keeps)
    stable 1 True
    """
    own, found = curve_of(scenario, workload, promise, prompts_apart)
    needed = float(curves.replicas(own, promise)) if own.most >= 1 else np.inf
    count = replicas or _count(needed, own, promise)
    burst = queueing.divided_burst(workload.burst**2, count)
    fast_own, slow_own = _ends(own, found)
    fast, state, slow = (
        curves.steady(each, workload.asked / count, promise, burst)
        for each in (fast_own, own, slow_own)
    )
    most = float(curves.highest(own, promise, burst)) * count if own.most >= 1 else 0.0
    lengths = _numbers(workload)
    return Sizing(
        scenario=scenario,
        workload=workload,
        promise=promise,
        needed=needed,
        replicas=count,
        own=own,
        fast_own=fast_own,
        slow_own=slow_own,
        state=state,
        fast=fast,
        slow=slow,
        highest_rate=_as_rate(most, count, own, promise, burst),
        highest_users=most if workload.closed else None,
        found=evaluate(
            _with_prefix(scenario, workload.spared),
            concurrency=max(float(state.running), 1.0),
            **lengths,
        ),
    )


def _count(needed, own, promise):
    """The needed replicas; where none keep the promise, so many as take the load with head room."""
    if own.most < 1:
        return 1
    if not np.isfinite(needed):
        any_time = replace(promise, ttft_s=np.inf, tpot_s=np.inf)
        needed = curves.replicas(own, any_time)
    return int(min(needed, curves.MOST_REPLICAS))


def _as_rate(most, count, own, promise, burst):
    if not own.workload.closed or not most:
        return most
    each = curves.steady(own, most / count, promise, burst)
    return float(each.rate) * count


def _ends(own, found):
    """The curve at the short and at the long end of what is known of its times."""
    step, first = found.tpot_s, found.ttft_s
    return tuple(
        own.slower(getattr(step, end) / step.value, getattr(first, end) / first.value)
        for end in ("low", "high")
    )


def _numbers(workload):
    """A workload's mean lengths as `evaluate` takes them."""
    return {
        "context": workload.held_tokens,
        "prompt": workload.prompt.mean,
        "output": workload.written.mean,
    }


def _with_prefix(scenario, tokens):
    return replace(scenario, prefix=round(min(tokens, LENGTHS["prefix"].maximum)))


def tail_prompt(workload: Workload) -> tuple[float, float]:
    """The prompt of the 95th percentile: its tokens, and how many of them are cached.

    None are where more prompts miss the prefix than lie beyond.
    """
    tokens = workload.prompt.p95
    hits = workload.hit_rate >= TAIL
    return tokens, min(workload.prefix, max(tokens - 1, 0)) if hits else 0.0


def curve_of(
    scenario: Scenario, workload: Workload, promise: Promise, prompts_apart: bool = False
) -> tuple[Curve, Evaluation]:
    """A replica's curve under a workload, and its evaluation along the grid."""
    plain, numbers = _with_prefix(scenario, workload.spared), _numbers(workload)
    most = _most(plain, workload, numbers)
    running = np.minimum(GRID, most)
    together = curves.seen(workload, running, most)
    found = evaluate(plain, concurrency=together, **numbers)
    tokens, cached = tail_prompt(workload)
    tail = evaluate(_with_prefix(scenario, cached), concurrency=1, **numbers | {"prompt": tokens})
    first, each = _first_s(found, found.estimate.work)
    late, _ = _first_s(found, _with_prompt_of(found.estimate.work, tail.estimate.work), tail)
    shape = running.shape
    step, mixed = (found.step_s, None) if prompts_apart else (found.tpot_s, found.mixed)
    sway = curves.sway_s(workload, mixed.prompts_s, running) if mixed else 0.0
    tables = (step.value, sway, first, late, 0.0 * each if prompts_apart else each)
    return curves.curve(
        workload, running, *(np.broadcast_to(table, shape) for table in tables)
    ), found


def _with_prompt_of(work, other):
    """The load of one with the prompts of another."""
    return replace(work, prompt_tokens=other.prompt_tokens, prompt_flops=other.prompt_flops)


def _most(scenario, workload, numbers):
    """Requests that a replica admits at once: 0 where it cannot hold even one of the longest."""
    longest = evaluate(scenario, concurrency=1, **numbers | {"context": workload.longest_tokens})
    if not longest.fits:
        return 0.0
    found = evaluate(scenario, concurrency=MOST_RUNNING, **numbers)
    held = np.minimum(found.running, found.max_concurrency)
    return float(min(held, most_scheduled(found.engine, scenario.dp), MOST_RUNNING))


def most_scheduled(engine, groups):
    """Requests that an engine puts into one step by its own default; ∞ where no source says."""
    known = defaults.step_defaults().get(engine.id, ())
    if not known or known[0].requests is None:
        return np.inf
    return groups * engine.logit_rows


def _first_s(found, work, alone=None):
    """To a first token where no other prompt waits, and what one more prompt keeps it busy.

    alone: of the same prompt, where it is not that of `found`.
    """
    timing, requests = found.estimate.timing, found.estimate.requests
    if not isinstance(timing, KernelTiming):
        own = (alone or found).ttft_s.value
        return own + found.step.total_s / 2, own
    first, each = first_tokens_s(timing, work, requests, found.engine)
    return first, each / found.plan.scenario.dp


def first_tokens_s(timing: KernelTiming, work: Work, requests, engine: Engine):
    """To the first token of a prompt with no other ahead, and what one more keeps busy; seconds.

    The prompt waits for what is left of the pass under way, and for those already in flight.
    """
    step, own, each = timing.first_token_parts(work, requests, engine.batched_tokens)
    steps = 0.5 + engine.steps_in_flight - 1
    interface = timing.interface_ms * 1e-3
    alone = formulas.first_token_seconds(
        interface, steps, step, timing.own_passes * own, 0, requests, each
    )
    return np.maximum(alone, first_token_bound_s(timing, work)), each


def deployed(sizing: Sizing) -> Scenario:
    """One replica's load as a plan: what runs in its steady state, with the mean lengths."""
    workload = sizing.workload

    def within(name, value, known=NUMBERS):
        return known[name].nearest(round(value))

    return replace(
        _with_prefix(sizing.scenario, workload.spared),
        concurrency=within("concurrency", np.ceil(float(sizing.state.running))),
        context=within("context", workload.held_tokens),
        prompt=within("prompt", workload.prompt.mean, LENGTHS),
        output=within("output", workload.written.mean, LENGTHS),
    )
