"""Draws what kernels reach from measured kernel times; makes presets/kernel_shares.csv.

    python -m planner.maintain.kernels        (in an environment with aiconfigurator and pandas)

Every operation is fitted by the same line,

    t = launch + ((bytes / (b · BW))^p + (FLOPs / (c · peak))^p)^(1/p),

b and c parts of the data sheet's bandwidth and of the format's own peak, p how far reading and
arithmetic overlap, by least squares on log(t / measured) that let no outlier pull. All fits are in
kernels.csv beside this file; the few that the planner uses are one line an operation and format
(`best`). Nothing here is needed to run the planner.
"""

import csv
import os
from pathlib import Path

import numpy as np
import pandas as pd

from planner.files import PRESETS
from planner.formulas import joined_seconds
from planner.maintain.kernel_tables import FORMATS, Reader, Table
from planner.maintain.solve import least_squares, soft

HERE = Path(__file__).parent
COLUMNS = (
    "device",
    "engine",
    "operation",
    "format",
    "launch_us",
    "bandwidth_share",
    "peak_share",
    "overlap",
    "rows",
    "median_error",
    "p90_error",
    "kernels",
    "source",
)
FIGURES = ["launch_us", "bandwidth_share", "peak_share", "overlap"]
# Least and most of each figure: a launch, two parts of the data sheet, the overlap less one.
LEAST, MOST = np.log([0.3, 0.05, 0.01, 0.001]), np.log([400, 1.1, 1.1, 54])
START = np.log([8, 0.8, 0.5, 1.6])
OUTLIER = 0.1
DATA_CENTRE = ("h100-sxm", "h200-sxm", "b200-sxm", "b300-sxm", "gb200", "gb300")
PCIE = ("l40s", "rtx-pro-6000-server")
FOUR_BIT = ("b200-sxm", "b300-sxm", "gb200", "gb300", "rtx-pro-6000-server")  # have 4-bit units
# Fits that fail: an error, a launch that no kernel has, an overlap at its bound.
MOST_ERROR, MOST_LAUNCH_US, MOST_OVERLAP = 0.3, {"matrix": 30, "other": 150}, 4.5
LEAST_EXPERTS = 0.3  # of the bandwidth
# Which peak a format needs for its own kernel, and which takes its place where a device lacks it.
NEEDS = {
    ("matrix", "8"): ("fp8", "8-weights"),
    ("matrix", "8-block"): ("fp8", "8-weights"),
    ("matrix", "nvfp4"): ("fp4", "4-weights"),
    ("experts", "nvfp4"): ("fp4", "4-weights"),
    ("experts", "mxfp4-8"): ("fp4", "mxfp4-16"),
}


def fit(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """(launch µs, bandwidth share, peak share, overlap) and the relative errors."""

    def constants(x):
        launch, bandwidth, peak, beyond = np.exp(x)
        return launch, bandwidth, peak, table.overlap or 1 + beyond

    def predicted(x):
        launch, bandwidth, peak, overlap = constants(x)
        return launch + joined_seconds(table.reading / bandwidth, table.arithmetic / peak, overlap)

    def residuals(x):
        return soft(np.log(predicted(x) / table.measured), OUTLIER)

    found = least_squares(residuals, START, LEAST, MOST)
    return np.array(constants(found)), np.abs(predicted(found) / table.measured - 1)


def fits(reader: Reader) -> list[dict[str, str]]:
    """The lines of kernels.csv."""
    found = {}
    for table in reader.tables():
        kernel = table.kernels if table.operation == "experts" else ""
        figures, errors = fit(table)
        key = (table.device, table.engine, table.operation, table.format, kernel)
        found[key] = {
            **dict(zip(COLUMNS, key, strict=False)),
            **{n: f"{v:.3g}" for n, v in zip(FIGURES, figures, strict=True)},
            "rows": str(len(errors)),
            "median_error": f"{np.median(errors):.3g}",
            "p90_error": f"{np.quantile(errors, 0.9):.3g}",
            "kernels": table.kernels,
            "source": table.source,
        }
    return [found[key] for key in sorted(found)]


def best(lines: list[dict[str, str]]) -> pd.DataFrame:
    """One line an operation and format: of each figure the best engine's, median over its devices.

    Kernels do not tell devices apart well enough to pay for constants of their own, and what one
    engine's kernel shows the others' do too once whole steps are measured: with the best figures
    left-out models are predicted better than with medians, and much better than with every
    engine's or device's own. Of several kernels for one thing the fastest counts; no share is above
    1. Sums are stated for links and for PCIe, the rest for Hopper and Blackwell.
    """
    table = pd.DataFrame(lines)
    table[[*FIGURES, "median_error"]] = table[[*FIGURES, "median_error"]].astype(float)
    launch = table.operation.map(MOST_LAUNCH_US).fillna(MOST_LAUNCH_US["other"])
    fine = (table.median_error < MOST_ERROR) & (table.launch_us < launch)
    fine &= table.overlap < MOST_OVERLAP
    fine &= ~((table.operation == "experts") & (table.bandwidth_share < LEAST_EXPERTS))
    fine &= ~((table.format == "mxfp4-16") & table.device.isin(FOUR_BIT))
    summed = table.operation.str.startswith("all-reduce")
    place = np.where(table.device.isin(PCIE) & summed, "-pcie", "")
    table["operation"] = table.operation + place
    known = table.device.isin(DATA_CENTRE) | (place != "")
    known |= table.format == "4-weights"  # an older device is the only one with such products
    table = table[fine & known]
    table = table.assign(speed=table.launch_us + 20 / table.bandwidth_share).sort_values("speed")
    table = table.drop_duplicates(["device", "engine", "operation", "format"])
    engines = table.groupby(["operation", "format", "engine"])[FIGURES].median()
    by = engines.groupby(["operation", "format"])
    found = pd.DataFrame(
        {
            "launch_us": by.launch_us.min(),
            "bandwidth_share": by.bandwidth_share.max().clip(upper=1),
            "peak_share": by.peak_share.max().clip(upper=1),
            "overlap": by.overlap.median(),
        }
    ).reset_index()
    units = {form: unit for form, _, unit in FORMATS.values()}
    pairs = list(zip(found.operation, found.format, strict=True))
    of_weights = [operation in ("matrix", "experts") for operation, _ in pairs]
    found["peak"] = [
        units[form] if own else "fp16" for own, (_, form) in zip(of_weights, pairs, strict=True)
    ]
    found["needs"] = [NEEDS.get(pair, ("", ""))[0] for pair in pairs]
    found["otherwise"] = [NEEDS.get(pair, ("", ""))[1] for pair in pairs]
    behind = table.groupby(["operation", "format"]).agg(
        devices=("device", "nunique"),
        fits=("device", "size"),
        median_error=("median_error", "median"),
    )
    return found.merge(behind.reset_index(), on=["operation", "format"])


def main():
    """Read, fit, write."""
    import aiconfigurator_core

    folder = os.path.join(os.path.dirname(aiconfigurator_core.__file__), "systems", "data")
    lines = fits(Reader(folder))
    with open(HERE / "kernels.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(lines)
    shares = best(lines)
    shares.to_csv(
        PRESETS / "kernel_shares.csv", index=False, float_format="%.3g", lineterminator="\n"
    )
    print(shares.to_string(index=False))


if __name__ == "__main__":
    main()
