"""A clock one can see: one prefill and a few decode steps on one time axis, in slow motion.

Two tracks run side by side. On the first bytes come from memory: the weights once for all requests,
then each request's cache. On the second the arithmetic is done. Whichever takes longer sets the
pace, so the other one waits: in prefill the memory, in decode the arithmetic.
"""

from dataclasses import dataclass, replace

from planner import describe, formulas
from planner.inputs.scenario import Scenario
from planner.lesson.view import Scene
from planner.plan import plan

STEPS = 6  # decode steps on the axis after the prefill
MOST_CACHES = 8  # drawn one by one; more are joined to so many
SLOW = 50  # times slower than it is, where that plays for a few seconds
SECONDS = (4.0, 16.0)  # how long it should play, at least and at most


@dataclass(frozen=True)
class Part:
    """What one track does from one moment to another, in seconds; `kind` is its colour's name."""

    kind: str
    start_s: float
    end_s: float
    label: str


@dataclass(frozen=True)
class Beat:
    """A prefill or a decode step: when, what memory and arithmetic do, and the words for it."""

    name: str
    start_s: float
    end_s: float
    memory: tuple[Part, ...]
    compute: tuple[Part, ...]
    says: str

    @property
    def busy(self):
        """The part of the beat in which arithmetic is done, 0 to 1."""
        return sum(each.end_s - each.start_s for each in self.compute) / (self.end_s - self.start_s)


def beats(scenario: Scenario, prompt: int, batch: int, prefix: int = 0) -> tuple[Beat, ...]:
    """One prompt's prefill and STEPS decode steps of a whole batch.

    prefix: tokens of the prompt that are in the cache already.
    """
    first = plan(replace(scenario, context=prompt, prefix=prefix))
    weights_s = formulas.read_seconds(first.prefill_read_bytes, first.bandwidth_bytes_per_s)
    end = float(first.ttft_s)
    bound = "arithmetic" if first.prefill_s > weights_s else "reading the weights"
    spared = prompt - first.new_prompt_tokens
    skipped = f", {describe.whole(spared)} more are in the cache" if spared else ""
    found = [
        Beat(
            "Prefill",
            0.0,
            end,
            (Part("weights", 0.0, float(weights_s), "weights"),),
            (Part("compute", 0.0, float(first.prefill_s), "prompt"),),
            f"{describe.whole(first.new_prompt_tokens)} tokens at once{skipped}: waits for {bound}",
        )
    ]
    for step in range(1, STEPS + 1):
        found.append(_step(scenario, prompt + step, batch, step, found[-1].end_s))
    return tuple(found)


def _step(scenario, context, batch, number, start):
    now = plan(scenario, context=context, concurrency=batch)
    read = start + float(now.weights_read_s)
    caches, each = min(batch, MOST_CACHES), float(now.cache_read_s) / min(batch, MOST_CACHES)
    memory = [Part("weights", start, read, "weights, once for all")]
    for at in range(caches):
        label = f"cache of request {at + 1}" if batch == caches else "caches"
        memory.append(Part("cache", read + at * each, read + (at + 1) * each, label))
    end = start + float(now.decode_step_s)
    needed = float(formulas.compute_seconds(now.decode_flops, now.peak_flops))
    computed = min(start + needed, end)
    waits = "waits for reading memory"
    if start + needed > end:  # the plan's step counts reading alone
        waits = "reading is counted, though arithmetic would take longer here"
    return Beat(
        f"Step {number}",
        start,
        end,
        tuple(memory),
        (Part("compute", start, computed, "arithmetic"),),
        f"one token{f' for each of {batch:,} requests' if batch > 1 else ''}: {waits}",
    )


def scene(scenario: Scenario, prompt: int, batch: int, prefix: int, gives) -> Scene:
    """The clock as the component `clock` shows it."""
    found = beats(scenario, prompt, batch, prefix)
    total = found[-1].end_s
    slow = min(max(SLOW, SECONDS[0] / total), SECONDS[1] / total)
    return Scene(
        "clock",
        "Prefill, then decode, in slow motion",
        {
            "total": total,
            "slow": slow,
            "requests": min(batch, MOST_CACHES),
            "more": max(batch - MOST_CACHES, 0),
            "prompt": {"cached": min(prefix, prompt - 1), "tokens": prompt},
            "beats": [
                {
                    "name": beat.name,
                    "start": beat.start_s,
                    "end": beat.end_s,
                    "says": beat.says,
                    "busy": _percent(beat.busy),
                    "time": describe.duration(beat.end_s - beat.start_s),
                    "memory": [_drawn(part) for part in beat.memory],
                    "compute": [_drawn(part) for part in beat.compute],
                }
                for beat in found
            ],
        },
        ". ".join(
            f"{beat.name}: {describe.duration(beat.end_s - beat.start_s)}, {beat.says}"
            for beat in found[:2]
        )
        + ".",
        gives,
        {
            "beat": [beat.name for beat in found],
            "from (ms)": [1e3 * beat.start_s for beat in found],
            "to (ms)": [1e3 * beat.end_s for beat in found],
            "arithmetic busy (%)": [100 * beat.busy for beat in found],
        },
    )


def _percent(share):
    return f"{describe.significant(100 * share, 2)} %"


def _drawn(part):
    return {"kind": part.kind, "start": part.start_s, "end": part.end_s, "label": part.label}
