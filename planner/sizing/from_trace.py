"""A trace as what a link of the Size page can carry: its rate, lengths, bursts and prefix."""

from planner import describe
from planner.sizing.query import PARAMETERS
from planner.sizing.traces import Summary, Trace

SHOWN = 4  # digits of a figure that is no whole number


def values(summary: Summary) -> dict[str, str]:
    """A trace's summary by the names of a link, each the nearest value that a link can have."""
    median, high, mean = summary.prompt
    out_median, out_high, out_mean = summary.output
    found = {
        "rate": summary.rate,
        "prompt": median,
        "prompt_p95": high,
        "prompt_mean": mean,
        "output": out_median,
        "output_p95": out_high,
        "output_mean": out_mean,
        "burst": summary.burst,
        "prefix": summary.reused_tokens,
        "hits": 100 * summary.reused,
    }
    return {name: _written(PARAMETERS[name], value) for name, value in found.items()}


def beside(summary: Summary, given: dict[str, str]) -> dict[str, str]:
    """A link's values with those of a trace where it does not say otherwise."""
    own = values(summary)
    for name in given:
        gone = ("rate",) if name == "users" else (name, f"{name}_p95", f"{name}_mean")
        own = {key: value for key, value in own.items() if key not in gone}
    return own | given


def _written(number, value):
    near = number.nearest(value if number.whole else float(f"{value:.{SHOWN}g}"))
    return f"{near:d}" if number.whole else f"{near:g}"


def said(trace: Trace) -> list[str]:
    """What was read, and which rows were not, a sentence each."""
    found = trace.summary()
    count = describe.whole(found.requests)
    over = describe.duration(found.span_s)
    lines = [f"{count} requests of a trace ({trace.kind}), {over} long."]
    if trace.malformed:
        left = describe.whole(trace.malformed)
        lines.append(f"{left} malformed row{'s' if trace.malformed > 1 else ''} left out:")
        lines += [f"line {each.line}: {each.text}" for each in trace.named]
    return lines


def as_dict(trace: Trace) -> dict:
    """What was read, for a program: requests, span_s, format, and the rows that were left out."""
    found = trace.summary()
    return {
        "requests": found.requests,
        "span_s": found.span_s,
        "format": trace.kind,
        "malformed_rows": trace.malformed,
        "malformed_named": [{"line": each.line, "problem": each.text} for each in trace.named],
    }
