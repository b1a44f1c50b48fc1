"""How pictures look: one meaning a colour, the same in light and dark, and the inks of lines."""

# Okabe-Ito, safe for colour-blind eyes.
COLOURS = {
    "weights": "#0072B2",
    "cache": "#E69F00",
    "overhead": "#8A8F98",
    "compute": "#CC79A7",
    "prompts": "#F0E442",
    "link": "#56B4E9",
    "fits": "#009E73",
    "does not fit": "#D55E00",
    "free": "transparent",
}
INK = {False: "#31333F", True: "#FAFAFA"}  # by dark
MUTED = {False: "#666B75", True: "#A6ABB5"}
PAPER = {False: "#FFFFFF", True: "#181715"}
OUTLINE = "#8A8F98"
SOLID, DASHED = [1, 0], [7, 4]
DASHES = [SOLID, DASHED, [10, 3, 2, 3], [2, 3]]  # of the lines in one picture, by their ink
HEIGHT = 240  # of a plot, in pixels
TALL = 360  # the tallest, its legend included
# A legend below begins under the names of the bars, so that a narrow plot has room for it.
BELOW = {"anchor": "start", "bounds": "full", "direction": "vertical", "margin": 2, "offset": 8}
GRID = {False: "#E6E8EC", True: "#33353B"}


def themed(spec: dict, dark: bool) -> dict:
    """A specification in the look of the pages: light grid, no frame, quiet axes, readable type.

    What it says of its own look stays.
    """
    ink = {"labelColor": MUTED[dark], "titleColor": MUTED[dark]}
    size = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    look = {
        "background": "transparent",
        "view": {"stroke": None},
        "axis": {
            **ink,
            **size,
            "gridColor": GRID[dark],
            "domainColor": OUTLINE,
            "tickColor": OUTLINE,
            "labelPadding": 6,
            "titlePadding": 8,
        },
        "legend": {**ink, **size, "offset": 8},
        "text": {"fontSize": 12},
        "mark": {"tooltip": None},  # a sentence or nothing, never the names of fields
    }
    own = spec.get("config", {})
    merged = {
        name: {**part, **own.get(name, {})} if isinstance(part, dict) else own.get(name, part)
        for name, part in look.items()
    }
    return {**spec, "config": {**own, **merged}}


def tones(dark: bool) -> list[str]:
    """The colours of the lines in one picture, by their ink: two full, two muted."""
    return [INK[dark], INK[dark], MUTED[dark], MUTED[dark]]
