"""Where the sliders stop, as round as they can be, in equal steps for the eye."""

from planner.inputs.link import Number


def stops(spec: Number, most: float | None = None) -> list[float]:
    """Slider stops up to `most`: each whole number where there are few, else eight an octave."""
    low, high = int(spec.minimum), int(most or spec.maximum)
    if high - low <= 200:
        return [float(stop) for stop in range(low, high + 1)]
    return octaves(low, high, 8, whole=spec.whole)


def octaves(low, high, parts, whole=False):
    """Slider stops from low to high, `parts` an octave."""
    found, octave = {float(low), float(high)}, 1.0
    while octave <= high:
        for part in range(parts):
            stop = octave * (1 + part / parts)
            if low <= stop <= high and not (whole and stop % 1):
                found.add(stop)
        octave *= 2
    return sorted(found)


def _decades(low, high):
    """Slider stops in round decimal steps: 1, 1.1, … 2, 2.2, … 5, 5.5, … 10."""
    steps = [*range(100, 200, 10), *range(200, 500, 20), *range(500, 1000, 50)]
    found = {float(low), float(high)}
    for power in range(-3, 6):
        found |= {s * 10.0**power for s in steps if low <= s * 10.0**power <= high}
    return sorted(float(f"{stop:.6g}") for stop in found)


# Of the Plan page, by the number of a scenario that each moves.
STOPS = {
    "concurrency": octaves(1, 4096, 8, whole=True),
    "context": octaves(128, 2**20, 8, whole=True),
    "bandwidth": _decades(10, 20_000),
    "memory": _decades(1, 2_000),
    "peak": _decades(1, 10_000),
}
