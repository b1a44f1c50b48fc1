"""Requests as they come: when, how long, and what their prompts have in common.

A stream that was never recorded is drawn: gaps of a gamma distribution, whose coefficient of
variation says how bursty it is (1: Poisson), and log-normal lengths by their median and 95th
percentile. The same seed gives the same requests.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

P95 = NormalDist().inv_cdf(0.95)


@dataclass(frozen=True)
class Requests:
    """Requests in the order of their coming; one entry for each.

    arrival_s: seconds, never falling. prompt_tokens, output_tokens: whole, at least 1. prefixes:
    the pieces that a prompt begins with, each the name of `piece_tokens` tokens that prompts with
    the same pieces before it share; empty where none are known. cancel_s: when its user leaves, ∞
    for never. Raises ValueError, naming the array, on what cannot be.
    """

    arrival_s: np.ndarray
    prompt_tokens: np.ndarray
    output_tokens: np.ndarray
    prefixes: Sequence[tuple[int, ...]] = ()
    piece_tokens: int = 0
    cancel_s: np.ndarray | None = None

    def __post_init__(self):
        arrival = np.asarray(self.arrival_s, float)
        object.__setattr__(self, "arrival_s", arrival)
        if not np.all(np.isfinite(arrival)) or np.any(np.diff(arrival) < 0):
            raise ValueError("arrival_s: times must be known, and in order")
        for name in ("prompt_tokens", "output_tokens"):
            given = np.asarray(getattr(self, name))
            whole = given.astype(np.int64)
            if whole.shape != arrival.shape:
                raise ValueError(f"{name}: {whole.size} for {arrival.size} requests")
            if np.any(whole != given) or np.any(whole < 1):
                raise ValueError(f"{name}: whole numbers, at least 1")
            object.__setattr__(self, name, whole)
        if len(self.prefixes) not in (0, len(arrival)):
            raise ValueError(f"prefixes: {len(self.prefixes)} for {arrival.size} requests")
        if self.prefixes and self.piece_tokens < 1:
            raise ValueError("piece_tokens: at least 1 where prompts share pieces")
        if self.cancel_s is not None and np.shape(self.cancel_s) != arrival.shape:
            raise ValueError("cancel_s: one time for each request")

    def __len__(self):
        return len(self.arrival_s)

    def taken(self, order: np.ndarray, arrival_s: np.ndarray | None = None) -> "Requests":
        """Those at some places, in that order; with other times of coming, where some are given."""
        arrival = self.arrival_s if arrival_s is None else arrival_s
        return Requests(
            arrival[order],
            self.prompt_tokens[order],
            self.output_tokens[order],
            tuple(self.prefixes[at] for at in order.tolist()) if self.prefixes else (),
            self.piece_tokens,
            None if self.cancel_s is None else np.asarray(self.cancel_s)[order],
        )


def drawn(
    count: int,
    *,
    rate: float,
    prompt: tuple[float, ...],
    output: tuple[float, ...],
    burst: float = 1.0,
    prefix_tokens: int = 0,
    hit_rate: float = 0.0,
    output_cap: int = 0,
    seed: int = 0,
) -> Requests:
    """So many requests of a stream: `rate` a second in the mean, gaps with a coefficient of
    variation of `burst`.

    prompt, output: median and 95th percentile of their lengths, equal for a fixed one; and their
    mean, where it is not that of a log-normal distribution: then all are longer or shorter by one
    factor, since the mean is what a load weighs by. hit_rate: part of the requests that begin with
    one shared prefix. output_cap: most tokens of an output, 0 for none.
    """
    if not (count >= 1 and rate > 0 and burst > 0):
        raise ValueError("a stream has at least one request, a rate and a burst above 0")
    rng = np.random.default_rng(seed)
    shape = burst**-2
    gaps = rng.gamma(shape, 1 / (rate * shape), count)
    prompts = _lengths(rng, prompt, count)
    outputs = _lengths(rng, output, count)
    if output_cap:
        outputs = np.minimum(outputs, output_cap)
    shares = (rng.random(count) < hit_rate) & (prompts > prefix_tokens)
    shared = prefix_tokens > 0 and hit_rate > 0
    prefixes = tuple((0,) if each else () for each in shares.tolist()) if shared else ()
    return Requests(np.cumsum(gaps), prompts, outputs, prefixes, int(prefix_tokens))


def _lengths(rng, spread, count):
    median, high, *mean = spread
    if not 1 <= median <= high:
        raise ValueError(f"lengths: a median of {median} and a 95th percentile of {high}")
    sigma = np.log(high / median) / P95
    found = median * np.exp(sigma * rng.standard_normal(count))
    if mean:
        found = found * mean[0] / (median * np.exp(sigma**2 / 2))
    return np.maximum(np.round(found), 1).astype(np.int64)
