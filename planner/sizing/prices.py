"""What a device costs an hour: dated offers (presets/prices.csv), or one's own hardware.

Prices age fast. Each comes with the range of the offers, how many there are and how old the newest
of them is; after `STALE_DAYS` it is no more than a hint.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import cache
from statistics import median

from planner.files import rows

STALE_DAYS = 180
HOURS_A_YEAR = 8766
TIERS = {
    "cloud": "any cloud",
    "hyperscaler": "hyperscalers",
    "neocloud": "GPU clouds",
    "marketplace": "marketplaces",
}
CLOUD = ("hyperscaler", "neocloud", "marketplace")
ON_DEMAND = "on-demand"
RANGE = "range"  # a provider that is no provider, but one end of what a survey found


@dataclass(frozen=True)
class Offer:
    """One row of presets/prices.csv: US dollars for one device and hour.

    tier: hyperscaler, neocloud, marketplace, or index for a survey's own median. provisioning:
    on-demand or spot. day: when it was read, the first day of a month or year where no more is
    known, None where nothing is.
    """

    device: str
    provider: str
    tier: str
    provisioning: str
    usd: float
    day: date | None
    source: str


@dataclass(frozen=True)
class Price:
    """What offers for one device come to, US dollars for one device and hour."""

    usd: float
    low: float
    high: float
    offers: int
    newest: date | None

    def age_days(self, today: date) -> int | None:
        """Days since the newest offer was read; None where no offer has a date."""
        return None if self.newest is None else max((today - self.newest).days, 0)

    def stale(self, today: date) -> bool:
        """Whether the newest offer is too old to count on."""
        age = self.age_days(today)
        return age is None or age > STALE_DAYS


@cache
def offers() -> tuple[Offer, ...]:
    """Every row of presets/prices.csv."""
    return tuple(
        Offer(
            row["device"],
            row["provider"],
            row["tier"],
            row["provisioning"],
            float(row["usd_per_device_hour"]),
            _day(row["date"]),
            row["source"],
        )
        for row in rows("prices.csv")
    )


def _day(text):
    """A date as written: 2026-09-25, 2026-05 or 2024."""
    return date.fromisoformat(f"{text}-01-01"[:10]) if text else None


def price(device: str, tier: str = "cloud", among: Iterable[Offer] | None = None) -> Price | None:
    """The price of a device on demand: the median of its offers, None where there is none.

    Ends of ranges and medians of surveys widen the range, but have no part in the median unless
    nothing else is known.
    """
    wanted = CLOUD if tier == "cloud" else (tier,)
    own = [
        each
        for each in (offers() if among is None else among)
        if each.device == device and each.provisioning == ON_DEMAND and each.tier in wanted
    ]
    plain = [each for each in own if not each.provider.startswith(RANGE)] or own
    if not plain:
        return None
    days = [each.day for each in plain if each.day]
    return Price(
        usd=median(each.usd for each in plain),
        low=min(each.usd for each in own),
        high=max(each.usd for each in own),
        offers=len(plain),
        newest=max(days, default=None),
    )


@cache
def priced(tier: str = "cloud") -> dict[str, Price]:
    """Every device that can be rented in a tier, with its price."""
    devices = dict.fromkeys(each.device for each in offers())
    found = {device: price(device, tier) for device in devices}
    return {device: each for device, each in found.items() if each}


def owned_usd(purchase_usd: float, years: float, power_w: float, usd_per_kwh: float) -> float:
    """One's own device for an hour: purchase ÷ hours of its life + power × tariff.

    Power as on the data sheet, drawn all the time: an upper bound of what it takes.

    >>> from planner.sizing.prices import owned_usd
    >>> print(round(owned_usd(30_000, 4, 700, 0.15), 3))
    0.961
    """
    return purchase_usd / (years * HOURS_A_YEAR) + power_w / 1000 * usd_per_kwh
