"""Nonlinear least squares for a handful of constants, in NumPy alone."""

import numpy as np

MOST_STEPS = 100
SMALL = 1e-6  # a gain below which the search is over, where no constant moves by much
MOVED = 1e-3


def soft(off, outlier):
    """Residuals that count by their square while small, by their size beyond `outlier`."""
    return np.sign(off) * outlier * np.sqrt(2 * (np.sqrt(1 + (off / outlier) ** 2) - 1))


def least_squares(residuals, start, least, most=np.inf):
    """Constants x, least ≤ x ≤ most, with a small sum of squared residuals(x), from `start`.

    Levenberg (1944) and Marquardt (1963): a Gauss-Newton step, shortened by damping until the sum
    falls; derivatives by differences. A constant that would leave its bounds is held there.
    """
    x, damping = np.clip(np.asarray(start, float), least, most), 1e-3
    off = residuals(x)
    for _ in range(MOST_STEPS):
        slope = _derivatives(residuals, x, off)
        normal, right = slope.T @ slope, -slope.T @ off
        free = ((x > least) | (right > 0)) & ((x < most) | (right < 0))
        while damping < 1e9:
            step = np.zeros(len(x))
            scaled = normal[np.ix_(free, free)] + damping * np.diag(np.diag(normal)[free] + 1e-12)
            step[free] = np.linalg.solve(scaled, right[free])
            tried = np.clip(x + step, least, most)
            new = residuals(tried)
            if new @ new < off @ off:
                break
            damping *= 4
        else:
            return x
        gain, moved = 1 - (new @ new) / (off @ off), np.max(np.abs(tried - x))
        x, off, damping = tried, new, max(damping / 10, 1e-9)
        if gain < SMALL and moved < MOVED:
            return x
    return x


def _derivatives(residuals, x, off):
    columns = []
    for place in range(len(x)):
        size = 1e-4 * max(1.0, abs(x[place]))
        ahead = x.copy()
        ahead[place] += size
        columns.append((residuals(ahead) - off) / size)
    return np.stack(columns, axis=1)
