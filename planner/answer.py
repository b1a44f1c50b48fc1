"""The answer in words: the verdict, what would make a load fit, and what the numbers leave out."""

import math

from planner import describe
from planner.inputs import support
from planner.inputs.scenario import NUMBERS
from planner.serving import Evaluation
from planner.units import GIB
from planner.ways import ways_to_fit

IDEAL_LIMITS = (
    "No engine is chosen, so every time is a **lower bound** and every rate an upper bound: peak "
    "bandwidth, peak compute, nothing reserved. It underestimates the measured time per output "
    "token by 45 % (median of 930 published measurements; 38 % for the fastest engines). Choose "
    "an engine for a calibrated forecast.",
    "Engine overhead (activations, CUDA graphs, fragmentation) is not counted. With some hundred "
    "requests at once decoding may become compute-bound, which these times leave out.",
)
CHANGED_LIMITS = (
    "The ideal engine with the figures that you changed. Nothing in it is calibrated.",
)
ENGINE_LIMITS = (
    "Times are **calibrated** on published measurements; 80 % of the measurements left out of the "
    "fit lie within the stated range. Your model, device or version may lie outside it. The page "
    "“Accuracy” shows predicted against measured.",
    "Most published measurements do not state the cache format, whether speculative decoding was "
    "on, or whether a figure is a mean or a median; that page lists what was assumed.",
    "Without an output length, TTFT is that of one prompt alone on an idle engine. With one, it is "
    "that of a closed loop: each request that ends is replaced by a new one. Near saturation "
    "only a range is given.",
    "Requests beyond what the engine's pool admits wait in a queue: TPOT and rates are those of "
    "the running requests.",
    "A device whose interconnect no source states is assumed to use PCIe 4.0 x16.",
    "Engine overhead depends on its version and options; the figures and their sources are listed "
    "under “Engine memory”.",
)
LIMITS = (
    "All requests have the same context, and no prefix is shared between them.",
    "Pipeline stages run one after another for each token. Experts are assumed to be chosen "
    "evenly, which reads the most of them.",
)
HOST_LIMITS = (
    "Layers or experts in **host memory**: whether the host has room is not checked. What its "
    "processor reaches of its bandwidth is assumed (55 %, and the range is wider for it), its "
    "arithmetic is not counted, and with an engine prompts are copied over the link pass by pass.",
)
SHARED_LIMITS = (
    "**Decode context parallel**: devices share out the tokens of each request. What they send one "
    "another for it in every layer is not in the TPOT.",
)
DRAFT_LIMITS = (
    "A **drafter**: how many tokens a step yields is taken as given; it depends on the text. The "
    "size of an EAGLE head and of MTP layers is estimated from the model's own layers. Published "
    "runs gained a quarter less than this, for which the range is wider; the first token is "
    "that of an engine that guesses nothing.",
)
LORA_LIMITS = (
    "**LoRA adapters**: room for one of the largest rank on every matrix of the layers, experts "
    "included, for each slot. Their reading is in the TPOT, for as many as there are requests; "
    "their kernels take longer than that.",
)
SPLIT_LIMITS = (
    "llama.cpp **splits layers** over devices unless it is told otherwise: a pipeline here, whose "
    "devices read one after another. This plan is of its experimental split by tensors.",
)
CHOSEN_LIMITS = (
    "This model's attention is **sparse**: a step reads every past token's short key, and the best "
    "of the rest. That is in the TPOT; choosing them takes time that is not, and a "
    "prompt is counted as if every token read all before it.",
)
SPARSE_LIMITS = (
    "This model's attention is **sparse**: a step scores all past tokens by a short key and reads "
    "only the best of them. The times assume that all are read, an upper bound.",
)


def limits(evaluation: Evaluation) -> tuple[str, ...]:
    """What the numbers do not hold, a text each, in which **…** is bold."""
    own = ENGINE_LIMITS
    if evaluation.ideal_engine:
        own = IDEAL_LIMITS if evaluation.ideal else CHANGED_LIMITS
    own += HOST_LIMITS if evaluation.plan.scenario.placed.any else ()
    own += SHARED_LIMITS if evaluation.plan.scenario.dcp > 1 else ()
    split = evaluation.plan.scenario.tp > 1 and "lama" in evaluation.engine.id.lower()
    own += SPLIT_LIMITS if split else ()
    own += LORA_LIMITS if evaluation.plan.scenario.loras else ()
    own += DRAFT_LIMITS if evaluation.plan.draft else ()
    indexed = [group for group in evaluation.plan.model.groups if group.index_bytes]
    sparse = CHOSEN_LIMITS if all(group.top_k for group in indexed) else SPARSE_LIMITS
    return own + LIMITS + (sparse if indexed else ())


def engine_warning(evaluation: Evaluation) -> str:
    """That the engine is not for the scenario's device, in words; “” where it is."""
    scenario = evaluation.plan.scenario
    refusal = support.refusal(scenario.engine, scenario.device)
    if not refusal and scenario.placed.any and evaluation.engine.host == "none":
        refusal = f"{evaluation.engine.name} leaves no layers or experts to the host's processor."
    return f"{refusal} Every figure with it is hypothetical." if refusal else ""


def verdict(evaluation: Evaluation, warned: bool = True) -> tuple[str, str]:
    """The answer: whether it fits and by how much, and the sentences that go with it.

    Where it does not fit, the second part says what would make it fit. warned: whether that begins
    with the warning that the engine is not for the device.
    """
    answer, detail = stated(evaluation)
    ways = [] if evaluation.fits else ways_to_fit(evaluation)
    parts = [
        engine_warning(evaluation) if warned else "",
        detail,
        f"It would fit with {', or '.join(ways)}." if ways else "",
        what_runs(evaluation),
    ]
    return answer, " ".join(filter(None, parts))


def stated(evaluation: Evaluation) -> tuple[str, str]:
    """Whether it fits and by how much, and what goes with it, without what would make it fit."""
    answer, detail = (_counted if evaluation.ideal else _with_engine)(evaluation)
    also = (_on_host(evaluation.plan), _adapters(evaluation.plan), _drafting(evaluation))
    return answer, " ".join(filter(None, [detail, *also]))


def _on_host(plan):
    """What must find room in host memory, and how long a step waits for it; “” for nothing."""
    if not plan.scenario.placed.any:
        return ""
    held = describe.data(plan.host_weights_bytes + plan.host_cache_bytes)
    least = describe.duration(plan.host_read_s)
    return f"In host memory: {held}, whose reading takes at least {least} of a step."


def _adapters(plan):
    """What room for adapters takes; “” where there is none."""
    if not plan.scenario.loras:
        return ""
    held, name = describe.data(plan.adapter_bytes), describe.adapters(plan.scenario)
    return f"Room for {name} takes {held}."


def _drafting(evaluation):
    """What guessing tokens ahead gains, and up to how many requests; “” where nobody guesses."""
    gained = evaluation.draft_gain()
    if gained is None:
        return ""
    most, name = evaluation.drafts_up_to(), describe.drafter(evaluation.plan.scenario)
    end = {0.0: "it gains at no concurrency", math.inf: "it gains at any concurrency"}
    until = end.get(most, f"it gains up to a concurrency of {describe.whole(most)}")
    speed = describe.significant(gained)
    return f"With {name} a token comes {speed} times as fast as without; {until}."


def _counted(evaluation):
    """Room and speed by counting alone."""
    plan, scenario = evaluation.plan, evaluation.plan.scenario
    count = scenario.layout.devices
    where = f" on each of {count} devices" if count > 1 else ""
    if plan.fits:
        rate = describe.rate(plan.tokens_per_s_per_request)
        most = _up_to(plan.max_concurrency).capitalize()
        return (
            f"Fits, with {describe.data(plan.memory_free_bytes)} to spare{where}.",
            f"{most} of {describe.whole(scenario.context)} tokens; with "
            f"{describe.whole(scenario.concurrency)}, {_each(scenario)} sees {rate}.",
        )
    answer = f"Does not fit: {describe.data(-plan.memory_free_bytes)} too much{where}."
    if plan.device_weights_bytes > plan.memory_usable_bytes:
        weights = describe.data(plan.device_weights_bytes)
        return answer, f"The weights alone need {weights}{where}."
    cache = describe.data(plan.memory_needed_bytes - plan.device_weights_bytes)
    room = describe.data(plan.memory_usable_bytes - plan.device_weights_bytes)
    most = f"{_up_to(plan.max_concurrency)} fit" if plan.max_concurrency else "not one request fits"
    return answer, f"The cache needs {cache} and has {room} beside the weights{where}; {most}."


def _with_engine(evaluation):
    """What the engine's pool holds, and the speed."""
    scenario, name = evaluation.plan.scenario, evaluation.engine.name
    load = f"of {describe.whole(scenario.context)} tokens"
    where = " on each device" if scenario.layout.devices > 1 else ""
    pool = evaluation.reserve.pool_bytes
    pool = f"Its pool is {describe.data(pool)} ({describe.gib(pool)}){where}."
    if evaluation.engine.pool_gib and not evaluation.reserve.pool_bytes:
        pool = f"{_too_large(evaluation)}{where}."
    if not evaluation.fits:
        most = evaluation.max_concurrency
        most = describe.requests(most) if most else "not one request"
        return f"Does not fit: {name} holds {most} {load}.", pool
    rate = evaluation.tokens_per_s_per_request
    least = f"{describe.significant(rate.low)} to " if rate.low < rate.high else ""
    return (
        f"Fits: {name} holds {_up_to(evaluation.max_concurrency)} {load}.",
        f"{pool} With {describe.whole(evaluation.running)}{_waiting(evaluation)}, "
        f"{_each(scenario)} sees {least}{describe.rate(rate.high)}.",
    )


def _too_large(evaluation):
    """That a pool of a fixed size finds no room, and by how much; without a full stop."""
    asked, held = evaluation.engine.pool_gib * GIB, evaluation.reserve
    room = held.total_bytes - held.weights_bytes - held.overhead_bytes
    missing = describe.gib(asked - room)
    return f"It would not start: a pool of {describe.gib(asked)} is {missing} more than is left"


def _waiting(evaluation):
    """Those that wait although the pool holds them all: an engine that reserves whole requests."""
    return f" ({describe.whole(evaluation.waiting)} wait)" if evaluation.waiting else ""


def what_runs(evaluation: Evaluation) -> str:
    """For which load the times hold where not all of it fits; by counting alone all of it does."""
    if evaluation.ideal or evaluation.fits:
        return ""
    if not evaluation.running:
        return "None runs: times are those of one, if it fitted."
    run, wait = describe.whole(evaluation.running), describe.whole(evaluation.waiting)
    return f"Running: {run}, waiting: {wait}; times and rates are of the running."


def _each(scenario):
    return "it" if scenario.concurrency == 1 else "each"


def _up_to(most):
    limit = NUMBERS["concurrency"].maximum
    if most > limit:
        return f"more than {describe.requests(limit)}"
    return f"up to {describe.requests(most)}"
