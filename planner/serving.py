"""Scenario -> Evaluation: what its engine reserves, what then runs, and how long that really takes.

The ideal engine is one more row of data: through the same lines it gives the plan's own numbers.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from planner import formulas
from planner.asked import guess_of, setup_of, timing_of, work_of
from planner.engines.calibration import IDEAL, StepTime, Timing
from planner.engines.memory import Engine, Reserve
from planner.engines.passes import PassTime, PrefillTime
from planner.engines.timing import (
    KernelTiming,
    LoadedStep,
    loaded_step,
)
from planner.hardware import parallel
from planner.hardware.accelerator import Accelerator
from planner.inputs import overrides
from planner.inputs.scenario import Scenario
from planner.latency import guesses, measured
from planner.latency.estimate import (
    Band,
    Estimate,
    first_token_bound_s,
    load_state,
    prompt_bound_s,
)
from planner.latency.measured import Neighbour
from planner.models.model import Model
from planner.plan import Plan
from planner.plan import plan as plan_of
from planner.pools import longest_context, most_requests, reserve
from planner.units import GB


@dataclass(frozen=True)
class Evaluation:
    """A scenario worked out: its plan, and what its engine makes of it; arrays where that has some.

    plan: by counting alone, in SI units. running: requests that run at once, the others wait; times
    and rates are those of the running. fullness: requests asked for in those that the engine
    admits. step: a decode step by its parts. mixed: the mean one while new prompts arrive, None
    where the scenario has no output length. first: one prompt alone, by its parts. ttft_loaded_s:
    in a closed loop; None where there is no output length, or no such measurement of the engine.
    prefill_bound_s, ttft_bound_s: the least that one prompt can take, every product at its format's
    own peak. reserve: of a device of the pipeline stage whose pool holds the fewest requests. Where
    counting is all (`ideal`) capacity and times per token are the plan's own.

    >>> from planner import Scenario, evaluate
    >>> found = evaluate(Scenario("llama-3.1-8b", device="h100-sxm", engine="vllm-0.26"))
    >>> print(found.fits, found.max_concurrency < found.plan.max_concurrency)
    True True
    >>> print(found.tpot_s.low < found.tpot_s.value < found.tpot_s.high)
    True
    """

    plan: Plan
    engine: Engine
    estimate: Estimate
    running: float
    fullness: float
    step: PassTime | StepTime
    step_s: Band
    mixed: LoadedStep | None
    mixed_s: Band | None
    first: PrefillTime
    ttft_s: Band
    ttft_loaded_s: Band | None
    prefill_bound_s: float
    ttft_bound_s: float
    reserve: Reserve

    @property
    def timing(self) -> Timing | KernelTiming:
        """The engine's constants of time, with those that a person has set."""
        return self.estimate.timing

    @property
    def ideal_engine(self):
        """Whether the engine is the ideal one, as it is or with figures changed."""
        return self.engine.id == "ideal"

    @property
    def ideal(self):
        """Whether counting is all: the ideal engine, and no figure of it changed."""
        return self.ideal_engine and not self.plan.scenario.set

    @property
    def load(self):
        """Stable, near saturation or saturated."""
        return load_state(self.fullness)

    @property
    def waiting(self):
        """Requests asked for that do not run."""
        return self.plan.concurrency - self.running

    @property
    def tpot_s(self) -> Band:
        """TPOT: while new prompts arrive, where the scenario says how often."""
        return self.mixed_s or self.step_s

    @property
    def tokens_per_s_per_request(self) -> Band:
        """Tokens per second of one request; the slow end of the step is the low end."""
        return _rate(self.tpot_s, 1)

    @property
    def tokens_per_s_total(self) -> Band:
        """Tokens per second of all running requests together."""
        return _rate(self.tpot_s, self.running)

    @property
    def first_token_s(self) -> Band:
        """The time to first token: under load where that is known, else of a prompt alone."""
        return self.ttft_loaded_s or self.ttft_s

    @property
    def first_token_value_s(self):
        """That time where one number is needed: its value, or its least where there is none."""
        first = self.first_token_s
        return np.where(np.isfinite(first.value), first.value, first.low)[()]

    def draft_gain(self, ideal=False):
        """How many times as fast guessing makes a token; None where nobody guesses."""
        estimate = self.estimate
        if estimate.guess is None:
            return None
        timing = IDEAL if ideal else estimate.timing
        return guesses.gain(timing, estimate.work, estimate.requests, estimate.guess)

    def drafts_up_to(self, ideal=False):
        """The most requests at which guessing still gains, ∞ for any; None where nobody guesses."""
        estimate = self.estimate
        if estimate.guess is None:
            return None
        timing, data = IDEAL if ideal else estimate.timing, self.plan.scenario.dp
        return guesses.gains_up_to(timing, estimate.work, data, estimate.guess)

    @property
    def max_concurrency(self):
        """The most requests of this context: those that the engine's own pool holds."""
        if self.ideal:
            return self.plan.max_concurrency
        return most_requests(self.reserve, self.plan.scenario)

    @cached_property
    def max_context_tokens(self):
        """The longest context at this concurrency, as the engine's own pool holds it."""
        if self.ideal:
            return self.plan.max_context_tokens
        return longest_context(self.plan, self.engine)

    @property
    def fits(self):
        """Whether the load fits: the engine's own pool holds it."""
        if self.ideal:
            return self.plan.fits
        return self.max_concurrency >= self.plan.concurrency


PARTS = ("weights", "cache", "compute", "overhead", "prompts")


def parts(step: PassTime | StepTime | LoadedStep) -> list[tuple[str, float]]:
    """The parts of a step by the names that the page gives them, in drawing order; seconds."""
    found = dict(step.parts())
    return [(name, found.get(name, 0.0)) for name in PARTS]


def evaluate(
    scenario: Scenario,
    *,
    model: Model | None = None,
    device: Accelerator | None = None,
    engine: Engine | None = None,
    timed_as: str = "",
    **varied,
) -> Evaluation:
    """Work out a scenario with its engine: what fits, how long it takes, and how sure that is.

    To hold one against another, `model` and `device` replace the scenario's own, `engine` its own
    for what is reserved, and the id `timed_as` for its times. Any number of the scenario
    (concurrency, context, prompt, output, bandwidth, memory, peak; its units) may be replaced by
    another or by an array, as `plan` takes them.

    >>> import numpy as np
    >>> from planner import Scenario, evaluate
    >>> evaluate(Scenario(), context=np.array([8192, 65_536])).fits
    array([ True, False])
    """
    plan = plan_of(scenario, model=model, device=device, **varied)
    engine = engine or scenario.engine_with(plan.memory_usable_bytes)
    timing = timing_of(plan, timed_as or scenario.engine)
    held = reserve(plan, engine)
    running, fullness = _running(plan, engine, timing, held)
    # Where not even one fits, the times are those of one if it did.
    together = np.maximum(running, 1)
    each = parallel.requests_per_group(together, scenario.dp)
    asked = replace(work_of(plan), groups=together / each)
    given = bool(overrides.of_time(overrides.read(scenario.set)))
    guess = guess_of(plan, timed_as or scenario.engine, asked.groups)
    estimate = Estimate(timing, asked, setup_of(plan, timing), each, given, guess)

    plain = guesses.step(timing, asked, each, guess)
    step, step_s = estimate.step(plain)
    mixed = mixed_s = loaded = None
    pass_tokens = engine.batched_tokens
    if np.any(plan.output_tokens):
        mean = loaded_step(timing, asked, each, plan.output_tokens, pass_tokens)
        mean = replace(mean, alone=plain)  # prompts cost what they do where nobody guesses
        mixed, mixed_s = estimate.step(mean, plan.output_tokens)
        loaded = estimate.under_load(pass_tokens, mixed_s, load_state(fullness))
    first = timing.prompt(asked, pass_tokens)
    bound = first_token_bound_s(timing, asked)
    least = plan.ttft_s if timing.group == "ideal" else bound
    return Evaluation(
        plan=plan,
        engine=engine,
        estimate=estimate,
        running=running,
        fullness=fullness,
        step=step,
        step_s=step_s,
        mixed=mixed,
        mixed_s=mixed_s,
        first=first,
        ttft_s=estimate.alone(first, least),
        ttft_loaded_s=loaded,
        prefill_bound_s=prompt_bound_s(timing, asked),
        ttft_bound_s=bound,
        reserve=held,
    )


def fits(scenario: Scenario, **varied):
    """Whether a load fits, as `evaluate` says, without its times; `varied` as it takes them."""
    plan = plan_of(scenario, **varied)
    if scenario.engine == "ideal" and not scenario.set:
        return plan.fits
    held = reserve(plan, scenario.engine_with(plan.memory_usable_bytes))
    return most_requests(held, scenario) >= plan.concurrency


@dataclass(frozen=True)
class Capacities:
    """How much one device holds, in three ways that are often taken for one another; bytes.

    label: the size on the box, None where the memory was typed by hand. allocatable: what a process
    can have. engine: how much of it the engine may fill; all of it where the engine is ideal.
    """

    label: float | None
    allocatable: float
    engine: float


def capacities(evaluation: Evaluation) -> Capacities:
    """The three capacities of a plan's device."""
    scenario, held = evaluation.plan.scenario, evaluation.reserve
    device = scenario.the_device
    before = held.total_bytes - held.budget_bytes / evaluation.engine.fraction
    filled = held.budget_bytes + before
    if evaluation.engine.pool_gib:
        filled = held.total_bytes - held.left_bytes
    own = scenario.memory == device.memory_gb
    return Capacities(
        label=device.label_gb * GB if own else None,
        allocatable=held.total_bytes,
        engine=filled,
    )


def _rate(step, count):
    ends = (step.value, step.high, step.low)
    return Band(*(formulas.tokens_per_second(seconds, count) for seconds in ends))


def time_figure(evaluation: Evaluation, name: str) -> float:
    """An engine's figure of time as it stands in a plan, by its name in a link.

    Set to what it stands at, it changes nothing.
    """
    timing, work = evaluation.timing, evaluation.estimate.work
    if isinstance(timing, Timing):
        return getattr(timing, name)
    host = replace(timing.host, device_layer_us=0.0)
    own = replace(timing, host=host).decode(work, evaluation.estimate.requests)
    layer_s = work.layers * (host.vendor_factor if work.other_vendor else 1.0)
    routed_us = host.expert_layer_us if work.experts else 0.0
    matrix = timing.kernels.matrix
    share, floor = timing.prompt_peak_share, timing.prompt_floor_steps
    found = {
        "bandwidth_efficiency": matrix.bandwidth_share,
        "compute_efficiency": matrix.peak_share,
        "layer_us": own.launches_s / layer_s * 1e6 - routed_us,
        "device_layer_us": timing.host.device_layer_us,
        "expert_layer_us": host.expert_layer_us,
        "tensor_layer_us": own.sums_s / layer_s * 1e6,
        "prefill_efficiency": matrix.peak_share if share is None else share,
        "prefill_floor_steps": timing.floor_s(work) / timing.decode(work, 1).total_s
        if floor is None
        else floor,
    }
    return float(found[name])


def neighbours(evaluation: Evaluation) -> list[Neighbour]:
    """Measurements of the plan's own model, the one that says most of it first. One scenario."""
    plan, estimate = evaluation.plan, evaluation.estimate
    return measured.neighbours(
        estimate.setup, estimate.requests, plan.new_prompt_tokens, plan.output_tokens
    )


def comparable(evaluation: Evaluation) -> list[Neighbour]:
    """Measurements that stand beside a plan's line of time over context, the nearest first.

    Of this model in these weights on this device, split alike, with prompts arriving, and with half
    to twice as many requests and tokens written: none for a plan without arriving prompts.
    """
    setup, output = evaluation.estimate.setup, evaluation.plan.output_tokens
    if not output:
        return []
    alike = (setup.device, setup.weights, setup.tensor)
    running = float(evaluation.estimate.requests)
    return [
        each
        for each in neighbours(evaluation)
        if (each.device, each.weights, each.tensor) == alike
        and running / 2 <= each.running <= running * 2
        and output / 2 <= each.output_tokens <= output * 2
    ]


def running_requests(plan: Plan, engine: Engine) -> float:
    """Requests of a plan that run at once with what an engine reserves, timed as the plan's own."""
    timing = timing_of(plan, plan.scenario.engine)
    return _running(plan, engine, timing, reserve(plan, engine))[0]


def _running(plan, engine, timing, held):
    """Requests that run at once, and those asked for in those that the engine admits."""
    scenario = plan.scenario
    if engine.id == "ideal" and not scenario.set:
        return plan.concurrency, 0.0
    admitted = _admitted(plan, engine, timing, held)
    running = formulas.running_requests(plan.concurrency, most_requests(admitted, scenario))
    with np.errstate(divide="ignore"):
        fullness = plan.concurrency / np.asarray(scenario.dp * admitted.concurrency, float)
    return running, fullness


def _admitted(plan, engine, timing, held) -> Reserve:
    """The pool in requests as the engine admits them: by what they hold, or by all they will."""
    if not getattr(timing, "whole_requests", False):
        return held
    whole = np.maximum(plan.context_tokens, plan.prompt_tokens + plan.output_tokens)
    return reserve(replace(plan, context_tokens=whole), engine)
