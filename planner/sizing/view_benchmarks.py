"""What a page shows of a benchmark's result beside what was predicted of it."""

import math

from planner import describe
from planner.sizing.against import Comparison, Row
from planner.sizing.benchmarks import Measured

MEASURES = {"ttft_s": "TTFT", "tpot_s": "TPOT", "e2e_s": "end-to-end"}
STATISTICS = {
    "mean": "mean",
    "p50": "median",
    "p90": "90th percentile",
    "p95": "95th percentile",
    "p99": "99th percentile",
}


def title(run: Measured) -> str:
    """A run in a line: its tool, its load, its lengths."""
    how = []
    if run.users:
        how.append(f"at most {describe.whole(run.users)} at once")
    if run.rate is not None:
        rate = "all at the start" if math.isinf(run.rate) else f"{run.rate:.3g} requests/s"
        how.append(rate if math.isfinite(run.rate) or not run.users else "")
    lengths = f"{run.prompt_tokens:,.0f} tokens in, {run.output_tokens:,.0f} out"
    said = [f"{describe.whole(run.requests)} requests", *filter(None, how), lengths]
    model = f" of {run.model}" if run.model else ""
    return f"{run.tool}{model}: {', '.join(said)}"


def table(found: Comparison) -> dict[str, list]:
    """Each figure as measured and as predicted, by column."""
    return {
        "figure": [f"{MEASURES[row.measure]}, {STATISTICS[row.statistic]}" for row in found.rows],
        "measured": [describe.duration(row.measured) for row in found.rows],
        "predicted": [describe.duration(row.predicted) for row in found.rows],
        "80 % band": [_band(row) for row in found.rows],
        "measured / predicted": [f"{row.factor:.2f}" for row in found.rows],
    }


def _band(row: Row):
    inside = "" if row.inside else " (outside)"
    return f"{describe.duration(row.low)} to {describe.duration(row.high)}{inside}"


def site(found: Comparison) -> str:
    """What the run says of its place."""
    share = abs(found.site - 1) * 100
    if share < 1:
        return "It runs there as predicted."
    return f"It takes {share:.0f} % {'longer' if found.site > 1 else 'less'} there than predicted."
