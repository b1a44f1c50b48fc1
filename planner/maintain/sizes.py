"""What sizing predicts of published loads: the highest rate under a promise, and open loops.

    python -m planner.maintain.sizes

writes the predicted columns of presets/measurements/promised_rates.csv and open_loops.csv, and
prints the errors. None of these runs has a say in any constant of sizing.

Promised rates are MLPerf results of its Server and Interactive scenarios: the highest rate at which
the 99th percentiles of the first token and of the time per token kept a limit. Their layout is not
stated, so the best of all layouts stands for it; what submitters tune by hand is not known here.
Prompts are fixed at the means of the data sets, as far as MLCommons states them
(https://mlcommons.org/2025/04/llm-inference-v5, https://mlcommons.org/2025/09/small-llm-inference-5-1,
https://mlcommons.org/2025/09/deepseek-inference-5-1; those of OpenOrca are estimates), outputs at
the mean that the log prints.
"""

import csv
from dataclasses import fields

from planner import Promise, Scenario, Workload, size
from planner.files import PRESETS, rows
from planner.hardware import parallel
from planner.inputs import presets
from planner.sizing import checked
from planner.sizing import curve as curves
from planner.sizing.batch import Tables, curves_of
from planner.sizing.checked import OPEN, PROMISED
from planner.sizing.space import Space, choices
from planner.sizing.steady import OVERLOADED

PERCENTILE = 99  # of MLPerf's limits
CACHE = "fp8"  # of submissions, as far as they state it
MOST = 8  # devices of one replica; a submission of more is several


def promised(row: dict[str, str]) -> tuple[float, str]:
    """The highest rate of a submission's devices that keeps its limits, and the layout that has it.

    Each replica gets a Poisson stream.
    """
    devices = int(row["devices"])
    workload = Workload(
        rate=float(row["rate_per_s"]), prompt=float(row["prompt"]), output=float(row["output"])
    )
    promise = Promise(float(row["ttft_s"]), float(row["tpot_s"]), PERCENTILE, headroom=0)
    model = presets.model(row["model"])
    counts = [each for each in (1, 2, 4, MOST) if devices % each == 0]
    layouts = tuple(
        each
        for count in counts
        for each in parallel.layouts(model, count)
        if model.experts or each.data == 1
    )
    space = Space(
        row["model"],
        devices=(row["device"],),
        weights=(row["weights"],),
        caches=(CACHE,),
        engines=(row["engine"],),
        layouts=layouts,
    )
    every = choices(space)
    tables = Tables(every, workload, promise)
    most = tables.most(every)
    held = every.only(most >= 1)
    own = curves_of(tables, held, most[most >= 1])
    total = curves.highest(own, promise, 1.0) * devices / held.layout_devices
    best = held.layouts[held.layout[int(total.argmax())]]
    layout = " ".join(f"{name.name}:{getattr(best, name.name)}" for name in fields(best))
    return float(total.max()), layout


def opened(row: dict[str, str]) -> tuple[bool, float, float]:
    """Whether a load without limit saturates, and the mean times: first token (s), token (ms)."""
    workload = Workload(
        rate=float(row["rate_per_s"]), prompt=float(row["prompt"]), output=float(row["output"])
    )
    scenario = Scenario(
        row["model"], weights=row["weights"], device=row["device"], engine=row["engine"]
    )
    found = size(workload, Promise(), scenario, replicas=1)
    state = found.state
    return found.load == OVERLOADED, float(state.ttft_s), 1e3 * float(state.tpot_s)


def predicted(name: str) -> list[dict[str, str]]:
    """The rows of one of the two files with what is predicted of them now."""
    found = []
    for row in rows(name):
        if name == PROMISED:
            rate, layout = promised(row)
            new = {"predicted_per_s": f"{rate:.4g}", "layout": layout}
        else:
            full, ttft, tpot = opened(row)
            new = {
                "predicted_saturated": "yes" if full else "no",
                "predicted_ttft_s": f"{ttft:.4g}",
                "predicted_tpot_ms": f"{tpot:.4g}",
            }
        found.append(row | new)
    return found


def main():
    """Write both files and print the errors."""
    for name in (PROMISED, OPEN):
        found = predicted(name)
        with open(PRESETS / name, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(found)
    print("\n".join(checked.sentences()))


if __name__ == "__main__":
    main()
