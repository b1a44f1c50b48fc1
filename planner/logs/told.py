"""What was read from a log and what comes of it, in words and tables for a page and a terminal."""

from typing import NamedTuple

from planner import describe
from planner.inputs import presets
from planner.inputs.scenario import Scenario
from planner.logs.from_log import FromLog
from planner.logs.parse import LogReading

CLOSE = 1  # percent
MOST_LINES = 2000  # of a log that are listed
UNITS = {"_gib": " GiB", "_tokens": " tokens", "_len": " tokens"}
# Figures that a plan or a prediction starts from, besides those that are predicted.
STARTED_FROM = (
    *("version", "first_engine", "model", "model_file", "dtype", "quantization", "dialect"),
    *("cache_dtype", "cache_k", "cache_v", "flash", "device", "device_name", "device_count"),
    *("tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel"),
    *("expert_parallel_on", "data_attention", "fraction", "max_model_len", "slot_tokens"),
    *("batched_tokens", "sequences", "block_tokens", "eager", "prefix_caching", "window_share"),
    *("lora_on", "loras", "lora_rank", "host_expert_layers", "cpu_moe"),
    *("state_type", "states_type", "state_blocks"),
    *("drafting", "drafted", "total_gib", "refused", "set_pool_gib", "set_blocks", "set_tokens"),
)
TERMS = (
    "weights_gib",
    "activation_gib",
    "non_torch_gib",
    "graphs_held_gib",
    "state_gib",
    "free_gib",
)


class Understood(NamedTuple):
    """One figure of a log: its name, its value in words, the number of its line and its text.

    mattered: whether a row or the plan comes from it.
    """

    figure: str
    value: str
    line: int
    text: str
    mattered: bool


def understood(reading: LogReading, found: FromLog) -> list[Understood]:
    """Every figure that was read, in the order of the log."""
    used = {*STARTED_FROM, *(row.figure for row in found.rows)}
    pool = any(row.quantity == "pool" for row in found.rows)
    used |= {*TERMS, "free_gib"} if pool else set()
    each = [
        Understood(_label(name), _value(name, getattr(reading, name)), line.number, line.text,
                   name in used)
        for name, line in reading.lines.items()
    ]  # fmt: skip
    return sorted(each, key=lambda one: one.line)


def _label(name):
    return name.removesuffix("_gib").replace("_", " ")


def _value(name, value):
    unit = next((word for end, word in UNITS.items() if name.endswith(end)), "")
    if isinstance(value, str):
        return value
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
    return f"{shown}{unit}"


def counted(reading: LogReading, found: FromLog) -> str:
    """How many lines were understood, and how many of them mattered."""
    figures = understood(reading, found)
    lines = {each.line for each in figures}
    mattered = {each.line for each in figures if each.mattered}
    return (
        f"Of {reading.line_count:,} lines with text {len(lines):,} were understood, and "
        f"{len(mattered):,} of these mattered."
    )


def said(reading: LogReading, found: FromLog) -> list[dict[str, str]]:
    """What a log says: figure, value, number of its line, whether it mattered, and the line."""
    return [
        {
            "figure": each.figure,
            "value": each.value,
            "line": f"{each.line}",
            "mattered": "yes" if each.mattered else "",
            "text": each.text,
        }
        for each in understood(reading, found)
    ]


def by_line(text: str, reading: LogReading) -> list[dict[str, str]]:
    """Every line with text: its number, what was understood in it, if anything, and the line."""
    figures = {}
    for name, line in reading.lines.items():
        figures.setdefault(line.number, []).append(_label(name))
    listed = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            named = ", ".join(figures.get(number, ()))
            listed.append({"line": f"{number}", "understood": named, "text": line.strip()})
    return listed[:MOST_LINES]


def table(rows) -> list[dict[str, str]]:
    """Predicted against printed as a person reads it: a dict of texts for each row."""
    found = []
    for row in rows:
        refused = row.printed is None
        impossible = refused or row.predicted < 0 or row.printed < 0
        found.append(
            {
                "quantity": row.quantity,
                "unit": row.unit,
                "predicted": _amount(row.predicted),
                "printed": "would not start" if refused else _amount(row.printed),
                "off (%)": "" if impossible else f"{_zero(row.percent, 2):+.2f}",
                "off (GiB)": "" if refused else f"{_zero(row.difference_gib, 3):+.3f}",
                "predicted from": row.how,
                "assumed": ", ".join(row.assumed),
                "line": f"{row.line.number}" if row.line else "",
            }
        )
    return found


def _amount(value):
    """A size as it is; one below zero as what it means."""
    if value < 0:
        return f"would not start: {-value:,.2f} GiB short"
    return f"{value:,.4f}".rstrip("0").rstrip(".")


def _zero(value, digits):
    """The value, or a plain 0 where it would be printed as −0."""
    return value if abs(value) >= 0.5 * 10**-digits else 0.0


NAMED = 3  # quantities that a headline names


def answer(text: str, reading: LogReading, rows, asked=()) -> str:
    """The page's first sentence: it claims no more than was compared.

    asked: what the log does not name and has to be chosen.
    """
    if not text.strip():
        return "Paste a start-up log: what it says, against what is predicted."
    if not reading.engine:
        return "This is no start-up log that can be read."
    name = reading.engine_name
    if not rows:
        return f"{name}: the log says too little to compare."
    short = next((row for row in rows if row.quantity == "pool" and row.predicted < 0), None)
    if short:
        return f"{name} {_amount(short.predicted)}."
    measured = [row for row in rows if row.percent == row.percent]
    if not measured:
        return f"{name}: the log says too little to compare."
    worst = max(measured, key=lambda row: abs(row.percent))
    close = sum(abs(row.percent) <= CLOSE for row in measured)
    if "model" in asked:
        compared = "one figure that does" if len(measured) == 1 else f"{len(measured)} that do"
        return f"{name}: the model is not known; only {compared} not depend on it can be compared."
    told = f"{close} of {len(measured)} figures of {name} are predicted within {CLOSE} %"
    if len(measured) <= NAMED:
        told += f" ({', '.join(row.quantity for row in measured)})"
    if close == len(measured):
        return f"{told}."
    return f"{told}; farthest: {worst.quantity}, {worst.percent:+,.3g} %."


def summary(reading: LogReading, scenario: Scenario) -> str:
    """What the log sets, in one line."""
    engine = presets.engines()[scenario.engine]
    load = f"{describe.requests(scenario.concurrency)} × {describe.whole(scenario.context)} tokens"
    parts = (engine.name, scenario.the_model.name, describe.precision(scenario), load)
    device = f"{scenario.layout.devices} × {scenario.the_device.name}"
    return " · ".join((*parts, device, describe.layout(scenario.layout)))
