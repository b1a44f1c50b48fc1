"""Sizing against published loads: the highest rate under a promise, and loads without a limit.

presets/measurements/promised_rates.csv and open_loops.csv hold what was measured beside what is
predicted (`planner.maintain.sizes` renews that). None of these runs has a say in a constant.
"""

import numpy as np

from planner.files import rows
from planner.inputs import presets

PROMISED, OPEN = "measurements/promised_rates.csv", "measurements/open_loops.csv"
SATURATED = {"yes": "grows without bound", "no": "stable"}


def errors() -> dict[str, float]:
    """Errors of the predictions, as parts: medians, and how often the verdict is right."""
    promise, loops = rows(PROMISED), rows(OPEN)
    rates = _ratios(promise, "predicted_per_s", "rate_per_s")
    stable = [row for row in loops if row["saturated"] == "no"]
    right = [row["saturated"] == row["predicted_saturated"] for row in loops]
    times = _ratios(stable, "predicted_tpot_ms", "tpot_ms")
    first = _ratios(stable, "predicted_ttft_s", "ttft_s")
    return {
        "rate": _median_error(rates),
        "rate_ratio": float(np.median(rates)),
        "tpot": _median_error(times),
        "ttft": _median_error(first),
        "verdict": float(np.mean(right)),
    }


def _ratios(table, ours, theirs):
    return np.array([float(row[ours]) / float(row[theirs]) for row in table])


def _median_error(ratios):
    return float(np.median(np.abs(ratios - 1)))


def sentences() -> list[str]:
    """The errors in words."""
    found = {name: f"{100 * value:.0f} %" for name, value in errors().items()}
    promise, loops = rows(PROMISED), rows(OPEN)
    return [
        f"Highest rate that keeps a promise, {len(promise)} MLPerf results whose layout is not "
        f"stated, by the best layout: median error {found['rate']}, median {found['rate_ratio']} "
        "of what submitters reached. Weakest: DeepSeek-R1, 2.6 to 2.9 times too high, and Arc B60, "
        "too low.",
        f"Open loops, {len(loops)} runs of vLLM, all but one on DGX Spark: whether the queue grows "
        f"is right in {found['verdict']}; where it does not, TPOT is known to "
        f"{found['tpot']}, time to first token to {found['ttft']} (medians).",
    ]


def tables() -> dict[str, list[dict]]:
    """Measured beside predicted, a row each, for a page."""
    return {
        "Highest rate under a promise (requests/s)": [
            {
                "model": presets.model(row["model"]).name,
                "deployment": f"{row['devices']} × {presets.accelerator(row['device']).name}, "
                f"{row['weights']}, {row['engine']}",
                "promise": f"{row['ttft_s']} s, {1e3 * float(row['tpot_s']):g} ms (p99)",
                "measured": float(row["rate_per_s"]),
                "predicted": float(row["predicted_per_s"]),
                "source": row["source"],
            }
            for row in rows(PROMISED)
        ],
        "Open loops": [
            {
                "model": presets.model(row["model"]).name,
                "device": presets.accelerator(row["device"]).name,
                "requests/s": float(row["rate_per_s"]),
                "measured": SATURATED[row["saturated"]],
                "predicted": SATURATED[row["predicted_saturated"]],
                "TPOT (ms)": float(row["tpot_ms"]),
                "predicted TPOT (ms)": float(row["predicted_tpot_ms"]),
            }
            for row in rows(OPEN)
        ],
    }
