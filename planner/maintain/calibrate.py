"""Fits the time model anew and writes what it finds.

    python -m planner.maintain.calibrate

Serving engines (serving_fit.py, first_tokens.py, bands.py): presets/timing.csv, bands.csv and
measurements/residuals.csv. Local and older engines (fit.py, local.py): presets/calibration.csv.
Of all, measurements/out_of_fold.csv: what each measurement is predicted as without its source, its
model, its set-up or its sweep. Prints how far off the left-out measurements were. What kernels
reach is derived apart (kernels.py). Five minutes.
"""

import csv
from dataclasses import dataclass, fields

import numpy as np

from planner.engines.calibration import Timing
from planner.engines.passes import Host
from planner.evidence import measurements
from planner.files import PRESETS
from planner.latency import measured
from planner.maintain import bands, first_tokens, fit, local, report, serving_fit
from planner.maintain.first_tokens import FAMILIES
from planner.maintain.rows import Rows, gather

UNITS = {
    "launch_factor": "",
    "step_us": "µs a step",
    "request_us": "µs a request",
    "expert_layer_us": "µs a layer",
    "pass_layer_us": "µs a layer",
    "vendor_factor": "",
}


@dataclass(frozen=True)
class Served:
    """Serving engines: the fit on all rows, and each row without some of the others, seconds."""

    rows: Rows
    host: Host
    first: first_tokens.FirstTokens
    source: np.ndarray
    publisher: np.ndarray
    model: np.ndarray
    setup: np.ndarray
    sweep: np.ndarray
    first_by_model: np.ndarray

    @property
    def cases(self):
        """The left-out predictions that each case of a band is made of."""
        return {"model": self.model, "setup": self.setup, "sweep": self.sweep}


def served() -> Served:
    """Everything about serving engines, each measurement left out in turn."""
    rows = gather(measurements.steps(), by_kernels=True)
    host = serving_fit.fit(rows.only(rows.fitted))
    first = first_tokens.first_tokens(rows, host)
    reference, ran = rows.reference, rows.fitted & ~rows.reference
    return Served(
        rows=rows,
        host=host,
        first=first,
        source=serving_fit.left_out(rows, rows["source"], ran),
        publisher=serving_fit.left_out(rows, rows["publisher"], ran),
        model=serving_fit.left_out(rows, rows["model"], reference),
        setup=serving_fit.left_out(rows, rows.setup, reference),
        sweep=serving_fit.left_out(rows, rows.sweep, reference, refit=False),
        first_by_model=first.left_out(rows["model"]),
    )


def band_lines(made: Served) -> list[tuple[str, str, str, float]]:
    """The lines of presets/bands.csv."""
    rows, first = made.rows, made.first
    found = []
    for case, seconds in made.cases.items():
        found += bands.of_case(case, np.log(rows.measured_s / seconds), rows)
    found += bands.of_strangers(np.log(rows.measured_s / made.publisher), rows)
    off = np.log(first.measured_s / made.first_by_model)
    return found + bands.of_first_tokens(off, first.clean, rows)


def constants(made: Served) -> list[tuple[str, float, str, str]]:
    """The lines of presets/timing.csv: constant, value, unit, what it was fitted on."""
    rows, first = made.rows, made.first
    sources = len(np.unique(rows["source"][rows.fitted]))
    steps = f"{np.count_nonzero(rows.fitted)} steps of {sources} sources"
    tokens = f"{np.count_nonzero(first.clean)} first tokens below saturation"
    own, ahead, *seen = first.fit(first.clean)
    return [
        *((name, float(getattr(made.host, name)), unit, steps) for name, unit in UNITS.items()),
        ("interface_ms", 16.0, "ms", "held: a request in and a token out"),
        ("own_passes", own, "", tokens),
        ("ahead", ahead, "", tokens),
        *(
            (f"steps_seen {name}", s, "steps", tokens)
            for name, s in zip(FAMILIES, seen, strict=True)
        ),
    ]


def residual_lines(made: Served):
    """The lines of presets/measurements/residuals.csv, the fitted rows as witnesses."""
    rows = made.rows
    witnesses = rows.witnesses(rows.step_s(made.host)).only(rows.fitted)
    names = [field.name for field in fields(measured.Witnesses)]
    for row in zip(*(getattr(witnesses, name) for name in names), strict=True):
        each = dict(zip(names, row, strict=True))
        each["reference"] = "yes" if each["reference"] else "no"
        for name in ("measured", "predicted"):
            each[f"{name}_ms"] = f"{each.pop(f'{name}_s') * 1e3:.5g}"
        for name in ("tensor", "running", "prompt_tokens", "output_tokens"):
            each[name] = f"{each[name]:g}"
        yield each


def left_out_lines(made: Served, others) -> list[dict[str, str]]:
    """The lines of presets/measurements/out_of_fold.csv, milliseconds.

    others: rows of local and older engines and their seconds without the source.
    """
    found = {}
    columns = {
        "source_ms": made.source,
        "model_ms": made.model,
        "setup_ms": made.setup,
        "sweep_ms": made.sweep,
        "first_ms": np.where(made.first.clean, made.first_by_model, np.nan),
    }
    tables = [(made.rows, columns), *((rows, {"source_ms": seconds}) for rows, seconds in others)]
    for rows, named in tables:
        for name, seconds in named.items():
            for id, value in zip(rows["id"].tolist(), seconds, strict=True):
                if np.isfinite(value):
                    line = found.setdefault(id, {"id": id, **dict.fromkeys(columns, "")})
                    line[name] = f"{value * 1e3:.5g}"
    return list(found.values())


def _write(name, header, lines):
    with open(PRESETS / name, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(header)
        table.writerows(lines)


def _digits(lines, count=4):
    """Few enough to read; of bands more, since a measurement may lie at their very edge."""
    return [
        [f"{cell:.{count}g}" if isinstance(cell, float) else cell for cell in line]
        for line in lines
    ]


def main():
    """Fit, write, print."""
    made = served()
    steps, prefills = (
        gather(columns, by_kernels=False)
        for columns in (measurements.steps(), measurements.prefills())
    )
    earlier = made.rows.only(made.rows["load"] == "ran")
    step_s, prefill_s = fit.out_of_fold(steps, prefills, earlier)
    by_engine = fit.out_of_fold(steps, prefills, earlier, by="engine")
    timings = local.timings(steps, prefills, earlier, (step_s, prefill_s), by_engine)

    _write("timing.csv", ("constant", "value", "unit", "fitted_on"), _digits(constants(made)))
    lines = band_lines(made)
    _write("bands.csv", ("case", "engine", "regime", "factor"), _digits(lines, 7))
    residuals = list(residual_lines(made))
    _write("measurements/residuals.csv", residuals[0], [each.values() for each in residuals])
    cells = [local.cells(row).values() for row in timings]
    _write("calibration.csv", [field.name for field in fields(Timing)], cells)
    without = left_out_lines(made, ((steps, step_s), (prefills, prefill_s)))
    _write("measurements/out_of_fold.csv", without[0], [each.values() for each in without])

    print(report.of_serving(made))
    print(report.of_bands(made))
    print(report.of_first_tokens(made))
    print(report.of_others(made, (steps, step_s), (prefills, prefill_s)))


if __name__ == "__main__":
    main()
