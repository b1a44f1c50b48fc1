"""What is asked of a deployment: a workload, and the promise made to those who use it.

Lengths are log-normal, as those of published traces nearly are: a median and a 95th percentile say
all of them. Equal, they are one fixed length.
"""

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

NORMAL = NormalDist()
P95 = NORMAL.inv_cdf(0.95)
LEAST_PERCENTILE, MOST_PERCENTILE = 50, 99.9


@dataclass(frozen=True)
class Lengths:
    """Tokens of prompts or of outputs: their median, 95th percentile and mean.

    p95: the median's own where nothing is said. mean: that of the log-normal distribution where
    nothing is said; a trace has one of its own.

    >>> from planner import Lengths
    >>> print(Lengths(100).mean, round(Lengths(100, 400).mean))
    100.0 143
    """

    median: float
    p95: float | None = None
    mean: float | None = None

    def __post_init__(self):
        if self.p95 is None:
            object.__setattr__(self, "p95", self.median)
        if not 1 <= self.median <= self.p95:
            raise ValueError(
                f"lengths: a median of {self.median:,} and a 95th percentile of {self.p95:,}; "
                "the median is 1 at least and the percentile no less"
            )
        if self.mean is None:
            object.__setattr__(self, "mean", self.median * math.exp(self.sigma**2 / 2))
        if self.mean <= 0:
            raise ValueError(f"lengths: a mean of {self.mean:,} is not above 0")

    @property
    def sigma(self) -> float:
        """Standard deviation of the logarithm: ln(p95 / median) / 1.645."""
        return math.log(self.p95 / self.median) / P95

    @property
    def variation(self) -> float:
        """Squared coefficient of variation: e^σ² − 1."""
        return math.expm1(self.sigma**2)

    def quantile(self, part: float) -> float:
        """The length that so great a part of them does not exceed: m · e^(σ · z)."""
        return self.median * math.exp(self.sigma * NORMAL.inv_cdf(part))

    def capped(self, most: float) -> "Lengths":
        """The same, each cut at `most` tokens; the mean by E[min(X, c)] of the log-normal."""
        if not most or (most >= self.p95 and not self.sigma):
            return self
        if not self.sigma:
            return Lengths(most)
        own = self.median * math.exp(self.sigma**2 / 2)
        at = math.log(most / self.median) / self.sigma
        cut = own * NORMAL.cdf(at - self.sigma) + most * (1 - NORMAL.cdf(at))
        return Lengths(min(self.median, most), min(self.p95, most), self.mean * cut / own)


@dataclass(frozen=True)
class Workload:
    """Requests and how they come: `rate` a second, or `users` who each think between two requests.

    rate: requests per second, 0 where users are counted. think_s: seconds between an answer's end
    and the next request of a user. prompt, output: their lengths; a number is one fixed length.
    burst: coefficient of variation of the times between arrivals, 1 for a Poisson stream. prefix:
    tokens that prompts have in common; hit_rate: part of the prompts that find them in the cache, 0
    to 1. output_cap: most tokens that a request may write, 0 where nothing limits it but the model.
    site: how much longer everything takes where it will run than is predicted here, as a benchmark
    of that place told (`sizing.against`).

    >>> from planner import Workload
    >>> Workload(users=200, think_s=45, prompt=1000, output=200).closed
    True
    """

    rate: float = 0.0
    users: float = 0.0
    think_s: float = 0.0
    prompt: Lengths | float = Lengths(1024)
    output: Lengths | float = Lengths(256)
    burst: float = 1.0
    prefix: float = 0.0
    hit_rate: float = 1.0
    output_cap: float = 0.0
    site: float = 1.0

    def __post_init__(self):
        for name in ("prompt", "output"):
            own = getattr(self, name)
            if not isinstance(own, Lengths):
                object.__setattr__(self, name, Lengths(own))
        if (self.rate > 0) == (self.users > 0):
            raise ValueError("rate: a workload has either a rate above 0 or users, not both")
        checks = {
            "think_s": self.think_s >= 0,
            "burst": 1 <= self.burst <= 20,
            "prefix": self.prefix >= 0,
            "hit_rate": 0 <= self.hit_rate <= 1,
            "output_cap": self.output_cap >= 0,
            "site": self.site > 0,
        }
        for name, right in checks.items():
            if not right:
                raise ValueError(f"{name}: {getattr(self, name):g} is out of range")

    @property
    def closed(self) -> bool:
        """Whether users wait for their answers before they ask again."""
        return self.users > 0

    @property
    def asked(self) -> float:
        """Requests per second, or users: what is divided among replicas."""
        return self.users or self.rate

    @property
    def written(self) -> Lengths:
        """Output lengths as the cap leaves them."""
        return self.output.capped(self.output_cap)

    @property
    def spared(self) -> float:
        """Tokens of the mean prompt that the cached prefix spares; one token is always new."""
        return self.hit_rate * min(self.prefix, max(self.prompt.mean - 1, 0))

    @property
    def held_tokens(self) -> float:
        """Tokens of a running request at a random moment: its prompt, and half of what it writes.

        Long outputs are met more often: E[out²] / (2 · E[out]) = mean · (1 + cv²) / 2.
        """
        return self.prompt.mean + self.written.mean * (1 + self.written.variation) / 2

    @property
    def longest_tokens(self) -> float:
        """The longest request to be ready for: the cap, else the 95th percentile, of both."""
        return self.prompt.p95 + (self.output_cap or self.written.p95)

    def worst(self) -> "Workload":
        """The same with every prompt at its 95th percentile, every output at its cap, no hits."""
        longest = self.output_cap or self.written.p95
        return replace(
            self, prompt=Lengths(self.prompt.p95), output=Lengths(longest), prefix=0.0, hit_rate=0.0
        )


@dataclass(frozen=True)
class Promise:
    """What users are promised, and how much room is kept.

    ttft_s: seconds to the first token; tpot_s: seconds per token after it; both at `percentile` of
    the requests. headroom: part of what a deployment can do that is kept free, 0 to 0.9. spares:
    replicas beyond those that are needed.

    >>> from planner import Promise
    >>> print(Promise(ttft_s=0.5, tpot_s=1 / 25).tpot_s)
    0.04
    """

    ttft_s: float = 1.0
    tpot_s: float = 0.04
    percentile: float = 95.0
    headroom: float = 0.2
    spares: int = 0

    def __post_init__(self):
        checks = {
            "ttft_s": self.ttft_s > 0,
            "tpot_s": self.tpot_s > 0,
            "percentile": LEAST_PERCENTILE <= self.percentile <= MOST_PERCENTILE,
            "headroom": 0 <= self.headroom <= 0.9,
            "spares": self.spares >= 0 and self.spares == int(self.spares),
        }
        for name, right in checks.items():
            if not right:
                raise ValueError(f"{name}: {getattr(self, name)} is out of range")

    @property
    def part(self) -> float:
        """The percentile as a part, 0 to 1."""
        return self.percentile / 100
