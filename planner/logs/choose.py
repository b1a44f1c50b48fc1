"""Which of several lines on one figure counts: of one start, of one rank, by the rule of its row.

A row is an index by rank, the rule (`take`) and the hits of one line: (index, take, hits).
"""

from collections import defaultdict

from planner.logs.starts import is_rank
from planner.logs.templates import Hit

POOLS = ("pool_gib", "key_gib", "needed_gib", "tokens", "blocks", "context_gib")
# What is the same in all starts of a model, and may be said in another one.
LASTING = ("version", "model", "dtype", "quantization", "device", "device_name", "dialect")
OWN, BEFORE, OTHER = range(3)  # said at the start that is read, before any, at another one


def chosen_start(rows, places):
    """The start to read, and how many there are: the last of the first model that has a pool."""
    models, pooled, all_ = {}, set(), set()
    for hit in sorted((hit for *_, row in rows for hit in row), key=lambda each: each.place):
        start = places.start(hit.place)
        all_.add(start)
        if hit.name == "model":
            models.setdefault(start, hit.value)
        if hit.name in POOLS:
            pooled.add(start)
    all_ = all_ - {-1} or all_
    first = next((models[start] for start in sorted(all_) if start in models), None)
    same = {start for start in all_ if models.get(start, first) == first}
    return max(same & pooled or same), len(all_)


def kept_hits(rows, places, chosen):
    """One hit a figure: of the chosen start, of the rank whose pool is least, by the row's rule."""
    said = [
        (_whose(places.start(row[0].place), chosen), rank, take, row)
        for rank, take, row in rows
        if row
    ]
    pools = [
        hit
        for whose, _, take, row in said
        for hit in row
        if (whose, take, hit.name) == (OWN, "least", "pool_gib")
    ]
    least = min(pools, key=lambda hit: hit.value, default=None)
    deciding = places.writer(least.place) if least else ""
    groups = defaultdict(list)
    for whose, rank, take, row in said:
        writer = places.writer(row[0].place)
        # What the deciding rank says counts before what another one says in better words.
        other = take != "least" and writer != deciding and is_rank(writer)
        row = [hit for hit in row if hit.name in LASTING] if whose == OTHER else row
        groups[whose, other, rank, take].append(row)
    kept = {}
    for (*_, take), found in sorted(groups.items()):
        for hit in _take(take, [row for row in found if row], places, deciding):
            kept.setdefault(hit.name, hit)
    return kept


def _whose(start, chosen):
    return OWN if start == chosen else BEFORE if start < 0 else OTHER


def _take(take, found, places, deciding):
    """One hit a figure out of all rows of one kind."""
    if take != "least" and found:
        writers = [places.writer(row[0].place) for row in found]
        one = deciding if deciding in writers else "" if "" in writers else writers[0]
        found = [row for row, writer in zip(found, writers, strict=True) if writer == one]
    if not found:
        return []
    if take == "first":
        return found[0]
    if take == "last":
        return found[-1]
    if take == "each":
        return list({hit.name: hit for row in reversed(found) for hit in row}.values())
    if take == "pools":  # SGLang's pool of windows is a second one, where there is one
        second = sum(hit.value for hit in found[1]) if len(found) > 1 else 0.0
        return [*found[0], Hit("second_gib", second, found[-1][0].place)]
    named = defaultdict(list)
    for row in found:
        for hit in row:
            named[hit.name].append(hit)
    if take == "least":
        return [min(each, key=lambda hit: hit.value) for each in named.values()]
    return [_sum(name, found, take, places) for name in named]


def _sum(name, found, take, places):
    """Over the devices of one context; a device that is printed again counts as printed last."""
    contexts = defaultdict(dict)
    for index, row in enumerate(found):
        hit = next(each for each in row if each.name == name)
        device = next((each.value for each in row if each.name == "device"), "")
        context = 0 if take == "devices" else places.context(hit.place)
        contexts[context][device if take == "devices" else index] = hit
    sums = [list(each.values()) for each in contexts.values()]
    if isinstance(sums[0][0].value, str):
        return sums[0][0]
    most = max(sums, key=lambda each: sum(hit.value for hit in each))
    return Hit(name, sum(hit.value for hit in most), most[0].place)
