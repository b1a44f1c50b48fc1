"""What the Accuracy page says: its headline errors, what the model is, and where it is weak."""

import math
from functools import cache

from planner.engines.timing import kernel_shares
from planner.evidence import memory as memory_accuracy
from planner.evidence.accuracy import (
    IN_SAMPLE,
    LEFT_OUT,
    MEANING,
    NEVER,
    errors,
    measurements,
    overall,
    percent,
    weakest,
)

HEADLINES = {  # name: (which measurements, in words, and which of the frame they are)
    "Decode, optimised": (
        "Decode steps of engines that are built for speed",
        "phase == 'decode' and optimised and basis == @LEFT_OUT",
    ),
    "Decode, all": ("Decode steps of all engines", "phase == 'decode' and basis == @LEFT_OUT"),
    "Under load": (
        "Steps while other requests' prompts arrive, without any measurement of their model",
        "phase == 'serving' and basis == @LEFT_OUT",
    ),
    "TTFT under load": (
        "First tokens below saturation, without any measurement of their model",
        "phase == 'first' and basis == @LEFT_OUT",
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
        f"{percent(row['median'])}; the lower bound is off by {percent(row.ideal_median)}.",
        f"{row['count']} published steps, each predicted by constants that were fitted without its "
        f"source: 90 % are within {percent(row.p90)} (lower bound: {percent(row.ideal_p90)}), and "
        f"{percent(row.in_band)} lie in the stated 80 % band. In all "
        f"{memory_accuracy.count(measurements()):,} measurements of time and memory are below.",
    )


ABOUT = """
**The model is small.** A step of a serving engine is a short sum: matrices and experts, which are
read while they are multiplied; the cache; sums between devices; launches of kernels; and the host's
own time. While prompts arrive, a part of the passes carries them. What kernels reach of the data
sheet was measured on single kernels, {kernels} lines for all devices; six constants were fitted on
whole steps. Local and older engines have a few constants each, fitted on their own steps. The ideal
formula has none. With llama.cpp and flash attention a batch of B requests is taken to need the
experts of B to the power of 0.75, and a layer of experts more time above one request: two constants
chosen on the steps of one source on one device.

**Serving engines share one set of constants.** Given constants of their own, they predict a
left-out model worse: {own} instead of {shared} at the median. What looks like an engine's speed in
published tables is mostly its model, its device and its load.

**Measured set-ups pull.** Measurements of the same model move an estimate, the more the nearer they
are in device, engine, requests and lengths. Under load the median error is {shared} where nothing
of the model was seen, {setup} where only this set-up was not, and {sweep} where only other lengths
or layouts of it were.

**What the labels mean.** *Left out of the fit*: {left_out}. *Never fitted*: {never}. *In sample*:
{in_sample}.

**Where it is weak.** Under load, worst first: {weakest}. TTFT: {first}; near saturation
only a range is given, beyond it the queue grows without bound. Also: prefill of local
engines; engines of 2023 and 2024; steps that other publishers measured on hosts of their
own; versions of one engine differ by up to 1.6 times on one set-up. Where a group has few
measurements its band is borrowed from its kind.

**What published runs leave unsaid.** Most do not state the format of the cache: it is taken from
their public recipes (8 bits on Blackwell and with TensorRT-LLM, else 16). Speculative decoding is
taken to be off, and runs that look as if it were on are shown and not fitted. Prompts and outputs
drawn at 0.8 to 1 of a nominal length are taken as 0.9 of it, means and medians as one.

**Memory is mostly counting.** The cache bytes of a token and what a pool holds are not fitted, and
agree with the logs to what their printed digits allow. How large a pool vLLM leaves follows from
constants that logs gave, {pool} off at the median without a log's source, other processes aside.
"""
# Median error of serving engines with constants of their own, model left out; a test computes it.
OWN_CONSTANTS = 0.130
NAMED_GROUPS = 3


@cache
def about() -> str:
    """What the model is and where it is weak, with its figures, as Markdown."""
    rows = measurements().query("phase == 'serving' and basis == @LEFT_OUT")
    known = rows[rows["setup_error"].notna()]
    first = measurements().query("phase == 'first' and basis == @LEFT_OUT")
    return ABOUT.format(
        kernels=len(kernel_shares()),
        own=percent(OWN_CONSTANTS),
        shared=percent(known["error"].abs().median()),
        setup=percent(known["setup_error"].abs().median()),
        sweep=percent(known["sweep_error"].abs().median()),
        weakest=_named(weakest(rows)),
        first=_named(errors(first, ["engine_name"]).sort_values("median", ascending=False)),
        pool=headlines()["Cache pool"][0],
        left_out=MEANING[LEFT_OUT],
        never=MEANING[NEVER],
        in_sample=MEANING[IN_SAMPLE],
    )


def _named(table):
    """The first groups of a table of errors in words, with their median error."""
    keys = [name for name in ("model", "engine_name") if name in table]
    return ", ".join(
        f"{' with '.join(row[name] for name in keys)} {percent(row['median'])}"
        for _, row in table.head(NAMED_GROUPS).iterrows()
    )
