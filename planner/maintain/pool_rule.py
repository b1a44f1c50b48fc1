"""The rule that gives vLLM's calibrated figures in presets/engines.csv from its start-up logs.

    python -m planner.maintain.pool_rule

prints them beside the shipped ones, and writes presets/measurements/pools_out_of_fold.csv: what the
rule gives without each source. The figures were first set by hand from these logs; the rule
was written down after, with steps of rounding that give the same, so that a pool can be predicted
by what the rule gives without its source. The step of an activation is four bytes, one number in
single precision, as logits are; that of a size a tenth of a GiB.

The newer versions, which take graphs off the pool, share their sizes. `logit_bytes` of the newest
is read in its source and stays assumed: a model runner that holds less of the logits. Four of its
logs print the peak of a step apart from graphs; no constant is made of them.

What a device adds when there are several (link_gib) has one log behind it and stays assumed; the
ends of the bands stay as they were set by hand, and the logs that came later say what they hold.
"""

import csv
import math
from functools import cache

import numpy as np

from planner.evidence.measurements import rows
from planner.evidence.memory import source
from planner.files import PRESETS
from planner.inputs import presets
from planner.maintain import fit
from planner.units import GIB

OUT_OF_FOLD = "pools_out_of_fold.csv"
OLDER, NEWER = "vllm-0.20", ("vllm", "vllm-0.26")
STEPS = {"activation_per_width": 4, "logit_bytes": 4, "non_torch_gib": 0.1, "graphs_gib": 0.1}


def fitted() -> list[dict[str, str]]:
    """The pools that the figures were made from; the others came later and test them."""
    return [row for row in rows("pools.csv") if row["fitted"] == "yes"]


def peaks() -> list[dict[str, str]]:
    """The peaks of a step that the figures were made from: those of the older version."""
    return [row for row in rows("activation_peaks.csv") if row["engine"] == OLDER]


@cache
def figures(without: str | None = None) -> dict[str, dict[str, float]]:
    """Figures of each version of vLLM from all logs but those of one source, rounded by STEPS.

    Bytes an element of the width and a logit; GiB of non-torch memory and of captured graphs.
    """
    pools = [row for row in fitted() if source(row) != without]
    per_width, per_logit = activation([row for row in peaks() if source(row) != without])
    found = {}
    for engine in (*NEWER, OLDER):
        figure = {"activation_per_width": per_width}
        if engine != NEWER[-1]:
            figure["logit_bytes"] = per_logit
        for name in ("non_torch_gib", "graphs_gib"):
            figure[name] = printed(pools, name, engine)
        found[engine] = {name: rounded(value, STEPS[name]) for name, value in figure.items()}
    return found


def activation(peaks) -> np.ndarray:
    """k and m of `formulas.activation_bytes` with the least sum of |log(predicted / printed)|."""
    columns = ("batched_tokens", "width", "logit_rows", "vocabulary", "activation_gib")
    tokens, width, logit_rows, vocabulary, peak = np.array(
        [[float(row[name]) for name in columns] for row in peaks]
    ).T
    design = np.stack([tokens * width, logit_rows * vocabulary], axis=1)
    # No pull towards the start: two constants, and more logs than that whatever is left out.
    start, least = np.ones(2), np.zeros(2)
    each = np.ones(len(peaks))
    return fit.least_relative(design, peak * GIB, each, start, start, least, 1e-9)


def printed(pools, name, engine) -> float:
    """Median of what the logs of a version print, GiB; any log that prints it counts.

    The newer versions have few logs: with n of them all it lies n / (n + 1) of the way from the
    older version's figure to their median.
    """
    alike = (OLDER,) if engine == OLDER else NEWER
    own = [float(row[name]) for row in pools if row["engine"] in alike and row[name]]
    if engine == OLDER:
        return float(np.median(own))
    older = printed(pools, name, OLDER)
    return (len(own) * np.median(own) + older) / (len(own) + 1) if own else older


def rounded(value, step):
    """To the nearest multiple, half up, without the dust of binary fractions."""
    return round(step * math.floor(value / step + 0.5), 9)


def out_of_fold() -> list[tuple[str, str, str, float]]:
    """What the rule gives without each source: source, engine, figure, value."""
    sources = dict.fromkeys(map(source, fitted()))
    return [
        (without, engine, name, value)
        for without in sources
        for engine, found in figures(without).items()
        for name, value in found.items()
    ]


def main():
    """Print what the rule gives and what engines.csv has; write what it gives without a source."""
    with open(PRESETS / "measurements" / OUT_OF_FOLD, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerows([("without", "engine", "figure", "value"), *out_of_fold()])
    for engine, found in figures().items():
        for name, value in found.items():
            print(f"{engine:10} {name:22} {value:6g} {getattr(presets.engines()[engine], name):6g}")


if __name__ == "__main__":
    main()
