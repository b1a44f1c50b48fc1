"""What `calibrate` prints: errors of left-out measurements, and what the bands hold of them."""

import numpy as np

from planner.latency import measured
from planner.maintain import bands, fit, serving_fit


def error(predicted, actual) -> str:
    """Median and 90th percentile of |predicted / measured − 1|."""
    off = np.abs(predicted / actual - 1)
    return f"{np.median(off):6.1%} ({np.quantile(off, 0.9):4.0%})"


def of_serving(made) -> str:
    """Steps under load, a group of rows a line, by what was left out."""
    rows, known = made.rows, made.rows.reference
    plain = rows.step_s(made.host)
    parts = {"all": known}
    for kind, of in (("", rows.family), ("", rows["model"]), ("", rows["device"])):
        parts |= {f"{kind}{name}": known & (of == name) for name in np.unique(of[known]).tolist()}
    for way in measured.regimes(rows.work.experts > 0, rows.requests, rows.work.prompt_tokens):
        parts |= {name: known & (way == name) for name in np.unique(way[known]).tolist()}
    heads = "in sample      model out      set-up out     sweep out"
    lines = [f"{'steps under load':34}{'rows':>5}  {heads}"]
    for name, here in parts.items():
        tried = (plain, made.model, made.setup, made.sweep)
        figures = [error(seconds[here], rows.measured_s[here]) for seconds in tried]
        lines.append(f"{name:34}{np.count_nonzero(here):5d}  " + "  ".join(figures))
    for name, keys in (("engine", rows.family), ("device", rows["device"])):
        seconds = serving_fit.left_out(rows, keys, known)
        lines.append(f"{name} left out: {error(seconds[known], rows.measured_s[known])}")
    return "\n".join(lines)


def of_bands(made) -> str:
    """What the bands hold, theirs and those made without the rows that they judge."""
    rows, lines = made.rows, ["", f"{'bands':66} hold least most outside; made without: hold least"]
    for case, seconds in made.cases.items():
        off = np.log(rows.measured_s / seconds)
        own = bands.rake(off, rows.reference, bands.cells(rows), bands.HOLDS[case])
        mine = bands.coverage(off, bands.half_widths(*own, bands.cells(rows)), rows)
        keys = rows["model"] if case == "model" else rows.setup
        theirs = bands.coverage(off, bands.made_without(keys, case, off, rows), rows)
        shares = [share for *_, share in mine]
        outside = sum(not 0.75 <= share <= 0.85 for share in shares)
        lines.append(
            f"{measured.CASES[case]:66}{shares[0]:5.0%}{min(shares):6.0%}{max(shares):5.0%}"
            f"{outside:4d} of {len(shares)}{theirs[0][3]:17.0%}{min(s for *_, s in theirs):5.0%}"
        )
    return "\n".join(lines)


def of_first_tokens(made) -> str:
    """First tokens below saturation, their model left out, and how often the verdict is right."""
    first, rows = made.first, made.rows
    lines = ["", "first tokens, model left out"]
    for name in np.unique(rows.family[first.free]).tolist():
        here = first.free & (rows.family == name)
        lines.append(
            f"{name:34}{np.count_nonzero(here):5d}  "
            + error(made.first_by_model[here], first.measured_s[here])
        )
    right = first.right(first.predicted_s(first.fit(first.clean)))[first.judged]
    return "\n".join([*lines, f"verdict right in {np.mean(right):.1%} of {len(right)}"])


def of_others(made, steps, prefills) -> str:
    """Rows of which each source is left out: serving engines' own, local and older ones."""
    rows = made.rows
    ran, load = rows.fitted & ~rows.reference, rows["phase"] == "serving"
    experts = rows.work.experts > 0
    lines = ["", f"{'source left out (publisher)':34}{'rows':>5}"]
    for name, here in {
        "serving engines, fixed batches": ran & ~load,
        "under load, dense": ran & load & ~experts,
        "under load, experts": ran & load & experts,
    }.items():
        apart = error(made.publisher[here], rows.measured_s[here])
        own = error(made.source[here], rows.measured_s[here])
        lines.append(f"{name:34}{np.count_nonzero(here):5d}  {own}  {apart}")
    fast = np.append(
        np.abs(made.source / rows.measured_s - 1)[ran & ~load],
        _off(steps)[steps[0].fitted & ~np.isin(steps[0]["engine"], list(fit.NOT_OPTIMISED))],
    )
    lines.append(
        f"{'decode, optimised engines':34}{len(fast):5d}  "
        f"{np.median(fast):6.1%} ({np.quantile(fast, 0.9):4.0%})"
    )
    for kind, table in (("decode", steps), ("prefill", prefills)):
        for engine in fit.GROUP:
            here = table[0].fitted & (table[0]["engine"] == engine)
            if here.any():
                own = error(table[1][here], table[0].measured_s[here])
                lines.append(f"{kind}: {engine:26}{np.count_nonzero(here):5d}  {own}")
    return "\n".join(lines)


def _off(table):
    return np.abs(table[1] / table[0].measured_s - 1)
