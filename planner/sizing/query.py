"""What a link of the Size page holds: a model, a workload, a promise, and where to look.

    ?v=1&model=llama-3.1-70b&workload=chat&users=200&think=45&ttft=1&speed=25&where=cloud

As with a scenario's link, a name once used keeps its meaning, and nothing in a link can make
reading it fail. A workload's name fills in its lengths, and each can be replaced.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache

from planner.engines.memory import Engine
from planner.engines.timing import serving_engines
from planner.files import rows
from planner.hardware import parallel
from planner.hardware.parallel import Layout
from planner.inputs import presets, strict
from planner.inputs import scenario as scenarios
from planner.inputs.link import Choice, Named, Notice, Number, read_values, write
from planner.inputs.scenario import Scenario
from planner.models import states
from planner.sizing import prices
from planner.sizing.search import COST, RANKS
from planner.sizing.space import BESIDE, Space
from planner.sizing.workload import Lengths, Promise, Workload

USERS = 200  # where neither a rate nor users are given
ANY = "any"
WHERE = {**prices.TIERS, ANY: "every device known here"}
BITS = {"16": "16 bits", "8": "8 bits or more", "4": "4 bits or more"}
MOST_TOKENS = 1_048_576
MOST_IN_REPLICA = 16  # devices; more is a search of minutes


@dataclass(frozen=True)
class Preset:
    """A row of presets/workloads.csv. kind: measured, of a published trace, or assumed."""

    id: str
    name: str
    prompt: float
    prompt_p95: float
    prompt_mean: float
    output: float
    output_p95: float
    output_mean: float
    burst: float
    prefix: float
    hits: float
    kind: str
    source: str


@cache
def workloads() -> dict[str, Preset]:
    """Every workload of presets/workloads.csv by its id, in the order of the file."""
    texts = ("id", "name", "kind", "source")
    return {
        row["id"]: Preset(**{k: v if k in texts else float(v) for k, v in row.items()})
        for row in rows("workloads.csv")
    }


@cache
def engines() -> dict[str, Engine]:
    """The engines that serve many users, by their ids."""
    return {id: own for id, own in presets.engines().items() if id in serving_engines()}


def _find(known, choice):
    if choice not in known():
        raise ValueError(f"“{presets.shorten(str(choice))}” is not known")


def _any_of(find):
    """A preset by its id, or “” for any of them."""
    return Named(lambda choice: choice and find(choice), lambda _: "any is looked at")


def _tokens(label, least=1):
    return Number(label, "tokens", least, MOST_TOKENS, whole=True)


PARAMETERS = {
    "model": Named(presets.model, lambda default: f"{presets.model(default).name} is used instead"),
    "weights": _any_of(presets.weight_format),
    "cache": _any_of(presets.cache_format),
    "device": _any_of(presets.accelerator),
    "engine": _any_of(lambda choice: _find(engines, choice)),
    "tp": Number("Tensor parallel", "devices", 0, parallel.MOST_DEVICES, whole=True),
    "pp": Number("Pipeline stages", "devices", 1, parallel.MOST_DEVICES, whole=True),
    "dp": Number("Data-parallel attention", "groups", 1, parallel.MOST_DEVICES, whole=True),
    "ep": Number("Expert parallel", "devices", 1, parallel.MOST_DEVICES, whole=True),
    "replicas": Number("Replicas", "replicas", 0, 10_000, whole=True),
    "workload": Named(
        lambda choice: _find(workloads, choice),
        lambda default: f"{workloads()[default].name} is used instead",
    ),
    "rate": Number("Requests per second", "requests/s", 0, 100_000),
    "users": Number("Users", "users", 0, 10_000_000, whole=True),
    "think": Number("Think time", "s", 0, 86_400),
    "prompt": _tokens("Prompt, median"),
    "prompt_p95": _tokens("Prompt, 95th percentile"),
    "prompt_mean": _tokens("Prompt, mean", 0),
    "output": _tokens("Output, median"),
    "output_p95": _tokens("Output, 95th percentile"),
    "output_mean": _tokens("Output, mean", 0),
    "cap": _tokens("Output cap", 0),
    "burst": Number("Burstiness", "coefficient of variation", 1, 20),
    "prefix": _tokens("Shared prefix", 0),
    "hits": Number("Prefix hits", "%", 0, 100),
    "ttft": Number("Time to first token", "s", 0.01, 3600),
    "speed": Number("Speed per user", "tokens/s", 0.1, 10_000),
    "percentile": Number("Percentile", "%", 50, 99.9),
    "headroom": Number("Head room", "%", 0, 90),
    "spares": Number("Spare replicas", "replicas", 0, 1000, whole=True),
    "where": Choice("Where to look", WHERE),
    "rank": Choice("Rank by", RANKS),
    "bits": Choice("Weights", BITS),
    "most": Number("Devices of one replica, at most", "devices", 1, MOST_IN_REPLICA, whole=True),
    "price": Number("Price of the device", "USD/h", 0, 10_000),
    "purchase": Number("Purchase price of the device", "USD", 0, 10_000_000),
    "years": Number("Years in use", "years", 0.1, 30),
    "tariff": Number("Electricity", "USD/kWh", 0, 10),
    "site": Number("Site factor", "times", 0.1, 10),
    "seed": Number("Seed of the simulation", "", 0, 1_000_000, whole=True),
    **{name: scenarios.PARAMETERS[name] for name in BESIDE},
}
# Left out of a link where they have this value, which is what a link without them means.
ABSENT = {
    "weights": "",
    "cache": "",
    "device": "",
    "engine": "",
    "tp": 0,
    "pp": 1,
    "dp": 1,
    "ep": 1,
    "replicas": 0,
    "rate": 0,
    "cap": 0,
    "spares": 0,
    "price": 0,
    "purchase": 0,
    "site": 1,
    "seed": 0,
    **{name: scenarios.ADDED[name] for name in BESIDE},
}
LENGTHS = ("prompt", "output")


@dataclass(frozen=True)
class Ask:
    """What is asked of the page, in the link's names and units.

    weights, cache, device, engine: “” for any; tp: 0 for any layout. replicas: 0 for the fewest.
    rate or users: the other is 0. prompt_mean, output_mean: 0 for that of a log-normal
    distribution. price: of the named device, USD an hour, 0 for the median of its offers; purchase:
    of one's own device, which then costs by its years and electricity. site: how much longer
    everything takes there than is predicted. seed: of a simulation, which changes nothing else.
    dcp, host_…, draft, …, set, state_format: as a scenario has them, of every deployment.
    """

    model: str = "llama-3.1-8b"
    weights: str = ""
    cache: str = ""
    device: str = ""
    engine: str = ""
    tp: int = 0
    pp: int = 1
    dp: int = 1
    ep: int = 1
    replicas: int = 0
    workload: str = "chat"
    rate: float = 0
    users: int = USERS
    think: float = 45
    prompt: int = 1020
    prompt_p95: int = 4083
    prompt_mean: int = 1155
    output: int = 129
    output_p95: int = 451
    output_mean: int = 211
    cap: int = 0
    burst: float = 1.1
    prefix: int = 0
    hits: float = 0
    ttft: float = 1
    speed: float = 25
    percentile: float = 95
    headroom: float = 20
    spares: int = 0
    where: str = "cloud"
    rank: str = COST
    bits: str = "8"
    most: int = 8
    price: float = 0
    purchase: float = 0
    years: float = 4
    tariff: float = 0.15
    site: float = 1
    seed: int = 0
    dcp: int = 1
    host_layers: int = 0
    host_experts: int = 0
    host_bandwidth: float = 89.6
    host_link: float = 32
    draft: str = ""
    drafted: int = 3
    accepted: float = 2
    set: str = ""
    state_format: str = states.AUTO

    @property
    def the_workload(self) -> Workload:
        return Workload(
            rate=self.rate,
            users=self.users,
            think_s=self.think,
            prompt=Lengths(self.prompt, self.prompt_p95, self.prompt_mean or None),
            output=Lengths(self.output, self.output_p95, self.output_mean or None),
            burst=self.burst,
            prefix=self.prefix,
            hit_rate=self.hits / 100,
            output_cap=self.cap,
            site=self.site,
        )

    @property
    def promise(self) -> Promise:
        return Promise(
            ttft_s=self.ttft,
            tpot_s=1 / self.speed,
            percentile=self.percentile,
            headroom=self.headroom / 100,
            spares=self.spares,
        )

    @property
    def devices(self) -> tuple[str, ...]:
        """The devices to look at."""
        if self.device:
            return (self.device,)
        if self.where == ANY:
            return tuple(presets.accelerators())
        return tuple(prices.priced(self.where))

    @property
    def space(self) -> Space:
        layout = (Layout(self.tp, self.pp, self.dp, self.ep),) if self.tp else ()
        return Space(
            model=self.model,
            devices=self.devices,
            weights=(self.weights,) if self.weights else (),
            caches=(self.cache,) if self.cache else (),
            engines=(self.engine,) if self.engine else (),
            layouts=layout,
            least_bits=float(self.bits),
            most_devices=self.most,
            beside=self.beside,
        )

    @property
    def beside(self) -> tuple[tuple[str, object], ...]:
        """What every deployment has beside what is searched, where it is not as usual."""
        found = ((name, getattr(self, name)) for name in BESIDE)
        return tuple((name, value) for name, value in found if value != ABSENT[name])

    @property
    def tier(self) -> str:
        """Whose prices count."""
        return "cloud" if self.where == ANY else self.where

    @property
    def own_usd(self) -> float | None:
        """What the named device costs an hour where a person says so."""
        if self.purchase:
            power = presets.accelerator(self.device).power_w or 0.0
            return prices.owned_usd(self.purchase, self.years, power, self.tariff)
        return self.price or None

    @property
    def usd(self) -> dict[str, float]:
        """What each device costs an hour, by its id."""
        if self.own_usd is not None:
            return {self.device: self.own_usd}
        return {device: each.usd for device, each in prices.priced(self.tier).items()}

    @property
    def one(self) -> bool:
        """Whether it names one deployment, and not several to choose from."""
        return bool(self.weights and self.cache and self.device and self.engine and self.tp)


def narrowed(ask: Ask, scenario: Scenario) -> Ask:
    """The same question about one deployment alone."""
    layout = {name: getattr(scenario, name) for name in ("tp", "pp", "dp", "ep")}
    formats = {"weights": scenario.weights, "cache": scenario.cache_k}
    own = replace(ask, device=scenario.device, engine=scenario.engine, **formats, **layout)
    return own if ask.device == scenario.device else replace(own, price=0, purchase=0)


def encode(ask: Ask) -> str:
    """The query string that holds all of it."""
    values = {each.name: getattr(ask, each.name) for each in fields(ask)}
    if ask.rate:
        values.pop("users")
    return write(
        {name: str(v) for name, v in values.items() if name not in ABSENT or v != ABSENT[name]}
    )


def decode(query: str | Mapping[str, Sequence[str]]) -> tuple[Ask, tuple[Notice, ...]]:
    """What a link asks, and what in it could not be taken as it stands. Never raises."""
    values, notices = read_values(query, PARAMETERS, _default)
    ask = Ask(**values)
    for mend in (_one_load, _in_order, _layout, _beside, _price):
        ask, notice = mend(ask)
        notices += notice
    return ask, tuple(notices)


def read(query: str) -> strict.Read:
    """The same for a program: what the page would correct is rejected."""
    return strict.read_query(query, decode)


def _default(name, values):
    """What a missing parameter means, after those before it."""
    if name == "users":
        return 0 if values["rate"] else USERS
    own = workloads()[values["workload"]] if "workload" in values else None
    for length in LENGTHS:
        if own and name == f"{length}_p95":
            # Another median keeps the spread.
            return min(
                round(values[length] * getattr(own, name) / getattr(own, length)), MOST_TOKENS
            )
        if own and name == f"{length}_mean":
            same = all(values[each] == getattr(own, each) for each in (length, f"{length}_p95"))
            return round(getattr(own, name)) if same else 0
    if own and name in (*LENGTHS, "prefix", "burst", "hits"):
        return PARAMETERS[name].nearest(getattr(own, name))
    return getattr(Ask, name)


def _one_load(ask):
    if ask.rate and ask.users:
        notice = Notice("rate", "A load is either a rate or users", "the users are used")
        return replace(ask, rate=0), [notice]
    if not ask.rate and not ask.users:
        notice = Notice("users", "A load needs a rate or users", f"{USERS} users are used")
        return replace(ask, users=USERS), [notice]
    return ask, []


def _in_order(ask):
    notices = []
    for name in LENGTHS:
        median, high = getattr(ask, name), getattr(ask, f"{name}_p95")
        if high < median:
            text = f"A 95th percentile of {high:,} is less than the median, {median:,}"
            notices.append(Notice(f"{name}_p95", text, "the median is used for both"))
            ask = replace(ask, **{f"{name}_p95": median, f"{name}_mean": 0})
    return ask, notices


def _layout(ask):
    if not ask.tp:
        return ask, []
    layout = Layout(ask.tp, ask.pp, ask.dp, ask.ep)
    wrong = parallel.refusals(layout, presets.model(ask.model), layout.devices)
    notices = [Notice("tp", each.text.removesuffix("."), "any layout is used") for each in wrong]
    return (replace(ask, tp=0, pp=1, dp=1, ep=1), notices) if wrong else (ask, [])


def _beside(ask):
    """A drafter, host memory and shared-out tokens as the model and its layout can have them."""
    if not ask.beside:
        return ask, []
    layout = {"tp": ask.tp or ask.most, "pp": ask.pp, "dp": ask.dp, "ep": ask.ep}
    own = {"model": ask.model, **layout, **dict(ask.beside)}
    found, notices = scenarios.decode({name: [str(value)] for name, value in own.items()})
    able = {name: getattr(found, name) for name in BESIDE}
    return replace(ask, **able), [each for each in notices if each.parameter in BESIDE]


def _price(ask):
    if (ask.price or ask.purchase) and not ask.device:
        name = "price" if ask.price else "purchase"
        notice = Notice(name, "A price of one's own needs a device", "offers are used")
        return replace(ask, price=0, purchase=0), [notice]
    return ask, []
