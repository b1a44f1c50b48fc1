"""Managing it: one memory, one stream of requests, two ways to hand out room.

Contiguous: a request gets one unbroken stretch, as long as it may ever become. Paged: it gets a
block of 16 tokens when it needs one, wherever one is free, and requests with a shared prefix
store its blocks once (Kwon et al. 2023). A tick of the clock writes one token for every
running request. The same seed gives both ways the same requests.

Without a shared prefix, and until a request first gives up its room, what is paged is held, run and
let wait tick by tick as by the simulator behind Size (`sizing.batching`); a test holds them
together.
"""

import random
from collections import deque
from dataclasses import dataclass, field

import pandas as pd

BLOCK_TOKENS = 16  # the default of vLLM
CONTIGUOUS, PAGED = "contiguous", "paged"
FREE, USED, RESERVED = "free", "tokens of a request", "reserved, still empty"
PREFIX, LEAKED = "shared prefix", "leaked"
COUNTED = ["running", "waiting", "finished", "evictions", "reused_tokens"]


@dataclass(frozen=True)
class Load:
    """Memory and the requests that come; lengths in tokens, shares 0 to 1.

    arrivals: chance of a new request each tick. limits: the lengths a request may ask to grow to;
    it rarely does. prefix_tokens: a prefix that `sharing` of the requests have in common.
    leak: share of finished requests whose memory is never given back. Raises ValueError on a load
    that could never run.
    """

    blocks: int = 64
    ticks: int = 200
    arrivals: float = 0.15
    limits: tuple[int, ...] = (128, 192, 256)
    prefix_tokens: int = 48
    sharing: float = 0.5
    leak: float = 0.0
    seed: int = 0

    def __post_init__(self):
        if any(length % BLOCK_TOKENS for length in (*self.limits, self.prefix_tokens)):
            raise ValueError(f"lengths are multiples of {BLOCK_TOKENS} tokens")
        if max(self.limits) > self.blocks * BLOCK_TOKENS:
            raise ValueError("the longest request does not fit into the memory")
        if self.prefix_tokens > min(self.limits) // 2:
            raise ValueError("the shared prefix is at most half of the shortest request")
        for name in ("arrivals", "sharing", "leak"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is a share from 0 to 1")


@dataclass(eq=False)
class Request:
    """One request. It has `tokens` now, will stop at `last` and asked for room for `limit`."""

    number: int
    arrives: int
    tokens: int
    last: int
    limit: int
    shares: bool
    leaks: bool
    blocks: list[int] = field(default_factory=list)  # those it holds alone


def arrivals(load: Load) -> list[Request]:
    """The requests of a load in the order of their coming.

    Each tick draws the same number of random values, so that moving one input moves nothing else.
    """
    rng = random.Random(load.seed)
    found = []
    for tick in range(load.ticks):
        comes, limit, prompt, output, shares, leaks = (rng.random() for _ in range(6))
        if comes >= load.arrivals:
            continue
        limit = load.limits[int(limit * len(load.limits))]
        shares = shares < load.sharing and load.prefix_tokens > 0
        # A prompt takes up to a quarter of the limit besides a shared prefix; of the room that
        # is left the answer uses a fifth to four fifths.
        tokens = (load.prefix_tokens if shares else 0) + 1 + int(prompt * limit / 4)
        last = tokens + max(1, int((0.2 + 0.6 * output) * (limit - tokens)))
        number = len(found) + 1
        found.append(Request(number, tick, tokens, last, limit, shares, leaks < load.leak))
    return found


class Contiguous:
    """One stretch a request, first gap that is long enough, for as long as the request lives."""

    def __init__(self, load):
        self.holder = [None] * load.blocks

    def admit(self, request):
        """Reserve the limit of a request; False where no gap is long enough. Nothing is reused."""
        length = request.limit // BLOCK_TOKENS
        for start in range(len(self.holder) - length + 1):
            stretch = range(start, start + length)
            if all(self.holder[block] is None for block in stretch):
                request.blocks = list(stretch)
                for block in stretch:
                    self.holder[block] = request
                return True
        return False

    def grow(self, request):
        """Room for one more token. It was reserved at the start."""
        request.tokens += 1
        return True

    def release(self, request):
        for block in request.blocks:
            self.holder[block] = None

    def reused(self, request):
        return 0

    def cells(self):
        """(owner, tokens, state) of every block; the owner's number, 0 for nobody."""
        found = [(0, 0, FREE)] * len(self.holder)
        for request in {id(r): r for r in self.holder if r}.values():
            for place, block in enumerate(request.blocks):
                tokens = min(max(request.tokens - place * BLOCK_TOKENS, 0), BLOCK_TOKENS)
                found[block] = (request.number, tokens, USED if tokens else RESERVED)
        return found


class Paged:
    """Blocks on demand. A shared prefix stays after its last user until its room is needed."""

    def __init__(self, load):
        self.free = deque(range(load.blocks))
        self.blocks = load.blocks
        self.prefix_length = load.prefix_tokens // BLOCK_TOKENS
        self.prefix = []
        self.running = {}

    def _take(self, count, request):
        """So many blocks, or None. An unused prefix is dropped where that makes the room."""
        if count > len(self.free) and not self._prefix_in_use() and not request.shares:
            self.free.extend(self.prefix)
            self.prefix = []
        if count > len(self.free):
            return None
        return [self.free.popleft() for _ in range(count)]

    def _prefix_in_use(self):
        return any(request.shares for request in self.running.values())

    def admit(self, request):
        """Blocks for the tokens a request has now; False where there are too few."""
        shared = self.prefix_length if request.shares else 0
        missing = shared - len(self.prefix) if shared else 0
        own = -(-request.tokens // BLOCK_TOKENS) - shared
        taken = self._take(own + missing, request)
        if taken is None:
            return False
        self.prefix += taken[:missing]
        request.blocks = taken[missing:]
        self.running[request.number] = request
        return True

    def grow(self, request):
        """Room for one more token; False where a new block is needed and none is free."""
        shared = self.prefix_length if request.shares else 0
        if request.tokens == (shared + len(request.blocks)) * BLOCK_TOKENS:
            taken = self._take(1, request)
            if taken is None:
                return False
            request.blocks += taken
        request.tokens += 1
        return True

    def release(self, request):
        self.free.extend(request.blocks)
        request.blocks = []
        del self.running[request.number]

    def reused(self, request):
        """Tokens that need no prefill because their blocks are there already."""
        return len(self.prefix) * BLOCK_TOKENS if request.shares else 0

    def cells(self):
        """(owner, tokens, state) of every block; the owner's number, 0 for nobody."""
        found = [(0, 0, FREE)] * self.blocks
        for block in self.prefix:
            found[block] = (0, BLOCK_TOKENS, PREFIX)
        for request in self.running.values():
            left = request.tokens - (self.prefix_length * BLOCK_TOKENS if request.shares else 0)
            for place, block in enumerate(request.blocks):
                tokens = min(left - place * BLOCK_TOKENS, BLOCK_TOKENS)
                found[block] = (request.number, tokens, USED)
        return found


@dataclass(frozen=True)
class Run:
    """What happened. `history` has a row for each tick and way; `blocks(way, tick)` the picture.

    Columns of history: `tick`, `way`, `running`, `waiting`, `finished`, `evictions` and
    `reused_tokens` (both so far), `held_tokens` (room handed out), `used_tokens` (of it, filled;
    a prefix kept for reuse counts), `leaked_tokens`, `waste_percent` (held and not used, of
    held), `memory_percent` (used, of all memory), `largest_gap_blocks` (longest run of free
    blocks), `free_blocks`.
    """

    load: Load
    history: pd.DataFrame
    cells: dict[str, list]

    def blocks(self, way, tick) -> pd.DataFrame:
        """`block`, `owner` (a request's number, 0 for nobody), `tokens` (0 to 16), `state`."""
        table = pd.DataFrame(self.cells[way][tick], columns=["owner", "tokens", "state"])
        return table.rename_axis("block").reset_index()


def simulate(load: Load) -> Run:
    """Serve the same requests from contiguous and from paged memory."""
    rows, cells = [], {}
    for way, memory in ((CONTIGUOUS, Contiguous(load)), (PAGED, Paged(load))):
        cells[way] = []
        for tick, (counts, picture) in enumerate(_serve(load, memory)):
            cells[way].append(picture)
            rows.append({"tick": tick, "way": way, **counts, **_measure(picture)})
    return Run(load, pd.DataFrame(rows), cells)


def _serve(load, memory):
    """Yield for each tick the counts of COUNTED and the picture of the memory."""
    coming, waiting, running, lost = deque(arrivals(load)), deque(), [], set()
    finished = evictions = reused = 0
    for tick in range(load.ticks):
        for request in list(running):
            if request not in running:  # made room for an older one in this tick
                continue
            while not memory.grow(request):
                # No block left: the youngest gives up its own and reads its text again later.
                youngest = running.pop()
                memory.release(youngest)
                waiting.appendleft(youngest)
                evictions += 1
                if youngest is request:
                    break
            if request in running and request.tokens >= request.last:
                running.remove(request)
                finished += 1
                if request.leaks:
                    lost.add(request.number)
                else:
                    memory.release(request)
        while coming and coming[0].arrives <= tick:
            waiting.append(coming.popleft())
        while waiting:
            ready = memory.reused(waiting[0])
            if not memory.admit(waiting[0]):
                break
            reused += ready
            running.append(waiting.popleft())
        counts = (len(running), len(waiting), finished, evictions, reused)
        picture = [
            (owner, 0, LEAKED) if owner in lost else (owner, tokens, state)
            for owner, tokens, state in memory.cells()
        ]
        yield dict(zip(COUNTED, counts, strict=True)), picture


def _measure(picture):
    """Room held, used and wasted in one picture of the memory."""
    held = sum(BLOCK_TOKENS for _, _, state in picture if state != FREE)
    used = sum(tokens for _, tokens, _ in picture)
    gap = longest = 0
    for _, _, state in picture:
        gap = gap + 1 if state == FREE else 0
        longest = max(longest, gap)
    return {
        "held_tokens": held,
        "used_tokens": used,
        "leaked_tokens": sum(BLOCK_TOKENS for _, _, state in picture if state == LEAKED),
        "waste_percent": 100 * (held - used) / held if held else 0.0,
        "memory_percent": 100 * used / (len(picture) * BLOCK_TOKENS),
        "largest_gap_blocks": longest,
        "free_blocks": sum(state == FREE for _, _, state in picture),
    }


def summary(run: Run) -> pd.DataFrame:
    """Each way over the whole run: index `way`; waste, memory used, finished, mean running …

    `waste_percent` weighs each tick by the room that was held in it.
    """
    rows = {}
    for way, table in run.history.groupby("way"):
        held, used = table["held_tokens"].sum(), table["used_tokens"].sum()
        rows[way] = {
            "waste_percent": 100 * (held - used) / held if held else 0.0,
            "memory_percent": table["memory_percent"].mean(),
            "running": table["running"].mean(),
            "waiting": table["waiting"].mean(),
            **table[["finished", "evictions", "reused_tokens"]].iloc[-1].to_dict(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("way")
