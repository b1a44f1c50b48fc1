"""What would change a deployment: one thing at a time, and what it does to rate, times and cost."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from planner import describe, files
from planner.hardware import parallel
from planner.inputs import presets
from planner.inputs.scenario import NUMBERS, Scenario
from planner.models import drafting
from planner.sizing.space import CACHE_NEEDS, QUANTISED, SMALL_CACHE
from planner.sizing.steady import Sizing, size
from planner.sizing.workload import Lengths, Workload

SHARED = 0.5  # of the prompt that is shared where prefix reuse is tried
FIRST, STREAM = "first", "stream"  # symptoms, as presets/glossary/remedies.toml has them
PREFILL, PLACES, DECODE = "prefill", "places", "decode"


@dataclass(frozen=True)
class Lever:
    """One change, and the deployment with it: as many replicas as before, unless it is of them.

    note: what is assumed of it.
    """

    label: str
    sizing: Sizing
    note: str = ""

    def rate_factor(self, own: Sizing) -> float:
        """How many times as many requests keep the promise; 0 where none do."""
        return self.sizing.highest_rate / own.highest_rate if own.highest_rate else 0.0


def levers(own: Sizing) -> list[Lever]:
    """Every change that this deployment leaves to be made, the one that brings most first."""
    found = [
        *(_sized(own, label, note, scenario=each) for label, note, each in _scenarios(own)),
        *(_sized(own, label, note, workload=each) for label, note, each in _workloads(own)),
        _sized(own, "One more replica", "", replicas=own.replicas + 1),
        _sized(
            own,
            "Prefill on devices of its own",
            "a bound: no step carries prompts, and those devices are not counted",
            prompts_apart=True,
        ),
    ]
    return sorted(found, key=lambda each: -each.rate_factor(own))


def _sized(own, label, note, scenario=None, workload=None, **more):
    given = {"replicas": own.replicas} | more
    return Lever(
        label,
        size(workload or own.workload, own.promise, scenario or own.scenario, **given),
        note,
    )


def _scenarios(own: Sizing) -> Iterator[tuple[str, str, Scenario]]:
    """Changes of the deployment: formats, and the device's bandwidth."""
    now, device = own.scenario, own.scenario.the_device
    if presets.cache_format(now.cache_k).bits > 8 and getattr(device, CACHE_NEEDS):
        yield "8-bit cache", "", replace(now, cache_k=SMALL_CACHE, cache_v=SMALL_CACHE)
    bits = presets.weight_format(now.weights).expert_bits
    for stored, needs in QUANTISED.items():
        own_format = presets.weight_format(stored)
        if own_format.body_bits < bits - 1 and (needs is None or getattr(device, needs)):
            label = f"Weights: {own_format.name.partition(',')[0]}"
            yield label, "accuracy not looked at", replace(now, weights=stored)
    bandwidth = NUMBERS["bandwidth"].nearest(2 * now.bandwidth)
    yield "Twice the bandwidth", "", replace(now, bandwidth=bandwidth)
    wider = replace(now.layout, tensor=2 * now.tp)
    if not parallel.refusals(wider, now.the_model, wider.devices):
        yield "Twice the devices in a replica", "", replace(now, tp=2 * now.tp)
    yield from _guesses(now)


def _guesses(now):
    """Speculative decoding with what the model came with, else a head of its own; or without."""
    if now.draft:
        yield "Without speculative decoding", "", replace(now, draft="")
        return
    for kind in (drafting.MTP, drafting.EAGLE):
        if not drafting.refusal(now.the_model, kind, now.pp):
            note = (
                f"{drafting.NAMES[kind]}, {now.drafted} tokens guessed, a step yields "
                f"{now.accepted:g}: your acceptance length"
            )
            yield "Speculative decoding", note, replace(now, draft=kind)
            return


def _workloads(own: Sizing) -> Iterator[tuple[str, str, Workload]]:
    """Changes of what is asked: a shared prefix, or shorter requests."""
    now = own.workload
    prompt = now.prompt
    if now.prefix and now.hit_rate:
        yield "Without prefix reuse", "", replace(now, prefix=0.0)
    else:
        shared = SHARED * prompt.mean
        note = f"half of the mean prompt, {describe.whole(shared)} tokens, in the cache"
        yield "Prefix reuse", note, replace(now, prefix=shared, hit_rate=1.0)
    yield "Half the prompt", "", replace(now, prompt=_half(prompt))
    shorter = replace(now, prompt=_half(prompt), output=_half(now.output))
    yield "Half the context", "prompts and outputs half as long", shorter


def _half(lengths):
    return Lengths(*(max(each / 2, 1) for each in (lengths.median, lengths.p95, lengths.mean)))


# --- which phase is to blame ----------------------------------------------------------------------


@dataclass(frozen=True)
class Diagnosis:
    """What holds a deployment back. missed: whether it misses the promise by that, or would next.

    phase: prefill, decode, or places, where requests wait to be admitted. why: a sentence.
    remedies: what helps against it, in the words of the lesson.
    """

    missed: bool
    phase: str
    why: str
    remedies: tuple[str, ...]


def diagnosis(own: Sizing) -> Diagnosis:
    """Which part of the promise is missed, or nearest to be, and which phase that comes from."""
    state, promise = own.state, own.promise
    first = float(state.ttft_tail_s) / promise.ttft_s
    stream = float(state.tpot_tail_s) / promise.tpot_s
    missed = not own.keeps
    if first < stream:
        symptom, (phase, why) = STREAM, (DECODE, _stream(own))
    else:
        phase, why = _first(own)
        symptom = STREAM if phase == PLACES else FIRST  # a place is freed by faster streaming
    remedies = files.toml("glossary/remedies.toml")["entry"]
    texts = tuple(each["text"].lower() for each in remedies if each["symptom"] == symptom)
    return Diagnosis(missed, phase, why, texts)


def _first(own):
    """Where the time to first token goes: its own prompt, others ahead of it, or a place."""
    state = own.state
    parts = {
        "prompt": float(state.own_first_s),
        "queue": float(state.prompts_wait_s),
        "places": float(state.places_wait_s),
    }
    longest = max(parts, key=parts.get)
    if longest == "places":
        return PLACES, (
            f"Requests wait for one of {describe.whole(own.own.most)} places, as many as cache "
            "memory and the engine's own limit give."
        )
    if longest == "queue":
        return PREFILL, "Prompts wait for the prompts ahead of them: prefill is the bottleneck."
    return PREFILL, (
        f"The prompt itself takes most of it: {describe.duration(parts['prompt'])} of prefill and "
        "the step under way, even where no other waits."
    )


def _stream(own):
    """Where a step's time goes: reading weights, caches, or carrying prompts."""
    parts = dict((own.found.mixed or own.found.step).parts())
    name = max(parts, key=lambda each: float(parts[each]))
    share = float(parts[name]) / sum(map(float, parts.values()))
    what = {
        "weights": "reading the weights",
        "cache": "reading the caches",
        "compute": "arithmetic",
        "overhead": "launches, sums between devices and the host",
        "prompts": "the prompts of others, which share its steps",
    }[name]
    return f"Of a decode step {100 * share:.0f} % is {what}."
