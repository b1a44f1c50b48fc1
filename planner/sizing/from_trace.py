"""A trace as what a link of the Size page can carry: its rate, lengths, bursts and prefix."""

from planner.sizing.query import PARAMETERS
from planner.sizing.traces import Summary

BEGINNING = "rate"  # and the rest of what a trace says, see `values`


def values(summary: Summary) -> dict[str, str]:
    """A trace's summary by the names of a link, each the nearest value that a link can have."""
    prompt, output = summary.prompt, summary.output
    found = {
        "rate": float(f"{summary.rate:.4g}"),
        "prompt": prompt[0],
        "prompt_p95": prompt[1],
        "prompt_mean": prompt[2],
        "output": output[0],
        "output_p95": output[1],
        "output_mean": output[2],
        "burst": float(f"{summary.burst:.3g}"),
        "prefix": summary.reused_tokens,
        "hits": float(f"{100 * summary.reused:.3g}"),
    }
    near = {name: PARAMETERS[name].nearest(value) for name, value in found.items()}
    return {name: f"{value:g}" if isinstance(value, float) else str(value) for name, value in near.items()}
