"""Queues: how long requests wait for what is busy. Seconds; all of it broadcasts over arrays.

Little's law, N = λ · R, ties what runs to the rate and the time that a request stays (Little 1961).
A wait follows Sakasegawa's approximation for c servers (Sakasegawa 1977; Hopp and Spearman, Factory
Physics, section 8.6), which for one server is Kingman's formula (Kingman 1961) and with a Poisson
stream and a fixed service exactly the M/D/1 queue.
"""

from dataclasses import dataclass

import numpy as np

ERFC = (0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418,
        0.37409196, 1.00002368, -1.26551223)  # fmt: skip


@dataclass(frozen=True)
class Wait:
    """A wait that a part `chance` of the requests meets, with a mean of `given_s` for these.

    Their waits are taken as exponentially distributed.
    """

    chance: float
    given_s: float

    @property
    def mean_s(self):
        """Over all requests, those that do not wait too."""
        with np.errstate(invalid="ignore"):
            return np.where(np.equal(self.chance, 0), 0.0, self.chance * self.given_s)[()]

    @property
    def variance(self):
        """Of all waits, in seconds squared: 2 · chance · g² − mean²."""
        with np.errstate(invalid="ignore"):
            found = self.chance * (2 - self.chance) * np.square(self.given_s)
        return np.where(np.equal(self.chance, 0), 0.0, found)[()]

    def quantile_s(self, part):
        """The wait that so great a part of all requests does not exceed: g · ln(chance / (1 − q)).

        0 where fewer than 1 − q wait at all.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            over = np.maximum(np.log(self.chance / (1 - part)), 0.0)
            return np.where(over > 0, self.given_s * over, 0.0)[()]


def gamma_quantile(mean, variance, z):
    """What a gamma distribution of that mean and variance does not exceed at z deviations.

    Wilson and Hilferty 1931: m · (1 − 1 / 9a + z / (3 √a))³ with a = m² / variance.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = variance / (9 * np.square(mean))
        found = mean * np.maximum(1 - spread + z * np.sqrt(spread), 0.0) ** 3
    return np.where(np.isfinite(variance), found, np.inf)[()]


def wait(utilisation, servers, service_s, variation) -> Wait:
    """Waiting for one of c servers: chance ρ^(√(2(c+1)) − 1), then v · S / (c · (1 − ρ)).

    variation: v, the mean of the squared coefficients of variation of arrivals and service.
    Without end where the utilisation ρ is 1 or more.

    >>> from planner.sizing.queueing import wait
    >>> print(wait(0.5, 1, 2.0, 0.5).mean_s)
    1.0
    """
    busy = np.minimum(utilisation, 1.0)
    chance = busy ** (np.sqrt(2 * (np.asarray(servers, float) + 1)) - 1)
    with np.errstate(divide="ignore"):
        given = np.where(
            busy < 1, variation * service_s / (servers * np.where(busy < 1, 1 - busy, 1.0)), np.inf
        )
    return Wait(chance, given[()])


def behind_s(step, rate, each, variation):
    """What prompts that come later add to a first token, where they get into the same pass.

    As many come as the pass under way still lasts, half a step and what is left of a prompt in it
    (λ · E[S²] / 2, as in an M/G/1 queue), each with its own S.
    """
    left = step / 2 + rate * each**2 * (1 + variation) / 2
    return np.minimum(rate * each, 1.0) * left


def wait_for_place(chance, variation, spare_rate) -> Wait:
    """Waiting where all places are taken: so often, and then v / (μ − λ), as the queue drains.

    spare_rate: μ − λ, what a full server does more than comes, a second.
    """
    with np.errstate(divide="ignore"):
        given = np.where(spare_rate > 0, variation / np.maximum(spare_rate, 0.0), np.inf)
    return Wait(np.where(spare_rate > 0, chance, 1.0), given[()])


def above(most, mean, deviation):
    """How often something that strays normally about its mean is at its most."""
    strays = np.greater(deviation, 0)
    far = np.where(strays, (most - mean) / np.where(strays, deviation, 1.0), np.inf)
    return 0.5 * erfc(far / np.sqrt(2))


def erfc(x):
    """The complementary error function, to 1.2e-7 (Press et al., Numerical Recipes, 6.2)."""
    t = 1 / (1 + 0.5 * np.abs(x))
    sum_ = np.polyval(ERFC, t)
    tail = t * np.exp(-np.square(x) + sum_)
    return np.where(np.asarray(x) >= 0, tail, 2 - tail)[()]


def divided_burst(squared, parts):
    """Squared coefficient of variation of each of k streams that one is dealt to at random.

    1 + (c² − 1) / k: dealt to many, any stream looks like Poisson's.
    """
    return 1 + (squared - 1) / parts


def sway_s(prompts_s, prompt_variation, output_variation, met):
    """Standard deviation of a request's mean step, by the prompts that it meets.

    By Little's law it meets as many in its life as requests run beside it, n; each adds its share
    of what prompts add to the mean step, d: a compound Poisson sum, d · √((1 + c_p²) / n), and of
    requests of different lengths √(1 + c_o²) times that, since short ones meet few.
    """
    spread = (1 + prompt_variation) * (1 + output_variation)
    return prompts_s * np.sqrt(spread / np.maximum(met, 1))


def between(grid, at, *tables):
    """Values of tables at places of a grid, which run along the last axis, by straight lines.

    grid: rises, or stays; one for all rows or one a row, as each table. at: a place for each row,
    within the grid. One array for each table.
    """
    shape, count = np.broadcast_shapes(grid.shape[:-1], np.shape(at)), grid.shape[-1]

    def flat(table):
        return np.broadcast_to(table, (*shape, count)).reshape(-1, count)

    places, grid = np.broadcast_to(at, shape).ravel(), flat(grid)
    rows = np.arange(len(places))
    upper = np.clip(np.count_nonzero(grid < places[:, None], axis=1), 1, count - 1)
    low, high = grid[rows, upper - 1], grid[rows, upper]
    part = np.where(high > low, (places - low) / np.where(high > low, high - low, 1.0), 1.0)
    part = np.clip(part, 0.0, 1.0)
    found = []
    for table in map(flat, tables):
        first = table[rows, upper - 1]
        value = first + part * (table[rows, upper] - first)
        found.append(value.reshape(shape)[()])
    return found
