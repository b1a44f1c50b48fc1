"""Makes the 80 % bands of serving engines from what was predicted without the measured row.

A half-width is base · f₁ · f₂ · f₃, a factor for each engine and regime (experts, requests,
prompts), so that the band holds its share in every engine and regime at once.
"""

import numpy as np

from planner.latency import measured
from planner.maintain.rows import Rows

# Of what was left out. A little more than 80 %, since bands made without the rows that they judge
# hold 3 to 8 points less.
HOLDS = {"model": 0.83, "setup": 0.83, "sweep": 0.81}
BAND = 0.80
ROUNDS = 40
FEW = 4  # rows: a cell of n goes n / (n + FEW) of the way, so that few say little
ENOUGH = 30  # rows of an engine and regime whose share counts


def cells(rows: Rows) -> list[np.ndarray]:
    """Three ways to sort the rows, each by engine and one regime: names “engine|regime”."""
    ways = measured.regimes(rows.work.experts > 0, rows.requests, rows.work.prompt_tokens)
    return [np.char.add(np.char.add(rows.family, "|"), way) for way in ways]


def rake(off, use, ways, level):
    """(base, factors of each way): half-widths that hold `level` of |off| in every cell at once.

    Iterative scaling (Deming and Stephan 1940) of quantiles instead of sums.
    """
    base = np.quantile(np.abs(off[use]), level)
    factors = [dict.fromkeys(np.unique(way).tolist(), 1.0) for way in ways]
    for _ in range(ROUNDS):
        for way, factor in zip(ways, factors, strict=True):
            width = half_widths(base, factors, ways)
            for cell in np.unique(way[use]).tolist():
                here = use & (way == cell)
                count = np.count_nonzero(here)
                beyond = np.quantile(np.abs(off[here]) / width[here], level)
                factor[cell] *= beyond ** (count / (count + FEW))
    return base, factors


def half_widths(base, factors, ways) -> np.ndarray:
    """Half-width of every row."""
    width = np.full(len(ways[0]), base)
    for way, factor in zip(ways, factors, strict=True):
        width = width * np.array([factor[cell] for cell in way.tolist()])
    return width


def of_case(case, off, rows: Rows) -> list[tuple[str, str, str, float]]:
    """The lines of bands.csv for one case: its name, engine, regime, factor."""
    base, factors = rake(off, rows.reference, cells(rows), HOLDS[case])
    found = [(case, "", "", base)]
    for factor in factors:
        found += [(case, *cell.split("|"), value) for cell, value in factor.items() if value != 1]
    return found


def made_without(keys, case, off, rows: Rows) -> np.ndarray:
    """Half-width of every reference row, made without the rows that share its key."""
    found = np.full(len(rows), np.nan)
    for key in np.unique(keys[rows.reference]):
        here = rows.reference & (keys == key)
        ways = cells(rows)
        made = rake(off, rows.reference & ~here, ways, HOLDS[case])
        found[here] = half_widths(*made, ways)[here]
    return found


def of_strangers(off, rows: Rows) -> list[tuple[str, str, str, float]]:
    """Those of a plan of which nothing was measured, from rows predicted without their publisher.

    off: logarithms of measured / predicted of the rows that are no reference, NaN of the others.
    """
    load, experts = rows["phase"] == "serving", rows.work.experts > 0
    known = np.isfinite(off)
    return [
        ("stranger", "", name, np.quantile(np.abs(off[known & here]), BAND))
        for name, here in (
            ("dense", load & ~experts),
            ("experts", load & experts),
            ("fixed", ~load),
        )
    ]


def of_first_tokens(off, use, rows: Rows) -> list[tuple[str, str, str, float]]:
    """Those of first tokens, an engine each; the widest for engines without measurements."""
    families = np.unique(rows.family[use]).tolist()
    widths = [np.quantile(np.abs(off[use & (rows.family == each)]), BAND) for each in families]
    lines = [("first token", each, "", w) for each, w in zip(families, widths, strict=True)]
    return [("first token", "", "", max(widths)), *lines]


def coverage(off, width, rows: Rows) -> list[tuple[str, str, int, float]]:
    """Share of the reference rows inside, by every engine and regime with ENOUGH rows."""
    ways = measured.regimes(rows.work.experts > 0, rows.requests, rows.work.prompt_tokens)
    found = []
    for engine in ("all", *np.unique(rows.family[rows.reference]).tolist()):
        own = rows.reference & np.isfinite(width) & ((rows.family == engine) | (engine == "all"))
        parts = {"all": own}
        for way in ways:
            parts |= {name: own & (way == name) for name in np.unique(way[own]).tolist()}
        for name, here in parts.items():
            if np.count_nonzero(here) >= ENOUGH:
                inside = np.abs(off[here]) <= width[here]
                found.append((engine, name, np.count_nonzero(here), float(np.mean(inside))))
    return found
