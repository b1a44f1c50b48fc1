"""What the Accuracy page says: its headline errors, what the model is, and where it is weak."""

import math
from functools import cache

from planner.evidence import memory as memory_accuracy
from planner.evidence.accuracy import (
    IN_SAMPLE,
    LEFT_OUT,
    MEANING,
    NEVER,
    measurements,
    overall,
    percent,
)

HEADLINES = {  # name: (which measurements, in words, and which of the frame they are)
    "Decode, optimised": (
        "Decode steps of engines that are built for speed",
        "phase == 'decode' and optimised and basis == @LEFT_OUT",
    ),
    "Decode, all": ("Decode steps of all engines", "phase == 'decode' and basis == @LEFT_OUT"),
    "Under load": (
        "Steps while other requests' prompts arrive",
        "phase == 'serving' and basis == @LEFT_OUT",
    ),
    "Prefill, serving": (
        "Prompts by themselves, engines that serve",
        "phase == 'prefill' and group != 'local' and basis == @LEFT_OUT",
    ),
    "Cache pool": ("What vLLM leaves for the cache", "phase == 'pool' and basis == @LEFT_OUT"),
    "Cache of a token": ("Bytes per token that logs imply", "phase == 'token'"),
}


def _part(name):
    return measurements().query(HEADLINES[name][1], local_dict={"LEFT_OUT": LEFT_OUT})


@cache
def headlines() -> dict[str, tuple[str, str, str]]:
    """The headline errors by name: the median, the ideal formula's, and the rest in a sentence."""
    found = {}
    for name, (what, _) in HEADLINES.items():
        part = _part(name)
        row = overall(part)
        ideal = "" if math.isnan(row.ideal_median) else f"ideal {percent(row.ideal_median)}"
        band = "" if math.isnan(row.in_band) else f" {percent(row.in_band)} lie in the stated band."
        median = percent(row["median"])
        half = f"half are within {median}" if row["median"] else "half are exact"
        found[name] = (
            median if row["median"] else "exact",
            ideal or f"90 %: {percent(row.p90)}",
            f"{what}: {row['count']} from {row.sources} sources; {half}, 90 % within "
            f"{percent(row.p90)}.{band} {part['basis'].iloc[0].capitalize()}.",
        )
    return found


@cache
def answer() -> tuple[str, str]:
    """The page's first sentence and the one that says from what it comes."""
    row = overall(_part("Decode, optimised"))
    return (
        f"Half of the decode steps of optimised engines are predicted within "
        f"{percent(row['median'])}; by the ideal formula, within {percent(row.ideal_median)}.",
        f"{row['count']} published steps, each predicted by constants that were fitted without its "
        f"source: 90 % are within {percent(row.p90)} (ideal: {percent(row.ideal_p90)}), and "
        f"{percent(row.in_band)} lie in the stated 80 % band. In all "
        f"{memory_accuracy.count(measurements()):,} measurements of time and memory are below.",
    )


ABOUT = """
**The model is small.** A decode step is the sum of reading (weights and cache at a part of the
bandwidth), arithmetic (at a part of the peak), a fixed time for each layer, and more where layers
hold experts or are split over devices. Under load each step also pays for its share of the prompts
that arrive. That is six constants; the ideal formula has none.

**Serving engines share one set of constants.** The data do not tell vLLM, SGLang, TensorRT-LLM and
LMDeploy apart. Given constants of their own, held as loosely as those of local engines are, they
predict a left-out source worse: {own_decode} instead of {decode} at the median for decode steps,
{own_load} instead of {load} under load. What looks like an engine's speed in published tables is
mostly its model, its device and its load. Local engines (llama.cpp, MLC, ExLlamaV2) have a set
each.

**What the labels mean.** *Source left out*: {left_out}. *Never fitted*: {never}. *In sample*:
{in_sample}.

**Where it is weak.** First tokens of a real server (off by a factor: queueing and scheduling are
not in it); prefill of local engines; vLLM of 2023 and 2024 and DeepSpeed-MII; batches above 32
outside serving benchmarks; contexts above 8,192 tokens under load; and every engine with few
sources, since a dozen measurements of one source say little about the next. Where a group has few
measurements its band is borrowed from its kind.

**Memory is mostly counting.** The cache bytes of a token and what a pool holds are not fitted, and
agree with the logs to what their printed digits allow. How large a pool vLLM leaves follows from
constants that logs gave, {pool} off at the median without a log's source, other processes aside.
"""
# Median errors of serving engines with constants of their own, source left out; a test computes
# them anew.
OWN_CONSTANTS = {"own_decode": 0.14, "own_load": 0.24}


@cache
def about() -> str:
    """What the model is and where it is weak, with its figures, as Markdown."""
    serving = measurements().query("group == 'serving' and basis == @LEFT_OUT")
    medians = serving.groupby("phase")["error"].apply(lambda each: each.abs().median())
    return ABOUT.format(
        **{name: percent(value) for name, value in OWN_CONSTANTS.items()},
        decode=percent(medians["decode"]),
        load=percent(medians["serving"]),
        pool=headlines()["Cache pool"][0],
        left_out=MEANING[LEFT_OUT],
        never=MEANING[NEVER],
        in_sample=MEANING[IN_SAMPLE],
    )
