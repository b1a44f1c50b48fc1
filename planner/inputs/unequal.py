"""Devices of several kinds, as people write them: refused, with the nearest that can be planned."""

import re

from planner.inputs.choices import choices, packed
from planner.inputs.presets import accelerators

# A plus sign in an address that was typed by hand arrives as a space.
APART = re.compile(r"\s*(?:[+&,]|\band\b)\s*|\s+(?=\d{1,4}\s*[x×*])", re.I)
COUNTED = re.compile(r"\s*(?:(\d{1,4})\s*[x×*]?\s+|(\d{1,4})\s*[x×*]\s*)?(\S.*?)\s*$", re.I)


def sentence(text: str) -> str:
    """Why “2x3090 + 1x4090” is not planned, and what comes nearest; “” where it names no two kinds.

    >>> print(sentence("2x 3090 + 4090"))
    unequal devices are not modelled; the nearest answer is 3 × GeForce RTX 3090, the smaller
    """
    parts = [COUNTED.match(part) for part in APART.split(text)]
    if len(parts) == 1 and len(text.split()) == 2:
        parts = [COUNTED.match(part) for part in text.split()]
    if len(parts) < 2 or not all(parts) or _named(text, whole=True):
        return ""
    named = [_named(part[3]) for part in parts]
    if not all(named) or len(set(named)) == 1:
        return ""
    known = accelerators()
    least = min(named, key=lambda id: (_size(known[id]), known[id].bandwidth_gb_s))
    count = sum(int(part[1] or part[2] or 1) for part in parts)
    return (
        f"unequal devices are not modelled; the nearest answer is {count} × {known[least].name},"
        " the smaller"
    )


def _size(device):
    """Memory as it stands on the box, which is alike for devices of one class."""
    return device.label_gb or device.memory_gb


def _named(text, whole=False):
    """The device that a text means: by a name in full, else the most used that it is a part of."""
    own = packed(text)
    if not re.search(r"\w\d|\d\w", own):
        return ""
    rows = [(each["id"], [*each["keys"], *(key for _, key in each["also"])])
            for each in choices("device")]  # fmt: skip
    full = (id for id, keys in rows if own in keys)
    if whole:
        return next(full, "")
    part = (id for id, keys in rows if any(own in key for key in keys))
    return next(full, "") or next(part, "")
