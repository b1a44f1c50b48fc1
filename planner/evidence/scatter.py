"""What the Accuracy page draws: predicted over measured, and errors by group."""

import math

import numpy as np
import pandas as pd

from planner.charts.picture import Picture
from planner.evidence import charts
from planner.evidence.accuracy import (
    GROUPINGS,
    IN_SAMPLE,
    LEFT_OUT,
    QUANTITIES,
    View,
    errors,
    measurements,
    percent,
    readable,
)

MOST_BARS = 20  # groups that the chart draws; the table has all


def scatter(view: View, rows: pd.DataFrame, which: str) -> Picture:
    """Predicted over measured; `which` is predicted or ideal. The axes do not move with filters."""
    quantity = QUANTITIES[view.quantity]
    whole = measurements().query("phase == @view.quantity")
    reach = whole[["measured", "predicted"]].to_numpy() / quantity.size
    least = np.nanquantile(np.append(whole["ideal"], whole["measured"]) / quantity.size, 0.01)
    low, high = _decade(min(reach.min(), least), -1), _decade(reach.max(), 1)
    points = pd.DataFrame(
        {
            "measured": rows["measured"] / quantity.size,
            "predicted": rows[which] / quantity.size,
            "basis": rows["basis"],
        }
    )
    of, title, axis = {
        "predicted": ("calibrated model", "Predicted over measured", "Predicted"),
        "ideal": ("ideal formula", "The ideal formula over measured", "Ideal formula"),
    }[which]
    return Picture(
        which,
        title,
        charts.scatter,
        (low, high, quantity.unit, axis),
        {"rows": points, "line": {"at": [low, high]}, "band": _band(rows, low, high, which)},
        {
            "measured": f"measured ({quantity.unit})",
            "predicted": f"predicted ({quantity.unit})",
            "basis": "how",
            "sentence": "in words",
        },
        f"{quantity.name}, {of}: predicted over measured. {errors_in_words(rows, which)}.",
        {"rows": rows["sentence"]},
    )


def errors_in_words(rows: pd.DataFrame, which: str) -> str:
    """The errors of some measurements in a sentence, each basis by itself."""
    median, p90 = ("median", "p90") if which == "predicted" else ("ideal_median", "ideal_p90")
    return "; ".join(
        f"{row['count']} {row['basis']}: median error {percent(row[median])}, "
        f"90 % within {percent(row[p90])}"
        for _, row in errors(rows, ["basis"]).iterrows()
    )


def aside(rows: pd.DataFrame) -> str:
    """What a reader of the pools must know, in two sentences; nothing of other quantities."""
    held = rows.groupby("basis", sort=False)["in_band"].mean()
    if set(rows["phase"]) != {"pool"} or not {LEFT_OUT, IN_SAMPLE} <= set(held.index):
        return ""
    shares = ", ".join(f"{percent(share)} ({basis})" for basis, share in held.items())
    return (
        "A log that the constants were made from is here twice: predicted by what is derived "
        "without its source, as a new log would be, and in sample by the engine's own constants. "
        "Of the measured pools the stated band, every constant at its worst or at its best, holds "
        f"{shares}."
    )


def _decade(value, step):
    """The next of 1, 2, 5, 10 … at or beyond a value, downwards for −1."""
    ladder = sorted(m * 10.0**p for p in range(-9, 10) for m in (1, 2, 5))
    beyond = [each for each in ladder if (each - value) * step >= 0]
    return min(beyond) if step > 0 else max(beyond)


def _band(rows, low, high, which):
    """The stated band as an area about the diagonal: that of the middle row; none of a count."""
    banded = rows[rows["low"].notna() & (rows["predicted"] > 0)]
    if which == "ideal" or banded.empty:
        return pd.DataFrame(columns=["at", "least", "most"])
    # Measured / predicted lies in the band, so predicted is measured over its ends.
    down = float((banded["predicted"] / banded["high"]).median())
    up = float((banded["predicted"] / banded["low"]).median())
    at = np.geomspace(low, high, 2)
    least, most = np.clip(at * down, low, high), np.clip(at * up, low, high)
    return pd.DataFrame({"at": at, "least": least, "most": most})


def bars(view: View, rows: pd.DataFrame) -> Picture:
    """Median error of each group as a bar, with its 90th percentile and the ideal formula's."""
    label, column = GROUPINGS[view.by]
    named = rows[rows[column].notna() & (rows[column] != "")]
    table = errors(named, [column, "basis"])
    if view.by in ("engine", "generation", "model", "device"):
        table = table.sort_values("median", ascending=False, kind="stable")
    else:
        table = table.sort_values([column, "basis"])
    several = table["basis"].nunique() > 1
    tags = [f" ({basis})" if several and basis != LEFT_OUT else "" for basis in table["basis"]]
    table = table.assign(label=[f"{a}{b}" for a, b in zip(table[column], tags, strict=True)])
    table["sentence"] = [
        f"{row.label}: {row.count} from {row.sources} sources, median error {percent(row.median)}, "
        f"90 % within {percent(row.p90)}; ideal {percent(row.ideal_median)}; "
        f"{percent(row.in_band)} in the band"
        for row in table.astype({"count": object}).itertuples(index=False)
    ]
    drawn = table.head(MOST_BARS)
    shown = readable(table, {"label": label.lower(), "basis": "how"})
    frame = drawn[["label", "median", "p90", "ideal_median"]]
    top = frame[["median", "p90", "ideal_median"]].max().max() if len(frame) else 1.0
    most = (
        min(max(0.1, math.ceil(10 * top + 0.3) / 10), 1.5) if top > 0.02 else max(float(top), 1e-6)
    )
    return Picture(
        "bars",
        "Error by group",
        charts.bars,
        (most, max(len(drawn), 1)),
        {"rows": frame, "table": shown},
        {"label": label.lower()},
        f"Error by {label.lower()}. {'; '.join(drawn['sentence'].head(5))}.",
        {"rows": drawn["sentence"]},
    )
