"""A question in, its answer out: the best deployments, the first of them in full, and its cost."""

from collections.abc import Callable
from dataclasses import dataclass

from planner import describe
from planner.inputs import presets, support
from planner.inputs.scenario import Scenario
from planner.sizing import prices
from planner.sizing.prices import Price
from planner.sizing.query import Ask
from planner.sizing.search import Ranked, search
from planner.sizing.steady import OVERLOADED, Sizing, size

HOUR_S = 3600
MILLION = 10**6
COUNTS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


@dataclass(frozen=True)
class Answer:
    """What keeps the promise. sizing: of the named deployment, or of the best; None without any.

    price: of its device, None where it has none or is one's own.
    """

    ask: Ask
    ranked: Ranked
    sizing: Sizing | None
    price: Price | None

    @property
    def usd_each(self) -> float | None:
        """One device for an hour; None where nobody offers it."""
        return self.ask.usd.get(self.sizing.scenario.device) if self.sizing else None

    @property
    def usd(self) -> float | None:
        """All devices for an hour."""
        return None if self.usd_each is None else self.usd_each * self.sizing.devices

    @property
    def usd_range(self) -> tuple[float, float] | None:
        """The same at the cheapest and at the dearest offer."""
        if self.price is None or self.usd is None:
            return None
        return self.price.low * self.sizing.devices, self.price.high * self.sizing.devices

    def usd_per_million(self, tokens: float) -> float | None:
        """Dollars for a million tokens, of so many a request, at this load."""
        if self.usd is None or not self.sizing.rate:
            return None
        return self.usd / (self.sizing.rate * tokens * HOUR_S) * MILLION

    @property
    def usd_per_million_tokens(self) -> float | None:
        """For a million tokens, of prompts and outputs together."""
        own = self.ask.the_workload
        return self.usd_per_million(own.prompt.mean + own.written.mean)

    @property
    def usd_per_million_output(self) -> float | None:
        """For a million output tokens, which pay for the prompts."""
        return self.usd_per_million(self.ask.the_workload.written.mean)

    @property
    def refusal(self) -> str:
        """Why the engine does not run on the named device, a sentence; “” where it does."""
        own = self.sizing
        return support.refusal(own.scenario.engine, own.scenario.device) if own else ""

    @property
    def keeps(self) -> bool:
        """Whether there is a deployment that keeps the promise."""
        return bool(self.sizing and self.sizing.keeps and not self.refusal)


def answer(ask: Ask, progress: Callable[[float], None] = lambda _: None) -> Answer:
    """Search, and size the best; or size the one deployment that is named."""
    workload, promise = ask.the_workload, ask.promise
    ranked = search(workload, promise, ask.space, ask.usd, ask.rank, progress)
    scenario = named(ask) if ask.one else ranked.scenario(0) if len(ranked) else None
    sizing = scenario and size(workload, promise, scenario, ask.replicas or None)
    offered = scenario and ask.own_usd is None
    price = prices.price(scenario.device, ask.tier) if offered else None
    return Answer(ask, ranked, sizing, price)


def named(ask: Ask) -> Scenario:
    """The one deployment that a question names."""
    return Scenario(
        model=ask.model,
        weights=ask.weights,
        cache_k=ask.cache,
        cache_v=ask.cache,
        device=ask.device,
        engine=ask.engine,
        tp=ask.tp,
        pp=ask.pp,
        dp=ask.dp,
        ep=ask.ep,
        **dict(ask.beside),
    )


# --- in words -------------------------------------------------------------------------------------


def counted(count: int, noun: str) -> str:
    """A small count in words at the beginning of a sentence: Two replicas, 12 replicas."""
    number = COUNTS[count] if count < len(COUNTS) else describe.whole(count)
    return f"{number} {noun}{'' if count == 1 else 's'}"


def dollars(usd: float) -> str:
    """An amount: $11.80, $1,240."""
    return f"${usd:,.2f}" if usd < 1000 else f"${usd:,.0f}"


def verdict(found: Answer) -> tuple[str, str]:
    """The answer in a sentence, and what is behind it."""
    own = found.sizing
    if own is None:
        return "Nothing here keeps the promise.", _why_nothing(found.ranked)
    name = own.scenario.the_device.name
    some = f"{describe.whole(own.devices)} × {name}"
    if found.refusal:
        return "This cannot be run.", found.refusal
    cost = "" if found.usd is None else f" for {dollars(found.usd)} an hour"
    if not own.fits:
        return f"{name} cannot hold it.", (
            f"The pool of {counted(own.scenario.layout.devices, 'device').lower()} has no room for "
            f"one request of {describe.whole(own.workload.longest_tokens)} tokens."
        )
    kept = "keep" if own.devices > 1 else "keeps"
    title = f"{some} {kept} the promise{cost}."
    if not own.keeps:
        title = f"{some} {'do' if own.devices > 1 else 'does'} not keep the promise."
    return title, f"{arrangement(own)} {load(own)}"


def question(ask: Ask) -> str:
    """What is asked, in a line: model, load, promise."""
    model = presets.model(ask.model).name
    who = f"{ask.users:,} users" if ask.users else f"{ask.rate:g} requests/s"
    lengths = f"{ask.prompt:,} tokens in, {ask.output:,} out"
    percentile = f"{ask.percentile:g}th percentile"
    promise = f"first token within {ask.ttft:g} s ({percentile}), {ask.speed:g} tokens/s"
    return f"{model}: {who}, {lengths}; {promise}."


def arrangement(own: Sizing) -> str:
    """Replicas and devices: “Two replicas of two devices each, and one spare.”"""
    each = counted(own.scenario.layout.devices, "device").lower()
    spares = own.promise.spares
    spare = f", and {counted(spares, 'spare').lower()}" if spares else ""
    return f"{counted(own.replicas, 'replica')} of {each}{' each' * (own.replicas > 1)}{spare}."


def load(own: Sizing) -> str:
    """Stable, near saturation or overloaded, with the part of the capacity in use."""
    used = f"{100 * float(own.state.utilisation):,.0f} %"
    if own.load == OVERLOADED:
        return f"Overloaded: asked for {used} of what they can do; the queue grows without bound."
    sure = "" if own.kept_for_sure or not own.keeps else " Missed at the slow end of the band."
    they = "they run" if own.replicas > 1 else "it runs"
    return f"{own.load.capitalize()}: {they} at {used} of capacity.{sure}"


def _why_nothing(ranked: Ranked) -> str:
    """Of the deployments tried, how many fail, and by what."""
    tried, rest = ranked.tried, ranked.tried - ranked.refused
    if not tried:
        return "No engine and format here runs on these devices."
    reasons = [
        (ranked.refused, "have no room for one of the longest requests"),
        (ranked.slow_first, "need too long to the first token, even for one request alone"),
        (ranked.slow_tokens, "write too slowly, even for one request alone"),
    ]
    some = [f"{describe.whole(count)} {what}" for count, what in reasons if count]
    left = rest - ranked.slow
    if left:
        some.append(f"{describe.whole(left)} are too slow together at any number of replicas")
    return f"Of {describe.whole(tried)} deployments, {'; '.join(some)}."
