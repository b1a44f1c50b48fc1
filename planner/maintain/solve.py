"""Nonlinear least squares for a handful of constants, in NumPy alone."""

import numpy as np

MOST_STEPS = 60
SMALL = 1e-6  # a step or a gain below which the search is over


def least_squares(residuals, start, least):
    """Constants x ≥ `least` with a small sum of squared residuals(x), from `start`.

    Levenberg (1944) and Marquardt (1963): a Gauss-Newton step, shortened by damping until the sum
    falls; derivatives by differences. A constant that would fall below its least is held there.
    """
    x, damping = np.maximum(np.asarray(start, float), least), 1e-3
    off = residuals(x)
    for _ in range(MOST_STEPS):
        slope = _derivatives(residuals, x, off)
        normal, right = slope.T @ slope, -slope.T @ off
        free = (x > least) | (right > 0)
        while damping < 1e9:
            step = np.zeros(len(x))
            scaled = normal[np.ix_(free, free)] + damping * np.diag(np.diag(normal)[free] + 1e-12)
            step[free] = np.linalg.solve(scaled, right[free])
            tried = np.maximum(x + step, least)
            new = residuals(tried)
            if new @ new < off @ off:
                break
            damping *= 4
        else:
            return x
        gain, moved = 1 - (new @ new) / (off @ off), np.max(np.abs(tried - x))
        x, off, damping = tried, new, max(damping / 10, 1e-9)
        if gain < SMALL and moved < 1e3 * SMALL:
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
